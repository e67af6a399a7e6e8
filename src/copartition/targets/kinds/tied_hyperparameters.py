"""Unknown hyperparameters of normal columns whose noise all clusters share.

The noise, prior means, and what these scatter by.

In column j the noise has variance v, cluster means have variance v / kappa around m. With the means of clusters
integrated out, a cluster of n cells with mean x has, with ``c = kappa n / (kappa + n)``, the density

    v^(-n/2) (kappa / (kappa + n))^(1/2) exp(-(W + c (x - m)^2) / (2 v)),        W its sum of squares around x,

up to a constant. So m given all else is normal, v is inverse gamma (a matrix, inverse Wishart), the scale of its prior
Gamma if that has a Gamma distribution, and all are drawn from these distributions. The others are on grids. Everything
that the data say is raised to the power at which a chain is tempered.
"""

from __future__ import annotations

import math

from copartition.core.compiling import outline
from copartition.core.numerics import log_positive
from copartition.core.random import gamma, normal
from copartition.targets.kinds.column_group import (
    RAW,
    SCALE,
    SPREAD,
    WEIGHT,
    count_of,
    number_of,
    own_parameters,
    solve_lower,
    solve_upper,
)
from copartition.targets.kinds.tied import HALF_PRECISION, NORMALISER, OFFSETS, SHRINKAGE, TIED
from copartition.targets.kinds.tied import KAPPA as KAPPA_OF_ALL
from copartition.targets.kinds.tied_full import (
    draw_covariance,
    load_covariance,
    load_distribution_of_means,
    log_density_of_covariance,
    rotate_points,
    weigh_full_kappa,
)
from copartition.targets.kinds.tied_hyper import (
    AT_A_TIME,
    CELLS,
    COLUMNS,
    DIAGONAL,
    DISTRIBUTION_MEAN,
    DISTRIBUTION_SD,
    FACTOR,
    FULL,
    GAMMA_RATE,
    GAMMA_SHAPE,
    GAUSSIAN,
    INVERSE,
    OF_MEANS,
    PRESENT,
    SCALES,
    SHAPE,
    SHIFT,
    SPHERICAL,
    SQUARES,
    SUM,
    add_cluster,
    form_of,
    kappa_of,
    matrix_at,
    mean_in,
    mean_of,
    own,
    products_at,
    scale_of,
    variance_of,
)

# --- columns by themselves -------------------------------------------------------------------------------------------


@outline
def distribution_of_mean(model, chain, place, j):
    """Return centre and precision of the normal distribution of the prior mean of column j, less the shift."""
    variance, sd = variance_of(model, place, j), own(model, place, DISTRIBUTION_SD, j)
    kappa = kappa_of(model, place, j, variance)
    precision = 1.0 / (sd * sd)
    total = precision * own(model, place, DISTRIBUTION_MEAN, j)
    for k in range(chain.n_clusters[0]):
        n = count_of(chain, place, k, j)
        if n > 0.0:
            weight = model.power[0] * kappa * n / ((kappa + n) * variance)
            precision += weight
            total += weight * mean_in(model, chain, place, k, j, n)
    return total / precision, precision


@outline
def squares_of(model, chain, place, j):
    """Return the sum of ``W + c (x - m)^2`` over clusters in column j."""
    m, kappa = mean_of(model, place, j), kappa_of(model, place, j, variance_of(model, place, j))
    cells = own(model, place, CELLS, j)
    total = own(model, place, SQUARES, j) - 2.0 * m * own(model, place, SUM, j) + cells * m * m
    for k in range(chain.n_clusters[0]):
        n = count_of(chain, place, k, j)
        if n > 0.0:
            difference = mean_in(model, chain, place, k, j, n) - m
            total -= n * n / (kappa + n) * difference * difference
    return max(0.0, total)


@outline
def distribution_of_variance(model, chain, place, column):
    """Return shape and scale of the inverse gamma distribution of a variance, of all columns where they share it."""
    shape, scale = model.parameters[own_parameters(model, place) + SHAPE], scale_of(model, place, column)
    shared = form_of(model, place) == SPHERICAL
    for j in range(0 if shared else column, place.width if shared else column + 1):
        shape += 0.5 * model.power[0] * own(model, place, CELLS, j)
        scale += 0.5 * model.power[0] * squares_of(model, chain, place, j)
    return shape, scale


