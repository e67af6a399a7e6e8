"""The log density of a partition, up to a constant: what tells a better mode from a worse one."""

from __future__ import annotations

import numpy as np
from numba import types

from copartition.core.compiling import kernel, reference
from copartition.core.room import empty_chain, widths_of
from copartition.core.split_merge import grow
from copartition.core.state import Chain, Law, Model
from copartition.core.types import int1, type_of
from copartition.partition import canonical
from copartition.targets.base import Target


@kernel(types.float64(type_of(Model), type_of(Law), type_of(Chain), int1))
def grow_partition(model, law, chain, labels):
    """Let the clusters of a partition, in canonical numbering, grow in an empty chain; return its log density."""
    m, functions, c = reference(model), reference(law), reference(chain)
    total = 0.0
    for n in range(len(labels)):
        k, n_clusters = labels[n], chain.n_clusters[0]
        law.log_predictive(m, c, n_clusters + 1, n)
        total += chain.weights[k]
        if k == n_clusters:
            total += model.log_new[min(k, len(model.log_new) - 1)]
            chain.n_clusters[0] += 1
        else:
            total += model.log_size[chain.sizes[k]]
        grow(m, functions, c, n, k, law.keeps)
    return total


def log_density_of(target: Target, labels: np.ndarray) -> float:
    """Return the log of prior and marginal likelihood of a partition, up to a constant; NaN where it is not known.

    It is known for targets whose clusters can grow one point at a time, as those of every `Mixture`.

    Examples
    --------
    >>> import copartition as cp
    >>> from copartition.chains.density import log_density_of
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> log_density_of(posterior, [0, 0, 1]) > log_density_of(posterior, [0, 1, 1])
    True
    """
    if not target.is_exchangeable or target.model.palette > 0:
        return float("nan")
    clean = canonical(labels)
    chain = empty_chain(target.n_points, widths_of(target.model), int(clean.max(initial=-1)) + 3)
    return float(grow_partition(target.model, target.law, chain, clean))
