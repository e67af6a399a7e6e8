"""Richardson and Green's galaxies
===============================

How many components (Richardson and Green 1997), with the scale of their variances unknown?

Two models: theirs, in which the means of components do not depend on their variances, as a component of one's own that
integrates variances by a sum over a grid; and the nearest that the package has, in which they do.

Run it with ``python examples/galaxies_unknown_scale.py``, which takes some minutes; it writes
``out/richardson-green.png`` and a page, ``out/richardson-green.html``.
"""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numba
import numpy as np
import scipy.stats

import copartition as cp
from copartition import datasets
from copartition.view.palette import INK, MUTED, SERIES, dots_of, line_of

PUBLISHED = dict(zip(range(3, 11), (0.061, 0.128, 0.182, 0.199, 0.160, 0.109, 0.071, 0.040), strict=True))
MOST = 30
SWEEPS = {"burn_in": 100, "min_sweeps": 500}
SHAPE = 2.0
VARIANCES = np.geomspace(0.002, 500.0, 58)  # neighbours differ by a quarter: less than any variance is known to
SCALES = np.geomspace(0.005, 50.0, 43)


@numba.njit
def log_cluster(model, size, total, squares):
    """Log density of the points of a cluster with this sum and this sum of squares, mean and variance integrated out.

    ``table`` has, for each size, what depends on the variance alone, and after it what squares of sums count.
    """
    if size == 0:
        return 0.0
    table, parameters = model.table, model.parameters  # -1 / (2 variance), then the logs of their probabilities
    count = table.shape[1] // 2
    top = -np.inf
    for i in range(count):
        value = table[size, i] + parameters[count + i] + parameters[i] * (squares - table[size, count + i] * total**2)
        top = max(top, value)
    result = 0.0
    for i in range(count):
        value = table[size, i] + parameters[count + i] + parameters[i] * (squares - table[size, count + i] * total**2)
        if value > top - 30.0:
            result += math.exp(value - top)
    return top + math.log(result)


@cp.kernels.log_predictive
def log_predictive(model, chain, n_choices, n):
    """Log density of a point in each cluster: with the point, less without."""
    points, sizes, sums, weights = model.points, chain.sizes, chain.sums, chain.weights
    for k in range(n_choices):
        after = log_cluster(model, sizes[k] + 1, sums[k, 0] + points[n, 0], sums[k, 1] + points[n, 1])
        weights[k] = after - log_cluster(model, sizes[k], sums[k, 0], sums[k, 1])


@cp.kernels.log_merge
def log_merge(model, chain, a, b):
    """Log density of the points of two clusters as one, over that as two."""
    sizes, sums = chain.sizes, chain.sums
    together = log_cluster(model, sizes[a] + sizes[b], sums[a, 0] + sums[b, 0], sums[a, 1] + sums[b, 1])
    of_a = log_cluster(model, sizes[a], sums[a, 0], sums[a, 1])
    return together - of_a - log_cluster(model, sizes[b], sums[b, 0], sums[b, 1])


@numba.njit
def set_scale(model, scale):
    """Let the probabilities of variances be those of the inverse gamma distribution with this scale."""
    parameters = model.parameters
    count = len(parameters) // 2
    total = 0.0
    for i in range(count):
        ratio = -2.0 * scale * parameters[i]  # over the variance
        parameters[count + i] = SHAPE * math.log(ratio) - ratio
        total += math.exp(parameters[count + i])
    for i in range(count):
        parameters[count + i] -= math.log(total)


@cp.kernels.renew
def renew(model, chain):
    """The scale has been drawn."""
    set_scale(model, model.hyperparameters[0])


@cp.kernels.weigh_hyperparameter
def weigh(model, chain, group):
    """Log density of all data for each value of the scale."""
    c, unknown = chain[0], model.unknown
    for i in range(len(unknown.weights)):
        set_scale(model, unknown.grids[0, i])
        unknown.weights[i] = 0.0
        for k in range(c.n_clusters[0]):
            unknown.weights[i] += log_cluster(model, c.sizes[k], c.sums[k, 0], c.sums[k, 1])