@outline
def weigh_kappa(model, chain, place, grid, weights):
    """Add the log density of the data for each value of a number that says kappa, the same in all columns."""
    # kappa is proportional to the number, or to its square from below: kappa / (kappa + n) = 1 / (1 + n number^2 / v).
    is_gaussian = form_of(model, place) == GAUSSIAN
    variance, half = variance_of(model, place, 0), 0.5 * place.width
    products = chain.scratch[products_at(place) :]
    for k in range(chain.n_clusters[0]):
        n, square = float(chain.sizes[k]), 0.0
        for j in range(place.width):
            difference = mean_in(model, chain, place, k, j, n) - mean_of(model, place, j)
            square += 0.5 * n * difference * difference / variance_of(model, place, j)
        add_cluster(k, n / variance if is_gaussian else n, square, is_gaussian, grid, products, weights)
        if k % AT_A_TIME == AT_A_TIME - 1 or k == chain.n_clusters[0] - 1:
            for i in range(len(weights)):
                weights[i] += half * log_positive(products[i])


@outline
def weigh_spread_of_means(model, chain, place, grid, weights):
    """The same where cells are missing, or kappa differs between columns."""
    is_gaussian = form_of(model, place) == GAUSSIAN
    for j in range(place.width):
        variance, m = variance_of(model, place, j), mean_of(model, place, j)
        for k in range(chain.n_clusters[0]):
            n = count_of(chain, place, k, j)
            if n > 0.0:
                difference = mean_in(model, chain, place, k, j, n) - m
                square = 0.5 * n * difference * difference / variance
                for i in range(len(weights)):
                    kappa = variance / (grid[i] * grid[i]) if is_gaussian else grid[i]
                    share = kappa / (kappa + n)
                    weights[i] += 0.5 * log_positive(share) - share * square


@outline
def weigh_noise(model, chain, place, grid, weights):
    """Add the log density of the data for each value of the standard deviation of the noise, that of means as it is."""
    at = number_of(model, place, WEIGHT)
    for j in range(place.width):
        m, cells = mean_of(model, place, j), own(model, place, CELLS, j)
        of_means = own(model, place, OF_MEANS, j) if at < 0 else model.hyperparameters[at] * model.hyperparameters[at]
        squares = own(model, place, SQUARES, j) - 2.0 * m * own(model, place, SUM, j) + cells * m * m
        for i in range(len(weights)):
            variance = grid[i] * grid[i]
            weights[i] -= 0.5 * (cells * log_positive(variance) + squares / variance)
        for k in range(chain.n_clusters[0]):
            n = count_of(chain, place, k, j)
            if n > 0.0:
                difference = mean_in(model, chain, place, k, j, n) - m
                square = 0.5 * n * difference * difference
                for i in range(len(weights)):
                    variance = grid[i] * grid[i]
                    rest = variance / (variance + n * of_means)  # kappa / (kappa + n)
                    weights[i] += 0.5 * log_positive(rest) + (1.0 - rest) * square / variance


# --- the scale of the prior of the noise -----------------------------------------------------------------------------


@outline
def distribution_of_scale(model, chain, place):
    """Return by what the noise multiplies the density of the scale s: ``s^a exp(-b s)``, as a and b."""
    width, shape = place.width, model.parameters[own_parameters(model, place) + SHAPE]
    at, form = number_of(model, place, SPREAD), form_of(model, place)
    if form == SPHERICAL:
        return shape, 1.0 / model.hyperparameters[at]
    total = 0.0
    if form == DIAGONAL:
        for j in range(width):
            total += 1.0 / model.hyperparameters[at + j]
        return width * shape, total
    factor, vector = chain.scratch, chain.scratch[2 * width * width :]
    scales = model.parameters[matrix_at(model, place, SCALES) :]
    load_covariance(model, place, factor)
    for j in range(width):  # the trace of the scale matrix times the inverse of the covariance
        for i in range(width):
            vector[i] = scales[i * width + j] if i >= j else scales[j * width + i]
        solve_lower(factor, width, vector)
        solve_upper(factor, width, vector)
        total += vector[j]
    return 0.5 * width * shape, 0.5 * total


