"""Unknown hyperparameters of clusters with covariances of their own.

Prior means, their weight, a factor of the prior scale.

With covariances integrated out none of their conditional distributions is a known one, so all are on grids. In
coordinates in which the prior scale is s times the identity, a cluster of n points with mean x and within it a scatter
matrix C contributes, with d = x - m,

    D/2 log(w / (w + n)) + nu0 D/2 log s - (nu0 + n)/2 log|s I + C + w n / (w + n) d d'|.

Chains work in coordinates in which the prior mean is 0 and its scale the identity, see
`copartition.targets.kinds.wishart`. What is kept of clusters is taken back from there, and brought to the new
coordinates once all hyperparameters are drawn: that takes D^3 operations for each cluster, and not a pass over its
points.

**The determinant for many s**: with C brought to a form of three diagonals by reflections (Householder), it takes one
pass over the diagonal for each s.
"""

from __future__ import annotations

import math

from copartition.core.compiling import inner, outline
from copartition.core.numerics import log_positive
from copartition.targets.kinds.column_group import (
    MEAN,
    RAW,
    SCALE,
    WEIGHT,
    factorise,
    number_of,
    own_parameters,
    solve_lower,
)
from copartition.targets.kinds.wishart import (
    BACK,
    DEGREES,
    MARGINAL,
    MEAN_WEIGHT,
    NORMALISER,
    SHRINKAGE,
    add_psi,
    row_of,
    scratch_width,
)

# Columns of the table, where hyperparameters are unknown: normaliser and marginal but for what depends on the weight.
TABLE, TABLE_MARGINAL = 4, 5
# Parameters for unknown hyperparameters: the present factor, then present mean, known mean and
# shift, one number for each column, then the inverse of the Cholesky factor of the prior scale, row by row.
FACTOR, PRESENT = range(2)
AT_A_TIME = 4  # pivots, of which one logarithm is taken


def hyperparameters_scratch_width(n_columns: int, values: int) -> int:
    """Return how much scratch drawing numbers takes: what all functions want, vectors, and two grids."""
    return scratch_width(n_columns) + 6 * n_columns + 2 * values


@inner
def present_mean(model, place, j):
    """Return the prior mean that points are shifted by now, in coordinate j."""
    return model.parameters[own_parameters(model, place) + PRESENT + j]


@inner
def mean_of(model, place, i):
    """Return the prior mean by the numbers, in coordinate i."""
    m, first, width = model, own_parameters(model, place) + PRESENT, place.width
    at = number_of(model, place, MEAN)
    if at < 0:
        return m.parameters[first + width + i]
    total = 0.0
    for j in range(i + 1):
        total += m.parameters[first + 3 * width + i * width + j] * (
            m.hyperparameters[at + j] - m.parameters[first + 2 * width + j]
        )
    return total


@inner
def weight_of(model, place):
    """Return the weight of the prior mean by the numbers."""
    at = number_of(model, place, WEIGHT)
    return model.parameters[place.parameters + MEAN_WEIGHT] if at < 0 else model.hyperparameters[at]


@inner
def factor_of(model, place):
    """Return the factor of the prior scale by the numbers."""
    at = number_of(model, place, SCALE)
    return 1.0 if at < 0 else model.hyperparameters[at]


@inner
def vectors_at(place):
    """Return where the part of the scratch begins that is for vectors and a grid."""
    return 2 * max(place.width * place.width, place.width + 2)


@outline
def take_back(model, chain, place, k):
    """Leave the scatter matrix within cluster k in the scratch, lower half, and d, its mean less the prior's, behind.

    Both are in the coordinates before any shift and scaling; the prior mean is that of the numbers.
    """
    c, width = chain, place.width
    psi, d = c.scratch, chain.scratch[vectors_at(place) :]
    kept = c.kept[c.slots[k]][place.kept :]
    factor = model.parameters[own_parameters(model, place) + FACTOR]
    weight, n = model.parameters[place.parameters + MEAN_WEIGHT], float(c.sizes[k])
    for i in range(width * width):
        psi[i] = 0.0
    add_psi(chain, place, k)
    shrunk, back = weight * n / (weight + n), math.sqrt(factor) * (weight + n) / n
    for i in range(width):
        d[i] = back * kept[1 + i]
        psi[i * width + i] -= 1.0
        for j in range(i + 1):
            psi[i * width + j] = factor * psi[i * width + j] - shrunk * d[i] * d[j]
    for i in range(width):
        d[i] += present_mean(model, place, i) - mean_of(model, place, i)


