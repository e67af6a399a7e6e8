"""Numbers of a target that are unknown and drawn along with the partition: how they are declared.

``docs/own-target.md`` shows a target of one's own with an unknown hyperparameter; `copartition.core.hyperparameters`
says how numbers are drawn in one chain and in two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copartition.core.compiling import Kernel, hook
from copartition.core.state import (
    Model,
    Unknown,
    draw_hyperparameters_signature,
    log_density_of_hyperparameters_signature,
    renew_signature,
    weigh_hyperparameter_signature,
)
from copartition.validation import finite_array, number_array, shorten

weigh_hyperparameter = hook(weigh_hyperparameter_signature, "model, chain, group")
weigh_hyperparameter.__doc__ = """\
Decorator of a compiled function ``f(model, chain, group)`` of `Unknowns`, for a number on a grid.

It writes the log density of all data for each value of the grid, given the partition and all other numbers, into
``model.unknown.weights``: the same constant may be left out for all values. The prior is added to it.

Examples
--------
>>> import copartition as cp
>>> @cp.kernels.weigh_hyperparameter
... def weigh(model, chain, group):
...     model.unknown.weights[:] = 0.0
>>> cp.kernels.Unknowns([cp.kernels.OnGrid("scale", [0.1, 1.0, 10.0])], weigh=weigh).weigh is weigh
True
"""

draw_hyperparameters = hook(draw_hyperparameters_signature, "model, chain, group, random")
draw_hyperparameters.__doc__ = """\
Decorator of a compiled function ``f(model, chain, group, random)`` of `Unknowns`.

It draws the hyperparameters of a group that is on no grid given the partition and all others, prior and data together,
and writes them into ``model.hyperparameters``. What they were before must not matter. All chance is from `random`:
``copartition.core.random`` has `uniform`, `normal` and `gamma`.

Examples
--------
>>> import copartition as cp
>>> from copartition.core.random import normal
>>> @cp.kernels.draw_hyperparameters
... def draw(model, chain, group, random):
...     model.hyperparameters[0] = normal(random)
>>> draw.function.__name__
'draw'
"""

log_density_of_hyperparameters = hook(log_density_of_hyperparameters_signature, "model, chain, group, values")
log_density_of_hyperparameters.__doc__ = """\
Decorator of a compiled function ``f(model, chain, group, values)`` of `Unknowns`.

It returns the log density, with its normalising constant, at `values` of the distribution from which
`draw_hyperparameters` draws.

Examples
--------
>>> import copartition as cp
>>> @cp.kernels.log_density_of_hyperparameters
... def log_density(model, chain, group, values):
...     return -0.5 * values[0] ** 2 - 0.9189385332046727
>>> log_density.function.__name__
'log_density'
"""

renew = hook(renew_signature, "model, chain")
renew.__doc__ = """\
Decorator of a compiled function ``f(model, chain)`` of `Unknowns`: numbers have been drawn.

It brings what depends on them up to date: ``model.points``, ``table``, ``parameters`` and ``constant``, of which
every chain has its own, and ``chain.sums`` and ``kept``.

Examples
--------
>>> import copartition as cp
>>> @cp.kernels.renew
... def renew(model, chain):
...     model.parameters[0] = model.hyperparameters[0]
>>> renew.function.__name__
'renew'
"""


@renew
def no_renew(model, chain):
    """Stand where nothing depends on numbers but the functions that read them."""


@dataclass(frozen=True)
class OnGrid:
    """A number that takes its values on a grid.

    Parameters
    ----------
    name : str
    values : array
        Its values, all different.
    log_prior : array, optional
        Logs of their prior weights, which need not sum to 1; all alike if left out.
    of_data : bool
        Whether its weights are densities of the data, which are raised to a power where chains are tempered; if not,
        they are those of other numbers, or of the partition.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.kernels.OnGrid("theta", [0.1, 0.2, 0.4]).names
    ('theta',)
    """

    name: str
    values: Any
    log_prior: Any = None
    of_data: bool = True
    distribution: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        values = finite_array("values of OnGrid", self.values, (1,))
        if len(np.unique(values)) < len(values) or len(values) == 0:
            raise ValueError(f"values of OnGrid must be different numbers, got {shorten(self.values)}.")
        given = np.zeros(len(values)) if self.log_prior is None else number_array("log_prior", self.log_prior, 1)
        if given.shape != values.shape or not np.isfinite(given.max()):
            raise ValueError(f"log_prior of OnGrid must have a number for each value, got {shorten(self.log_prior)}.")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "log_prior", given - given.max() - np.log(np.exp(given - given.max()).sum()))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its numbers: one."""
        return (self.name,)

    @property
    def initial(self) -> np.ndarray:
        """Where the number is before the first draw: the value at which half of the prior lies below."""
        return self.values[[np.searchsorted(np.cumsum(np.exp(self.log_prior)), 0.5)]]


@dataclass(frozen=True)
class Drawn:
    """Numbers that are drawn together by a function of the target.

    Parameters
    ----------
    names : sequence of str
    initial : array
        Where they are before the first draw.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.kernels.Drawn(["variance"], [1.0]).names
    ('variance',)
    """

    names: Sequence[str]
    initial: Any
    distribution: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", (self.names,) if isinstance(self.names, str) else tuple(self.names))
        object.__setattr__(self, "initial", np.atleast_1d(finite_array("initial of Drawn", self.initial, (0, 1))))
        if len(self.names) != len(self.initial) or not self.names:
            raise ValueError(
                f"initial of Drawn must have a number for each of {shorten(self.names)}, got {shorten(self.initial)}."
            )


