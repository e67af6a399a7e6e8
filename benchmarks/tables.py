"""Real tables on which pairs meet late or not at all, and how their posteriors are set up.

The rule, stated before any was run. Known noise: the noise is the standard deviation within the groups that come with
the data, pooled over columns, and the prior of cluster means has the standard deviation of all numbers. Unknown
covariances: all that `NormalInverseWishart` does by itself. The concentration of the Dirichlet process is 1.

scikit-learn ships wine, diabetes, breast cancer and digits. The cells are ``10x_pbmc68k_reduced.h5ad`` in scanpy's
wheel (``pip download scanpy --no-deps``, then unzip); `COPARTITION_CELLS` says where that file is.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.decomposition import PCA

import copartition as cp

CELLS = Path(os.environ.get("COPARTITION_CELLS", "10x_pbmc68k_reduced.h5ad"))


def within_sd(data: np.ndarray, groups: np.ndarray) -> float:
    """Return the standard deviation around the means of groups, pooled over groups and columns."""
    left = data.copy()
    for group in np.unique(groups):
        left[groups == group] -= data[groups == group].mean(axis=0)
    return float(np.sqrt(np.sum(left**2) / (len(data) - len(np.unique(groups))) / data.shape[1]))


def known_noise(data: np.ndarray, noise_sd: float) -> cp.Mixture:
    """Return the posterior with a known noise."""
    component = cp.Gaussian(noise_sd=round(noise_sd, 2), mean_sd=round(float(data.std()), 2))
    return cp.Mixture(data - data.mean(axis=0), component, cp.DirichletProcess(1.0))


def unknown(data: np.ndarray, **prior: float) -> cp.Mixture:
    """Return the posterior with unknown covariances."""
    return cp.Mixture(data, cp.NormalInverseWishart(**prior), cp.DirichletProcess(1.0))


def standardised(data: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and standard deviation 1."""
    return (data - data.mean(axis=0)) / data.std(axis=0)


def cells(n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first principal components of 700 cells, and the groups that come with them."""
    import h5py

    with h5py.File(CELLS) as file:
        return file["obsm"][:]["X_pca"].astype(float)[:, :n_columns], file["obs"][:]["louvain"]


def cells_known(n_columns: int) -> cp.Mixture:
    """Return the posterior of the cells with a known noise."""
    data, groups = cells(n_columns)
    return known_noise(data, within_sd(data, groups))


def digits() -> cp.Mixture:
    """Return the posterior of 1,797 digits, 20 principal components, with a known noise."""
    table = datasets.load_digits()
    data = PCA(20, random_state=0, svd_solver="full").fit_transform(table.data)
    return known_noise(data, within_sd(data, table.target))


def diabetes() -> np.ndarray:
    """Return the nine numeric columns of the diabetes data: all but sex."""
    return np.delete(datasets.load_diabetes().data, 1, axis=1)


TABLES: dict[str, Callable[[], cp.Mixture]] = {
    "cells x 10, known noise": lambda: cells_known(10),
    "cells x 50, known noise": lambda: cells_known(50),
    "digits x 20, known noise": digits,
    "breast cancer x 30, known noise 0.5": lambda: known_noise(standardised(datasets.load_breast_cancer().data), 0.5),
    "wine x 13": lambda: unknown(datasets.load_wine().data),
    "wine x 13, mean_weight 0.1": lambda: unknown(datasets.load_wine().data, mean_weight=0.1),
    "diabetes x 9": lambda: unknown(diabetes()),
    "cells x 10": lambda: unknown(cells(10)[0]),
}
