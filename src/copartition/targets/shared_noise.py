"""The group of normal columns whose noise all clusters share, where something of it is unknown.

It serves `Gaussian` with unknown hyperparameters and `TiedGaussian`; its compiled functions are in
`copartition.targets.kinds.tied_hyperparameters`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copartition.targets.cells import Cells
from copartition.targets.distributions import NODES
from copartition.targets.kinds import known, tied
from copartition.targets.kinds import tied_hyper as numbers
from copartition.targets.kinds.column_group import GroupArrays


@dataclass
class SharedNoise:
    """What is known of such columns, and the numbers that are not.

    Attributes
    ----------
    form : int
        See `copartition.targets.kinds.tied_hyperparameters`.
    groups : tuple
        As those of `BlockArrays`.
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