@dataclass(frozen=True)
class Unknowns:
    """The unknown hyperparameters of a target, and the compiled functions by which they are drawn.

    Parameters
    ----------
    groups : sequence of OnGrid or Drawn
        Numbers are drawn in this order after every sweep, each group given the partition and all the others.
    weigh : Kernel, optional
        Decorated with `copartition.kernels.weigh_hyperparameter`, for groups on a grid.
    draw, log_density : Kernel, optional
        Decorated with `copartition.kernels.draw_hyperparameters` and
        `copartition.kernels.log_density_of_hyperparameters`, for the others.
    renew : Kernel, optional
        Decorated with `copartition.kernels.renew`; left out where the functions of the target read
        ``model.hyperparameters`` themselves.
    raw : array, two-dimensional, optional
        Points before numbers shift and scale them, for `renew`: found again as ``model.unknown.raw``.
    scratch : int, default 0
        How many numbers the functions want as scratch, in ``chain.scratch``.

    Examples
    --------
    >>> import copartition as cp
    >>> @cp.kernels.weigh_hyperparameter
    ... def weigh(model, chain, group):
    ...     model.unknown.weights[:] = 0.0
    >>> scale = cp.kernels.OnGrid("scale", [0.1, 1.0, 10.0])
    >>> [name for group in cp.kernels.Unknowns([scale], weigh=weigh).groups for name in group.names]
    ['scale']
    """

    groups: Sequence[OnGrid | Drawn]
    weigh: Kernel | None = None
    draw: Kernel | None = None
    log_density: Kernel | None = None
    renew: Kernel = no_renew
    raw: Any = None
    scratch: int = 0

    def __post_init__(self) -> None:
        for group in self.groups:
            if not isinstance(group, OnGrid | Drawn):
                raise TypeError(f"groups of Unknowns must be OnGrid or Drawn, got {shorten(group)}.")
        names = [name for group in self.groups for name in group.names]
        if len(set(names)) < len(names):
            raise ValueError(f"numbers of Unknowns must have different names, got {shorten(names)}.")
        signatures = {
            "weigh": weigh_hyperparameter_signature,
            "draw": draw_hyperparameters_signature,
            "log_density": log_density_of_hyperparameters_signature,
            "renew": renew_signature,
        }
        decorators = {
            "weigh": "weigh_hyperparameter",
            "draw": "draw_hyperparameters",
            "log_density": "log_density_of_hyperparameters",
        }
        for name, signature in signatures.items():
            given = getattr(self, name)
            if given is not None and (not isinstance(given, Kernel) or given.signature != signature):
                decorator = f"copartition.kernels.{decorators.get(name, name)}"
                raise TypeError(
                    f"{name} of Unknowns must be a function decorated with {decorator}, got {shorten(given)}."
                )
        kinds = {isinstance(group, OnGrid) for group in self.groups}
        if True in kinds and self.weigh is None:
            raise ValueError("weigh of Unknowns must be given, because a number is on a grid.")
        if False in kinds and (self.draw is None or self.log_density is None):
            raise ValueError("draw and log_density of Unknowns must be given, because numbers are on no grid.")

    @property
    def functions(self) -> tuple[Kernel | None, ...]:
        """The compiled functions in the order of ``Hooks``."""
        return self.weigh, self.draw, self.log_density, self.renew


NO_UNKNOWNS = Unknowns(())
NO_FUNCTIONS: tuple[Kernel | None, ...] = (None, None, None, None)


def unknown_of(groups: Sequence[OnGrid | Drawn], raw: Any, prior_tables: np.ndarray) -> tuple[np.ndarray, Unknown]:
    """Return the initial values of numbers, and how they are drawn, as kernels take them."""
    on_grid = [group for group in groups if isinstance(group, OnGrid)]
    length = max((len(group.values) for group in on_grid), default=0)
    grids, log_priors = np.zeros((len(on_grid), length)), np.full((len(on_grid), length), -np.inf)
    rows = []
    first = row = 0
    for group in groups:
        is_on_grid = isinstance(group, OnGrid)
        of_data = isinstance(group, OnGrid) and group.of_data
        rows.append((first, first + len(group.names), row if is_on_grid else -1, int(of_data)))
        if isinstance(group, OnGrid):
            grids[row] = group.values[-1]
            grids[row, : len(group.values)] = group.values
            log_priors[row, : len(group.values)] = group.log_prior
            row += 1
        first += len(group.names)
    initial = np.concatenate([np.zeros(0), *[group.initial for group in groups]])
    return initial.copy(), Unknown(
        groups=np.array(rows, dtype=np.int64).reshape(-1, 4),
        initial=initial,
        grids=grids,
        log_priors=log_priors,
        weights=np.zeros(length),
        raw=np.zeros((0, 0)) if raw is None else np.ascontiguousarray(raw, dtype=np.float64),
        prior_tables=prior_tables,
    )


def model_of_chain(model: Model) -> Model:
    """Return the model as a chain of its own needs it, with copies of what may change.

    That is the power and, where hyperparameters are unknown, whatever depends on them.
    """
    own = model._replace(power=model.power.copy())
    if not len(model.hyperparameters):
        return own
    changing = ("points", "table", "parameters", "log_size", "log_new", "log_grown", "constant", "hyperparameters")
    copies = {name: getattr(model, name).copy() for name in changing}
    return own._replace(**copies, unknown=model.unknown._replace(weights=model.unknown.weights.copy()))
