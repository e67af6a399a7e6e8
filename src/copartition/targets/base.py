"""What a target is: a distribution on partitions, known through the conditionals of single points given all others.

A target consists of a table of points, a compiled function `log_predictive`, and a prior weight by cluster size. From
these the sweep kernel gets the weight of putting point n into cluster k of the others:

    log w_k = log_predictive of n in k  +  log_size[size of k]         (log_new[number of clusters] for a new one).

`Mixture` and `GraphColoring` are built on this class, and a target of your own is written in exactly the same way and
runs as fast; ``docs/own-target.md`` shows how.
"""

from __future__ import annotations

import copy as copying
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Self, TypedDict, TypeVar, Unpack

import numpy as np

from copartition.core.cache import code_hash, digest_of
from copartition.core.compiling import Kernel
from copartition.core.room import empty_chain, widths_of
from copartition.core.state import Model
from copartition.core.steps import renew_model
from copartition.display import Displayed
from copartition.partition import canonical
from copartition.targets.constraint import Constraint
from copartition.targets.hooks import Keeping, hooks_of
from copartition.targets.priors import Prior, check_prior
from copartition.targets.unknown import NO_FUNCTIONS, NO_UNKNOWNS, OnGrid, Unknowns, model_of_chain, unknown_of
from copartition.validation import check_names, finite_array, integer, integer_array, label_array, number_array, shorten

T = TypeVar("T")

REMEMBERED = 8  # targets
_remembering = Lock()


class Functions(TypedDict, total=False):
    """Compiled functions of a target beside `log_predictive`, see `Target`."""

    log_merge: Kernel | None
    log_odds: Kernel | None
    log_likelihood: Kernel | None
    keeping: Keeping | None
    unknown: Unknowns | None