class RichardsonGreen(cp.kernels.Component):
    """Normal clusters: means normal, variances inverse gamma, independent of each other, their scale unknown."""

    def __init__(self, mean: float, mean_sd: float, scale: cp.Gamma) -> None:
        self.mean, self.mean_sd, self.scale = mean, mean_sd, scale

    def prepare(self, data: np.ndarray) -> cp.kernels.Prepared:
        """Hand over points and their squares, and a table of all that depends on size and variance."""
        sizes, v, spread = np.arange(len(data) + 2.0)[:, None], VARIANCES, self.mean_sd**2
        of_size = -0.5 * (sizes - 1) * np.log(v) - 0.5 * np.log(v + sizes * spread) - 0.5 * sizes * np.log(2 * np.pi)
        log_prior = self.scale.log_density(SCALES) + np.log(SCALES)  # values are equally far apart in logs
        return cp.kernels.Prepared(
            log_predictive,
            points=self.transform(data),
            table=np.hstack([of_size, spread / (v + sizes * spread)]),
            parameters=np.concatenate([-0.5 / v, np.zeros(len(v))]),
            log_merge=log_merge,
            unknown=cp.kernels.Unknowns([cp.kernels.OnGrid("scale", SCALES, log_prior)], weigh=weigh, renew=renew),
        )

    def transform(self, data: np.ndarray) -> np.ndarray:
        """Return rows of points, for `prepare` and for predictive densities."""
        centred = data - self.mean
        return np.hstack([centred, centred**2])

    def assumptions(self) -> list[str]:
        """Return what is assumed of the points of a cluster, in words."""
        return [
            f"Points of a cluster are normal. Means are normal around {self.mean:.4g} with standard deviation "
            f"{self.mean_sd:.4g}, variances, independently, inverse gamma with shape 2 and an unknown scale, "
            f"{self.scale!r}.",
        ]


def models() -> dict[str, cp.Mixture]:
    """Return their model, and the nearest ones that are conjugate, in which means have variance / mean_weight."""
    data = datasets.galaxies()
    middle, span = 0.5 * (data.min() + data.max()), np.ptp(data)
    scale = cp.Gamma(0.2, 10.0 / span**2)
    prior = cp.MixtureOfFiniteMixtures(gamma=1.0, n_components=scipy.stats.randint(1, MOST + 1))
    weights = {
        "1 / range^2": 1.0 / span**2,
        "0.1 / range^2": 0.1 / span**2,
        "unknown": cp.LogUniform(1e-5, 1.0),
    }
    return {"theirs": cp.Mixture(data, RichardsonGreen(middle, span, scale), prior)} | {
        f"mean_weight {name}": cp.Mixture(data, cp.NormalInverseGamma(middle, weight, SHAPE, scale), prior)
        for name, weight in weights.items()
    }


def main(folder: Path = Path("out"), replicates: int = 200) -> None:
    """Write the picture and the page into a folder."""
    wanted = [
        cp.functionals.n_components(most=MOST - 1),
        cp.functionals.n_components(),
        cp.n_clusters(),
        cp.hyperparameters(),
    ]
    found = {}
    for name, posterior in models().items():
        print(f"\n{name}: {posterior}")
        found[name] = cp.estimate(posterior, wanted, replicates=replicates, lag=100, seed=1, **SWEEPS)
        for component, mean, error in zip(found[name].components, found[name].mean, found[name].stderr, strict=True):
            print(f"{component:30} {mean:8.4f} +- {error:.4f}")

    folder.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.9), layout="constrained")
    counts = np.arange(1, MOST + 1)
    means, ends = found["theirs"].mean[:MOST], [end[:MOST] for end in found["theirs"].interval(0.95)]
    left.bar(counts, np.clip(means, 0, 1), color=MUTED, alpha=0.6, width=0.7, label="estimate, without bias")
    left.vlines(counts, *np.clip(ends, 0, 1), color=INK, lw=1.4, label="95 % interval")
    left.plot(list(PUBLISHED), list(PUBLISHED.values()), "o", color=SERIES[2], ms=5, label="published, 1997")
    left.set(xlim=(0.4, 14.6), xticks=range(1, 15), xlabel="number of components", ylabel="probability")
    left.set_title("Richardson and Green's model")
    for number, (name, e) in enumerate(found.items()):
        right.errorbar(
            counts,
            e.mean[:MOST],
            2 * e.stderr[:MOST],
            ms=4,
            lw=1,
            label="their model" if name == "theirs" else name,
            **line_of(number) | dots_of(number),
        )
    right.set(xlim=(0.4, MOST + 0.6), xlabel="number of components")
    right.set_title("Means scattered by variance / mean_weight instead")
    for ax in (left, right):
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False)
    figure.savefig(folder / "richardson-green.png", dpi=110)
    cp.write_report(found["theirs"], folder / "richardson-green.html", "82 galaxies, Richardson and Green's model")
    print(f"Wrote {folder / 'richardson-green.png'} and {folder / 'richardson-green.html'}.")


if __name__ == "__main__":
    main()
