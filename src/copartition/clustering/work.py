"""Work that is counted, not timed, so that the same seed gives the same answer on every machine.

The unit is a nanosecond of the processor on which the costs below were measured (`benchmarks/README.md`): updates of
points, times what an update costs by the kind of cluster, the number of columns and the number of clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from copartition.runs.candidates import candidate
from copartition.runs.defaults import read_step
from copartition.targets.base import Target
from copartition.targets.columns import Columns
from copartition.targets.discrete import Bernoulli, Categorical, Poisson
from copartition.targets.gaussian import Gaussian
from copartition.targets.mixture import Component, Mixture
from copartition.targets.normal import NormalInverseGamma, NormalInverseWishart
from copartition.targets.tied import TiedGaussian

FULL_EFFORT = 20e9  # what effort=1 may spend: half a minute, and less than one where chains are dearer than foreseen
COUPLED = 3.0  # what two chains cost in a coupled step, in steps of one
OF_UPDATE = 60.0  # nanoseconds, whatever the number of clusters
OF_CLUSTER = 2.0  # for each cluster that a point may join, and a new one; besides:
OF_COLUMNS: dict[type[Component], Callable[[int], float]] = {
    NormalInverseWishart: lambda width: 0.5 * width + 0.035 * width * width,
    NormalInverseGamma: lambda width: 1.1 * width,  # more where cells are missing
    TiedGaussian: lambda width: 0.15 * width,
    Gaussian: lambda width: 0.15 * width,
    Bernoulli: lambda width: 0.5 * width,
    Categorical: lambda width: 0.5 * width,
    Poisson: lambda width: 0.7 * width,
}
OF_INCOMPLETE = 11.0  # of a column of numbers with missing cells, whose logarithms cannot be taken together
OF_OTHERS = 20.0  # of targets that are no mixtures, and of components of one's own


def nanoseconds_a_cluster(target: Target) -> float:
    """Return what an update costs for each cluster that there is."""
    if not isinstance(target, Mixture):
        return OF_OTHERS
    component = target.component
    every: list[Any] = list(range(target.shape[1]))
    parts = component.parts if isinstance(component, Columns) else [(every, component)]
    return OF_CLUSTER + sum(_of_part(target, columns, one) for columns, one in parts)


def _of_part(target: Mixture, columns: list[Any], component: Component) -> float:
    if type(component) not in OF_COLUMNS:
        return OF_OTHERS
    if isinstance(component, NormalInverseGamma):
        labels = [target.cells.label(j) for j in range(target.shape[1])]
        places = [labels.index(one) if one in labels else one for one in columns]  # by name, or by place
        if target.cells.subset(places).missing().any():
            return OF_INCOMPLETE * len(columns)
    return OF_COLUMNS[type(component)](len(columns))


class Cost:
    """What one chain of a target costs in a step, given how many clusters there are."""

    def __init__(self, target: Target) -> None:
        self._updates = candidate(target, read_step(target)).cost
        self._a_cluster = nanoseconds_a_cluster(target)

    def of_step(self, n_clusters: float) -> float:
        """Return the work of one step of one chain."""
        return self._updates * (OF_UPDATE + (n_clusters + 1.0) * self._a_cluster)


@dataclass
class Budget:
    """Work that may be spent, and has been.

    Attributes
    ----------
    total : float
    spent : float
    tell : callable
        Is called with both, and with what is going on, whenever some has been spent.
    """

    total: float
    spent: float = 0.0
    tell: Callable[[float, float, str], None] = field(default=lambda spent, total, what: None)

    @property
    def left(self) -> float:
        """What may still be spent."""
        return self.total - self.spent

    def spend(self, work: float, what: str) -> None:
        """Count work that has been done."""
        self.spent += work
        self.show(0.0, what)

    def show(self, work: float, what: str) -> None:
        """Say how much work has been done, some of which is not counted yet."""
        self.tell(self.spent + work, self.total, what)
