"""Ordinary chains, for comparison, with all that one may ask of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from copartition.diagnostics.efficiency import asymptotic_variance
from copartition.display import frame_of, is_constant, rounded
from copartition.results.chains import Draws
from copartition.view import export, plots

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class Sample(Draws):
    """Ordinary Markov chain Monte Carlo averages: biased whenever the chains were stopped too soon.

    Its data are those of `copartition.results.Draws`: ``draws``, ``mean``, ``seconds``, ``functional``, ``sweeps``,
    ``burn_in``, ``seed``, ``components``, ``split_merge``.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> chains = cp.sample(posterior, cp.n_clusters(), sweeps=100, burn_in=10, chains=4, seed=1)
    >>> chains.draws.shape  # chains x sweeps x components
    (4, 100, 1)
    """

    @property
    def variance(self) -> np.ndarray:
        """Asymptotic variance of each component: that of the mean of n sweeps is this divided by n."""
        return asymptotic_variance(self.draws)

    @property
    def stderr(self) -> np.ndarray:
        """Standard error of the mean, autocorrelation accounted for."""
        return np.sqrt(self.variance / (self.draws.shape[0] * self.draws.shape[1]))

    def to_datatree(self) -> xarray.DataTree:
        """Return the draws in the form that ArviZ uses, chains x draws. Needs ``pip install "copartition[arviz]"``."""
        return export.sample_datatree(self)

    def plot(self, component: int = 0, *, ax: Axes | None = None) -> Axes:
        """Draw one component along the chains: see `copartition.plots.chains`."""
        return plots.chains(self, component, ax=ax)

    @overload
    def summary(self, as_frame: Literal[False] = False) -> str: ...

    @overload
    def summary(self, as_frame: Literal[True]) -> pandas.DataFrame: ...

    def summary(self, as_frame: bool = False) -> str | pandas.DataFrame:
        """Return a table of components, means and standard errors; as a data frame with ``as_frame=True``."""
        if as_frame:
            names = list(self.components) or [f"{self.functional}[{i}]" for i in range(len(self.mean))]
            columns = {"component": names, "mean": self.mean, "stderr": self.stderr}
            return frame_of(columns, "component", "as_frame=True")
        chains, kept, _ = self.draws.shape
        lines = [f"{self.functional}: {chains} chains x {kept} sweeps after {self.burn_in} of burn-in"]
        for i, (mean, stderr) in enumerate(zip(self.mean[:20], self.stderr[:20], strict=True)):
            error = ", the same in every sweep" if is_constant(mean, stderr) else f" +- {stderr:.2g}"
            lines.append(f"  [{i}]  {rounded(mean, stderr)}{error}")
        if len(self.mean) > 20:
            lines.append(f"  ... and {len(self.mean) - 20} more components")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()
