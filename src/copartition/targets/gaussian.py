"""Gaussian clusters with known covariances and an unknown mean: the model of the paper, the means integrated out.

A cluster's mean is drawn from ``N(mean, mean_cov)`` and its points from ``N(cluster mean, noise_cov)``. Both
covariances become diagonal at once in suitable coordinates (a generalised eigenproblem), in which the noise has unit
variance, the prior mean is 0 and dimension d has prior precision ``kappa[d]``. For a cluster of c points with sum s
the predictive distribution of a point is then, independently in each dimension,

    N( s / (kappa + c),  1 + 1 / (kappa + c) ).

Two clusters of a and b points with sums s and t, and precisions A = kappa + a, B = kappa + b, C = kappa + a + b, are as
likely together as apart, up to the factor

    sqrt(A B / (kappa C)) * exp( kappa |s + t|^2 / (2 C (A + B))  -  A B |s / A - t / B|^2 / (2 (A + B)) ),

a form in which no digits are lost where clusters lie far from the prior mean.

Where all kappa are equal (always, for scalar standard deviations) everything but ``|x - s / (kappa + c)|^2`` is a
number that depends on c alone, looked up in a table.
"""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np

from copartition.core.room import aligned
from copartition.targets.cells import Cells
from copartition.targets.column_groups import GroupedComponent
from copartition.targets.data_prior import column_names, distributions_in, scale_grid, short
from copartition.targets.hooks import log_merge, log_predictive
from copartition.targets.kinds import known, tied_hyper
from copartition.targets.kinds.column_group import MEAN, SPREAD, WEIGHT, GroupArrays
from copartition.targets.members import ColumnGroup, all_together, column_by_column, values_by_role
from copartition.targets.mixture import Prepared
from copartition.targets.normal_members import NormalColumn, NormalPrior, NormalRows, RowsPrior
from copartition.targets.tied import SharedNoise, statistics_of
from copartition.targets.unknown import Drawn
from copartition.validation import column_array, finite_array, plain, positive_array, positive_definite, shorten

COLUMNS_AT_A_TIME = 32
STEPS = 2.0  # of a grid of the noise, at most, in standard deviations of what data tell of it


@log_predictive
def isotropic(model, chain, n_choices, n):
    """Log predictive density where every dimension has the same prior precision."""
    points, table = model.points, model.table
    sizes, sums, weights = chain.sizes, chain.sums, chain.weights
    for k in range(n_choices):
        size = sizes[k]
        shrinkage = table[size, 1]
        squares = 0.0
        for d in range(points.shape[1]):
            # The difference, not the expanded square: no digits are lost where data lie far from the prior mean.
            difference = points[n, d] - shrinkage * sums[k, d]
            squares += difference * difference
        weights[k] = table[size, 0] - table[size, 2] * squares


@log_predictive
def anisotropic(model, chain, n_choices, n):
    """Log predictive density where the dimensions differ in their prior precision, which is in ``parameters``.

    The log normaliser is looked up by size. The factors of single dimensions are computed: their table would be twice
    as large as the data.
    """
    points, table, kappa = model.points, model.table, model.parameters
    sizes, sums, weights = chain.sizes, chain.sums, chain.weights
    for k in range(n_choices):
        size = sizes[k]
        squares = 0.0
        for d in range(points.shape[1]):
            precision = kappa[d] + size
            difference = points[n, d] * precision - sums[k, d]
            squares += difference * difference / (precision * (precision + 1.0))
        weights[k] = table[size, 0] - 0.5 * squares


@log_merge
def isotropic_merge(model, chain, a, b):
    """Log density of the points of two clusters as one, against two, where every dimension has the same kappa.

    ``parameters`` holds kappa and the number of columns that are not there for padding.
    """
    kappa, n_columns, sums = model.parameters[0], model.parameters[1], chain.sums
    of_a, of_b = kappa + chain.sizes[a], kappa + chain.sizes[b]
    of_both = of_a + chain.sizes[b]
    together = apart = 0.0
    for d in range(sums.shape[1]):
        total = sums[a, d] + sums[b, d]
        difference = sums[a, d] / of_a - sums[b, d] / of_b
        together += total * total
        apart += difference * difference
    exponent = (kappa / of_both * together - of_a * of_b * apart) / (of_a + of_b)
    return 0.5 * (n_columns * (math.log(of_a / kappa) + math.log(of_b / of_both)) + exponent)


