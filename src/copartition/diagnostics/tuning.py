"""From a pilot to settings: how long to burn in, how far to lag, how far to go, and which step to take.

With burn-in k = lag and horizon m = H k a replicate costs about m + 2 E[tau - lag] single-chain sweeps of CPU time, as
a coupled sweep takes that of three, and its variance is about v / (m - k + 1), that of an ordinary average, plus the
variance of its correction, C(k) / (m - k + 1)^2. So

    inefficiency(k) = (m + 2 E[tau - lag]) / (m - k + 1) * (1 + C(k) / (v (m - k + 1)))

is the work against that of an ordinary chain of the same step whose burn-in is free. A correction is there only if the
pair meets more than k sweeps after the lag, so C(k) falls as the tail of the meeting times does, which is geometric for
a chain that mixes at all. The pilot gives C at a point k0 that a tenth of its pairs get beyond, and the rate of the
tail from there.

**How long a replicate.** A standard error of 1 % of the largest mean of a functional takes T = v / (0.01 mean)^2
averaged sweeps in all. Few processors are best off with few long replicates, of which there should still be a hundred,
so that the standard error is known; a thousand processors want four replicates each. So R = max(100, 4 processors)
replicates share T, and H is T / (R k), between 20 (5 for more than a hundred processors) and 50. With 20 burn-ins the
inefficiency is at most 1.10: k is the least, from 1.5 times the 99 % quantile of the sweeps to meet on, for which it is
predicted to be so.

**Which step.** With a step that costs c updates of points, a replicate of S averaged sweeps takes about
c (S + k + 2 E[tau - lag]) of them. Some moves make averages of a chain more precise, others only make pairs meet
sooner: a few ordinary chains tell how variable the functional is with each step, and S is in proportion. For most runs
S is 20 times the burn-in of the step that has the longest; for more than a hundred processors, 5 times the shortest.
Where pairs take long to meet, no chains are run to compare: they mix slowly, and S is in proportion to the sweeps to
meet. The step with the least sum is taken, the cheapest one unless another saves a tenth, because a pilot does not know
it better. Replicates must not become too long: a step with which pairs need more than ten times the work to meet is not
taken. Nor is one whose chains have other averages than those of the first. Costs are counted, not timed, so that the
choice is the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from copartition.chains.step import Step
from copartition.couplings.base import Coupling
from copartition.diagnostics.bounds import start_of_tail
from copartition.display import Displayed, draw
from copartition.results import MeetingTimes
from copartition.validation import positive_number

if TYPE_CHECKING:  # it knows findings, which know settings
    from matplotlib.axes import Axes

    from copartition.diagnostics.modes import Modes

HORIZON = 10  # min_sweeps / burn_in where nothing else is known: nine tenths of the sweeps are averaged over
LONGEST, USUAL, SHORTEST, MANY_PROCESSORS = 50, 20, 5, 100
ACCEPTED = 1.045  # inefficiency, over the least that there is with a horizon, H / (H - 1): 1.10 for 20 burn-ins
COUPLED = 3.0  # what a coupled sweep costs, in sweeps of one chain: 2.3 to 3.1 of CPU time on five data sets
LONGER = 10.0  # a step may take so many times the work until pairs meet, and replicates so many times as long
SAVED = 0.9  # a step with dearer sweeps is taken for at most so much of the work with the cheapest
PRECISION = 0.01  # of the largest mean of a functional
FEWEST_REPLICATES = 100
SLOW = 40  # sweeps to meet from which a chain mixes as slowly as pairs meet
QUANTILE = 0.99  # of the sweeps to meet
CAUTION = 1.5  # burn-ins are at least so many times that


@dataclass(frozen=True)
class Stage:
    """Pairs with one lag, on the way to one that is large enough.

    Attributes
    ----------
    lag : int
    mean : float
        Coupled sweeps that pairs took to meet, on average.
    stderr : float
        Its standard error.
    tv : float
        Bound on the total variation distance to the target after as many sweeps as the lag.
    at_start : float
        Share of the pairs whose first chain was still at its start then.
    """

    lag: int
    mean: float
    stderr: float
    tv: float
    at_start: float = 0.0


@dataclass(frozen=True, repr=False)
class Tuned(Displayed):
    """Settings for `estimate`, and why.

    Attributes
    ----------
    lag, burn_in, min_sweeps : int
        What is recommended.
    step : Step
        What the pilot found to be cheapest, and `estimate` is going to make; resolved, so that no part is left out.
    init : str, array of int or Start
        Where chains of the pilot started, and those of `estimate` are going to.
    inefficiency : float
        Predicted CPU time for a given precision, in multiples of what an ordinary chain of the same step needs after a
        free burn-in.
    sweeps, seconds : float
        Predicted cost of a replicate, in single-chain sweeps and CPU seconds.
    variance : float64 array
        Predicted variance of a replicate, for each component.
    components : list of str
    pilot : MeetingTimes
        The last pairs of the pilot.
    stages : list of Stage
        All lags that were tried.
    pilot_sweeps, pilot_seconds : float
        What the pilot cost.
    reasons : list of str
        Why these settings, in sentences.
    modes : Modes, optional
        The result of a look for hidden modes, if there was one.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> tuned = cp.tune(posterior, cp.n_clusters(), seed=1)
    >>> bool(tuned.min_sweeps > tuned.burn_in > 0)
    True
    >>> tuned.replicates_for(0.01) > 0
    True
    """

    lag: int
    burn_in: int
    min_sweeps: int
    step: Step
    init: Any
    inefficiency: float
    sweeps: float
    seconds: float
    variance: np.ndarray
    components: list[str]
    pilot: MeetingTimes
    stages: list[Stage]
    pilot_sweeps: float
    pilot_seconds: float
    reasons: list[str]
    modes: Modes | None = None

    @property
    def coupling(self) -> Coupling:
        """The coupling of the step."""
        return cast(Coupling, self.step.coupling)

    @property
    def split_merge(self) -> int:
        """The number of split-merge moves of the step."""
        return cast(int, self.step.split_merge)

    def stderr(self, replicates: int) -> np.ndarray:
        """Return the standard errors that so many replicates are predicted to give."""
        return np.sqrt(self.variance / replicates)

    def replicates_for(self, stderr: float) -> int:
        """Return the number of replicates that is predicted to bring all standard errors down to `stderr`."""
        allowed = positive_number("stderr", stderr)
        return max(2, int(np.ceil(self.variance.max() / min(allowed, 1e150) ** 2)))  # the square is a number

    def summary(self) -> str:
        """Return the recommendation and its reasons, for a person to read."""
        errors = self.stderr(1000)
        shown = ", ".join(
            f"{name} {error:.2g}" for name, error in list(zip(self.components, errors, strict=True))[:4]
        ) + (" and more" if len(self.components) > 4 else "")
        return "\n".join(
            [
                f"lag={self.lag}, burn_in={self.burn_in}, min_sweeps={self.min_sweeps}; {self.step}",
                *[f"- {reason}" for reason in self.reasons],
                *([] if self.modes is None else [f"- {self.modes.finding}"]),
                f"A replicate costs about {self.sweeps:.0f} sweeps and {self.seconds:.2g} CPU seconds.",
                f"Standard errors from 1000 replicates, about: {shown}.",
                f"The pilot cost {self.pilot_sweeps:.0f} sweeps and {self.pilot_seconds:.2g} CPU seconds.",
            ]
        )

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw when the pairs of the pilot met, and the burn-in that follows: see `copartition.plots.tuned`."""
        return draw(self, ax=ax)

    def __repr__(self) -> str:
        return f"<Tuned: lag={self.lag}, burn_in={self.burn_in}, min_sweeps={self.min_sweeps}; {self.step}>"

    def __str__(self) -> str:
        return self.summary()