# --- what column groups are asked for --------------------------------------------------------------------------------


@outline
def weigh_hyperparameter(model, chain, place, role, column, grid, weights):
    """Leave the log density for each value of a grid in the weights."""
    for i in range(len(weights)):
        weights[i] = 0.0
    if role == SCALE:
        a, b = distribution_of_scale(model, chain, place)
        for i in range(len(weights)):
            weights[i] = a * log_positive(grid[i]) - b * grid[i]
    elif role == SPREAD:
        weigh_noise(model, chain, place, grid, weights)
    elif form_of(model, place) == FULL:
        weigh_full_kappa(model, chain, place, grid, weights)
    elif place.kind == TIED:
        weigh_kappa(model, chain, place, grid, weights)
    else:
        weigh_spread_of_means(model, chain, place, grid, weights)


@outline
def draw_hyperparameters(model, chain, place, role, column, random):
    """Draw a prior mean, or all of them, or the noise, or the scale of its prior."""
    m, width, at = model, place.width, number_of(model, place, role)
    is_full = form_of(model, place) == FULL
    if role == SCALE:
        a, b = distribution_of_scale(model, chain, place)
        first = own_parameters(model, place)
        m.hyperparameters[at] = gamma(m.parameters[first + GAMMA_SHAPE] + a, random) / (
            m.parameters[first + GAMMA_RATE] + b
        )
    elif role == SPREAD and is_full:
        draw_covariance(model, chain, place, random)
    elif role == SPREAD:
        shape, scale = distribution_of_variance(model, chain, place, column)
        m.hyperparameters[at + column] = scale / gamma(shape, random)
    elif is_full:
        load_distribution_of_means(model, chain, place)
        centre, vector = chain.scratch[2 * width * width :], chain.scratch[2 * width * width + width :]
        for i in range(width):
            vector[i] = normal(random)
        solve_upper(chain.scratch, width, vector)
        for i in range(width):
            m.hyperparameters[at + i] = own(model, place, SHIFT, i) + centre[i] + vector[i]
    else:
        centre, precision = distribution_of_mean(model, chain, place, column)
        m.hyperparameters[at + column] = (
            own(model, place, SHIFT, column) + centre + normal(random) / math.sqrt(precision)
        )


@outline
def log_density_of_hyperparameters(model, chain, place, role, column, values):
    """Return the log density of such a draw."""
    m, width = model, place.width
    is_full = form_of(model, place) == FULL
    if role == SCALE:
        a, b = distribution_of_scale(model, chain, place)
        first = own_parameters(model, place)
        shape, rate = m.parameters[first + GAMMA_SHAPE] + a, m.parameters[first + GAMMA_RATE] + b
        return shape * math.log(rate) - math.lgamma(shape) + (shape - 1.0) * math.log(values[0]) - rate * values[0]
    if role == SPREAD and is_full:
        return log_density_of_covariance(model, chain, place, values)
    if role == SPREAD:
        shape, scale = distribution_of_variance(model, chain, place, column)
        constant = shape * math.log(scale) - math.lgamma(shape)
        return constant - (shape + 1.0) * math.log(values[0]) - scale / values[0]
    if is_full:
        log_det = load_distribution_of_means(model, chain, place)
        factor, centre = chain.scratch, chain.scratch[2 * width * width :]
        squares = 0.0
        for i in range(width):  # L' (values - centre), with L the factor of the precision
            total = 0.0
            for j in range(i, width):
                total += factor[j * width + i] * (values[j] - own(model, place, SHIFT, j) - centre[j])
            squares += total * total
        return 0.5 * (log_det - width * math.log(2.0 * math.pi) - squares)
    centre, precision = distribution_of_mean(model, chain, place, column)
    difference = values[0] - own(model, place, SHIFT, column) - centre
    return 0.5 * (math.log(precision / (2.0 * math.pi)) - precision * difference * difference)


