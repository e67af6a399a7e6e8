"""Normal clusters that share one unknown covariance: what scikit-learn calls "tied".

`SharedNoise` also serves a `Gaussian` with unknown hyperparameters; the compiled functions are in
`copartition.targets.kinds.tied_hyperparameters`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from copartition.targets.cells import Cells
from copartition.targets.column_groups import GroupedComponent
from copartition.targets.data_prior import (
    MEAN_WEIGHT,
    MORE_DEGREES,
    column_names,
    covariance_of,
    distributions_in,
    means_of,
    representation,
    scale_grid,
    scale_matrix,
    short,
    variances_of,
    weight_grid,
)
from copartition.targets.distributions import NODES, Gamma, InverseGamma
from copartition.targets.kinds import known, tied
from copartition.targets.kinds import tied_hyper as numbers
from copartition.targets.kinds.column_group import MEAN, SCALE, SPREAD, WEIGHT, GroupArrays
from copartition.targets.members import ColumnGroup, all_together, column_by_column, values_by_role
from copartition.targets.normal_members import NormalColumn, NormalPrior, NormalRows, RowsPrior
from copartition.targets.unknown import Drawn
from copartition.validation import column_array, finite_array, positive_array, positive_number, shorten


@dataclass
class SharedNoise:
    """What is known of such columns, and the numbers that are not.

    Attributes
    ----------
    form : int
        See `copartition.targets.kinds.tied_hyperparameters`.
    groups : tuple
        As those of `GroupArrays`.
    shift : float64 array
        The column means, from which raw points are counted.
    mean : float64 array
        Known prior means.
    distribution_mean, distribution_sd : float64 array
        Those of the distributions of unknown ones.
    variance, of_means, scale : float64 array
        Known variances of the noise and of cluster means, known scales of the prior of the former.
    shape, kappa : float
    gamma : tuple of float
        Shape and rate of the Gamma distribution of the scale.
    sums, squares, cells : float64 array
        Of raw cells in each column.
    scatter, scales : float64 array
        For full covariances: of raw points, and of the prior.
    is_alike : bool
        Whether kappa is the same in all columns.
    is_complete : bool
        Whether no cell is missing.
    """

    form: int
    groups: tuple[Any, ...]
    shift: np.ndarray
    mean: np.ndarray
    is_complete: bool
    is_alike: bool
    sums: np.ndarray
    squares: np.ndarray
    cells: np.ndarray
    scatter: np.ndarray
    distribution_mean: Any = 0.0
    distribution_sd: Any = 1.0
    variance: Any = 1.0
    of_means: Any = 1.0
    scale: Any = 1.0
    shape: float = 1.0
    kappa: float = 1.0
    gamma: tuple[float, float] = (1.0, 1.0)
    scales: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def own(self) -> np.ndarray:
        """Return the parameters for unknown hyperparameters; the present coordinates are still to be set."""
        width = len(self.shift)
        columns = np.zeros((numbers.PER_COLUMN, width))
        given = {
            numbers.KNOWN_MEAN: self.mean - self.shift,
            numbers.DISTRIBUTION_MEAN: self.distribution_mean - self.shift,
            numbers.DISTRIBUTION_SD: self.distribution_sd,
            numbers.VARIANCE: self.variance,
            numbers.OF_MEANS: self.of_means,
            numbers.KNOWN_SCALE: self.scale,
            numbers.SUM: self.sums,
            numbers.SQUARES: self.squares,
            numbers.CELLS: self.cells,
            numbers.SHIFT: self.shift,
            numbers.INVERSE: 1.0,
        }
        for row, values in given.items():
            columns[row] = values
        matrices = (self.scatter, self.scales, np.eye(width)) if self.form == numbers.FULL else ()
        return np.concatenate([[self.shape, self.kappa, *self.gamma], columns.ravel(), *[m.ravel() for m in matrices]])

    def column_group(self, cells: Cells, n_points: int) -> GroupArrays:
        """Return the column group, with rows of points for these cells and tables for that many points."""
        data, width = cells.numbers(), len(self.shift)
        raw = data - self.shift
        observed = ~np.isnan(raw)
        raw[~observed] = 0.0
        is_tied = self.is_complete and self.is_alike
        moves_points = self.form == numbers.FULL or not is_tied
        constant = -0.5 * np.log(2.0 * np.pi)
        return GroupArrays(
            tied.TIED if is_tied else known.KNOWN,
            width,
            # Columns of ones tell observed cells, also where none is missing but columns differ.
            summed=raw if is_tied else np.hstack([raw, observed]),
            plain=np.zeros((len(data), 0)),
            table=np.zeros((n_points + 1, 3 if is_tied else 0)),
            parameters=np.full(1 + 2 * width if is_tied else width, -1.0),  # computed when the target is made
            scratch=numbers.hyperparameters_scratch_width(width, NODES),
            observed=0 if is_tied else width,
            log_constant=width * constant,
            log_total=float(self.cells.sum()) * constant,
            form=self.form,
            own=self.own(),
            raw=raw if moves_points else None,
            groups=self.groups,
        )


def statistics_of(cells: Cells, shift: np.ndarray) -> dict[str, Any]:
    """Return what `SharedNoise` knows of all data: sums, sums of squares, numbers of cells, and the scatter matrix."""
    raw = cells.numbers() - shift
    observed = ~np.isnan(raw)
    raw[~observed] = 0.0
    return {
        "shift": shift,
        "is_complete": bool(observed.all()),
        "sums": raw.sum(axis=0),
        "squares": (raw**2).sum(axis=0),
        "cells": observed.sum(axis=0).astype(float),
        "scatter": raw.T @ raw,
    }


# Chains begin with the noise that fits so many clusters of equal volume. From one cluster, with the noise that fits
# that, they would split late: pairs on the galaxies took 33 sweeps to meet in place of 14.
FEW_CLUSTERS = 10.0
FORMS = {"spherical": numbers.SPHERICAL, "diagonal": numbers.DIAGONAL, "full": numbers.FULL}


class TiedGaussian(GroupedComponent):
    """Normal clusters, each with a mean of its own, that share one covariance, all unknown.

    The points of a cluster are ``N(mu, Sigma)`` and ``mu`` is ``N(mean, Sigma / mean_weight)``. Sigma is drawn along
    with the partition, in chains that still meet exactly, and `hyperparameters` estimates it. What is left out is set
    from the data by the rule of Fraley and Raftery (2007), as for `NormalInverseWishart`.

    Parameters
    ----------
    covariance : {"spherical", "diagonal", "full"}
        One variance for all columns, one for each, or a matrix.
    mean : float, array (n_columns) or Normal, optional
        Prior mean of the cluster means; left out, the column means. A `Normal` distribution: unknown, a number a
        column.
    mean_weight : float, or a distribution of a positive number, optional
        How many points the prior mean is worth; left out, 0.01.
    shape : float, optional
        Of the inverse gamma distribution of a variance; left out, 1.5. Not for "full".
    degrees_of_freedom : float, optional
        Of the inverse Wishart distribution of a matrix; left out, the number of columns plus 2. For "full" only.
    scale : float, array or a distribution of a positive number, optional
        Of these distributions; left out, half the variance of the column (for "spherical", of all columns on average),
        or the covariance of the data. A distribution of a positive number (`Gamma`, `InverseGamma`, `LogUniform`) says
        that it is unknown: one number for all columns; for "full" a factor of the covariance of the data.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([0.0, 0.3, 0.1, 5.0, 5.2], cp.TiedGaussian("spherical"))
    >>> posterior.hyperparameters
    ['variance']
    """

    def __init__(
        self,
        covariance: str = "spherical",
        mean: Any = None,
        mean_weight: Any = None,
        shape: Any = None,
        scale: Any = None,
        *,
        degrees_of_freedom: Any = None,
    ) -> None:
        if not isinstance(covariance, str) or covariance not in FORMS:
            raise ValueError(f"covariance must be 'spherical', 'diagonal' or 'full', got {shorten(covariance)}.")
        self.covariance = covariance
        if covariance == "full" and shape is not None:
            raise TypeError(
                f"shape must be left out for full covariances, which have degrees_of_freedom, got {shape!r}."
            )
        if covariance != "full" and degrees_of_freedom is not None:
            raise TypeError(
                f"degrees_of_freedom must be left out for {covariance} covariances, which have a shape, got "
                f"{degrees_of_freedom!r}."
            )
        self.distributions = distributions_in({"mean": mean, "mean_weight": mean_weight, "scale": scale})
        self.mean: Any = mean if mean is None or "mean" in self.distributions else finite_array("mean", mean, (0, 1))
        known = mean_weight is None or "mean_weight" in self.distributions
        self.mean_weight: Any = mean_weight if known else positive_number("mean_weight", mean_weight)
        self.shape: Any = None if shape is None else positive_number("shape", shape)
        self.degrees_of_freedom: Any = (
            None if degrees_of_freedom is None else positive_number("degrees_of_freedom", degrees_of_freedom)
        )
        self.scale = scale
        if scale is not None and "scale" not in self.distributions:
            self.scale = (
                finite_array("scale", scale, (0, 1, 2)) if covariance == "full" else positive_array("scale", scale)
            )
            if covariance == "spherical" and np.ndim(self.scale):
                raise ValueError(f"scale must be one number for spherical covariances, got {shorten(scale)}.")

    def resolve(self, cells: Cells) -> Self:
        """Return the same component with all numbers set that were left out."""
        data, width = cells.numbers(), cells.shape[1]
        is_full = self.covariance == "full"
        if is_full and cells.missing().any():
            j = int(np.argmax(cells.incomplete()))
            raise ValueError(
                f"data of TiedGaussian('full') must have every cell, but {cells.title(j)} lacks some: take "
                "TiedGaussian('diagonal'), which allows that, or leave these rows out."
            )
        resolved = copy.copy(self)
        shift = means_of(data, cells)
        if "mean" not in self.distributions:
            resolved.mean = shift if self.mean is None else column_array("mean", self.mean, width)
        if self.mean_weight is None:
            resolved.mean_weight = MEAN_WEIGHT
        if is_full:
            degrees = float(width + MORE_DEGREES) if self.degrees_of_freedom is None else self.degrees_of_freedom
            if not degrees > width - 1:
                raise ValueError(
                    f"degrees_of_freedom must be more than {width - 1} for {width} columns, got {degrees:g}."
                )
            resolved.degrees_of_freedom = degrees
        elif self.shape is None:
            resolved.shape = 0.5 * (1 + MORE_DEGREES)
        unit = covariance_of(data, cells) if is_full and (self.scale is None or "scale" in self.distributions) else None
        if self.scale is None:
            resolved.scale = unit if is_full else self._scale_of(0.5 * variances_of(data, cells))
        elif is_full and "scale" not in self.distributions:
            resolved.scale = scale_matrix(self.scale, width)
        elif self.covariance == "diagonal" and "scale" not in self.distributions:
            resolved.scale = column_array("scale", self.scale, width)
        resolved._noise = resolved._shared_noise(cells, shift, unit)
        return resolved

    _noise: SharedNoise

    def _scale_of(self, scales: np.ndarray) -> Any:
        return float(scales.mean()) if self.covariance == "spherical" else scales

    def _shared_noise(self, cells: Cells, shift: np.ndarray, unit: np.ndarray | None) -> SharedNoise:
        """Return the column group of a component all of whose known numbers are set."""
        width, distributions, is_full = cells.shape[1], self.distributions, self.covariance == "full"
        known = statistics_of(cells, shift)
        distribution: Any = distributions.get("mean")
        distributions_of_means = [] if distribution is None else distribution.columns(width)
        scale: Any = distributions.get("scale")
        shape = self.degrees_of_freedom if is_full else self.shape
        return SharedNoise(
            form=FORMS[self.covariance],
            groups=self._groups(cells, known),
            mean=shift if distribution is not None else self.mean,
            is_alike=True,
            distribution_mean=np.array([one.mean for one in distributions_of_means]) if distributions_of_means else 0.0,
            distribution_sd=np.array([one.sd for one in distributions_of_means]) if distributions_of_means else 1.0,
            scale=1.0 if is_full or scale is not None else self.scale,
            shape=shape,
            kappa=1.0 if "mean_weight" in distributions else self.mean_weight,
            gamma=(scale.shape, scale.rate) if isinstance(scale, Gamma) else (1.0, 1.0),
            scales=np.zeros((0, 0)) if not is_full else unit if unit is not None else self.scale,
            **known,
        )

    def _groups(self, cells: Cells, known: dict[str, Any]) -> tuple[Any, ...]:
        """Return the numbers in the order in which they are drawn, the noise last."""
        width, distributions = cells.shape[1], self.distributions
        variances = np.maximum(known["squares"] / np.maximum(known["cells"], 1.0), 1e-300)
        within = variances * FEW_CLUSTERS ** (-2.0 / width)
        groups: list[Any] = []
        if "mean_weight" in distributions:
            groups.append((WEIGHT, 0, weight_grid(distributions["mean_weight"])))
        if "scale" in distributions:
            unit = 1.0 if self.covariance == "full" else float(variances.mean())
            distribution = distributions["scale"]
            on_grid = scale_grid("scale", distribution, unit, of_data=False)
            groups.append(
                (
                    SCALE,
                    0,
                    Drawn(["scale"], on_grid.initial, distribution) if isinstance(distribution, Gamma) else on_grid,
                )
            )
        if "mean" in distributions:
            names, of_columns = column_names("mean", cells), distributions["mean"].columns(width)
            start = [float(one.mean) for one in of_columns]
            if self.covariance == "full":
                groups.append((MEAN, 0, Drawn(names, start, distributions["mean"])))
            else:
                groups += [(MEAN, j, Drawn([names[j]], start[j], of_columns[j])) for j in range(width)]
        prior = None if "scale" in distributions or self.covariance == "full" else np.broadcast_to(self.scale, (width,))
        distribution_of = [None if prior is None else InverseGamma(self.shape, float(prior[j])) for j in range(width)]
        if self.covariance == "spherical":
            groups.append((SPREAD, 0, Drawn(["variance"], float(within.mean()), distribution_of[0])))
        elif self.covariance == "diagonal":
            names = column_names("variance", cells)
            groups += [(SPREAD, j, Drawn([names[j]], within[j], distribution_of[j])) for j in range(width)]
        else:
            labels = [cells.label(j) for j in range(width)]
            names = [f"covariance[{labels[i]}, {labels[j]}]" for i in range(width) for j in range(i + 1)]
            start = [float(within[i]) if i == j else 0.0 for i in range(width) for j in range(i + 1)]
            groups.append((SPREAD, 0, Drawn(names, start)))
        return tuple(groups)

    def column_groups(self, cells: Cells, n_points: int) -> list[GroupArrays]:
        """Return the one column group of a resolved component."""
        return [self._noise.column_group(cells, n_points)]

    def has_met_data(self) -> bool:
        """Tell whether the component is a resolved one."""
        return hasattr(self, "_noise")

    def unknown_groups(self) -> tuple[Any, ...]:
        """Return the unknown hyperparameters of a resolved component, the noise last."""
        return self._noise.groups

    def member_groups(self, cells: Cells) -> list[ColumnGroup]:
        """Return all columns together if clusters share a full covariance, every column by itself otherwise."""
        is_full = self.covariance == "full"
        return all_together(cells.numbers(), NormalRows) if is_full else column_by_column(cells.numbers(), NormalColumn)

    def member_priors(self, hyperparameters: np.ndarray, width: int) -> list[Any]:
        """Return the priors given the noise, which is among the hyperparameters."""
        found = values_by_role(self._noise.groups, hyperparameters)
        kappa = found[WEIGHT][0] if WEIGHT in found else self.mean_weight
        mean = np.broadcast_to(found.get(MEAN, self.mean), (width,))
        if self.covariance != "full":
            noise = np.broadcast_to(found[SPREAD], (width,))
            return [NormalPrior(m, v, kappa) for m, v in zip(mean, noise, strict=True)]
        lower = np.zeros((width, width))
        lower[np.tril_indices(width)] = found[SPREAD]
        back = np.linalg.cholesky(lower).T  # which looks at the lower half only
        return [RowsPrior(mean, np.linalg.inv(back), back, np.full(width, kappa))]

    def normal_columns(self, width: int) -> list[list[int]]:
        """Return all columns as one group if clusters share a full covariance, each by itself otherwise."""
        return [list(range(width))] if self.covariance == "full" else [[j] for j in range(width)]

    def assumptions(self) -> list[str]:
        """Return what is assumed of the points of a cluster, in words."""
        noise = {
            "spherical": "a variance that is the same in all columns",
            "diagonal": "a variance in each column",
            "full": "a covariance",
        }[self.covariance]
        distribution = (
            f"inverse Wishart with {self.degrees_of_freedom or 'the number of columns plus 2'} degrees of freedom "
            "(degrees_of_freedom)"
            if self.covariance == "full"
            else f"inverse gamma with shape {short(self.shape)} (shape)"
        )
        return [
            f"Points of a cluster are normal around its mean with {noise}, which all clusters share and which is "
            "unknown.",
            f"Cluster means scatter around {short(self.mean)} (mean), which counts as much as "
            f"{short(self.mean_weight)} point(s) (mean_weight).",
            f"Before any data, what they share is {distribution} and scale {short(self.scale)} (scale).",
        ]

    def __repr__(self) -> str:
        names = ("mean", "mean_weight", "shape", "degrees_of_freedom", "scale")
        rest = representation(self, names)[len("TiedGaussian(") :]
        return f"TiedGaussian({self.covariance!r}" + (f", {rest}" if rest != ")" else rest)
