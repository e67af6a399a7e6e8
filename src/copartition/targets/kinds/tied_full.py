"""Full covariances that all clusters share: how they, prior means and kappa are drawn.

The covariance given all else is inverse Wishart, all prior means are normal, kappa is on a grid; see
`copartition.targets.kinds.tied_hyperparameters`.
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
    factorise,
    invert_lower,
    number_of,
    own_parameters,
    solve_lower,
    solve_upper,
)
from copartition.targets.kinds.tied_hyper import (
    AT_A_TIME,
    CELLS,
    DISTRIBUTION_MEAN,
    DISTRIBUTION_SD,
    FACTOR,
    PRESENT,
    SCALES,
    SCATTER,
    SHAPE,
    SUM,
    add_cluster,
    kappa_of,
    matrix_at,
    mean_of,
    own,
    products_at,
)


@outline
def load_covariance(model, place, matrix):
    """Leave the Cholesky factor of the covariance by the numbers in a matrix; return its log determinant."""
    at, width = number_of(model, place, SPREAD), place.width
    for i in range(width):
        for j in range(i + 1):
            matrix[i * width + j] = model.hyperparameters[at + i * (i + 1) // 2 + j]
    return factorise(matrix, width)


@outline
def load_mean_in(model, chain, place, k, vector):
    """Leave the mean of cluster k, less the shift, in a vector."""
    width, factor, n = place.width, model.parameters[matrix_at(model, place, FACTOR) :], chain.sizes[k]
    for i in range(width):
        total = 0.0
        for j in range(i + 1):
            total += factor[i * width + j] * chain.sums[k, place.summed + j]
        vector[i] = total / n + own(model, place, PRESENT, i)


@outline
def load_distribution_of_covariance(model, chain, place, matrix, vector):
    """Leave the scale matrix of the inverse Wishart distribution of the covariance in a matrix.

    Return degrees of freedom.
    """
    m, width, power = model, place.width, model.power[0]
    scatter, scales = (
        model.parameters[matrix_at(model, place, SCATTER) :],
        model.parameters[matrix_at(model, place, SCALES) :],
    )
    at = number_of(model, place, SCALE)
    factor = 1.0 if at < 0 else m.hyperparameters[at]
    kappa, n_points = kappa_of(model, place, 0, 1.0), own(model, place, CELLS, 0)
    for i in range(width):
        m_i, sum_i = mean_of(model, place, i), own(model, place, SUM, i)
        for j in range(i + 1):
            m_j, sum_j = mean_of(model, place, j), own(model, place, SUM, j)
            squares = scatter[i * width + j] - m_i * sum_j - m_j * sum_i + n_points * m_i * m_j
            matrix[i * width + j] = factor * scales[i * width + j] + power * squares
    for k in range(chain.n_clusters[0]):
        n = float(chain.sizes[k])
        load_mean_in(model, chain, place, k, vector)
        weight = power * n * n / (kappa + n)
        for i in range(width):
            for j in range(i + 1):
                difference = (vector[i] - mean_of(model, place, i)) * (vector[j] - mean_of(model, place, j))
                matrix[i * width + j] -= weight * difference
    return m.parameters[own_parameters(model, place) + SHAPE] + power * n_points


@outline
def draw_covariance(model, chain, place, random):
    """Draw the covariance: ``C A^-T A^-1 C'``, with C the factor of its scale and A that of a Wishart matrix."""
    width, at = place.width, number_of(model, place, SPREAD)
    c = chain.scratch
    a, row = c[width * width :], c[2 * width * width :]
    degrees = load_distribution_of_covariance(model, chain, place, c, row)
    factorise(c, width)
    for i in range(width):
        for j in range(i):
            a[i * width + j] = normal(random)
        a[i * width + i] = math.sqrt(2.0 * gamma(0.5 * (degrees - i), random))
    # Row i of R = A^-1 C' is row i of C', less multiples of those above; the covariance is R' R.
    rotated, values = c[2 * width * width :], model.hyperparameters[at:]
    for j in range(width * (width + 1) // 2):
        values[j] = 0.0
    for i in range(width):
        own_row, over_pivot = rotated[i * width :], 1.0 / a[i * width + i]
        for j in range(width):
            own_row[j] = c[j * width + i] if j >= i else 0.0
        for m in range(i):
            above, times = rotated[m * width :], a[i * width + m]
            for j in range(width):
                own_row[j] -= times * above[j]
        for j in range(width):
            own_row[j] *= over_pivot
        for j in range(width):
            covariances, times = values[j * (j + 1) // 2 :], own_row[j]
            for m in range(j + 1):
                covariances[m] += times * own_row[m]


@outline
def log_density_of_covariance(model, chain, place, values):
    """Return the log density of a covariance under its inverse Wishart distribution."""
    width = place.width
    c = chain.scratch
    sigma, vector = c[width * width :], c[2 * width * width :]
    degrees = load_distribution_of_covariance(model, chain, place, c, vector)
    log_det_scale = factorise(c, width)
    for i in range(width):
        for j in range(i + 1):
            sigma[i * width + j] = values[i * (i + 1) // 2 + j]
    log_det = factorise(sigma, width)
    trace = 0.0
    for j in range(width):
        for i in range(width):
            vector[i] = c[i * width + j] if i >= j else 0.0
        solve_lower(sigma, width, vector)
        for i in range(width):
            trace += vector[i] * vector[i]
    total = 0.5 * degrees * (log_det_scale - width * math.log(2.0)) - 0.25 * width * (width - 1) * math.log(math.pi)
    for i in range(width):
        total -= math.lgamma(0.5 * (degrees - i))
    return total - 0.5 * ((degrees + width + 1) * log_det + trace)


@outline
def load_distribution_of_means(model, chain, place):
    """Leave the factor of the precision of all prior means in the scratch, and behind it their centre."""
    width, power = place.width, model.power[0]
    precision, factor = chain.scratch, chain.scratch[width * width :]
    centre, vector = chain.scratch[2 * width * width :], chain.scratch[2 * width * width + width :]
    load_covariance(model, place, factor)
    kappa = kappa_of(model, place, 0, 1.0)
    total = 0.0
    for i in range(width):
        centre[i] = 0.0
    for k in range(chain.n_clusters[0]):
        n = float(chain.sizes[k])
        weight = power * kappa * n / (kappa + n)
        total += weight
        load_mean_in(model, chain, place, k, vector)
        for i in range(width):
            centre[i] += weight * vector[i]
    # The inverse of the covariance, column by column, times the weights and the weighted sum.
    for j in range(width):
        for i in range(width):
            vector[i] = 1.0 if i == j else 0.0
        solve_lower(factor, width, vector)
        solve_upper(factor, width, vector)
        for i in range(j, width):
            precision[i * width + j] = total * vector[i]
    solve_lower(factor, width, centre)
    solve_upper(factor, width, centre)
    for i in range(width):
        sd = own(model, place, DISTRIBUTION_SD, i)
        precision[i * width + i] += 1.0 / (sd * sd)
        centre[i] += own(model, place, DISTRIBUTION_MEAN, i) / (sd * sd)
    log_det = factorise(precision, width)
    solve_lower(precision, width, centre)
    solve_upper(precision, width, centre)
    return log_det


@outline
def weigh_full_kappa(model, chain, place, grid, weights):
    """Add the log density of the data for each value of kappa."""
    width = place.width
    factor, vector = chain.scratch, chain.scratch[2 * width * width :]
    products = chain.scratch[products_at(place) :]
    load_covariance(model, place, factor)
    for k in range(chain.n_clusters[0]):
        n = float(chain.sizes[k])
        load_mean_in(model, chain, place, k, vector)
        for i in range(width):
            vector[i] -= mean_of(model, place, i)
        solve_lower(factor, width, vector)
        square = 0.0
        for i in range(width):
            square += 0.5 * n * vector[i] * vector[i]
        add_cluster(k, n, square, False, grid, products, weights)
        if k % AT_A_TIME == AT_A_TIME - 1 or k == chain.n_clusters[0] - 1:
            for i in range(len(weights)):
                weights[i] += 0.5 * width * log_positive(products[i])


@outline
def rotate_points(model, chain, place):
    """Shift and rotate the raw points by the inverse of the factor of the covariance, those of grids included.

    The inverse is left in the scratch. Four at a time: their sums do not wait for each other.
    """
    m, width, at, first = model, place.width, model.integers[place.hyper + RAW], place.summed
    points, raw, count = m.points, m.unknown.raw, len(m.unknown.raw)
    factor, inverse = m.parameters[matrix_at(model, place, FACTOR) :], chain.scratch
    centre = chain.scratch[width * width :]
    invert_lower(factor, width, inverse)
    for j in range(width):
        centre[j] = own(model, place, PRESENT, j)
    solve_lower(factor, width, centre)
    for n in range(0, count, 4):
        last = count - 1
        n1, n2, n3 = min(n + 1, last), min(n + 2, last), min(n + 3, last)
        for i in range(width):
            y0 = y1 = y2 = y3 = -centre[i]
            for j in range(i + 1):
                c = inverse[i * width + j]
                y0 += c * raw[n, at + j]
                y1 += c * raw[n1, at + j]
                y2 += c * raw[n2, at + j]
                y3 += c * raw[n3, at + j]
            points[n, first + i] = y0
            points[n1, first + i] = y1
            points[n2, first + i] = y2
            points[n3, first + i] = y3
