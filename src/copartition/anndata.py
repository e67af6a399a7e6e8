"""Cells of an AnnData object clustered, with how sure that is. Needs ``pip install "copartition[anndata]"``."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, Unpack

import numpy as np

from copartition._version import __version__
from copartition.datasets.annotated import representation_of
from copartition.extras import needed
from copartition.front import Asked, Asking, Clustered, cluster_rows, component_of
from copartition.runs.workers import Where
from copartition.targets.cells import kept_names
from copartition.targets.mixture import Component, Mixture
from copartition.targets.priors import Prior
from copartition.validation import check_names, integer, shorten

anndata = needed("anndata", by="copartition.anndata")

NEGLIGIBLE = 0.01  # probability of being together from which on two cells are in the table of similarities


def cluster(
    adata: Any,
    *,
    use_rep: str = "X_pca",
    n_pcs: int | None = None,
    key_added: str = "copartition",
    component: str | Component = "diagonal",
    prior: Prior | None = None,
    noise_sd: float | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: bool = False,
    copy: bool = False,
    **asked: Unpack[Asking],
) -> Any:
    """Cluster cells, and say how sure that is.

    The number of clusters is found along with them. The clustering is the one with the least posterior expected loss,
    from unbiased estimates by coupled Markov chains. Time is bounded: pairs of chains that have not met after
    `max_sweeps` are given up, and a warning says how many.

    Parameters
    ----------
    adata : AnnData
    use_rep : str, default "X_pca"
        What is clustered: a name in ``adata.obsm``, or ``"X"``.
    n_pcs : int, optional
        The first so many columns of it; left out, all.
    key_added : str, default "copartition"
        Under which name results are kept.
    component : str or Component, default "diagonal"
        The law of a cluster: ``"diagonal"``, a mean and a variance in each column, unknown; ``"full"``, a mean and a
        covariance; ``"tied"``, an unknown covariance that all share; ``"known"``, a known standard deviation,
        `noise_sd`; or a component of copartition.
    prior, noise_sd
        See `copartition.sklearn.MixtureClusterer`.
    n_jobs : int, optional
        Threads; left out, or -1, as many as there are processors. Results do not depend on it.
    random_state : int, default 0
    progress : bool
    copy : bool
        Return a copy of `adata` with the results, and leave `adata` as it is.
    **asked
        What is asked of the clustering.

    Other Parameters
    ----------------
    loss, target_stderr, max_replicates, max_sweeps, step
        See `copartition.sklearn.MixtureClusterer`.

    Returns
    -------
    AnnData or None
        None, unless `copy`. These are added:

        - ``obs[key_added]``: the cluster of each cell, a categorical ``'0'``, ``'1'``, ..., the largest first;
        - ``obs[key_added + "_certainty"]``, ``obs[key_added + "_certainty_stderr"]``: probability that a cell is
          together with another one of its cluster, and its standard error;
        - ``obsp[key_added + "_similarity"]``: probability that two cells are together, sparse, what is below 0.01 left
          out; of more than 2,000 cells that of each with its 15 nearest;
        - ``uns[key_added]``: parameters, the number of clusters with its standard error, the expected loss, what did
          not meet, what was assumed, what speaks against it (``"findings"``), versions.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> from copartition.anndata import cluster
    >>> rng = np.random.default_rng(1)
    >>> adata = anndata.AnnData(rng.normal(np.repeat([[-4.0], [4.0]], [20, 10], axis=0), 1.0, (30, 2)))
    >>> cluster(adata, use_rep="X")
    >>> adata.obs["copartition"].value_counts().to_dict()
    {'0': 20, '1': 10}
    """
    if not isinstance(adata, anndata.AnnData):
        raise TypeError(f"adata must be an AnnData object, got {shorten(adata)}.")
    check_names(cluster, asked, list(Asking.__annotations__))
    if not isinstance(key_added, str) or not key_added:
        raise ValueError(f"key_added must be a name, got {shorten(key_added)}.")
    adata = adata.copy() if copy else adata
    data = representation_of(adata, use_rep, n_pcs)
    posterior = Mixture(data, component_of(component, data, noise_sd), prior)
    posterior.names = kept_names(adata.obs_names.tolist())
    every = Asked(**asked)
    where = Where(None if n_jobs in (None, -1) else integer("n_jobs", n_jobs, 1), progress, random_state)
    found = cluster_rows(posterior, data, every, where)
    params = {"use_rep": use_rep, "n_pcs": n_pcs, "random_state": random_state, **asdict(every)}
    params |= {"max_sweeps": found.max_sweeps, "step": None if every.step is None else repr(every.step)}
    _add(adata, key_added, found, params)
    for sentence in [*found.shortfalls, *found.misfits]:
        warnings.warn(f"copartition.anndata.cluster: {sentence}", UserWarning, stacklevel=2)
    return adata if copy else None


def _add(adata: Any, key: str, found: Clustered, asked: dict[str, Any]) -> None:
    """Write what was found into an AnnData object, in forms that its files can keep."""
    from pandas import Categorical

    c = found.consensus
    rank = np.empty(len(c.sizes), dtype=np.int64)
    rank[np.argsort(-c.sizes, kind="stable")] = np.arange(len(c.sizes))
    names = [str(k) for k in range(len(c.sizes))]
    adata.obs[key] = Categorical([names[k] for k in rank[c.labels]], categories=names)
    adata.obs[f"{key}_certainty"] = np.clip(c.belongs, 0.0, 1.0)
    adata.obs[f"{key}_certainty_stderr"] = c.belongs_stderr
    if found.similarity is not None:
        adata.obsp[f"{key}_similarity"] = _sparse(found.similarity)
    low, high = found.number.interval()
    adata.uns[key] = {
        "params": {name: value for name, value in asked.items() if value is not None}
        | {"component": repr(found.posterior.component), "prior": repr(found.posterior.prior)},
        "n_clusters": {
            "mean": float(found.number.mean[0]),
            "stderr": float(found.number.stderr[0]),
            "interval": np.array([low[0], high[0]]),
        },
        "expected_loss": {"mean": c.expected_loss, "stderr": c.expected_loss_stderr},
        "pairs": {"run": sum(len(e.met) for e in c.runs), "not_met": c.censored, "most_sweeps": found.n_sweeps},
        "converged": not found.shortfalls,
        "shortfalls": np.array(found.shortfalls, dtype=object),
        "findings": np.array(c.warnings, dtype=object),
        "assumptions": np.array(found.posterior.assumptions(), dtype=object),
        "versions": {"copartition": __version__, "anndata": version("anndata"), "numpy": np.__version__},
    }


def _sparse(similarity: Any) -> Any:
    """Return similarities as files keep them: sparse, and with half of the digits."""
    from scipy.sparse import csr_matrix

    table = csr_matrix(similarity, dtype=np.float32)
    table.data[table.data < NEGLIGIBLE] = 0.0
    table.eliminate_zeros()
    return table