@outline
def renew_scales(model, place):
    """Bring the present coordinates up to date, and the constant."""
    m, width, first = model, place.width, own_parameters(model, place) + COLUMNS
    for j in range(width):
        m.parameters[first + PRESENT * width + j] = mean_of(model, place, j)
    if form_of(model, place) == FULL:
        log_det = load_covariance(model, place, model.parameters[matrix_at(model, place, FACTOR) :])
        m.constant[0] -= 0.5 * log_det
        m.constant[1] -= 0.5 * own(model, place, CELLS, 0) * log_det
        return
    for j in range(width):
        variance = variance_of(model, place, j)
        m.parameters[first + INVERSE * width + j] = 1.0 / math.sqrt(variance)
        m.constant[0] -= 0.5 * math.log(variance)
        m.constant[1] -= 0.5 * own(model, place, CELLS, j) * math.log(variance)


@outline
def renew_kappa(model, place):
    """Bring kappa and the table up to date."""
    m, table, width = model, model.table, place.width
    if place.kind != TIED:
        for j in range(width):
            m.parameters[place.parameters + j] = kappa_of(model, place, j, variance_of(model, place, j))
        return
    is_full = form_of(model, place) == FULL
    kappa = kappa_of(model, place, 0, 1.0 if is_full else variance_of(model, place, 0))
    offsets = place.parameters + OFFSETS
    for j in range(width):
        m.parameters[offsets + j] = 0.0 if is_full else kappa * mean_of(model, place, j)
        m.parameters[offsets + width + j] = 1.0 if is_full else 1.0 / variance_of(model, place, j)
    if kappa == m.parameters[place.parameters + KAPPA_OF_ALL]:
        return
    m.parameters[place.parameters + KAPPA_OF_ALL] = kappa
    for size in range(len(table)):
        precision = kappa + size
        table[size, place.table + SHRINKAGE] = 1.0 / precision
        table[size, place.table + HALF_PRECISION] = 0.5 * precision / (precision + 1.0)
        table[size, place.table + NORMALISER] = -0.5 * place.width * log_positive(1.0 + 1.0 / precision)


@outline
def take_sums_back(model, chain, place):
    """Turn sums into those of raw points."""
    c, width, first = chain, place.width, place.summed
    is_full, factor = form_of(model, place) == FULL, model.parameters[matrix_at(model, place, FACTOR) :]
    for k in range(c.n_clusters[0]):
        for i in range(width - 1, -1, -1):
            total = c.sums[k, first + i] / own(model, place, INVERSE, i)
            if is_full:
                total = 0.0
                for j in range(i + 1):
                    total += factor[i * width + j] * c.sums[k, first + j]
            c.sums[k, first + i] = total + count_of(chain, place, k, i) * own(model, place, PRESENT, i)


@outline
def scale_sums(model, chain, place):
    """Turn sums of raw points into those of points as they are now; a matrix by which they rotate is in the scratch."""
    c, width, inverse = chain, place.width, chain.scratch
    is_full = form_of(model, place) == FULL
    for k in range(c.n_clusters[0]):
        sums = c.sums[k][place.summed :]
        for i in range(width):
            total = sums[i] - count_of(chain, place, k, i) * own(model, place, PRESENT, i)
            sums[i] = total * own(model, place, INVERSE, i)
        for i in range(width - 1 if is_full else -1, -1, -1):
            row, total = inverse[i * width :], 0.0
            for j in range(i + 1):
                total += row[j] * sums[j]
            sums[i] = total


@outline
def scale_points(model, place):
    """Shift and scale the raw points, those of grids included, column by column."""
    m, width, raw, first = model, place.width, model.integers[place.hyper + RAW], place.summed
    for n in range(len(m.unknown.raw)):
        for j in range(width):
            scale = own(model, place, INVERSE, j) * m.points[n, place.observed + j]
            m.points[n, first + j] = scale * (m.unknown.raw[n, raw + j] - own(model, place, PRESENT, j))


@outline
def renew(model, chain, place):
    """Bring kappa and the table up to date; where points are scaled by the noise, points and sums too."""
    is_full = form_of(model, place) == FULL
    moves_points = is_full or place.kind != TIED
    if moves_points:
        take_sums_back(model, chain, place)
    renew_scales(model, place)
    renew_kappa(model, place)
    if is_full:
        rotate_points(model, chain, place)
    elif moves_points:
        scale_points(model, place)
    if moves_points:
        scale_sums(model, chain, place)