@log_merge
def anisotropic_merge(model, chain, a, b):
    """The same where the dimensions differ."""
    kappa, sums = model.parameters, chain.sums
    size_a, size_b = chain.sizes[a], chain.sizes[b]
    result = 0.0
    for d in range(sums.shape[1]):
        of_a, of_b, of_both = kappa[d] + size_a, kappa[d] + size_b, kappa[d] + size_a + size_b
        total = sums[a, d] + sums[b, d]
        difference = sums[a, d] / of_a - sums[b, d] / of_b
        exponent = (kappa[d] / of_both * total * total - of_a * of_b * difference * difference) / (of_a + of_b)
        result += 0.5 * (math.log(of_a / kappa[d]) + math.log(of_b / of_both) + exponent)
    return result


class Gaussian(GroupedComponent):
    """Gaussian clusters with a known covariance within clusters and a Gaussian prior for their means.

    Parameters
    ----------
    noise_sd, mean_sd : float, array (n_columns), or a distribution of a positive number, optional
        Standard deviation of points around their cluster's mean, and of cluster means around `mean`. A distribution
        (`Gamma`, `InverseGamma`, `LogUniform`) says that it is unknown: one number for all columns, drawn from 64
        values.
    mean : float, array (n_columns) or Normal, default 0
        Prior mean of the cluster means. A `Normal` distribution: unknown, a number a column.
    noise_cov, mean_cov : array (n_columns, n_columns), optional
        Full covariances, each in place of the standard deviations.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.Gaussian(noise_sd=1.3, mean_sd=0.5)
    Gaussian(noise_sd=1.3, mean_sd=0.5)
    >>> cp.Gaussian(noise_cov=[[1.0, 0.3], [0.3, 1.0]], mean_sd=[2.0, 4.0], mean=1.0)
    Gaussian(noise_cov=[[1.0, 0.3], [0.3, 1.0]], mean_sd=[2.0, 4.0], mean=1.0)
    """

    def __init__(
        self,
        noise_sd: Any = None,
        mean_sd: Any = None,
        mean: Any = 0.0,
        *,
        noise_cov: Any = None,
        mean_cov: Any = None,
    ) -> None:
        for role, sd, cov in (("noise", noise_sd, noise_cov), ("mean", mean_sd, mean_cov)):
            if (sd is None) == (cov is None):
                raise TypeError(
                    f"Gaussian needs either {role}_sd or {role}_cov, got "
                    + ("neither." if sd is None else f"both: {role}_sd={shorten(sd)}, {role}_cov={shorten(cov)}.")
                )
        self.distributions = distributions_in({"noise_sd": noise_sd, "mean_sd": mean_sd, "mean": mean})
        if self.distributions and (noise_cov is not None or mean_cov is not None):
            raise TypeError(
                "Gaussian with noise_cov or mean_cov has no unknown hyperparameters; take TiedGaussian('full'), got "
                f"{', '.join(f'{name}={distribution!r}' for name, distribution in self.distributions.items())}."
            )
        for name, value in (("noise_sd", noise_sd), ("mean_sd", mean_sd)):
            if value is not None and name not in self.distributions:
                positive_array(name, value)
        if "mean" not in self.distributions:
            finite_array("mean", mean, (0, 1))
        self.noise_sd = noise_sd
        self.mean_sd = mean_sd
        self.mean = mean
        self.noise_cov = noise_cov
        self.mean_cov = mean_cov
        self._missing = False

    def resolve(self, cells: Cells) -> Self:
        """Return the same component, which knows where cells are missing."""
        resolved = copy.copy(self)
        resolved._missing = bool(cells.missing().any())
        if self.distributions:
            resolved._noise = self._shared_noise(cells)
            return resolved
        if resolved._missing and self._coordinates(cells.shape[1])[1].ndim == 2:
            j = int(np.argmax(cells.incomplete()))
            raise ValueError(
                f"data of a Gaussian with noise_cov or mean_cov must have every cell, but {cells.title(j)} lacks some: "
                "give standard deviations instead, or leave these rows out."
            )
        return resolved

    def prepare(self, data: Cells) -> Prepared:
        """Return the data in coordinates of unit noise and independent dimensions, and tables by cluster size."""
        if data.missing().any() or self.distributions:
            return super().prepare(data)
        return self._prepare_complete(data.numbers())

    def transform(self, data: Cells) -> np.ndarray:
        """Return data in the coordinates of `prepare`."""
        return super().transform(data) if self._missing or self.distributions else self._rows(_complete(data))

    _noise: SharedNoise  # set when a component with unknown hyperparameters meets data

    def _shared_noise(self, cells: Cells) -> SharedNoise:
        """Return the column group of a component with unknown hyperparameters, of which the noise is drawn last."""
        width, distributions = cells.shape[1], self.distributions
        known = statistics_of(cells, np.nanmean(cells.numbers(), axis=0))
        spread = float(np.sqrt(np.maximum(known["squares"] / np.maximum(known["cells"], 1.0), 1e-300).mean()))
        groups: list[Any] = []
        if "mean_sd" in distributions:
            groups.append((WEIGHT, 0, scale_grid("mean_sd", distributions["mean_sd"], spread)))
        distribution: Any = distributions.get("mean")
        of_columns = [] if distribution is None else distribution.columns(width)
        names = column_names("mean", cells)
        groups += [(MEAN, j, Drawn([names[j]], float(one.mean), one)) for j, one in enumerate(of_columns)]
        if "noise_sd" in distributions:
            grid = scale_grid("noise_sd", distributions["noise_sd"], spread)
            _check_grid_of_noise(grid.values, float(known["cells"].sum()), distributions["noise_sd"])
            groups.append((SPREAD, 0, grid))
        sds = {
            name: np.ones(width) if name in distributions else column_array(name, getattr(self, name), width)
            for name in ("noise_sd", "mean_sd")
        }
        return SharedNoise(
            form=tied_hyper.GAUSSIAN,
            groups=tuple(groups),
            mean=known["shift"] if distribution is not None else column_array("mean", self.mean, width),
            is_alike=all(np.ptp(sd) == 0.0 for sd in sds.values()),
            distribution_mean=np.array([one.mean for one in of_columns]) if of_columns else 0.0,
            distribution_sd=np.array([one.sd for one in of_columns]) if of_columns else 1.0,
            variance=sds["noise_sd"] ** 2,
            of_means=sds["mean_sd"] ** 2,
            **known,
        )

    def column_groups(self, cells: Cells, n_points: int) -> list[GroupArrays]:
        """Return the one column group of a resolved component, for missing cells or as a part of `Columns`."""
        if self.distributions:
            return [self._noise.column_group(cells, n_points)]
        data, width = cells.numbers(), cells.shape[1]
        kappa, axes = self._coordinates(width)
        centred = data - column_array("mean", self.mean, width)
        points = centred * axes if axes.ndim == 1 else centred @ axes
        observed = ~np.isnan(points)
        points[~observed] = 0.0
        volume = np.log(axes).sum() if axes.ndim == 1 else np.linalg.slogdet(axes)[1]
        return [
            GroupArrays(
                known.KNOWN,
                width,
                summed=np.hstack([points, observed]) if self._missing else points,
                plain=np.zeros((len(data), 0)),
                table=np.zeros((n_points + 1, 0)),
                parameters=np.array(kappa),
                observed=width if self._missing else 0,
                log_constant=volume - 0.5 * width * np.log(2.0 * np.pi),
            )
        ]

    def _prepare_complete(self, data: np.ndarray) -> Prepared:
        n_points, n_columns = data.shape
        kappa, axes = self._coordinates(n_columns)
        volume = np.log(axes).sum() if axes.ndim == 1 else np.linalg.slogdet(axes)[1]
        constant = volume - 0.5 * n_columns * np.log(2.0 * np.pi)
        points = self._rows(data)
        sizes = np.arange(n_points + 1.0)
        if np.all(kappa == kappa[0]):
            table = _table(kappa[0] + sizes, n_columns)
            parameters = np.array([kappa[0], n_columns])
            return Prepared(isotropic, points, table, parameters, log_merge=isotropic_merge, log_constant=constant)
        log_variance = np.zeros(n_points + 1)
        for value in kappa:
            log_variance += np.log1p(1.0 / (value + sizes))
        table = -0.5 * log_variance[:, None]
        return Prepared(anisotropic, points, table, kappa, log_merge=anisotropic_merge, log_constant=constant)

    def _rows(self, data: np.ndarray) -> np.ndarray:
        """Return data in the coordinates of `prepare`, padded with columns of zeros where that is faster."""
        n_columns = data.shape[1]
        kappa, axes = self._coordinates(n_columns)
        rows = aligned((len(data), _padded(n_columns) if np.all(kappa == kappa[0]) else n_columns))
        used = rows[:, :n_columns]
        np.subtract(data, column_array("mean", self.mean, n_columns), out=used)
        if axes.ndim == 1:
            np.multiply(used, axes, out=used)
        else:
            used[:] = used @ axes
        return rows

    def has_met_data(self) -> bool:
        """Tell whether the component is a resolved one."""
        return not self.distributions or hasattr(self, "_noise")

    def unknown_groups(self) -> tuple[Any, ...]:
        """Return the unknown hyperparameters of a resolved component."""
        return self._noise.groups if self.distributions else ()

    def member_groups(self, cells: Cells) -> list[ColumnGroup]:
        """Return all columns together if there is a covariance, every column by itself otherwise."""
        is_full = self.noise_cov is not None or self.mean_cov is not None
        return all_together(cells.numbers(), NormalRows) if is_full else column_by_column(cells.numbers(), NormalColumn)

    def member_priors(self, hyperparameters: np.ndarray, width: int) -> list[Any]:
        """Return the priors of the cluster means, and the noise."""
        if self.noise_cov is not None or self.mean_cov is not None:
            kappa, axes = self._coordinates(width)
            back = axes.T @ _covariance("noise", self.noise_sd, self.noise_cov, width)
            return [RowsPrior(column_array("mean", self.mean, width), axes, back, kappa)]
        found = values_by_role(self.unknown_groups(), hyperparameters)
        given = (found.get(MEAN, self.mean), found.get(SPREAD, self.noise_sd), found.get(WEIGHT, self.mean_sd))
        columns = [np.broadcast_to(one, (width,)) for one in given]
        return [NormalPrior(m, noise**2, (noise / spread) ** 2) for m, noise, spread in zip(*columns, strict=True)]

    def normal_columns(self, width: int) -> list[list[int]]:
        """Return all columns as one group if there is a covariance, each by itself otherwise."""
        return [[j] for j in range(width)] if self.noise_cov is None else [list(range(width))]

    def assumptions(self) -> list[str]:
        """Return what is assumed of the points of a cluster, in words."""
        noise = (
            f"standard deviation {self._in_words('noise_sd')} (noise_sd)"
            if self.noise_cov is None
            else f"covariance {plain(self.noise_cov)} (noise_cov)"
        )
        spread = (
            f"standard deviation {self._in_words('mean_sd')} (mean_sd)"
            if self.mean_cov is None
            else f"covariance {plain(self.mean_cov)} (mean_cov)"
        )
        known = (
            "is the same for all clusters"
            if "noise_sd" in self.distributions
            else "is taken as known and the same for all clusters"
        )
        return [
            f"Points of a cluster scatter normally around its mean with {noise}, which {known}.",
            f"Cluster means scatter normally around {self._in_words('mean')} (mean) with {spread}.",
        ]

    def _in_words(self, name: str) -> str:
        return short(self.distributions[name]) if name in self.distributions else plain(getattr(self, name))

    def _coordinates(self, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
        """Return kappa, and what data are multiplied by: a number a column, or a matrix."""
        if self.noise_cov is None and self.mean_cov is None:
            noise = column_array("noise_sd", self.noise_sd, n_columns)
            with np.errstate(over="ignore", under="ignore"):
                kappa, axes = (noise / column_array("mean_sd", self.mean_sd, n_columns)) ** 2, 1.0 / noise
        else:
            noise_cov = _covariance("noise", self.noise_sd, self.noise_cov, n_columns)
            kappa, axes = _diagonalise(noise_cov, _covariance("mean", self.mean_sd, self.mean_cov, n_columns))
        if not np.all((kappa > 1e-300) & (kappa < 1e300)):
            raise ValueError(
                "noise and mean covariances must not differ by more than floating point numbers can hold, got a ratio "
                f"of {shorten(kappa.min())}."
            )
        return kappa, axes

    def __repr__(self) -> str:
        shown = []
        for name in ("noise_sd", "noise_cov", "mean_sd", "mean_cov"):
            value = getattr(self, name)
            if value is not None:
                shown.append(
                    f"{name}={self.distributions[name]!r}" if name in self.distributions else f"{name}={plain(value)}"
                )
        if "mean" in self.distributions:
            shown.append(f"mean={self.mean!r}")
        elif np.any(np.asarray(self.mean) != 0):
            shown.append(f"mean={plain(self.mean)}")
        return f"Gaussian({', '.join(shown)})"


def _check_grid_of_noise(values: np.ndarray, n_cells: float, distribution: Any) -> None:
    """Refuse a grid whose steps are much longer than many data allow: the number would be stuck at one value."""
    step, sd = float(np.log(values[1] / values[0])), 1.0 / np.sqrt(2.0 * n_cells)
    if step > STEPS * sd:
        raise ValueError(
            f"noise_sd must have a distribution that is not so wide, got {distribution!r}, of which {len(values)} "
            "values are "
            f"{100 * step:.2g} % apart, where {n_cells:.0f} cells tell it to within {100 * sd:.2g} %; take "
            "TiedGaussian, whose noise is on no grid, or a narrower LogUniform."
        )


def _complete(cells: Cells) -> np.ndarray:
    """Return a grid as numbers, every cell of which must be there."""
    return finite_array("grid", cells.numbers(), (2,))


def _padded(n_columns: int) -> int:
    """Return the number of columns to work with, those after `n_columns` all zeros.

    Loops over columns handle 32 at a time on vector registers, and what is left in smaller steps that wait for each
    other. Where more than half of 32 is left, and no more than a third is added, zeros are faster: a sweep with 50
    columns took a quarter longer than one with 64.
    """
    padded = -(-n_columns // COLUMNS_AT_A_TIME) * COLUMNS_AT_A_TIME
    many_left = n_columns % COLUMNS_AT_A_TIME > COLUMNS_AT_A_TIME // 2
    return padded if many_left and 3 * padded <= 4 * n_columns else n_columns


def _table(precision: np.ndarray, n_columns: int) -> np.ndarray:
    """Return log normaliser, shrinkage and half the predictive precision, a row for each cluster size."""
    variance = 1.0 + 1.0 / precision
    return np.column_stack([-0.5 * n_columns * np.log1p(1.0 / precision), 1.0 / precision, 0.5 / variance])


def _diagonalise(noise_cov: np.ndarray, mean_cov: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return kappa and axes in which `noise_cov` becomes the identity and `mean_cov` ``diag(1 / kappa)``."""
    from scipy.linalg import eigh

    ratio, axes = eigh(mean_cov, noise_cov)
    # Proportional covariances differ by rounding only; called equal, they get the faster density.
    if np.ptp(ratio) <= 1e-12 * ratio[-1]:
        ratio = np.full_like(ratio, ratio.mean())
    with np.errstate(divide="ignore"):
        return 1.0 / ratio, axes


def _covariance(role: str, sd: Any, cov: Any, n_columns: int) -> np.ndarray:
    if cov is None:
        return np.diag(column_array(f"{role}_sd", sd, n_columns) ** 2)
    return positive_definite(f"{role}_cov", cov, n_columns)
