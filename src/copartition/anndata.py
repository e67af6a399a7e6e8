"""Cells of an AnnData object clustered, with how sure that is. Needs ``pip install "copartition[anndata]"``."""

from __future__ import annotations

import warnings
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import numpy as np

from copartition._version import __version__
from copartition.clustering.answer import ALL_PAIRS, Clustering
from copartition.clustering.call import cluster as cluster_rows
from copartition.datasets.frames import representation_of, titles_of
from copartition.datasets.kinds import NUMBER, Column, Kinds
from copartition.diagnostics.findings import MISFIT
from copartition.extras import needed
from copartition.targets.cells import kept_names
from copartition.targets.mixture import Component
from copartition.targets.priors import Prior
from copartition.validation import integer, shorten

anndata = needed("anndata", by="copartition.anndata")

NEGLIGIBLE = 0.01  # probability of being together from which on two cells are in the table of similarities


def cluster(
    adata: Any,
    *,
    use_rep: str = "X_pca",
    n_pcs: int | None = None,
    key_added: str = "copartition",
    component: str | Component = "auto",
    prior: Prior | None = None,
    effort: float = 1.0,
    loss: str = "vi",
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: bool = False,
    copy: bool = False,
) -> Any:
    """Cluster cells, and say how sure that is.

    This is `copartition.cluster` of columns of numbers: there is always an answer, within counted work, and it has a
    grade. For any grade but "unbiased" a warning says why.

    Parameters
    ----------
    adata : AnnData
    use_rep : str, default "X_pca"
        What is clustered: a name in ``adata.obsm``, or ``"X"``.
    n_pcs : int, optional
        The first so many columns of it; left out, all.
    key_added : str, default "copartition"
        Under which name results are kept.
    component : str or Component, default "auto"
        What clusters are like: ``"full"``, each with a covariance of its own; ``"tied"``, with one that all share;
        ``"diagonal"``, columns independent; ``"auto"`` takes the one that predicts cells best that it has not seen. Or
        a component of copartition.
    prior, effort, loss
        See `copartition.cluster`.
    n_jobs : int, optional
        Threads; left out, or -1, as many as there are processors. Results do not depend on it.
    random_state : int, default 0
    progress : bool
    copy : bool
        Return a copy of `adata` with the results, and leave `adata` as it is.

    Returns
    -------
    AnnData or None
        None, unless `copy`. These are added:

        - ``obs[key_added]``: the cluster of each cell, a categorical ``'0'``, ``'1'``, ..., the largest first;
        - ``obs[key_added + "_certainty"]``, ``obs[key_added + "_certainty_stderr"]``: probability that a cell is
          together with another one of its cluster, and its standard error;
        - ``obs[key_added + "_undecided"]``: whether that is below a half;
        - ``obsm[key_added + "_probabilities"]``: the same probability for each cluster;
        - ``obsp[key_added + "_similarity"]``, of up to 2,000 cells: probability that two cells are together, sparse,
          what is below 0.01 left out;
        - ``uns[key_added]``: ``"grade"`` and ``"reason"``, ``"headline"``, the probabilities of each number of clusters
          (``"n_clusters"``), ``"profile"`` and ``"separation"`` of genes or components as data frames, ``"scores"`` of
          the components that competed, ``"findings"``, ``"assumptions"``, ``"notes"``, ``"work"``, ``"params"`` and
          ``"versions"``.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> from copartition.anndata import cluster
    >>> rng = np.random.default_rng(1)
    >>> adata = anndata.AnnData(rng.normal(np.repeat([[-4.0], [4.0]], [20, 10], axis=0), 1.0, (30, 2)))
    >>> cluster(adata, use_rep="X", component="diagonal")
    >>> adata.obs["copartition"].value_counts().to_dict()
    {'0': 20, '1': 10}
    """
    if not isinstance(adata, anndata.AnnData):
        raise TypeError(f"adata must be an AnnData object, got {shorten(adata)}.")
    if not isinstance(key_added, str) or not key_added:
        raise ValueError(f"key_added must be a name, got {shorten(key_added)}.")
    adata = adata.copy() if copy else adata
    found = cluster_rows(
        _table_of(adata, use_rep, n_pcs, isinstance(component, str)),
        component,
        prior,
        effort=effort,
        loss=loss,
        seed=random_state,
        executor=None if n_jobs in (None, -1) else integer("n_jobs", n_jobs, 1),
        progress=progress,
    )
    params = {"use_rep": use_rep, "n_pcs": n_pcs, "effort": effort, "loss": loss, "random_state": random_state}
    _add(adata, key_added, found, params)
    if found.grade != "unbiased":
        text = f"copartition.anndata.cluster: the answer is {found.grade}. {found.reason}"
        warnings.warn(text, UserWarning, stacklevel=2)
    for finding in found.findings:
        if finding.level == MISFIT:
            warnings.warn(f"copartition.anndata.cluster: {finding.text} {finding.advice}", UserWarning, stacklevel=2)
    return adata if copy else None


