"""Functionals that say what the clustering tells of the prior: its concentration, its number of components."""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.core.clusters import n_occupied
from copartition.functionals.base import Functional, check_count, evaluation
from copartition.functionals.clusters import names_up_to
from copartition.validation import integer


@evaluation
def look_up_clusters(model, chain, hooks, parameters, out):
    """The row of a table, in `parameters`, that belongs to the number of clusters; the last holds from there on."""
    count = n_occupied(chain)
    first = min(count, len(parameters) // len(out) - 1) * len(out)
    for i in range(len(out)):
        out[i] = parameters[first + i]


class Concentration(Functional):
    """The expected concentration given the number of clusters; see `concentration`."""

    def __init__(self, table: np.ndarray | None = None) -> None:
        # Before it meets a target the table is not known.
        super().__init__("concentration", look_up_clusters, 1, [0.0] if table is None else table)

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional with the table of the target's prior."""
        prior: Any = getattr(target, "prior", None)
        if not hasattr(prior, "concentration"):
            raise TypeError(
                f"concentration needs a target whose prior has one, such as DirichletProcess(), got {prior!r}."
            )
        if getattr(prior, "unknown", None) is not None:
            raise TypeError(f"concentration needs a prior whose discount is known, got {prior!r}.")
        return target, Concentration(prior.concentration(target.n_points))


def concentration() -> Functional:
    """Return the functional whose posterior mean is that of the concentration alpha of the prior.

    Its value is the expected concentration given the number of clusters.

    Examples
    --------
    >>> from copartition.functionals.prior import concentration
    >>> concentration()
    <functional concentration of size 1>
    """
    return Concentration()


class NComponents(Functional):
    """The number of components given that of clusters; see `n_components`."""

    def __init__(self, most: int | None, table: np.ndarray | None = None) -> None:
        self.most = most
        size = 1 if most is None else most + 1
        components = None if most is None else names_up_to(most, "component")
        super().__init__(
            "n_components" if most is None else f"n_components({most})",
            look_up_clusters,
            size,
            np.zeros(size) if table is None else table.reshape(-1),
            components,
        )

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional with the table of the target's prior."""
        prior: Any = getattr(target, "prior", None)
        if not (hasattr(prior, "components") and hasattr(prior, "mean_components")):
            raise TypeError(
                f"n_components needs a target whose prior has a number of components, such as "
                f"MixtureOfFiniteMixtures(), got {prior!r}."
            )
        if self.most is None:
            return target, NComponents(None, prior.mean_components(target.n_points))
        return target, NComponents(self.most, prior.components(target.n_points, self.most))


def n_components(most: int | None = None) -> Functional:
    """Return the functional whose posterior mean is that of the number of components of a mixture.

    Components may be without points, so that there are at least as many as clusters.

    Parameters
    ----------
    most : int, optional
        If given, the probabilities of 1, ..., `most` components and of more, instead of their mean number.

    Examples
    --------
    >>> from copartition.functionals.prior import n_components
    >>> n_components(most=2).components
    ['P(1 component)', 'P(2 components)', 'P(more than 2 components)']
    """
    return NComponents(None if most is None else check_count("most", integer("most", most, 1), ""))