@outline
def three_diagonals(matrix, size, diagonal, beside):
    """Bring a symmetric matrix, given by its lower half, to a form of three diagonals; the matrix is used up."""
    for i in range(size):
        for j in range(i):
            matrix[j * size + i] = matrix[i * size + j]
    for k in range(size - 2):
        norm = 0.0
        for i in range(k + 1, size):
            norm += matrix[i * size + k] * matrix[i * size + k]
        norm = math.sqrt(norm)
        beside[k] = -norm if matrix[(k + 1) * size + k] >= 0.0 else norm
        matrix[(k + 1) * size + k] -= beside[k]  # column k, from here on, is the vector v of the reflection
        square = 0.0
        for i in range(k + 1, size):
            square += matrix[i * size + k] * matrix[i * size + k]
        if square == 0.0:
            continue
        # The reflection is I - 2 v v' / |v|^2; row k, above the diagonal, is free for a second vector.
        along = 0.0
        for i in range(k + 1, size):
            total = 0.0
            for j in range(k + 1, size):
                total += matrix[i * size + j] * matrix[j * size + k]
            matrix[k * size + i] = 2.0 * total / square
            along += matrix[k * size + i] * matrix[i * size + k]
        for i in range(k + 1, size):
            matrix[k * size + i] -= along / square * matrix[i * size + k]
        for i in range(k + 1, size):
            for j in range(k + 1, size):
                own, other = matrix[i * size + k], matrix[k * size + i]
                matrix[i * size + j] -= own * matrix[k * size + j] + other * matrix[j * size + k]
    for i in range(size):
        diagonal[i] = matrix[i * size + i]
    if size > 1:
        beside[size - 2] = matrix[(size - 1) * size + size - 2]


@outline
def weigh_scale(model, chain, place, k, grid, weights):
    """Add what cluster k says of each value of the factor to the weights."""
    width = place.width
    matrix, vectors = chain.scratch, chain.scratch[vectors_at(place) :]
    d, diagonal, beside, pivots = vectors, vectors[width:], vectors[2 * width :], vectors[6 * width :]
    products = pivots[len(weights) :]
    n, weight, degrees = (
        float(chain.sizes[k]),
        weight_of(model, place),
        model.parameters[place.parameters + DEGREES],
    )
    shrunk = weight * n / (weight + n)
    for i in range(width):
        for j in range(i + 1):
            matrix[i * width + j] += shrunk * d[i] * d[j]
    three_diagonals(matrix, width, diagonal, beside)
    power = 0.5 * (degrees + n)
    for g in range(len(weights)):
        pivots[g] = products[g] = 1.0
    for i in range(width):
        square = beside[i - 1] * beside[i - 1] if i > 0 else 0.0
        for g in range(len(weights)):
            pivots[g] = max(diagonal[i] + grid[g] - square / pivots[g], 1e-12 * grid[g])
            products[g] *= pivots[g]
        if i % AT_A_TIME == AT_A_TIME - 1 or i == width - 1:
            for g in range(len(weights)):
                weights[g] -= power * log_positive(products[g])
                products[g] = 1.0


@outline
def weigh_mean_or_weight(model, chain, place, k, role, column, grid, weights):
    """Add what cluster k says of each value of a prior mean, or of the weight, to the weights."""
    width = place.width
    matrix, d = chain.scratch, chain.scratch[vectors_at(place) :]
    along = d[width:]
    n, weight, degrees = (
        float(chain.sizes[k]),
        weight_of(model, place),
        model.parameters[place.parameters + DEGREES],
    )
    factor = factor_of(model, place)
    for i in range(width):
        matrix[i * width + i] += factor
    factorise(matrix, width)
    solve_lower(matrix, width, d)
    squares = products = own = 0.0
    for i in range(width):
        squares += d[i] * d[i]
    if role == WEIGHT:
        for g in range(len(weights)):
            share = grid[g] / (grid[g] + n)
            weights[g] += 0.5 * width * log_positive(share)
            weights[g] -= 0.5 * (degrees + n) * log_positive(1.0 + share * n * squares)
        return
    inverse = model.parameters[own_parameters(model, place) + PRESENT + 3 * width :]
    for i in range(width):
        along[i] = inverse[i * width + column] if i >= column else 0.0
    solve_lower(matrix, width, along)
    for i in range(width):
        products += d[i] * along[i]
        own += along[i] * along[i]
    now, shrunk = model.hyperparameters[number_of(model, place, MEAN) + column], weight * n / (weight + n)
    for g in range(len(weights)):
        step = grid[g] - now
        square = max(0.0, squares - 2.0 * step * products + step * step * own)
        weights[g] -= 0.5 * (degrees + n) * log_positive(1.0 + shrunk * square)


