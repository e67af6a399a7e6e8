"""What is clustered of an AnnData object: its columns in ``obsm``, or its matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from copartition.extras import needed
from copartition.validation import integer

REPRESENTATION = "X_pca"


def is_annotated(path: str | Path) -> bool:
    """Tell whether a file is one of AnnData, by its ending."""
    return Path(path).suffix.lower() == ".h5ad"


def read_annotated(path: str | Path) -> Any:
    """Return the AnnData object that a file holds. Needs anndata."""
    file = Path(path)
    if not file.exists():
        raise ValueError(f"There is no file {str(path)!r}.")
    anndata = needed("anndata", by=repr(str(path)))
    try:
        return anndata.read_h5ad(file)
    except OSError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(f"{str(path)!r} cannot be read as an AnnData file: {reason}.") from None


def representation_of(adata: Any, use_rep: str = REPRESENTATION, n_pcs: int | None = None) -> np.ndarray:
    """Return the table of cells x columns that is clustered.

    Parameters
    ----------
    adata : AnnData
    use_rep : str
        A name in ``adata.obsm``, or ``"X"``.
    n_pcs : int, optional
        The first so many columns of it; left out, all.
    """
    if use_rep == "X":
        table = adata.X
        if table is None:
            raise ValueError("use_rep must be a name in adata.obsm, got 'X', and adata has no X.")
    elif use_rep in adata.obsm:
        table = adata.obsm[use_rep]
    else:
        known = ", ".join(map(repr, ["X", *adata.obsm.keys()]))
        hint = " (scanpy.pp.pca makes 'X_pca')" if use_rep == REPRESENTATION else ""
        raise ValueError(f"use_rep must be one of {known}, got {use_rep!r}{hint}.")
    values = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
    if n_pcs is None:
        return values
    if integer("n_pcs", n_pcs, 1) > values.shape[1]:
        raise ValueError(f"n_pcs must be at most the number of columns of {use_rep!r}, {values.shape[1]}, got {n_pcs}.")
    return values[:, :n_pcs]


def titles_of(adata: Any, use_rep: str, count: int) -> list[str]:
    """Return what the first columns of a representation are called: genes by their names, components by their numbers.

    Parameters
    ----------
    adata : AnnData
    use_rep : str
    count : int
        How many columns.
    """
    if use_rep == "X":
        return [str(name) for name in adata.var_names[:count]]
    return [f"PC{j + 1}" if use_rep == REPRESENTATION else f"{use_rep}[{j}]" for j in range(count)]