@dataclass(frozen=True)
class Tail:
    """How the variance of corrections falls with the burn-in k: ``level * exp(-rate * (k - start))`` from `start` on.

    Attributes
    ----------
    start : int
    level : float
        C(start) / v: mean square of the sums of differences from `start` on, against the asymptotic variance.
    rate : float
        Of the tail of the meeting times, cautiously: one standard error on the slow side.
    """

    start: int
    level: float
    rate: float

    def at(self, burn_in: int) -> float:
        """Return C(burn_in) / v."""
        if self.level == 0.0:
            return 0.0
        return self.level * float(np.exp(-self.rate * (burn_in - self.start)))


def tail_of(coupled: np.ndarray, differences: list[np.ndarray], variances: list[np.ndarray]) -> Tail:
    """Return the tail that the pairs of a pilot show.

    Parameters
    ----------
    coupled : int array (pairs)
        Coupled sweeps until each pair met.
    differences : list of arrays (sweeps, components)
        For each pair h(X) - h(Y) before each of its coupled sweeps.
    variances : list of arrays
        Asymptotic variances of the components of each functional, in the order of the components.
    """
    start = start_of_tail(coupled)
    late = coupled > start
    if not late.any():
        return Tail(start, 0.0, np.inf)
    excess = float((coupled[late] - start).mean()) * (1.0 + 1.0 / np.sqrt(late.sum()))
    sums = np.array([difference[start:].sum(axis=0) for difference in differences])
    squares = np.mean(sums**2, axis=0)
    # Components of a functional are on one scale and taken together, so that one that hardly ever changes, and of whose
    # variance the pilot knows nothing, does not decide; the functional that fares worst does.
    bounds = np.cumsum([0, *[len(v) for v in variances]])
    levels = [
        squares[a:b].sum() / v.sum() for a, b, v in zip(bounds, bounds[1:], variances, strict=False) if v.sum() > 0
    ]
    return Tail(start, float(max(levels, default=0.0)), float(-np.log1p(-1.0 / excess)))


