"""What the clustering tells of the model: concentration, number of components, hyperparameters, the likelihood."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from copartition.core.clusters import n_occupied
from copartition.core.compiling import Kernel
from copartition.core.tempering import log_density_of_clusters
from copartition.functionals.base import Functional, check_count, evaluation
from copartition.functionals.clusters import names_up_to
from copartition.validation import finite_array, integer, shorten


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
    >>> from copartition.functionals.of_model import concentration
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
            picture="" if most is None else "n_components",
            range=None if most is None else (0, 1),
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
    >>> from copartition.functionals.of_model import n_components
    >>> n_components(most=2).components
    ['P(1 component)', 'P(2 components)', 'P(more than 2 components)']
    """
    return NComponents(None if most is None else check_count("most", integer("most", most, 1), ""))


@evaluation
def present_numbers(model, chain, hooks, parameters, out):
    """The numbers where the chain is."""
    for i in range(len(out)):
        out[i] = model.hyperparameters[i]


@evaluation
def cell_of_number(model, chain, hooks, parameters, out):
    """1 for the cell that a number is in; ``parameters`` are which number it is, and the edges of the cells."""
    value = model.hyperparameters[int(parameters[0])]
    for i in range(len(out)):
        out[i] = 1.0 if parameters[1 + i] <= value < parameters[2 + i] else 0.0


class Hyperparameters(Functional):
    """The unknown hyperparameters of a target; see `hyperparameters`."""

    def __init__(self, names: list[str] | None = None) -> None:
        # Before it meets a target it does not know how many there are.
        super().__init__("hyperparameters", present_numbers, len(names or [""]), (), names)

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional with the names of the target's hyperparameters."""
        return target, Hyperparameters(_numbers_of(target))


class HyperparameterCells(Functional):
    """In which of several cells a number lies; see `hyperparameters`."""

    def __init__(self, name: str, edges: np.ndarray, index: int = 0) -> None:
        self.number, self.edges = name, edges
        components = [f"{name} in {low:.4g} to {high:.4g}" for low, high in pairwise(edges)]
        about = {"number": name, "edges": edges.tolist()}
        parameters = np.r_[index, edges]
        super().__init__(
            f"hyperparameters({name})",
            cell_of_number,
            len(components),
            parameters,
            components,
            about,
            picture="hyperparameters",
            range=(0, 1),
            counts=True,
        )

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional that knows which number it is about."""
        names = _numbers_of(target)
        if self.number not in names:
            raise ValueError(f"name must be one of the unknown hyperparameters {shorten(names)}, got {self.number!r}.")
        return target, HyperparameterCells(self.number, self.edges, names.index(self.number))


def _numbers_of(target: Any) -> list[str]:
    if not target.hyperparameters:
        raise TypeError(
            "hyperparameters needs a target with unknown hyperparameters, such as Mixture(data, TiedGaussian()), got "
            f"{target!r}."
        )
    return target.hyperparameters


def hyperparameters(name: str | None = None, edges: Any = None) -> Functional:
    """Return the functional that gives the numbers of a target that are unknown, by name.

    Parameters
    ----------
    name : str, optional
        One of them, of which the distribution is wanted: the probabilities that it lies in each of several cells.
    edges : array, optional
        The edges of these cells, in rising order.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([0.0, 0.3, 0.1, 5.0, 5.2], cp.TiedGaussian("spherical"))
    >>> e = cp.estimate(posterior, cp.hyperparameters(), replicates=20, burn_in=10, min_sweeps=50, lag=10, seed=1)
    >>> list(e.components)
    ['variance']
    >>> cp.hyperparameters("variance", edges=[0, 0.5, 1, 2, 4])
    <functional hyperparameters(variance) of size 4>
    """
    if name is None and edges is None:
        return Hyperparameters()
    if name is None or edges is None:
        raise TypeError(
            f"hyperparameters needs a name and edges, or neither, got name={name!r}, edges={shorten(edges)}."
        )
    ends = finite_array("edges", edges, (1,))
    if len(ends) < 2 or not np.all(np.diff(ends) > 0.0):
        raise ValueError(f"edges must be two or more numbers in rising order, got {shorten(edges)}.")
    return HyperparameterCells(str(name), ends)


@evaluation
def log_density_of_data(model, chain, hooks, parameters, out):
    """The log density of all points given their clusters, cluster parameters integrated out.

    Clusters are grown point by point at the side of the chain: sums that have drifted do not matter.
    """
    out[0] = log_density_of_clusters(model, hooks, chain) + model.constant[1]


class LogLikelihood(Functional):
    """The log density of the data given the partition; see `log_likelihood`."""

    def __init__(self, evaluate: Kernel = log_density_of_data) -> None:
        super().__init__("log_likelihood", evaluate, 1)

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional as it is, or refuse it where clusters have no density of their own."""
        if not target.has_density:
            raise ValueError(
                f"log_likelihood knows no log density of {shorten(target)}: it needs a target that promises to be "
                "exchangeable, as every Mixture does, or that gives its log_likelihood."
            )
        return target, LogLikelihood(target.log_likelihood or log_density_of_data)


def log_likelihood() -> Functional:
    """Return the functional that is the log density of all data given the partition.

    Parameters of clusters are integrated out, the prior of the partition is left aside, and nothing is left out.
    Numbers that are unknown have the values that the chain has then.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> h = cp.functionals.log_likelihood()
    >>> e = cp.estimate(posterior, h, replicates=400, burn_in=5, min_sweeps=50, lag=5, seed=1)
    >>> round(float(e.mean[0]), 1)
    -6.6
    """
    return LogLikelihood()