@outline
def weigh_hyperparameter(model, chain, place, role, column, grid, weights):
    """Leave the log density of the data for each value of a grid in the weights."""
    degrees, n_clusters = model.parameters[place.parameters + DEGREES], chain.n_clusters[0]
    for g in range(len(weights)):
        weights[g] = 0.5 * degrees * place.width * n_clusters * log_positive(grid[g]) if role == SCALE else 0.0
    for k in range(n_clusters):
        take_back(model, chain, place, k)
        if role == SCALE:
            weigh_scale(model, chain, place, k, grid, weights)
        else:
            weigh_mean_or_weight(model, chain, place, k, role, column, grid, weights)


@outline
def keep_in_new_coordinates(model, chain, place, k, weight, factor):
    """Change what is kept for cluster k to the coordinates of the numbers."""
    c, width = chain, place.width
    take_back(model, chain, place, k)
    psi, d = c.scratch, chain.scratch[vectors_at(place) :]
    column = d[width:]
    kept, n = c.kept[c.slots[k]][place.kept :], float(c.sizes[k])
    inverse = kept[1 + width :]
    shrunk = weight * n / (weight + n)
    for i in range(width):
        for j in range(i + 1):
            psi[i * width + j] = (psi[i * width + j] + shrunk * d[i] * d[j]) / factor
        psi[i * width + i] += 1.0
        kept[1 + i] = n / (weight + n) * d[i] / math.sqrt(factor)
    kept[0] = factorise(psi, width)
    for j in range(width):  # the columns of the inverse, by forward substitution
        for i in range(width):
            column[i] = 1.0 if i == j else 0.0
        solve_lower(psi, width, column)
        for i in range(j, width):
            inverse[row_of(i) + j] = column[i]


@outline
def renew_table(model, place, weight):
    """Compute the table for a new weight of the prior mean."""
    table, width = model.table, place.width
    for size in range(len(table)):
        row = table[size][place.table :]
        kappa = weight + size
        row[SHRINKAGE] = kappa / (kappa + 1.0)
        row[BACK] = -1.0 / row[SHRINKAGE]
        row[NORMALISER] = row[TABLE] + 0.5 * width * log_positive(row[SHRINKAGE])
        row[MARGINAL] = row[TABLE_MARGINAL] + 0.5 * width * log_positive(weight / kappa)
    model.parameters[place.parameters + MEAN_WEIGHT] = weight


@outline
def renew(model, chain, place):
    """Bring what is kept, the table and the points up to date."""
    m, width, own = model, place.width, own_parameters(model, place)
    weight, factor = weight_of(model, place), factor_of(model, place)
    for k in range(chain.n_clusters[0]):
        if chain.sizes[k] > 0:
            keep_in_new_coordinates(model, chain, place, k, weight, factor)
    if weight != m.parameters[place.parameters + MEAN_WEIGHT]:
        renew_table(model, place, weight)
    m.parameters[own + FACTOR] = factor
    for i in range(width):
        m.parameters[own + PRESENT + i] = mean_of(model, place, i)
    scale, first = 1.0 / math.sqrt(factor), m.integers[place.hyper + RAW]
    mean = m.parameters[own + PRESENT :]
    degrees = m.parameters[place.parameters + DEGREES]
    points, raw, plain, shrinkage = m.points, m.unknown.raw, place.plain, m.table[0, place.table + SHRINKAGE]
    for n in range(len(raw)):
        squares = 0.0
        for j in range(width):
            x = scale * (raw[n, first + j] - mean[j])
            points[n, plain + j] = x
            squares += x * x
        points[n, plain + width] = 1.0 + shrinkage * squares
    normaliser = m.table[0, place.table + NORMALISER]
    for n in range(len(m.unknown.raw)):  # a loop by itself, for vector registers
        m.points[n, place.plain + width] = normaliser - 0.5 * (degrees + 1.0) * log_positive(
            m.points[n, place.plain + width]
        )
    m.constant[0] -= 0.5 * width * math.log(factor)
    m.constant[1] -= 0.5 * width * math.log(factor) * (len(m.log_size) - 1)
