"""The log evidence of a model, and of several, from expectations at powers of the likelihood.

With the density of the data to the power beta the posterior is p_beta(partition) = prior x likelihood^beta / Z(beta),
Z(0) = 1 and Z(1) is the evidence, and

    log Z(1) = integral over beta from 0 to 1 of g(beta),     g(beta) = E_beta[log likelihood],

because d log Z / d beta = g (Gelman and Meng 1998). Coupled chains give an unbiased H(beta) of g(beta) at any beta.
With beta drawn from a density q and any function c whose integral is known,

    integral of c + (H(beta) - c(beta)) / q(beta)

is an unbiased estimate of log Z(1) (Rischard, Jacob and Pillai 2018). A pilot gives both: c, the line through its
means, takes away nearly all that g varies by, and q puts replicates where H varies most for its cost. They may be as
bad as they like: that makes estimates less precise, not wrong. Powers are drawn one from each of many strata of equal
probability, so the variance is that within strata only; with two or more in each it is estimated from these.

Where clusters are clear and points many, g may rise all at once, as ice melts: near that power chains stay for long
where they started. So half of all chains start as asked for, and half where a chain at the power 1 got to. If these two
halves disagree at a power, chains do not get from one to the other there, and a result must say so.

g never falls, since its slope is the variance of the log likelihood. The integral over an interval is therefore known
to within its *box*, the width times what g rises by; the pilot puts its next powers where that is largest.


"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copartition.display import Displayed, draw
from copartition.extras import needed
from copartition.validation import confidence, shorten

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

UNIFORM = 0.1  # share of powers that are uniform, so that no weight is huge where the pilot saw little
BENT = 0.25  # of what g rises by in an interval: how far it may be from the line
STEEP = 8.0  # the next power after 0 is the smallest one divided by this


class Node(NamedTuple):
    """What a pilot saw at one power.

    Attributes
    ----------
    beta : float
    mean, sd : float
        Of replicates of the log likelihood.
    replicates : int
        How many these were.
    gap, gap_stderr : float
        By how much those of the two starts differ on average, and its standard error.
    burn_in : int
        Sweeps that are enough for pairs to meet, with something to spare.
    sweeps : float
        What a replicate with this burn-in costs.
    """

    beta: float
    mean: float
    sd: float
    replicates: int
    gap: float
    gap_stderr: float
    burn_in: int
    sweeps: float


@dataclass(frozen=True)
class Curve:
    """What a pilot saw at several powers from 0 to 1, in rising order."""

    nodes: tuple[Node, ...]

    @property
    def betas(self) -> np.ndarray:
        """The powers."""
        return np.array([node.beta for node in self.nodes])

    @property
    def means(self) -> np.ndarray:
        """The expected log likelihood at each."""
        return np.array([node.mean for node in self.nodes])

    @property
    def integral(self) -> float:
        """The integral of the line through the means."""
        return float(np.diff(self.betas) @ (self.means[1:] + self.means[:-1])) / 2.0

    def at(self, betas: np.ndarray) -> np.ndarray:
        """Return the line through the means at any powers."""
        return np.interp(betas, self.betas, self.means)

    def next_powers(self, count: int) -> list[float]:
        """Return powers in the middle of the intervals with the largest boxes."""
        boxes = np.diff(self.betas) * np.abs(np.diff(self.means))
        largest = np.sort(np.argsort(-boxes, kind="stable")[:count])
        return [_between(self.betas[i], self.betas[i + 1]) for i in largest]

    def burn_ins(self, betas: np.ndarray) -> np.ndarray:
        """Return burn-ins for powers: the larger one of their two neighbours."""
        right = self._interval(betas) + 1
        each = np.array([node.burn_in for node in self.nodes])
        return np.maximum(each[right - 1], each[right])

    def density(self) -> np.ndarray:
        """Return the density of powers in each interval: as the standard deviation of H over the root of its cost."""
        width = np.diff(self.betas)
        sd, cost = np.array([node.sd for node in self.nodes]), np.array([node.sweeps for node in self.nodes])
        bent = BENT * np.abs(np.diff(self.means))
        wanted = np.hypot(np.maximum(sd[:-1], sd[1:]), bent) / np.sqrt(np.maximum(cost[:-1], cost[1:]))
        total = float(wanted @ width)
        return UNIFORM + (1.0 - UNIFORM) * (wanted / total if total > 0.0 else np.ones(len(width)))

    def powers(self, levels: np.ndarray) -> np.ndarray:
        """Return the powers below which the density has these probabilities."""
        below = np.concatenate([[0.0], np.cumsum(self.density() * np.diff(self.betas))])
        return np.clip(np.interp(levels * below[-1], below, self.betas), 0.0, 1.0)

    def estimates(self, betas: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return what each value of the log likelihood, at its power, makes of the log evidence."""
        density = self.density()
        each = density[self._interval(betas)] / float(density @ np.diff(self.betas))
        return self.integral + (values - self.at(betas)) / each

    def disagreement(self, errors: float) -> tuple[float, float]:
        """Return the power at which the two starts disagree most, and what that may change the log evidence by.

        Only disagreements of more than so many standard errors count; the change is 0 if there is none.
        """
        gaps = np.array([node.gap for node in self.nodes])
        gaps[np.abs(gaps) <= errors * np.array([node.gap_stderr for node in self.nodes])] = 0.0
        width = np.diff(self.betas)
        reach = np.concatenate([[0.0], width]) + np.concatenate([width, [0.0]])
        changes = np.abs(gaps) * reach / 2.0
        worst = int(np.argmax(changes))
        return float(self.betas[worst]), float(changes[worst])

    def _interval(self, betas: np.ndarray) -> np.ndarray:
        return np.clip(np.searchsorted(self.betas, betas, side="right") - 1, 0, len(self.nodes) - 2)


