"""What chains do in a step, and which targets can do it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any, cast

import numpy as np

from copartition.chains import moves
from copartition.chains.moves import JointUpdates, Move, as_joint_updates
from copartition.core.compiling import Kernel
from copartition.core.room import NO_GUIDES, NO_PARTNERS, NO_UPDATES, UpdatePlan, empty_chain, widths_of
from copartition.core.state import Chain, Coupled, Stepper
from copartition.core.steps import grow_row, log_weights, merge_and_odds, reset_chain
from copartition.couplings import check_coupling
from copartition.couplings.base import Coupling, Independent
from copartition.targets.base import Target
from copartition.validation import flag, integer, shorten

TRIED = 6  # points on which a promise is tried


@dataclass(frozen=True)
class Step:
    """What chains do in a step: a sweep, split-merge moves, joint updates; and how two chains are coupled.

    A part that is left out is what suits the target best, if the coupling is left out too. Who names a coupling names
    the whole step: parts left out beside it are not made, so ``Step("transport")`` is the method of the paper.
    Functions that run chains resolve a step for their target once, where they read it; `Tuned.step` is such a step. It
    names a coupling and a number of moves, so that resolving it again changes nothing.

    Parameters
    ----------
    coupling : str or Coupling, optional
        By which two chains are run together: ``"path"`` suits most targets best, ``"transport"`` graph colourings;
        ``"matched"``; those of the paper, ``"transport"``, ``"maximal"``, ``"common"``, ``"independent"``; or an object
        such as ``Transport(metric="vi", nugget=0.01)``.
    split_merge : int or "auto", optional
        Split-merge moves after every sweep; ``"auto"``: as many as cost about as much as the sweep.
    joint_updates : int or JointUpdates, optional
        Joint updates of near points after the moves, 0 for none. Networks have some if nothing is named.
    guided : bool, optional
        Whether a pilot guides split-merge moves: it finds a few clusterings, once for a target and always the same, and
        points that are together there mostly go to the same side. Not for networks.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.Step("path", split_merge=4, guided=True)
    Step(coupling=Path(), split_merge=4, joint_updates=None, guided=True)
    >>> cp.Step("path", 4) == cp.Step(cp.couplings.Path(), split_merge=4)
    True
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> cp.meeting_times(posterior, step=cp.Step(split_merge=2), replicates=50, lag=5, seed=1).split_merge
    2
    """

    coupling: str | Coupling | None = None
    split_merge: int | str | None = None
    joint_updates: int | JointUpdates | None = None
    guided: bool | None = None

    def __post_init__(self) -> None:
        if self.coupling is not None:
            object.__setattr__(self, "coupling", check_coupling(self.coupling))
        if isinstance(self.split_merge, str):
            if self.split_merge != "auto":
                raise ValueError(f"split_merge must be a whole number or 'auto', got {shorten(self.split_merge)}.")
        elif self.split_merge is not None:
            object.__setattr__(self, "split_merge", integer("split_merge", self.split_merge, 0))
        if self.joint_updates is not None:
            object.__setattr__(self, "joint_updates", as_joint_updates(self.joint_updates))
        if self.guided is not None:
            flag("guided", self.guided)

    def __str__(self) -> str:
        parts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        guided = ["guided splits"] if parts.pop("guided") else []
        return ", ".join([*[f"{name} {value}" for name, value in parts.items() if value is not None], *guided])

    def completed_by(self, other: Step) -> Step:
        """Return the step with the parts of another one where it has none."""
        mine, others = vars(self), vars(other)
        return Step(**{name: others[name] if mine[name] is None else mine[name] for name in mine})

    def described(self) -> dict[str, Any]:
        """Return its parts as text and numbers, which files can keep."""
        return {name: _described(value) for name, value in vars(self).items()}


def _described(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {name: list(one) if isinstance(one, tuple) else one for name, one in asdict(value).items()}
    return repr(value) if isinstance(value, Coupling) else value


@dataclass(frozen=True)
class BoundStep:
    """A resolved step with what it takes for one target: lists of near points, compiled functions. Jobs carry one.

    Attributes
    ----------
    resolved : Step
        Its coupling is a `Coupling`, its `split_merge` a number, its `joint_updates` a `JointUpdates` or None.
    partners : int32 array
        Near points for split-merge moves; none: any two points make a move.
    plan : UpdatePlan
        The joint updates.
    guides : int32 array
        The clusterings that guide split-merge moves, see `copartition.core.state.SplitMerge`; none: no guides.
    """

    resolved: Step = Step(Independent(), 0)
    partners: np.ndarray = field(default_factory=lambda: NO_PARTNERS, repr=False)
    plan: UpdatePlan = field(default=NO_UPDATES, repr=False)
    guides: np.ndarray = field(default_factory=lambda: NO_GUIDES, repr=False)

    def moves(self, target: Target) -> list[Move]:
        """Return the moves of the step, in their order: a sweep first, draws of hyperparameters last."""
        found = [moves.sweep(self.coupling)]
        if self.split_merge > 0:
            found.append(moves.split_merge(target, self.split_merge, self.partners, self.guides))
        if self.plan.number > 0:
            found.append(moves.joint_updates(self.plan))
        return [*found, moves.hyperparameters()] if target.hyperparameters else found

    def stepper(self, target: Target) -> Stepper:
        """Return what one chain does as kernels take it, with room of its own."""
        return moves.stepper_of(self.moves(target), target.model)

    def coupled(self, target: Target) -> Coupled:
        """Return what two chains do together as kernels take it."""
        return Coupled(tuple(move.together for move in self.moves(target)), self.coupling.rule(target.n_points))

    def kernels(self, target: Target, coupled: bool = True) -> list[Kernel]:
        """Return all compiled functions that one chain takes, and those of two, if they are `coupled`."""
        made = self.moves(target)
        found = [kernel for move in made for kernel in (move.alone, *move.calls)]
        return [*found, *[move.together for move in made], self.coupling.partner] if coupled else found

    @property
    def coupling(self) -> Coupling:
        """By which two chains are run together."""
        return cast(Coupling, self.resolved.coupling)

    @property
    def split_merge(self) -> int:
        """Moves after the sweep."""
        return cast(int, self.resolved.split_merge)

    @property
    def joint_updates(self) -> JointUpdates | None:
        """Joint updates after the moves."""
        return cast("JointUpdates | None", self.resolved.joint_updates)


def check_split_merge(target: Target, value: Any, name: str = "split_merge") -> int:
    """Return a number of split-merge moves that the target can make."""
    count = integer(name, value, 0)
    if count > 0 and (reason := objection_to_moves(target)):
        raise ValueError(f"{name} must be 0 for {shorten(target)}, got {count}: {reason}.")
    return count


def objection_to_moves(target: Target) -> str:
    """Return why a target can make no split-merge moves; nothing if it can.

    A target has to promise what they need. Whether it holds is tried on a few points, because a density that looks at
    labels, or depends on the order of points, would lead to wrong numbers.
    """
    if target.hooks.in_place:
        return _objection_in_place(target)
    if not target.is_exchangeable:
        return (
            "split-merge moves need a target with a density for growing clusters, such as Mixture, or one that is made "
            "with exchangeable=True"
        )
    points = np.unique(np.linspace(0, target.n_points - 1, TRIED).astype(np.int64))
    forwards, backwards = (_log_density(target, order, labelled=False) for order in (points, points[::-1]))
    labelled = _log_density(target, points, labelled=True)
    values = np.array([forwards, backwards, labelled])
    if not np.allclose(values, values[0], rtol=1e-6, atol=1e-6, equal_nan=True):
        return (
            "its log_predictive does not know clusters by their sizes and sums alone, or depends on the order in which "
            "points join"
        )
    return ""


def _objection_in_place(target: Target) -> str:
    """Return why a target whose clusters have no densities of their own can make no moves; nothing if it can.

    A few points are in two clusters, all others in none. One after another leaves the second for the first, and gains
    what `log_predictive` says; in the end the two are one, and the gains add up to `log_merge`. `log_odds` gives the
    same gains.
    """
    labels = np.full(target.n_points, -1, dtype=np.int64)
    points = np.unique(np.linspace(0, target.n_points - 1, TRIED).astype(np.int64))
    if len(points) < 2:
        return ""
    labels[points] = np.arange(len(points)) % 2
    chain = chain_of(target, labels)
    expected = merge_and_odds(target.model, target.hooks, chain, 0, 1, -1)
    total = 0.0
    for n in points[1::2]:
        labels[n] = -1
        chain = chain_of(target, labels)
        n_clusters = int(labels.max()) + 1
        log_weights(target.model, target.hooks, chain, n_clusters + 1, int(n))
        gain = chain.weights[0] - chain.weights[1]  # over the second cluster, or over a new one if that was the last
        odds = merge_and_odds(target.model, target.hooks, chain, 0, 1, int(n)) if n_clusters == 2 else gain
        if not np.isclose(gain, odds, rtol=1e-6, atol=1e-6, equal_nan=True):
            return (
                "its log_odds are not the differences of what its log_predictive gives where points are in no cluster"
            )
        total += gain
        labels[n] = 0
    if not np.isclose(total, expected, rtol=1e-6, atol=1e-6, equal_nan=True):
        return "its log_merge is not what its log_predictive comes to where points move from one cluster to another"
    return ""


def chain_of(target: Target, labels: np.ndarray) -> Chain:
    """Return a chain at a partition of some points, negative labels for all others."""
    chain = empty_chain(target.n_points, widths_of(target.model), 4)
    reset_chain(target.model, target.hooks, chain, labels)
    return chain


def _log_density(target: Target, points: np.ndarray, labelled: bool) -> float:
    """Return the log density of some points as one cluster, the product of those of points that join one by one."""
    chain = empty_chain(target.n_points, widths_of(target.model), 4)
    total = 0.0
    for n in points:
        log_weights(target.model, target.hooks, chain, 2, int(n))
        total += chain.weights[0]
        grow_row(target.model, target.hooks, chain, int(n), 0)
        chain.labels[n] = 0 if labelled else -1
    return total