def _table_of(adata: Any, use_rep: str, n_pcs: int | None, is_named: bool) -> Any:
    """Return what is clustered as columns of numbers, whole or not, without those that are the same in every cell.

    A component that is given takes a data frame, as it is.
    """
    from pandas import DataFrame

    values = representation_of(adata, use_rep, n_pcs)
    titles = titles_of(adata, use_rep, values.shape[1])
    if not is_named:
        return DataFrame(values, adata.obs_names, titles)
    varies = np.any(values != values[:1], axis=0) & ~np.all(np.isnan(values), axis=0)
    if not varies.any():
        raise ValueError(f"{use_rep!r} must have a column that is not the same in every cell, got {values.shape[1]}.")
    left_out = [title for title, varied in zip(titles, varies, strict=True) if not varied]
    columns = [Column(titles[j], NUMBER, values[:, j].tolist()) for j in np.flatnonzero(varies)]
    notes = [f"left out: {title} (the same in every cell)" for title in left_out]
    return Kinds(columns, left_out, notes, kept_names(adata.obs_names.tolist()))


def _add(adata: Any, key: str, found: Clustering, params: dict[str, Any]) -> None:
    """Write an answer into an AnnData object, in forms that its files can keep."""
    from pandas import Categorical, DataFrame

    names = [str(k) for k in range(len(found.sizes))]
    adata.obs[key] = Categorical.from_codes(found.labels, names)
    adata.obs[f"{key}_certainty"] = found.certainty
    adata.obs[f"{key}_certainty_stderr"] = found.certainty_stderr
    adata.obs[f"{key}_undecided"] = found.undecided
    adata.obsm[f"{key}_probabilities"] = found.probabilities
    if 1 < len(found.labels) <= ALL_PAIRS:
        adata.obsp[f"{key}_similarity"] = _sparse(np.clip(found.consensus.similarity, 0.0, 1.0))
    elif f"{key}_similarity" in adata.obsp:
        del adata.obsp[f"{key}_similarity"]  # of an earlier answer
    posterior: Any = found.posterior
    about: dict[str, Any] = {
        "grade": found.grade,
        "reason": found.reason,
        "headline": found.headline,
        "n_clusters": {
            "number": np.array(list(found.n_clusters)),
            "probability": np.array(list(found.n_clusters.values())),
            "stderr": np.array(list(found.n_clusters_stderr.values())),
        },
        "findings": np.array([str(one) for one in found.findings], dtype=object),
        "assumptions": np.array(found.assumptions, dtype=object),
        "notes": np.array(found.notes, dtype=object),
        "params": {name: value for name, value in params.items() if value is not None}
        | {"component": repr(posterior.component), "prior": repr(found.posterior.prior)},
        "work": {name: value for name, value in found.work.items() if value is not None},
        "versions": {"copartition": __version__, "anndata": version("anndata"), "numpy": np.__version__},
    }
    if found.scores:
        about["scores"] = _as_kept(DataFrame(found.scores))
    with suppress(TypeError):  # a component of one's own need not say what members are like
        about |= {"profile": _as_kept(found.profile()), "separation": _as_kept(found.separation())}
    adata.uns[key] = about


def _as_kept(frame: Any) -> Any:
    """Return a data frame as files keep it: an index of one level, of text."""
    kept = frame.reset_index() if frame.index.nlevels > 1 else frame
    return kept.set_axis(kept.index.astype(str))


def _sparse(similarity: np.ndarray) -> Any:
    """Return similarities as files keep them: sparse, and with half of the digits."""
    from scipy.sparse import csr_matrix

    table = csr_matrix(similarity, dtype=np.float32)
    table.data[table.data < NEGLIGIBLE] = 0.0
    table.eliminate_zeros()
    return table
