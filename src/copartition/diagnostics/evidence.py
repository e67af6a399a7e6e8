"""The log evidence of a model, and of several: what a run found, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.diagnostics.powers import Curve
from copartition.display import Displayed, draw
from copartition.extras import needed
from copartition.validation import confidence, shorten

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

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
