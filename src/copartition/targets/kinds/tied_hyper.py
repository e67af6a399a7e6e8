"""What columns whose noise all clusters share know of it, whether it is known or not.

See `tied_hyperparameters` beside it.

Forms: `GAUSSIAN` has numbers for standard deviations, of the noise (`SPREAD`) and of cluster means (`WEIGHT`), on
grids; the others have a variance, or a matrix, in the place of `SPREAD`, and kappa in that of `WEIGHT`.
"""

from __future__ import annotations

from copartition.core.compiling import inner
from copartition.targets.kinds.column_group import FORM, MEAN, SCALE, SPREAD, WEIGHT, number_of, own_parameters
from copartition.targets.kinds.tied import TIED

GAUSSIAN, SPHERICAL, DIAGONAL, FULL = range(4)

# Parameters for unknown hyperparameters: shape (degrees of freedom) of the prior of the noise, kappa where it is known,
# shape and rate of the Gamma distribution of the scale.
SHAPE, KAPPA, GAMMA_SHAPE, GAMMA_RATE, COLUMNS = range(5)
# Then for each column, means being less its shift: known mean, mean and standard deviation of the distribution of the
# mean, known variance of the noise and of cluster means, known scale, sum and sum of squares of its raw cells, their
# number, shift, present mean, one over the present standard deviation of the noise.
(
    KNOWN_MEAN,
    DISTRIBUTION_MEAN,
    DISTRIBUTION_SD,
    VARIANCE,
    OF_MEANS,
    KNOWN_SCALE,
    SUM,
    SQUARES,
    CELLS,
    SHIFT,
    PRESENT,
    INVERSE,
) = range(12)
PER_COLUMN = 12
# Then, for a full covariance, three matrices row by row: scatter of the raw points, scale of the prior, present factor
# of the covariance.
SCATTER, SCALES, FACTOR = range(3)


AT_A_TIME = 8  # clusters, of which one logarithm is taken


def hyperparameters_scratch_width(n_columns: int, values: int) -> int:
    """Return how much scratch drawing numbers takes: three matrices, three vectors, and a grid."""
    return 3 * n_columns * n_columns + 3 * n_columns + values


@inner
def products_at(place):
    """Return where the part of the scratch begins that is for a grid."""
    return 3 * place.width * place.width + 3 * place.width


@inner
def own(model, place, what, j):
    """Return a parameter of column j."""
    return model.parameters[own_parameters(model, place) + COLUMNS + what * place.width + j]


@inner
def matrix_at(model, place, which):
    """Return where one of the three matrices begins among the parameters."""
    width = place.width
    return own_parameters(model, place) + COLUMNS + PER_COLUMN * width + which * width * width


@inner
def form_of(model, place):
    """Return the form of a column group."""
    return model.integers[place.hyper + FORM]


@inner
def mean_of(model, place, j):
    """Return the prior mean of column j by the numbers, less the shift."""
    at = number_of(model, place, MEAN)
    return own(model, place, KNOWN_MEAN, j) if at < 0 else model.hyperparameters[at + j] - own(model, place, SHIFT, j)


@inner
def variance_of(model, place, j):
    """Return the variance of the noise in column j by the numbers; not for full covariances."""
    at, form = number_of(model, place, SPREAD), form_of(model, place)
    if at < 0:
        return own(model, place, VARIANCE, j)
    if form == GAUSSIAN:
        return model.hyperparameters[at] * model.hyperparameters[at]
    return model.hyperparameters[at + (j if form == DIAGONAL else 0)]


@inner
def kappa_of(model, place, j, variance):
    """Return kappa of column j by the numbers, where the noise has this variance."""
    at = number_of(model, place, WEIGHT)
    if form_of(model, place) == GAUSSIAN:
        return variance / (
            own(model, place, OF_MEANS, j) if at < 0 else model.hyperparameters[at] * model.hyperparameters[at]
        )
    return model.parameters[own_parameters(model, place) + KAPPA] if at < 0 else model.hyperparameters[at]


@inner
def scale_of(model, place, j):
    """Return the scale of the prior of a variance by the numbers."""
    at = number_of(model, place, SCALE)
    return own(model, place, KNOWN_SCALE, j) if at < 0 else model.hyperparameters[at]


@inner
def mean_in(model, chain, place, k, j, n):
    """Return the mean of the n cells of cluster k in column j, less the shift; not for full covariances."""
    mean = chain.sums[k, place.summed + j] / n
    return mean if place.kind == TIED else mean / own(model, place, INVERSE, j) + own(model, place, PRESENT, j)


@inner
def add_cluster(k, n, square, by_square, grid, products, weights):
    """Multiply the products by ``kappa / (kappa + n)`` of a cluster, and take that times its square off the weights."""
    begins = k % AT_A_TIME == 0
    if by_square:
        for i in range(len(weights)):
            share = 1.0 / (1.0 + n * grid[i] * grid[i])
            products[i] = share if begins else products[i] * share
            weights[i] -= share * square
    else:
        for i in range(len(weights)):
            share = grid[i] / (grid[i] + n)
            products[i] = share if begins else products[i] * share
            weights[i] -= share * square