def added_variance(burn_in: int, tail: Tail, horizon: int) -> float:
    """Return what corrections add to the variance of a replicate, as a share of that of an ordinary average."""
    return tail.at(burn_in) / averaged(burn_in, horizon)


def averaged(burn_in: int, horizon: int) -> int:
    """Return the number of sweeps that a replicate averages over."""
    return (horizon - 1) * burn_in + 1


def predicted_inefficiency(burn_in: int, mean: float, tail: Tail, horizon: int, of_starts: float = 0.0) -> float:
    """Return the formula at the head of this file, for lag = burn_in, and starts that are runs of so many sweeps."""
    work = (of_starts + horizon * burn_in + (COUPLED - 1.0) * mean) / averaged(burn_in, horizon)
    return work * (1.0 + added_variance(burn_in, tail, horizon))


def least_burn_in(coupled: np.ndarray) -> int:
    """Return the 99 % quantile of the sweeps that pairs took to meet."""
    return max(1, int(np.ceil(np.quantile(coupled, QUANTILE))))


def choose_burn_in(coupled: np.ndarray, tail: Tail, horizon: int) -> int:
    """Return the least burn-in, from half as much again as the 99 % quantile on, that is predicted to be acceptable.

    A pilot sees too few of the slowest pairs, which make the variance, and a longer burn-in costs little.
    """
    mean = float(coupled.mean())
    least = int(np.ceil(CAUTION * least_burn_in(coupled)))
    accepted = ACCEPTED * horizon / (horizon - 1)
    # It falls with the burn-in, to H / (H - 1): double until it is acceptable, then bisect.
    low, high = least - 1, least
    while predicted_inefficiency(high, mean, tail, horizon) > accepted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if predicted_inefficiency(middle, mean, tail, horizon) > accepted:
            low = middle
        else:
            high = middle
    return high


def sweeps_for(means: list[np.ndarray], variances: list[np.ndarray]) -> float:
    """Return T, the averaged sweeps to a standard error of 1 % of the largest mean, of the functional that takes most.

    Parameters
    ----------
    means, variances : lists of arrays
        Averages and asymptotic variances of the components of each functional.
    """
    taken = [
        float(variance.max()) / (PRECISION * float(np.abs(mean).max())) ** 2
        for mean, variance in zip(means, variances, strict=True)
        if np.abs(mean).max() > 0.0
    ]
    return max(taken, default=0.0)


def replicates_wanted(processors: int) -> int:
    """Return R, the number of replicates among which the sweeps of a run are to be divided, at least."""
    return max(FEWEST_REPLICATES, 4 * processors)


def choose_horizon(burn_in: int, sweeps: float, processors: int, is_annealed: bool = False) -> int:
    """Return H, in burn-ins, for a run of so many averaged sweeps in all."""
    least = shortest(processors, is_annealed)
    return int(np.clip(round(sweeps / (replicates_wanted(processors) * burn_in)), least, LONGEST))


def shortest(processors: int, is_annealed: bool = False) -> int:
    """Return the least horizon, in burn-ins: where starts are annealed replicates are long enough as it is."""
    return SHORTEST if is_annealed or processors > MANY_PROCESSORS else USUAL


def work_of(
    costs: np.ndarray, coupled: list[np.ndarray], processors: int, variability: np.ndarray | None = None
) -> np.ndarray:
    """Return the updates of points that replicates of the same precision take, each with another step.

    Parameters
    ----------
    costs : array
        Of each step, in updates of points.
    coupled : list of arrays
        Sweeps that pairs took to meet with each step.
    processors : int
    variability : array, optional
        How variable averages are with each step, see `variability_of`. Left out, as variable as pairs are slow.
    """
    burn_in = np.array([least_burn_in(one) for one in coupled])
    mean = np.array([one.mean() for one in coupled])
    if variability is None:
        variability = np.maximum(1.0, mean / SLOW)
    of_burn_in = costs * burn_in
    decides = int(np.argmin(of_burn_in) if processors > MANY_PROCESSORS else np.argmax(of_burn_in))
    averaged_sweeps = shortest(processors) * burn_in[decides] * variability / variability[decides]
    return costs * (averaged_sweeps + burn_in + (COUPLED - 1.0) * mean)


def variability_of(variances: np.ndarray) -> np.ndarray:
    """Return how variable averages are with each step, against the best step, of the functional that fares worst.

    Parameters
    ----------
    variances : array (steps, functionals)
        Asymptotic variances; 0 for a functional that never changed.
    """
    least = variances.min(axis=0)
    known = variances[:, least > 0] / least[least > 0]
    return known.max(axis=1, initial=1.0)


def choose_step(costs: np.ndarray, work: np.ndarray) -> int:
    """Return the number of the step to take: the cheapest for a sweep, unless another saves a tenth of the work.

    Parameters
    ----------
    costs, work : arrays
        Of each step, in updates of points: of a sweep, and of replicates of the same precision.
    """
    dearer = costs > costs.min()
    return int(np.argmin(np.where(dearer, work / SAVED, work)))