class Target(Displayed):
    """A distribution on partitions of `n_points` points.

    Parameters
    ----------
    points : array (n_points, n_columns)
        One row a point; chains keep the sum of these rows over every cluster. No columns if none are needed.
    log_predictive : Kernel
        A function decorated with `copartition.kernels.log_predictive`.
    prior : Prior, optional
        Weights by cluster size, such as `DirichletProcess`. Left out, every choice has prior weight 1.
    table : array, two-dimensional, optional
    parameters : array, one-dimensional, optional
    integers : array of int, one-dimensional, optional
        Whatever the function needs to know, found again as ``model.table`` and so on.
    palette : int, default 0
        Number of labels if that is fixed (graph colouring); 0 if clusters come and go.
    exchangeable : bool, default False
        Promise that `log_predictive` is the predictive density of points that are exchangeable within a cluster, and
        knows a cluster by its size and sums alone. Then it also holds for clusters that are only growing, which is
        what split-merge moves need. Every `Mixture` promises it.
    summed : int, optional
        How many columns of `points`, from the first on, are summed; all if left out.
    log_constant : float, default 0
        What `log_predictive` leaves out of the log density of a point, the same for all points and clusters.
    log_total : float, optional
        The same for all points together, where it differs between points, as it does with missing cells.
    copy : bool, default True
        Copy `points`; without, nobody may change them any more.
    known : array, optional
        A label for each point whose cluster is known, a number or a word; a negative number, NaN or None for all
        others. Points with the same label are together, points with different ones are not, and all others may join
        them or not.
    kinds : array, optional
        The kind of each point: points of different kinds are never together.
    **functions
        More compiled functions, which a target may do without.

    Other Parameters
    ----------------
    log_merge : Kernel, optional
        A function decorated with `copartition.kernels.log_merge`, for faster split-merge moves; includes the promise,
        but where `log_odds` is given too.
    log_odds : Kernel, optional
        A function decorated with `copartition.kernels.log_odds`, with `log_merge`: clusters have no densities of their
        own, and split-merge moves are made in the chain itself.
    log_likelihood : Kernel, optional
        With `log_odds`: a function decorated with `copartition.kernels.evaluation` that writes the log density of all
        data given the partition to ``out[0]``.
    keeping : Keeping, optional
        What else is kept for every cluster.
    unknown : Unknowns, optional
        Unknown hyperparameters, drawn along with the partition.

    Attributes
    ----------
    model : Model
        The arrays that the compiled functions read.
    hooks : Hooks
        The compiled functions.
    n_points : int
    hyperparameters : list of str
        The names of hyperparameters that are unknown.

    Examples
    --------
    >>> import copartition as cp
    >>> @cp.kernels.log_predictive
    ... def nothing_known(model, chain, n_choices, n):
    ...     for k in range(n_choices):
    ...         chain.weights[k] = 0.0
    >>> prior_alone = cp.Target([[], [], []], nothing_known, cp.DirichletProcess(1.0))
    >>> cp.kernels.conditional(prior_alone, [0, 0, 1], 2)
    array([0.66666667, 0.33333333])
    """

    default_start = "one_cluster"
    belongs_to_chain = False
    """Whether its power and its unknown hyperparameters are those of one chain, see `of_chain`."""
    names: list[Any] | None = None
    """What points are called, where they have names: words or whole numbers."""
    source: dict[str, Any] | None = None
    """The file that the data are from, and its digest, where that is known: exports have its columns, too."""

    @property
    def starts(self) -> tuple[str, ...]:
        """The names of its starts that involve no chance."""
        return ("one_cluster", "singletons")

    def __init__(
        self,
        points: Any,
        log_predictive: Kernel,
        prior: Prior | None = None,
        *,
        table: Any = None,
        parameters: Any = None,
        integers: Any = None,
        palette: int = 0,
        exchangeable: bool = False,
        summed: int | None = None,
        log_constant: float = 0.0,
        log_total: float | None = None,
        copy: bool = True,
        known: Any = None,
        kinds: Any = None,
        **functions: Unpack[Functions],
    ) -> None:
        check_names(Target, functions, list(Functions.__annotations__))
        log_merge, log_odds = functions.get("log_merge"), functions.get("log_odds")
        keeping, unknown = functions.get("keeping"), functions.get("unknown")
        if not isinstance(log_predictive, Kernel):
            raise TypeError(
                "log_predictive must be a function decorated with copartition.kernels.log_predictive, got "
                f"{log_predictive!r}."
            )
        if log_merge is not None and not isinstance(log_merge, Kernel):
            raise TypeError(
                f"log_merge must be a function decorated with copartition.kernels.log_merge, got {log_merge!r}."
            )
        if log_odds is not None and (not isinstance(log_odds, Kernel) or log_merge is None):
            raise TypeError(
                "log_odds must be a function decorated with copartition.kernels.log_odds, together with log_merge, got "
                f"{shorten(log_odds)}."
            )
        if keeping is not None and not isinstance(keeping, Keeping):
            raise TypeError(f"keeping must be a Keeping, got {shorten(keeping)}.")
        if unknown is not None and not isinstance(unknown, Unknowns):
            raise TypeError(f"unknown must be an Unknowns, got {shorten(unknown)}.")
        unknown = NO_UNKNOWNS if unknown is None else unknown
        rows = finite_array("points", points, (2,))
        if len(rows) == 0:
            raise ValueError(f"points must have at least one row, got an array of shape {rows.shape}.")
        if copy and np.may_share_memory(rows, points):
            rows = rows.copy()
        self.n_points = len(rows)
        self.prior = prior
        self.log_likelihood = functions.get("log_likelihood")
        self.constraint = Constraint(self.n_points, known, kinds)
        of_prior: OnGrid | None = getattr(prior, "unknown", None)
        self.groups = (*unknown.groups, *([] if of_prior is None else [of_prior]))
        drawing = unknown.functions if self.groups else NO_FUNCTIONS
        self.hooks = hooks_of(log_predictive, log_merge, log_odds, keeping, drawing)
        hyperparameters, drawn = unknown_of(self.groups, unknown.raw, _prior_tables(prior, of_prior, self.n_points))
        log_size = np.zeros(self.n_points + 1) if prior is None else _log_weights(prior, "log_size", self.n_points)
        self.is_exchangeable = bool(exchangeable) or (log_merge is not None and log_odds is None)
        self.model = Model(
            points=rows,
            table=np.zeros((0, 0)) if table is None else number_array("table", table, 2),
            parameters=np.zeros(0) if parameters is None else number_array("parameters", parameters, 1),
            integers=np.zeros(0, np.int64) if integers is None else integer_array("integers", integers),
            log_size=log_size,
            log_new=np.zeros(1) if prior is None else _log_weights(prior, "log_new", self.n_points),
            palette=integer("palette", palette, 0),
            n_summed=rows.shape[1] if summed is None else integer("summed", summed, 0),
            n_kept=0 if keeping is None else keeping.width,
            n_scratch=max(unknown.scratch, 0 if keeping is None else keeping.scratch),
            mixing=_mixing_of(prior),
            log_grown=grown_of(log_size),
            power=np.ones(1),
            constant=np.array([log_constant, self.n_points * log_constant if log_total is None else log_total], float),
            hyperparameters=hyperparameters,
            unknown=drawn,
            counts_between=int(keeping is not None and keeping.between),
            kinds=self.constraint.kinds,
            pinned=self.constraint.pinned,
        )
        if self.model.n_summed > rows.shape[1]:
            raise ValueError(f"summed must be at most the {rows.shape[1]} columns of points, got {summed}.")
        if len(self.model.log_size) != self.n_points + 1 or len(self.model.log_new) == 0:
            raise ValueError(
                f"prior must give {self.n_points + 1} numbers as log_size and at least one as log_new, got "
                f"{len(self.model.log_size)} and {len(self.model.log_new)}."
            )
        if self.groups:
            renew_model(self.model, self.hooks, empty_chain(0, widths_of(self.model), 2))
        if self.is_exchangeable and self.model.palette:
            raise ValueError(f"exchangeable targets have no palette, got palette={self.model.palette}.")

    @property
    def fingerprint(self) -> str:
        """A hash of everything that the distribution depends on: the arrays and the code.

        New points (a grid) are not hashed.
        """
        points, unknown = self.model.points[: self.n_points], self.model.unknown
        m = self.model._replace(points=points, unknown=unknown._replace(raw=unknown.raw[: self.n_points]))
        fields = list(m)[: Model._fields.index("log_grown")]  # what follows from these need not be hashed
        arrays = [
            np.asarray(field)
            for field in (*fields, *([m.hyperparameters, *m.unknown] if len(m.hyperparameters) else []))
        ]
        arrays += [np.asarray(m.power[0])] if m.power[0] != 1.0 else []
        arrays += [self.constraint.kinds, self.constraint.labels] if self.constraint else []
        shapes = repr([(array.shape, array.dtype.str) for array in arrays]).encode()
        code = [code_hash(function.function) for function in self.kernels]
        return digest_of(shapes, *[array.tobytes() for array in arrays], *code)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All compiled functions of the target."""
        return tuple(function for function in self.hooks if isinstance(function, Kernel))

    @property
    def in_full(self) -> str:
        """The target with all its numbers, however many these are; `repr` is short."""
        return repr(self)

    @property
    def hyperparameters(self) -> list[str]:
        """The names of hyperparameters that are unknown."""
        return [name for group in self.groups for name in group.names]

    @property
    def has_density(self) -> bool:
        """Whether the density of a partition can be had: clusters have one each, or all together."""
        return self.is_exchangeable or self.log_likelihood is not None

    @property
    def log_constant(self) -> float:
        """What `log_predictive` leaves out of the log density of a point.

        Where hyperparameters are unknown, at their start.
        """
        return float(self.model.constant[0])

    def of_chain(self) -> Self:
        """Return the target as one chain sees it: with a power and values of unknown hyperparameters of its own."""
        own = copying.copy(self)
        own.model = model_of_chain(self.model)
        own.belongs_to_chain = True
        return own

    def tempered(self, power: float) -> Self:
        """Return the same target with the density of the data to a power, the prior being as it is."""
        other = copying.copy(self)
        other.model = self.model._replace(power=np.array([power], dtype=np.float64))
        return other

    def assumptions(self) -> list[str]:
        """Return what the model assumes, in words, a sentence each."""
        return [f"{type(self).__name__}, a model of your own: {self!r}."]

    def check_labels(self, labels: Any, name: str = "labels") -> np.ndarray:
        """Return `labels` in canonical numbering if the target gives the partition a positive probability."""
        clean = canonical(label_array(name, labels, self.n_points))
        if 0 < self.model.palette <= clean.max():
            raise ValueError(f"{name} must have at most {self.model.palette} clusters, got {clean.max() + 1}.")
        refused = np.flatnonzero(np.isneginf(self.model.log_new[1 : clean.max() + 1]))
        if refused.size:
            raise ValueError(
                f"{name} must have at most {refused[0] + 1} clusters, which is all that the prior allows, got "
                f"{clean.max() + 1}."
            )
        return self.constraint.check(clean, name)

    def nearest(self, points: np.ndarray, candidates: np.ndarray, width: int) -> np.ndarray:
        """Return the candidates that are nearest to each point, for targets that give `log_odds`: here none.

        Parameters
        ----------
        points, candidates : int64 arrays
        width : int
            How many are wanted.

        Returns
        -------
        int32 array (points, width)
            The nearest first, -1 where there are no more.
        """
        return np.full((len(points), width), -1, dtype=np.int32)

    def start_labels(self, name: str) -> np.ndarray | None:
        """Return the labels of a start of this name that involves no chance, None if there is none of this name.

        ``"one_cluster"`` is as few clusters as the constraint allows, ``"singletons"`` as many.
        """
        if name == "one_cluster":
            return self.check_labels(self.constraint.coarsest(), "the start 'one_cluster'")
        if name == "singletons":
            return self.check_labels(self.constraint.finest(), "the start 'singletons'")
        return None


def grown_of(log_size: np.ndarray) -> np.ndarray:
    """Return ``Model.log_grown`` for given weights by size."""
    log_grown = np.zeros(len(log_size))
    log_grown[2:] = np.cumsum(log_size[1:-1])
    return log_grown


def opened_of(log_new: np.ndarray, n_points: int) -> np.ndarray:
    """Return the log weight of having opened 0, 1, ..., `n_points` clusters, one after another."""
    # What is said of no clusters at all does not matter: the first point has no choice.
    opened = log_new[np.minimum(np.arange(1, n_points), len(log_new) - 1)]
    return np.concatenate([[0.0, 0.0], np.cumsum(opened)])


def _prior_tables(prior: Any, unknown: OnGrid | None, n_points: int) -> np.ndarray:
    """Return ``Unknown.prior_tables``."""
    if unknown is None:
        return np.zeros((0, 0))
    rows = []
    for value in unknown.values:
        one = prior.at(value)
        log_size, log_new = one.log_size(n_points), one.log_new(n_points)
        rows.append(np.concatenate([log_size, grown_of(log_size), log_new, opened_of(log_new, n_points)]))
    return np.array(rows)


def _mixing_of(prior: Prior | None) -> np.ndarray:
    of_prior = getattr(prior, "mixing", None)
    rows = np.zeros((0, 3)) if of_prior is None else number_array("mixing of the prior", of_prior(), 2)
    if rows.shape[1] != 3:
        raise ValueError(f"mixing of the prior must have three columns, got shape {rows.shape}.")
    return rows


def can_be_drawn(target: Target) -> bool:
    """Tell whether starts can be drawn from the prior of a target point by point.

    Its weights must be the same for any number of points, or it must say what it is a mixture of.
    """
    if target.prior is None or len(target.model.mixing):
        return target.prior is not None
    now, next_one = target.model.log_new, _log_weights(target.prior, "log_new", target.n_points + 1)
    length = min(len(now), len(next_one))
    same_sizes = _log_weights(target.prior, "log_size", target.n_points + 1)[:-1]
    # What is said of no clusters at all does not matter: the first point has no choice.
    return np.array_equal(now[1:length], next_one[1:length]) and np.array_equal(target.model.log_size, same_sizes)


def _log_weights(prior: Prior, method: str, n_points: int) -> np.ndarray:
    return number_array(f"{method} of the prior", getattr(check_prior(prior), method)(n_points), 1)


def remembered(known: dict[Any, T], target: Target, find: Callable[[Target], T], *more: Hashable) -> T:
    """Return what was found for a target before, and for whatever else it depends on, or find it."""
    key = (target.fingerprint, target.is_exchangeable, *more)
    with _remembering:
        if key in known:
            return known[key]
    found = find(target)
    with _remembering:  # threads that ask about several targets at a time share what is known
        known[key] = found
        while len(known) > REMEMBERED:
            del known[next(iter(known))]
    return found


def check_target(value: Any) -> Target:
    """Return `value` if it is a target."""
    if not isinstance(value, Target):
        raise TypeError(f"target must be a target such as Mixture or GraphColoring, got {shorten(value)}.")
    return value
