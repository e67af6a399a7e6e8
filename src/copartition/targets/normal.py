"""Normal clusters whose means and covariances are unknown.

Where a distribution stands in the place of a number of their prior, that number is unknown too, and drawn along with
the partition. A resolved component keeps these distributions as `distributions`, and as attributes.
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from copartition.targets.cells import Cells
from copartition.targets.column_groups import GroupedComponent, equal_columns
from copartition.targets.data_prior import (
    MEAN_WEIGHT,
    MORE_DEGREES,
    covariance_of,
    distributions_in,
    known_or_start,
    mean_grids,
    means_of,
    representation,
    scale_grid,
    scale_matrix,
    short,
    variances_of,
    weight_grid,
)
from copartition.targets.distributions import NODES
from copartition.targets.kinds import gamma, wishart, wishart_hyperparameters
from copartition.targets.kinds.column_group import MEAN, SCALE, WEIGHT, GroupArrays
from copartition.targets.members import ColumnGroup, all_together, column_by_column, values_by_role
from copartition.targets.normal_members import StudentColumn, StudentPrior, StudentRows
from copartition.validation import column_array, finite_array, positive_array, positive_number, shorten


class NormalInverseWishart(GroupedComponent):
    """Normal clusters, each with a mean and a covariance of its own, all unknown.

    The points of a cluster are ``N(mu, Sigma)``, ``mu`` given ``Sigma`` is ``N(mean, Sigma / mean_weight)`` and
    ``Sigma`` is inverse Wishart, as `scipy.stats.invwishart` has it. What is left out is set from the data by the rule
    of Fraley and Raftery (2007); ``docs/models.md`` tells how much depends on it.

    Parameters
    ----------
    mean : float, array (n_columns) or Normal, optional
        Prior mean of the cluster means; left out, the column means. A `Normal` distribution: unknown, a number a
        column.
    mean_weight : float, or a distribution of a positive number, optional
        How many points the prior mean is worth; left out, 0.01. A distribution (`Gamma`, `InverseGamma`, `LogUniform`):
        unknown.
    degrees_of_freedom : float, optional
        Of the inverse Wishart distribution, more than the number of columns less 1; left out, the number of columns
        plus 2.
    scale : array (n_columns, n_columns), or a distribution of a positive number, optional
        Its scale matrix; left out, the covariance of the data. An array of one dimension is taken for a diagonal. A
        distribution of a positive number says that the scale is unknown: a factor of the covariance of the data.

    Examples
    --------
    >>> import copartition as cp
    >>> data = [[0.0, 0.2], [0.1, 0.0], [0.2, 0.3], [9.0, 9.1], [9.2, 8.0]]
    >>> posterior = cp.Mixture(data, cp.NormalInverseWishart())
    >>> posterior.component.degrees_of_freedom
    4.0
    """

    def __init__(
        self, mean: Any = None, mean_weight: Any = None, degrees_of_freedom: Any = None, scale: Any = None
    ) -> None:
        self.distributions = distributions_in({"mean": mean, "mean_weight": mean_weight, "scale": scale})
        self.mean, self.mean_weight, self.scale = mean, mean_weight, scale
        self.degrees_of_freedom: Any = (
            None if degrees_of_freedom is None else positive_number("degrees_of_freedom", degrees_of_freedom)
        )
        if mean is not None and "mean" not in self.distributions:
            self.mean = finite_array("mean", mean, (0, 1))
        if mean_weight is not None and "mean_weight" not in self.distributions:
            self.mean_weight = positive_number("mean_weight", mean_weight)
        if scale is not None and "scale" not in self.distributions:
            self.scale = finite_array("scale", scale, (0, 1, 2))

    def resolve(self, cells: Cells) -> Self:
        """Return the same component with all numbers set that were left out."""
        missing = cells.missing().sum(axis=0)
        if missing.any():
            j = int(np.argmax(missing > 0))
            raise ValueError(
                f"data of NormalInverseWishart must have every cell, but {cells.title(j)} lacks {missing[j]}: take "
                "NormalInverseGamma(), which allows that, or leave these rows out."
            )
        data, n_columns = cells.numbers(), cells.shape[1]
        resolved = copy.copy(self)
        resolved._shift = means_of(data, cells)
        if "mean" not in self.distributions:
            resolved.mean = resolved._shift if self.mean is None else column_array("mean", self.mean, n_columns)
        resolved.mean_weight = MEAN_WEIGHT if self.mean_weight is None else self.mean_weight
        degrees = float(n_columns + MORE_DEGREES) if self.degrees_of_freedom is None else self.degrees_of_freedom
        if not degrees > n_columns - 1:
            raise ValueError(
                f"degrees_of_freedom must be more than {n_columns - 1} for {n_columns} columns, got {degrees:g}."
            )
        resolved.degrees_of_freedom = degrees
        if "scale" not in self.distributions:
            resolved.scale = covariance_of(data, cells) if self.scale is None else scale_matrix(self.scale, n_columns)
        resolved._matrix = covariance_of(data, cells) if "scale" in self.distributions else resolved.scale
        resolved._groups = self._unknown(cells)
        return resolved

    # Set when the component meets data: column means, the scale matrix but for an unknown factor, unknown
    # hyperparameters.
    _shift: np.ndarray
    _matrix: np.ndarray
    _groups: tuple[Any, ...]

    def _unknown(self, cells: Cells) -> tuple[Any, ...]:
        distributions, groups = self.distributions, []
        if "mean_weight" in distributions:
            groups.append((WEIGHT, 0, weight_grid(distributions["mean_weight"])))
        if "scale" in distributions:
            groups.append((SCALE, 0, scale_grid("scale", distributions["scale"], 1.0)))
        if "mean" in distributions:
            groups += [(MEAN, j, grid) for j, grid in enumerate(mean_grids(distributions["mean"], cells))]
        return tuple(groups)

    def column_groups(self, cells: Cells, n_points: int) -> list[GroupArrays]:
        """Return the one column group of a resolved component."""
        from scipy.linalg import solve_triangular
        from scipy.special import gammaln, multigammaln

        data, (n_rows, width) = cells.numbers(), cells.shape
        factor = np.linalg.cholesky(self._matrix)
        weight = known_or_start(self.mean_weight, WEIGHT, self._groups)
        centre = self._shift if self._groups else self.mean
        points = solve_triangular(factor, (data - centre).T, lower=True).T
        kappa, nu = weight + np.arange(n_points + 1.0), self.degrees_of_freedom + np.arange(n_points + 1.0)
        shrinkage = kappa / (kappa + 1.0)
        base = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * (nu + 1.0 - width))
        normaliser = base + 0.5 * width * np.log(shrinkage)
        base_marginal = multigammaln(0.5 * nu, width) - multigammaln(0.5 * nu[0], width)
        marginal = base_marginal + 0.5 * width * np.log(kappa[0] / kappa)
        alone = normaliser[0] - 0.5 * (nu[0] + 1.0) * np.log1p(shrinkage[0] * np.sum(points**2, axis=1))
        column_group = GroupArrays(
            wishart.WISHART,
            width,
            summed=np.zeros((n_rows, 0)),
            plain=np.column_stack([points, alone]),
            table=np.column_stack([normaliser, shrinkage, -1.0 / shrinkage, marginal]),
            parameters=np.array([kappa[0], nu[0], 1.0, 0.0, 1.0]),  # the factor is 1
            kept=wishart.kept_width(width),
            scratch=wishart.scratch_width(width),
            log_constant=-0.5 * width * np.log(np.pi) - np.log(np.diag(factor)).sum(),
        )
        if not self._groups:
            return [column_group]
        inverse = solve_triangular(factor, np.eye(width), lower=True)
        mean = self._shift if "mean" in self.distributions else self.mean
        return [
            column_group._replace(
                plain=np.column_stack([column_group.plain, np.sum(points**2, axis=1)]),
                table=np.column_stack([column_group.table, base, base_marginal]),
                kept=wishart_hyperparameters.kept_with_hyperparameters(width),
                scratch=wishart_hyperparameters.hyperparameters_scratch_width(width, NODES),
                own=np.concatenate(
                    [
                        [kappa[0], 1.0, n_rows],
                        np.zeros(width),
                        inverse @ (mean - self._shift),
                        self._shift,
                        np.zeros(width),
                        inverse.ravel(),
                    ]
                ),
                raw=points,
                groups=self._groups,
            )
        ]

    def has_met_data(self) -> bool:
        """Tell whether the component is a resolved one."""
        return hasattr(self, "_groups")

    def unknown_groups(self) -> tuple[Any, ...]:
        """Return the unknown hyperparameters of a resolved component."""
        return self._groups

    def member_groups(self, cells: Cells) -> list[ColumnGroup]:
        """Return all columns together."""
        return all_together(cells.numbers(), StudentRows)

    def member_priors(self, hyperparameters: np.ndarray, width: int) -> list[Any]:
        """Return the prior; a scale that is unknown is a factor of the covariance of the data."""
        found = values_by_role(self._groups, hyperparameters)
        factor = found[SCALE][0] if SCALE in found else 1.0
        weight = found[WEIGHT][0] if WEIGHT in found else self.mean_weight
        mean = found.get(MEAN, self.mean)
        return [StudentPrior(mean, weight, self.degrees_of_freedom, factor * self._matrix)]

    def normal_columns(self, width: int) -> list[list[int]]:
        """Return all columns as one group: clusters have covariances."""
        return [list(range(width))]

    def assumptions(self) -> list[str]:
        """Return what is assumed of the points of a cluster, in words."""
        first = "Points of a cluster are normal around its mean with a covariance of its own; both are unknown."
        if self.scale is None:
            return [first, "What is left out of their prior is set from the data."]
        return [
            first,
            f"Cluster means scatter around {short(self.mean)} (mean), which counts as much as "
            f"{short(self.mean_weight)} point(s) (mean_weight).",
            f"Covariances are inverse Wishart with {short(self.degrees_of_freedom)} degrees of freedom "
            f"(degrees_of_freedom) and {self._scale_in_words()}.",
        ]

    def _scale_in_words(self) -> str:
        if "scale" in self.distributions:
            return f"a scale matrix (scale) that is the covariance of the data times {short(self.scale)}"
        deviations = short(np.sqrt(np.diag(self.scale)))
        return f"a scale matrix (scale) that stands for standard deviations of {deviations}"

    def __repr__(self) -> str:
        return representation(self, ("mean", "mean_weight", "degrees_of_freedom", "scale"))


class NormalInverseGamma(GroupedComponent):
    """Normal clusters with a mean and a variance of their own in each column, all unknown and independent.

    A cell is ``N(mu, v)``, ``mu`` given ``v`` is ``N(mean, v / mean_weight)`` and ``v`` is inverse gamma, as
    `scipy.stats.invgamma` with ``scale=scale`` has it. What is left out is set from the data by the rule of Fraley and
    Raftery (2007), column by column. Cells may be missing.

    Parameters
    ----------
    mean : float, array (n_columns) or Normal, optional
        Prior mean of the cluster means; left out, the column means. A `Normal` distribution: unknown, a number a
        column.
    mean_weight : float, array (n_columns), or a distribution of a positive number, optional
        How many points the prior mean is worth; left out, 0.01. A distribution (`Gamma`, `InverseGamma`, `LogUniform`):
        unknown.
    shape : float or array (n_columns), optional
        Of the inverse gamma distribution; left out, 1.5.
    scale : float, array (n_columns), or a distribution of a positive number, optional
        Its scale; left out, half the variance of the column. A distribution: unknown, one number for all columns.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([[0.0, 0.2], [0.1, float("nan")], [9.0, 9.1]], cp.NormalInverseGamma())
    >>> posterior.component.shape
    array([1.5, 1.5])
    """

    # Set when the component meets data: which columns lack cells, what columns are shifted and scaled by, and unknown
    # numbers.
    _missing: np.ndarray
    _shift: np.ndarray
    _units: np.ndarray
    _groups: tuple[Any, ...]

    def __init__(self, mean: Any = None, mean_weight: Any = None, shape: Any = None, scale: Any = None) -> None:
        self.distributions = distributions_in({"mean": mean, "mean_weight": mean_weight, "scale": scale})
        self.mean, self.mean_weight, self.shape, self.scale = mean, mean_weight, shape, scale
        if mean is not None and "mean" not in self.distributions:
            self.mean = finite_array("mean", mean, (0, 1))
        for name in ("mean_weight", "shape", "scale"):
            value = getattr(self, name)
            if value is not None and name not in self.distributions:
                setattr(self, name, positive_array(name, value))

    def resolve(self, cells: Cells) -> Self:
        """Return the same component with all numbers set that were left out."""
        data, n_columns = cells.numbers(), cells.shape[1]
        resolved = copy.copy(self)
        resolved._missing = np.isnan(data).any(axis=0)
        resolved._shift = means_of(data, cells)
        is_unset = self.scale is None or "scale" in self.distributions
        scale = 0.5 * variances_of(data, cells) if is_unset else self.scale
        resolved._units = np.sqrt(2.0 * column_array("scale", scale, n_columns))
        defaults = {"mean": resolved._shift, "mean_weight": MEAN_WEIGHT, "shape": 0.5 * (1 + MORE_DEGREES)}
        for name, value in (defaults | {"scale": scale}).items():
            given = getattr(self, name)
            if name not in self.distributions:
                setattr(resolved, name, np.array(column_array(name, value if given is None else given, n_columns)))
        resolved._groups = self._unknown(cells, resolved._units)
        if resolved._groups:
            resolved._check_alike()
        return resolved

    def _unknown(self, cells: Cells, units: np.ndarray) -> tuple[Any, ...]:
        distributions, groups = self.distributions, []
        if "mean_weight" in distributions:
            groups.append((WEIGHT, 0, weight_grid(distributions["mean_weight"])))
        if "scale" in distributions:
            groups.append((SCALE, 0, scale_grid("scale", distributions["scale"], 0.5 * float(np.mean(units**2)))))
        if "mean" in distributions:
            groups += [(MEAN, j, grid) for j, grid in enumerate(mean_grids(distributions["mean"], cells))]
        return tuple(groups)

    def _check_alike(self) -> None:
        """Refuse weights and shapes that differ between columns where hyperparameters are unknown."""
        for name in ("mean_weight", "shape"):
            value = getattr(self, name)
            if name not in self.distributions and np.ptp(value) > 0.0:
                raise ValueError(
                    f"{name} must be the same for all columns where a number of NormalInverseGamma is unknown, got "
                    f"{shorten(value.tolist())}; Columns can have several parts."
                )

    def column_groups(self, cells: Cells, n_points: int) -> list[GroupArrays]:
        """Return the column groups of a resolved component.

        Columns that are alike in weight, shape and missing cells.
        """
        data = cells.numbers()
        if self._groups:
            return [self._column_group(data, np.arange(data.shape[1]), n_points)]
        same = equal_columns(self.mean_weight, self.shape, self._missing)
        return [self._column_group(data[:, columns], columns, n_points) for columns in same]

    def _column_group(self, data: np.ndarray, columns: np.ndarray, n_points: int) -> GroupArrays:
        from scipy.special import gammaln

        width, shape = len(columns), self.shape[columns[0]]
        weight = known_or_start(self.mean_weight, WEIGHT, self._groups, columns[0])
        has_missing = bool(self._missing[columns].any())
        units, shift = self._units[columns], self._shift[columns]
        means = np.zeros(width) if "mean" in self.distributions else (self.mean[columns] - shift) / units
        points = (data - shift) / units
        observed = ~np.isnan(points)
        points[~observed] = 0.0
        sizes = np.arange(n_points + 1.0)
        a, shrinkage = shape + 0.5 * sizes, (weight + sizes) / (weight + sizes + 1.0)
        base = gammaln(a + 0.5) - gammaln(a)
        normaliser = base + 0.5 * np.log(shrinkage)
        constants = -0.5 * np.log(np.pi) - np.log(units)
        column_group = GroupArrays(
            gamma.GAMMA,
            width,
            summed=np.hstack([points, points**2, *([observed] if has_missing else [])]),
            plain=np.zeros((len(data), 0)),
            table=np.column_stack([normaliser, shrinkage]),
            parameters=np.concatenate(
                [[weight, shape, 1.0], weight * means, 1.0 + weight * means**2, np.ones(width)],
            ),
            observed=2 * width if has_missing else 0,
            log_constant=constants.sum(),
            log_total=float((observed * constants).sum()),
        )
        if not self._groups:
            return column_group
        return column_group._replace(
            table=np.column_stack([column_group.table, base]),
            own=np.concatenate([means, np.ones(width), shift, units]),
            groups=self._groups,
        )

    def has_met_data(self) -> bool:
        """Tell whether the component is a resolved one."""
        return hasattr(self, "_groups")

    def unknown_groups(self) -> tuple[Any, ...]:
        """Return the unknown hyperparameters of a resolved component."""
        return self._groups

    def member_groups(self, cells: Cells) -> list[ColumnGroup]:
        """Return every column by itself."""
        return column_by_column(cells.numbers(), StudentColumn)

    def member_priors(self, hyperparameters: np.ndarray, width: int) -> list[Any]:
        """Return the prior of every column: an inverse gamma distribution is an inverse Wishart of one column."""
        found = values_by_role(self._groups, hyperparameters)
        weight, scale = found.get(WEIGHT, self.mean_weight), found.get(SCALE, self.scale)
        columns = [np.broadcast_to(one, (width,)) for one in (found.get(MEAN, self.mean), weight, self.shape, scale)]
        return [StudentPrior(m, w, 2.0 * a, 2.0 * b) for m, w, a, b in zip(*columns, strict=True)]

    def normal_columns(self, width: int) -> list[list[int]]:
        """Return every column as a group of its own: they are independent within clusters."""
        return [[j] for j in range(width)]

    def assumptions(self) -> list[str]:
        """Return what is assumed of the points of a cluster, in words."""
        return [
            "In each column, points of a cluster are normal around its mean with a variance of its own; both are "
            "unknown, and columns are independent within a cluster.",
            f"Cluster means scatter around {short(self.mean)} (mean), which counts as much as "
            f"{short(self.mean_weight)} point(s) (mean_weight).",
            f"Variances are inverse gamma with shape {short(self.shape)} (shape) and scale {short(self.scale)} "
            "(scale).",
        ]

    def __repr__(self) -> str:
        return representation(self, ("mean", "mean_weight", "shape", "scale"))
