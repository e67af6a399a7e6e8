"""Packages that only a part of copartition needs: imported when that part is used, and named if they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Modules, the packages that hold them, and the extras of copartition that bring these.
PACKAGES = {
    "anndata": ("anndata", "anndata"),
    "arviz_base": ("arviz-base", "arviz"),
    "distributed": ("distributed", "dask"),
    "h5netcdf": ("h5netcdf", "arviz"),
    "joblib": ("joblib", "sklearn"),
    "matplotlib": ("matplotlib", "plots"),
    "networkx": ("networkx", "networkx"),
    "openpyxl": ("openpyxl", "excel"),
    "pandas": ("pandas", "pandas"),
    "pyarrow": ("pyarrow", "parquet"),
    "sklearn": ("scikit-learn", "sklearn"),
}


class MissingPackageError(ImportError):
    """A package that is needed is not installed; the message says how to install it."""


def needed(module: str, by: str) -> Any:
    """Return a module of an optional package, or say in one sentence how to install that.

    Parameters
    ----------
    module : str
        Name of the module, ``"pyarrow.parquet"`` for instance.
    by : str
        What needs it, the beginning of the sentence.

    Examples
    --------
    >>> needed("networkx", by="A picture").__name__
    'networkx'
    """
    top = module.partition(".")[0]
    package, extra = PACKAGES[top]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != top:
            raise  # it is there, and something that it needs itself is not: that is for its own words to say
        message = f'{by} needs the package {package}: pip install "copartition[{extra}]".'
        raise MissingPackageError(message, name=error.name) from None