def _between(low: float, high: float) -> float:
    """Return a power between two: g bends most near 0, so the middle of their logs."""
    return float(np.sqrt(low * high)) if low > 0.0 else float(high) / STEEP


class Stratified(NamedTuple):
    """A mean over strata of equal probability.

    Attributes
    ----------
    mean, stderr : float
    freedom : float
        Degrees of freedom of the standard error (Satterthwaite 1946).
    """

    mean: float
    stderr: float
    freedom: float


def stratified(values: np.ndarray) -> Stratified:
    """Return the mean of values (layers, strata), one in each stratum a layer, from at least two layers."""
    layers, strata = values.shape
    parts = values.var(axis=0, ddof=1) / layers
    total = float(parts.sum())
    freedom = total**2 / float((parts**2).sum() / (layers - 1)) if total > 0.0 else np.inf
    return Stratified(float(values.mean()), float(np.sqrt(total)) / strata, freedom)


COUPLED, SMC = "coupled", "smc"


@dataclass(frozen=True)
class Evidence(Displayed):
    """The log evidence of a posterior: the log density of the data with everything unknown integrated out.

    Attributes
    ----------
    mean, stderr : float
        The estimate and its standard error.
    method : str
        ``"coupled"``: without bias, from coupled chains at random powers of the likelihood. ``"smc"``: sequential Monte
        Carlo over the points; the evidence is without bias, its log is not quite.
    values : float64 array
        The estimate of each replicate, of which `mean` is the mean; of ``"smc"`` the log evidence of each repetition.
    betas : float64 array
        The power at which each replicate ran; of ``"smc"`` none.
    freedom : float
        Degrees of freedom of the standard error.
    sweeps : int
        Sweeps of single chains, the pilot's included; of ``"smc"``, of all particles.
    seconds : float
        CPU time of all that.
    n_points, seed : int
    target_stderr : float
        What was asked for.
    curve : Curve, optional
        What the pilot saw: the expected log likelihood at powers from 0 to 1.
    particles : int
        Of ``"smc"``.
    warnings : list of str
        What casts doubt on it.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> found = cp.log_evidence(posterior, target_stderr=0.1, seed=1)
    >>> found.method, found.n_points
    ('coupled', 3)
    >>> bool(found.stderr <= 0.1)
    True
    """

    mean: float
    stderr: float
    method: str
    values: np.ndarray = field(repr=False)
    betas: np.ndarray = field(repr=False)
    freedom: float
    sweeps: int
    seconds: float
    n_points: int
    seed: int
    target_stderr: float
    curve: Curve | None = field(default=None, repr=False)
    particles: int = 0
    warnings: list[str] = field(default_factory=list)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the log evidence."""
        from scipy.special import stdtrit

        half = float(stdtrit(min(self.freedom, 1e9), 0.5 + 0.5 * confidence(level))) * self.stderr
        return self.mean - half, self.mean + half

    def summary(self) -> str:
        """Return what was found, in plain words."""
        low, high = self.interval()
        if self.method == COUPLED:
            how = f"{len(self.values):,} coupled replicates at random powers of the likelihood, without bias"
        else:
            how = (
                f"{len(self.values):,} runs of sequential Monte Carlo with {self.particles:,} particles, whose log "
                f"evidences have a standard deviation of {self.values.std(ddof=1):.2g}"
            )
        lines = [
            f"log evidence {self.mean:.2f}, standard error {self.stderr:.2g}, 95 % interval {low:.2f} to {high:.2f}",
            f"{self.n_points:,} points; {how}; {self.sweeps:,} sweeps, {self.seconds:.2g} CPU seconds.",
        ]
        return "\n".join([*lines, *[f"WARNING: {one}" for one in self.warnings]])

    def __str__(self) -> str:
        return self.summary()


@dataclass(frozen=True)
class Comparison(Displayed):
    """Models of the same data, the best first.

    Attributes
    ----------
    evidences : dict of Evidence
        By name, the largest log evidence first.

    Examples
    --------
    >>> import copartition as cp
    >>> data = [-3.0, -2.9, 3.0]
    >>> near, far = cp.Gaussian(noise_sd=1, mean_sd=3), cp.Gaussian(noise_sd=1, mean_sd=300)
    >>> found = cp.compare({"near": cp.Mixture(data, near), "far": cp.Mixture(data, far)}, target_stderr=0.3, seed=1)
    >>> found.names
    ['near', 'far']
    """

    evidences: dict[str, Evidence]

    @property
    def names(self) -> list[str]:
        """Names of the models, the best first."""
        return list(self.evidences)

    @property
    def best(self) -> str:
        """The name of the model with the largest log evidence."""
        return self.names[0]

    @property
    def mean(self) -> np.ndarray:
        """Log evidences."""
        return np.array([one.mean for one in self.evidences.values()])

    @property
    def stderr(self) -> np.ndarray:
        """Their standard errors."""
        return np.array([one.stderr for one in self.evidences.values()])

    @property
    def difference(self) -> np.ndarray:
        """Log evidences less that of the best."""
        return self.mean - self.mean[0]

    @property
    def difference_stderr(self) -> np.ndarray:
        """Standard errors of the differences; models were run with random numbers of their own."""
        errors = np.hypot(self.stderr, self.stderr[0])
        errors[0] = 0.0
        return errors

    @property
    def probability(self) -> np.ndarray:
        """The probability of each model given the data, if all were equally probable before."""
        weights = np.exp(self.difference)
        return weights / weights.sum()

    def rows(self) -> list[dict[str, Any]]:
        """Return the table, a row a model, the best first."""
        columns = (self.names, self.mean, self.stderr, self.difference, self.difference_stderr, self.probability)
        names = ("model", "log_evidence", "stderr", "difference", "difference_stderr", "probability")
        return [
            dict(zip(names, [row[0], *[float(cell) for cell in row[1:]]], strict=True))
            for row in zip(*columns, strict=True)
        ]

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the table as a data frame, models as its index; needs pandas."""
        return needed("pandas", by="to_dataframe").DataFrame(self.rows()).set_index("model")

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the log evidences against that of the best: see `copartition.plots.evidence`."""
        return draw(self, ax=ax)

    def __str__(self) -> str:
        width = max(5, *[len(name) for name in self.names])
        lines = [f"{'model':<{width}}  log evidence  +- stderr  against the best  probability"]
        for row in self.rows():
            against = f"{row['difference']:.2f} +- {row['difference_stderr']:.2f}" if row["model"] != self.best else ""
            lines.append(
                f"{row['model']:<{width}}  {row['log_evidence']:12.2f}  +- {row['stderr']:<6.2g}  {against:>16}  "
                f"{row['probability']:11.3g}"
            )
        lines += [f"{name}: WARNING: {text}" for name, one in self.evidences.items() for text in one.warnings]
        return "\n".join([*lines, self.verdict()])

    __repr__ = __str__

    def verdict(self) -> str:
        """Return what the table says, in a sentence or two."""
        if len(self.names) == 1:
            return f"There is nothing that {self.best} could be compared with."
        second, gap, error = self.names[1], -float(self.difference[1]), float(self.difference_stderr[1])
        if gap < 2.0 * error:
            return (
                f"{self.best} and {second} cannot be told apart: their log evidences differ by {gap:.2g} with a "
                f"standard error of {error:.2g}. A smaller target_stderr may tell."
            )
        times = f"{np.exp(gap):.3g}" if gap < 20.0 else f"10^{gap / np.log(10.0):.0f}"
        return (
            f"The data speak {_strength(gap)} for {self.best}: they are {times} times as probable under it as under "
            f"{second}. Probabilities hold if all models were equally probable before."
        )


def _strength(gap: float) -> str:
    """Return words for a difference of log evidences, by the scale of Kass and Raftery (1995)."""
    for most, words in ((1.0, "hardly"), (3.0, "positively"), (5.0, "strongly")):
        if gap < most:
            return words
    return "very strongly"


def comparison_of(evidences: Mapping[str, Evidence]) -> Comparison:
    """Return a comparison of models, the best first."""
    for name, one in evidences.items():
        if not isinstance(one, Evidence):
            raise TypeError(f"{name!r} must be what log_evidence returns, got {shorten(one)}.")
    return Comparison(dict(sorted(evidences.items(), key=lambda item: -item[1].mean)))
