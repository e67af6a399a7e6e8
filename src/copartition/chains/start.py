"""Where chains start, one or a pair: at a partition, at a random one, or after a short run of their own.

Chains of a pair both start independently from the same initial distribution. Chain x makes `lag` sweeps on its own;
from then on x at time t is coupled with y at time t - lag. They meet at ``tau``, the first t >= lag with ``X_t = Y_(t -
lag)`` (Jacob, O'Leary and Atchade 2020; Biswas, Jacob and Vanetti 2019 for lags). Many pairs are run by
`copartition.runs.meeting`; what is here is for a look into one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from copartition.chains.annealing import choose_knots, powers_of
from copartition.chains.chain import advance_chain, chain_at, check_own, give_way, refusal
from copartition.chains.density import check_density
from copartition.chains.step import BoundStep, Step, check_split_merge
from copartition.core.batch import new_progress
from copartition.core.compiling import Kernel
from copartition.core.random import stream
from copartition.core.room import grown, grown_pair, pair_of
from copartition.core.starts import FROM_PRIOR, SEQUENTIAL, begin_at, begin_drawn, begin_in_sequence
from copartition.core.state import PLACE, STEPS, Chain, Model, Pair
from copartition.core.steps import begin_chain, count_pair, make_coupled_steps
from copartition.core.types import DONE, FULL, IMPOSSIBLE, PAUSED
from copartition.couplings.base import Coupling, Independent
from copartition.targets.base import Target, can_be_drawn, remembered
from copartition.validation import integer, shorten

RANDOM_STARTS = {"prior": FROM_PRIOR, "sequential": SEQUENTIAL}
ANNEALED = "annealed"
SWEEPS = MOVES = 20  # of a start that is a run
LEVELS, MOVES_A_LEVEL = 1000, 4  # of one that is annealed

_knots: dict[Any, tuple[float, ...]] = {}  # by target and moves


@dataclass(frozen=True, repr=False)
class Start:
    """A start that is itself a run: both chains of a pair make it, independently of each other.

    The initial distribution of the chains is then the distribution after that run, which may be much closer to the
    target. The step that the chains go on with is not touched, so estimates stay unbiased.

    ``Start("annealed")`` is for posteriors with several modes that chains hardly leave: a chain begins with a draw from
    the prior and lets the data count a little more in each of a thousand sweeps.

    Parameters
    ----------
    init : str or array of int, default "one_cluster"
        Where the run starts; or ``"annealed"``.
    sweeps : int, default 20
        Its length.
    split_merge : int, default 20, or 4 if it is annealed
        Split-merge moves after each of its sweeps.
    levels : int, default 1000
        Of a start that is annealed: powers of the data, from nearly 0 to 1, with a sweep at each. A pilot places them,
        once for a target, always in the same way.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.Start("one_cluster", sweeps=20, split_merge=20)
    Start(init='one_cluster', sweeps=20, split_merge=20)
    >>> cp.Start("annealed", levels=1000)
    Start(init='annealed', levels=1000, split_merge=4)
    """

    init: Any = "one_cluster"
    sweeps: int | None = None
    split_merge: int | None = None
    levels: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.init, Start):
            raise TypeError("init of a Start must be a name or labels, got another Start.")
        used, unused = ("levels", "sweeps") if self.is_annealed else ("sweeps", "levels")
        if getattr(self, unused) is not None:
            raise ValueError(
                f"{unused} of Start must be left out for init={shorten(self.init)}, got {getattr(self, unused)}: "
                f"{used} says how long it is."
            )
        usual = {"levels": LEVELS, "sweeps": SWEEPS, "split_merge": MOVES_A_LEVEL if self.is_annealed else MOVES}
        for name, least in ((used, int(self.is_annealed)), ("split_merge", 0)):
            value = getattr(self, name)
            object.__setattr__(self, name, integer(f"{name} of Start", usual[name] if value is None else value, least))

    @property
    def is_annealed(self) -> bool:
        """Whether the data count more and more in it."""
        return isinstance(self.init, str) and self.init == ANNEALED

    @property
    def length(self) -> int:
        """Its sweeps."""
        return int((self.levels if self.is_annealed else self.sweeps) or 0)

    def __repr__(self) -> str:
        name = "levels" if self.is_annealed else "sweeps"
        return f"Start(init={self.init!r}, {name}={self.length}, split_merge={self.split_merge})"


class Beginning(NamedTuple):
    """A start that fits its target.

    Attributes
    ----------
    labels : int64 array (n_points)
        A partition; points that are drawn have the number in `RANDOM_STARTS`, which is all but those whose cluster is
        known.
    sweeps, split_merge : int
        The run that follows.
    knots : tuple of float
        Where it is annealed, the powers of the data at equal shares of it, from 0 to 1.
    """

    labels: np.ndarray
    sweeps: int = 0
    split_merge: int = 0
    knots: tuple[float, ...] = ()

    @property
    def is_random(self) -> bool:
        """Whether the partition is drawn."""
        return bool(self.labels.min() < 0)

    @property
    def is_fixed(self) -> bool:
        """Whether all chains start at the same partition."""
        return not self.is_random and self.sweeps == 0

    def ladder(self, power: float) -> np.ndarray:
        """Return the powers of its sweeps and, last, `power`, to which the data count from then on; none if always."""
        if not self.knots:
            return np.zeros(0)
        return power * np.append(powers_of(np.array(self.knots), self.sweeps), 1.0)


def read_init(target: Target, init: Any) -> Any:
    """Return the start that the argument of a public function gives: that of the target where it is left out."""
    if isinstance(init, str) and init == ANNEALED:
        return Start(init)
    if isinstance(init, Start) and init.init is None:
        return replace(init, init=target.default_start)
    return target.default_start if init is None else init


def check_start(target: Target, init: Any) -> Beginning:
    """Return the start of chains that `init` describes; None is that of the target."""
    init = read_init(target, init)
    if not isinstance(init, Start):
        return Beginning(_check_labels(target, init))
    if not init.is_annealed:
        split_merge = check_split_merge(target, init.split_merge, "split_merge of Start")
        return Beginning(_check_labels(target, init.init), init.length, split_merge)
    check_density(target, "init 'annealed'")
    labels = _check_labels(target, "prior", ANNEALED)
    split_merge = check_split_merge(target, init.split_merge, "split_merge of Start")
    run = Beginning(labels, init.length, split_merge)
    return run._replace(knots=remembered(_knots, target, partial(_choose_knots, start=run), split_merge))


def _choose_knots(target: Target, start: Beginning) -> tuple[float, ...]:
    """Return the powers of a start that is annealed, by random numbers of its own: the same for every seed."""
    step, random = step_of(start), stream(0, int.from_bytes(ANNEALED.encode(), "big"))
    return tuple(choose_knots(target, partial(_fill_new, start=start), step.stepper, random).tolist())


def can_be_annealed(target: Target) -> bool:
    """Tell whether chains of a target can begin with a draw from its prior and let the data count more and more."""
    return target.has_density and target.prior is not None and can_be_drawn(target)


def describe_start(target: Target, init: Any) -> str:
    """Return a start in words that a file can keep."""
    if isinstance(init, Start):
        return repr(replace(init, init=describe_start(target, init.init)))
    return init if isinstance(init, str) else "labels"


def _check_labels(target: Target, init: Any, asked: str = "prior") -> np.ndarray:
    """Return the labels of a start; `asked` is what was asked for if that begins with a draw from the prior."""
    if not isinstance(init, str):
        return target.check_labels(init, "init")
    if init == "prior" and target.prior is None:
        raise ValueError(
            f"init {asked!r} needs a target that has a prior, such as Mixture; take 'sequential' or labels."
        )
    if init == "prior" and not can_be_drawn(target):
        raise ValueError(
            f"init {asked!r} needs a method mixing() of {type(target.prior).__name__}, whose weights depend on the "
            "number of points, to draw from; take 'sequential' or labels."
        )
    if init in RANDOM_STARTS:
        return target.constraint.fixed(RANDOM_STARTS[init])
    labels = target.start_labels(init)
    if labels is None:
        drawn = RANDOM_STARTS if target.prior is not None else ["sequential"]
        drawn = [*drawn, *([ANNEALED] if can_be_annealed(target) else [])]
        names = ", ".join(repr(name) for name in (*target.starts, *drawn))
        raise ValueError(
            f"init must be {names}, an array of labels or a Start for a {type(target).__name__}, got {shorten(init)}."
        )
    return labels


def start_chain(target: Target, start: Beginning, random: np.ndarray) -> Chain:
    """Return a chain at its start, all chance from `random`; `target` is that of the chain."""
    ladder = start.ladder(target.model.power[0])
    if len(ladder):
        check_own(target, changes_power=True)
        target.model.power[0] = ladder[0]
    chain = _fill_new(target, random, start)
    if start.sweeps == 0:
        return chain
    stepper = step_of(start).stepper(target)
    if not len(ladder):
        return advance_chain(target, stepper, chain, random, start.sweeps)
    for power in ladder[:-1]:
        target.model.power[0] = power
        chain = advance_chain(target, stepper, chain, random, 1)
    target.model.power[0] = ladder[-1]
    return chain


def _fill_new(target: Target, random: np.ndarray, start: Beginning) -> Chain:
    """Return a chain at the partition at which a start begins."""
    chain = chain_at(target, start.labels)
    return _fill(target, chain, start, random) if start.is_random or target.hyperparameters else chain


def _fill(target: Target, chain: Chain, start: Beginning, random: np.ndarray) -> Chain:
    order = np.zeros(target.n_points, dtype=np.int64)
    before = random.copy()
    while True:
        status = begin_chain(begin_of(target, start), target.model, target.hooks, chain, random, start.labels, order)
        if status == DONE:
            return chain
        if status != FULL:
            raise start_refusal(status, start, int(order[0]))
        random[:] = before  # once more from the beginning, with more room
        chain = grown(chain)


def start_refusal(status: int, start: Beginning, n: int) -> ValueError:
    """Return the error for a start that stopped at point `n`."""
    if status == IMPOSSIBLE and start.is_random:
        name = next(name for name, number in RANDOM_STARTS.items() if number == start.labels.min())
        return ValueError(f"init {name!r} found no cluster that could take point {n}; choose another start.")
    return refusal(status, n)


def step_of(start: Beginning) -> BoundStep:
    """Return what a chain does in the run that is part of its start."""
    return BoundStep(Step(Independent(), start.split_merge))


def begin_of(target: Target, start: Beginning) -> Kernel:
    """Return the compiled function that puts a chain at its start."""
    if target.hyperparameters:
        return begin_drawn
    if not start.is_random:
        return begin_at
    return begin_in_sequence if start.labels.min() == SEQUENTIAL else begin_drawn


def couple(target: Target, coupling: Coupling, x: Chain, y: Chain, models: tuple[Model, Model] | None = None) -> Pair:
    """Return the pair of two chains, its overlaps still to be counted.

    Where hyperparameters are unknown `models` are those of the chains; left out, they get new ones.
    """
    own = (target.of_chain().model, target.of_chain().model) if models is None else models
    return pair_of(x, y, own, coupling.gains(target.n_points), coupling.whole_sweeps)


def start_pair(target: Target, step: BoundStep, start: Beginning, lag: int, random: np.ndarray) -> Pair:
    """Return x after `lag` steps and y at its start, all chance from `random`."""
    of_x, of_y = target.of_chain(), target.of_chain()
    x, y = (start_chain(own, start, random) for own in (of_x, of_y))
    x = advance_chain(of_x, step, x, random, lag)
    pair = couple(target, step.coupling, x, y, (of_x.model, of_y.model))
    count_pair(pair)
    return pair


def advance_pair(target: Target, step: BoundStep, pair: Pair, random: np.ndarray, steps: int) -> tuple[Pair, int]:
    """Run a pair until it meets, for at most `steps` steps; return it and the number of steps."""
    stepper, coupled = step.stepper(target), step.coupled(target)
    progress = new_progress()
    while True:
        status = make_coupled_steps(target.hooks, pair, stepper, coupled, random, progress, steps)
        if status == DONE:
            return pair, int(progress[STEPS])
        if status == PAUSED:
            give_way()
        elif status != FULL:
            raise refusal(status, int(progress[PLACE]))
        else:
            pair = grown_pair(pair)
