"""Unknown hyperparameters of clusters with covariances of their own.

Prior means, their weight, a factor of the prior scale.

With covariances integrated out none of their conditional distributions is a known one, so all are on grids. In
coordinates in which the prior scale is s times the identity, a cluster of n points with mean x and within it a scatter
matrix C contributes, with d = x - m,

    D/2 log(w / (w + n)) + nu0 D/2 log s - (nu0 + n)/2 log|Psi|,       Psi = s I + C + w n / (w + n) d d'.

All of it comes from what is kept of the cluster, W with ``W Psi W' = I``, and no matrix is ever inverted:

- **the scale**: for a value that is larger by r, log|Psi| grows by ``log|I + r W'W|``. With ``W'W`` brought to a form
  of three diagonals by reflections (Householder), that takes one pass over the diagonal for each value of a grid;
- **weight and mean**: ``M = s I + C`` is Psi but for a matrix of rank one, so that products by the inverse of M are
  those by W, and a little arithmetic;
- **once they are drawn**, Psi changes by r I and, for weight and mean, by matrices of rank one; W is divided by the
  Cholesky factor of ``I + r W W'`` and these. Where digits would be lost, it is computed anew from the points.

Points themselves are shifted by the prior mean, and not scaled.

**Few values of the scale** matter. The log density is concave in ``log s``, because ``log(s + eigenvalue)`` is convex,
and so are the logs of the prior distributions. Where the last value that is known on one side lies so far below the
largest that it counts for nothing, all values beyond it lie lower still. They are not computed.
"""

from __future__ import annotations

import math

from copartition.core.compiling import inner, outline
from copartition.core.numerics import LOWEST, log_positive
from copartition.targets.kinds.column_group import (
    MEAN,
    RAW,
    SCALE,
    WEIGHT,
    factorise,
    number_of,
    own_parameters,
)
from copartition.targets.kinds.wishart import (
    BACK,
    DEGREES,
    FACTOR,
    LOG_DET,
    LOST,
    MARGINAL,
    MEAN_WEIGHT,
    NORMALISER,
    ROOT,
    SHRINKAGE,
    kept_width,
    row_of,
    scratch_width,
)

# Columns of the table, where hyperparameters are unknown: normaliser and marginal but for what depends on the weight.
TABLE, TABLE_MARGINAL = 4, 5
# Parameters for unknown hyperparameters: the weight that the table follows, the factor that densities of points by
# themselves follow, and the number of points; then for each column the mean that what is kept of clusters follows, the
# known mean, the shift, the mean that points follow; then the inverse of the Cholesky factor of the prior scale, row by
# row.
OF_TABLE, OF_POINTS, ROWS, PRESENT = range(4)
KNOWN, SHIFT, SHIFTED, INVERSE = 1, 2, 3, 4  # columns' worth of numbers behind `PRESENT`
AT_A_TIME = 4  # pivots, or clusters, of which one logarithm is taken
STEP = 8  # values of a grid, of which a multiple is computed together: so many fit into a vector register
NOTHING = -1e300  # log weight of what counts for nothing


def kept_with_hyperparameters(n_columns: int) -> int:
    """Return how many numbers are kept for a cluster: the usual ones, and three diagonals while a scale is drawn."""
    return kept_width(n_columns) + 2 * n_columns


def hyperparameters_scratch_width(n_columns: int, values: int) -> int:
    """Return how much scratch drawing numbers takes: what all functions want, vectors, and two grids."""
    return scratch_width(n_columns) + 4 * n_columns + 2 * values


@inner
def own_vector(model, place, which):
    """Return where a number for each column begins among the parameters."""
    return own_parameters(model, place) + PRESENT + which * place.width


@inner
def mean_of(model, place, i):
    """Return the prior mean by the numbers, in coordinate i."""
    m, width = model, place.width
    at = number_of(model, place, MEAN)
    if at < 0:
        return m.parameters[own_vector(model, place, KNOWN) + i]
    shift, inverse = m.parameters[own_vector(model, place, SHIFT) :], m.parameters[own_vector(model, place, INVERSE) :]
    total = 0.0
    for j in range(i + 1):
        total += inverse[i * width + j] * (m.hyperparameters[at + j] - shift[j])
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
    return model.parameters[place.parameters + FACTOR] if at < 0 else model.hyperparameters[at]


@inner
def vectors_at(place):
    """Return where the part of the scratch begins that is for vectors and a grid."""
    return 2 * max(place.width * place.width, place.width + 2)


# --- what is kept follows the numbers --------------------------------------------------------------------------------


@outline
def load_mean(model, place, vector):
    """Leave in a vector how far the prior mean has moved since what is kept followed it; tell whether it has."""
    moved, present = False, model.parameters[own_vector(model, place, 0) :]
    for i in range(place.width):
        vector[i] = mean_of(model, place, i) - present[i]
        moved |= vector[i] != 0.0
    return moved


@outline
def add_to_psi(chain, place, k, step, after, before):
    """Add ``step I + after d d' - before e e'`` to Psi of cluster k.

    The vectors W d and W e are the third and fourth of the scratch. Return whether digits would be lost; then nothing
    has changed.
    """
    c, width = chain, place.width
    kept = c.kept[c.slots[k]][place.kept :]
    w, upper, across = kept[1 + width :], c.scratch, c.scratch[width * width :]
    d, e = c.scratch[vectors_at(place) + 2 * width :], c.scratch[vectors_at(place) + 3 * width :]
    # The same in terms of W, I + step W W' + ..., the upper half row by row; then its Cholesky factor, by rows too.
    for i in range(width):
        row, of_d, of_e = w[row_of(i) :], after * d[i], before * e[i]
        for j in range(i + 1):
            across[j * width + i] = row[j]
        for j in range(i, width):
            upper[i * width + j] = of_d * d[j] - of_e * e[j]
        upper[i * width + i] += 1.0
    for m in range(width if step != 0.0 else 0):
        column = across[m * width :]
        for i in range(m, width):
            row, times = upper[i * width :], step * column[i]
            for j in range(i, width):
                row[j] += times * column[j]
    for i in range(width):
        if not upper[i * width + i] < 1.0 / LOST:
            return True  # what else there is has lost its last digits to what was added
    product, log_det = 1.0, 0.0
    for i in range(width):
        own = upper[i * width :]
        pivot = own[i]
        if not pivot > LOST:
            return True
        product *= pivot
        if i % AT_A_TIME == AT_A_TIME - 1 or i == width - 1:
            log_det += math.log(product)
            product = 1.0
        over_root = 1.0 / math.sqrt(pivot)
        for j in range(i, width):
            own[j] *= over_root
        for m in range(i + 1, width):
            row, times = upper[m * width :], own[m]
            for j in range(m, width):
                row[j] -= times * own[j]
    kept[0] += log_det
    for i in range(width):
        row, over_pivot = w[row_of(i) :], 1.0 / upper[i * width + i]
        for m in range(1, i, 2):  # rows of W are stored two by two, equally long
            above, other = w[row_of(m - 1) :], w[row_of(m) :]
            of_above, of_other = upper[(m - 1) * width + i], upper[m * width + i]
            for j in range(m + 1):
                row[j] -= of_above * above[j] + of_other * other[j]
        if i % 2 == 1:
            above, of_above = w[row_of(i - 1) :], upper[(i - 1) * width + i]
            for j in range(i):
                row[j] -= of_above * above[j]
        for j in range(i + 1):
            row[j] *= over_pivot
    return False


@outline
def keep_from_points(model, chain, place, k, weight, factor):
    """Compute what is kept for cluster k from its points, for a prior of this weight and factor, in new coordinates.

    The mean that these are to have is in the first of the vectors, less the present one.
    """
    m, c, width = model, chain, place.width
    first, n = m.integers[place.hyper + RAW], float(c.sizes[k])
    present = m.parameters[own_vector(model, place, 0) :]
    psi, column, moves = c.scratch, c.scratch[width * width :], c.scratch[vectors_at(place) :]
    d = moves[width:]
    kept = c.kept[c.slots[k]][place.kept :]
    inverse = kept[1 + width :]
    for i in range(width):
        d[i] = 0.0
    for p in range(len(c.labels)):
        if c.labels[p] == k:
            for i in range(width):
                d[i] += m.unknown.raw[p, first + i]
    for i in range(width):
        d[i] /= n
        for j in range(i + 1):
            psi[i * width + j] = factor if i == j else 0.0
    for p in range(len(c.labels)):
        if c.labels[p] == k:
            raw = m.unknown.raw[p][first:]
            for i in range(width):
                for j in range(i + 1):
                    psi[i * width + j] += (raw[i] - d[i]) * (raw[j] - d[j])
    shrunk = weight * n / (weight + n)
    for i in range(width):
        d[i] -= present[i] + moves[i]
        kept[1 + i] = n / (weight + n) * d[i]
        for j in range(i + 1):
            psi[i * width + j] += shrunk * d[i] * d[j]
    kept[0] = factorise(psi, width)
    for j in range(width):  # the columns of the inverse, by forward substitution
        for i in range(j, width):
            total = 1.0 if i == j else 0.0
            for p in range(j, i):
                total -= psi[i * width + p] * column[p]
            column[i] = total / psi[i * width + i]
            inverse[row_of(i) + j] = column[i]


@outline
def keep_anew(model, chain, place, k, weight, factor):
    """Let what is kept for cluster k follow a weight, a factor, and a mean that has moved by the first of the vectors.

    Return whether digits would be lost; then nothing has changed.
    """
    c, width, moves = chain, place.width, chain.scratch[vectors_at(place) :]
    d, e = moves[2 * width :], moves[3 * width :]
    first, n = place.parameters, float(c.sizes[k])
    old_weight, old_factor = model.parameters[first + MEAN_WEIGHT], model.parameters[first + FACTOR]
    kept = c.kept[c.slots[k]][place.kept :]
    w, away = kept[1 + width :], (old_weight + n) / n
    for i in range(width):
        row, d[i], e[i] = w[row_of(i) :], 0.0, 0.0
        for j in range(i + 1):
            d[i] += row[j] * (away * kept[1 + j] - moves[j])
            e[i] += row[j] * away * kept[1 + j]
    before, after = old_weight * n / (old_weight + n), weight * n / (weight + n)
    if add_to_psi(chain, place, k, factor - old_factor, after, before):
        return True
    for i in range(width):
        kept[1 + i] = n / (weight + n) * (away * kept[1 + i] - moves[i])
    return False


@outline
def follow(model, chain, place, with_mean):
    """Let what is kept of clusters follow the numbers, but for the mean if that may wait."""
    m, width, first = model, place.width, place.parameters
    weight, factor = weight_of(model, place), factor_of(model, place)
    moves = chain.scratch[vectors_at(place) :]
    moved = False
    if with_mean:
        moved = load_mean(model, place, moves)
    else:
        for i in range(width):
            moves[i] = 0.0
    if not moved and weight == m.parameters[first + MEAN_WEIGHT] and factor == m.parameters[first + FACTOR]:
        return
    for k in range(chain.n_clusters[0]):
        if chain.sizes[k] > 0 and keep_anew(model, chain, place, k, weight, factor):
            keep_from_points(model, chain, place, k, weight, factor)
    m.parameters[first + MEAN_WEIGHT] = weight
    m.parameters[first + FACTOR] = factor
    m.parameters[first + LOG_DET] = width * math.log(factor)
    m.parameters[first + ROOT] = 1.0 / math.sqrt(factor)
    if moved:
        present = m.parameters[own_vector(model, place, 0) :]
        for i in range(width):
            present[i] = mean_of(model, place, i)


# --- the factor of the scale -----------------------------------------------------------------------------------------


@outline
def three_diagonals(matrix, size, diagonal, beside, p):
    """Bring a symmetric matrix, given by its lower half, to a form of three diagonals, of which one is squared.

    The matrix is used up, and so is p, a vector.
    """
    for k in range(size - 1, 1, -1):
        v, norm = matrix[k * size :], 0.0
        for j in range(k):
            norm += v[j] * v[j]
            p[j] = 0.0
        diagonal[k], beside[k - 1] = v[k], norm
        last = v[k - 1]
        root = math.sqrt(norm) if last >= 0.0 else -math.sqrt(norm)
        half = norm + last * root  # of the square of v, the vector of the reflection I - 2 v v' / |v|^2
        if half == 0.0:
            continue
        v[k - 1] = last + root
        for i in range(k):
            row, own, total = matrix[i * size :], v[i], 0.0
            for j in range(i):
                total += row[j] * v[j]
                p[j] += own * row[j]
            p[i] += total + own * row[i]
        along, share = 0.0, 1.0 / half
        for j in range(k):
            p[j] *= share
            along += p[j] * v[j]
        along *= 0.5 * share
        for j in range(k):
            p[j] -= along * v[j]
        for i in range(k):
            row, own, other = matrix[i * size :], v[i], p[i]
            for j in range(i + 1):
                row[j] -= own * p[j] + other * v[j]
    diagonal[0] = matrix[0]
    if size > 1:
        diagonal[1], beside[0] = matrix[size + 1], matrix[size] * matrix[size]


@outline
def load_diagonals(chain, place, k):
    """Bring W'W of cluster k to a form of three diagonals, kept behind what else is kept: one of them, and a square."""
    c, width, matrix = chain, place.width, chain.scratch
    kept = c.kept[c.slots[k]][place.kept :]
    w, diagonals = kept[1 + width :], kept[1 + width + row_of(width + width % 2) :]
    for i in range(width):
        for j in range(i + 1):
            matrix[i * width + j] = 0.0
    for i in range(0, width, 2):  # rows of W are stored two by two, equally long; after the last there are zeros
        above, other = w[row_of(i) :], w[row_of(i + 1) :]
        for m in range(min(i + 2, width)):
            row, of_above, of_other = matrix[m * width :], above[m], other[m]
            for j in range(m + 1):
                row[j] += of_above * above[j] + of_other * other[j]
    three_diagonals(matrix, width, diagonals, diagonals[width:], c.scratch[vectors_at(place) :])


@outline
def weigh_some(model, chain, place, grid, first, last):
    """Leave the log density of the data for some values of the factor in the weights."""
    c, width = chain, place.width
    weights, degrees = model.unknown.weights, model.parameters[place.parameters + DEGREES]
    factor, n_clusters, count = model.parameters[place.parameters + FACTOR], chain.n_clusters[0], last - first
    pivots = c.scratch[vectors_at(place) + 4 * width :]
    products, own, values = pivots[len(grid) :], weights[first:], grid[first:]
    for g in range(count):
        own[g] = 0.5 * degrees * width * n_clusters * log_positive(values[g])
    for k in range(n_clusters):
        kept = c.kept[c.slots[k]][place.kept :]
        diagonal = kept[1 + width + row_of(width + width % 2) :]
        beside, power = diagonal[width:], 0.5 * (degrees + c.sizes[k])
        for g in range(count):
            products[g] = pivots[g] = 1.0 + (values[g] - factor) * diagonal[0]
        for i in range(1, width):
            if i % AT_A_TIME == 0:
                for g in range(count):
                    own[g] -= power * log_positive(products[g])
                    products[g] = 1.0
            for g in range(count):
                step = values[g] - factor
                pivot = 1.0 + step * diagonal[i] - step * step * beside[i - 1] / pivots[g]
                pivots[g] = max(pivot, min(1.0, values[g] / factor))  # below which no eigenvalue lies
                products[g] *= pivots[g]
        for g in range(count):
            own[g] -= power * log_positive(products[g])


@inner
def counts(model, place, log_prior, top, i):
    """Tell whether a value of the grid counts beside the largest."""
    return model.power[0] * model.unknown.weights[i] + log_prior[i] - top > LOWEST


@inner
def reach_of(model, chain, place, grid):
    """Return how many values to either side of the present one are computed first.

    Where clusters have many points, the weights are those of a gamma distribution. So many of its values count, as a
    rule; what is computed if they were not enough does not depend on it.
    """
    shape = 0.5 * model.parameters[place.parameters + DEGREES] * place.width * max(1, chain.n_clusters[0])
    width = math.log(grid[len(grid) - 1] / grid[0]) / len(grid)
    steps = (math.sqrt(-2.0 * LOWEST / shape) - 0.5 * LOWEST / shape) / (STEP * width)
    return STEP * (1 + int(min(steps, 1.0 * len(grid))))


@outline
def weigh_scale(model, chain, place, grid, log_prior):
    """Leave the log density of the data for each value of the factor that counts in the weights."""
    m, weights, size = model, model.unknown.weights, len(grid)
    for k in range(chain.n_clusters[0]):
        load_diagonals(chain, place, k)
    here = 0
    for i in range(size):
        here += grid[i] < m.parameters[place.parameters + FACTOR]
    reach = reach_of(model, chain, place, grid)
    first, last = max(0, here - reach), min(size, here + reach)
    weigh_some(model, chain, place, grid, first, last)
    top, left, right = -math.inf, first, last
    while True:
        for i in range(left, right):
            top = max(top, m.power[0] * weights[i] + log_prior[i])
        if first > 0 and counts(model, place, log_prior, top, first):
            left, right = max(0, first - reach), first
            first = left
        elif last < size and counts(model, place, log_prior, top, last - 1):
            left, right = last, min(size, last + reach)
            last = right
        else:
            break
        weigh_some(model, chain, place, grid, left, right)
    for i in range(first):
        weights[i] = NOTHING
    for i in range(last, size):
        weights[i] = NOTHING


# --- mean and weight -------------------------------------------------------------------------------------------------


@outline
def weigh_weight(model, chain, place, grid):
    """Leave the log density of the data for each value of the weight of the prior mean in the weights."""
    m, c, width, weights = model, chain, place.width, model.unknown.weights
    degrees, weight = m.parameters[place.parameters + DEGREES], m.parameters[place.parameters + MEAN_WEIGHT]
    products = c.scratch[vectors_at(place) + 4 * width :]
    for g in range(len(weights)):
        weights[g], products[g] = 0.0, 1.0
    for k in range(c.n_clusters[0]):
        kept, n = c.kept[c.slots[k]][place.kept :], float(c.sizes[k])
        w, square = kept[1 + width :], 0.0
        for i in range(width):
            row, total = w[row_of(i) :], 0.0
            for j in range(i + 1):
                total += row[j] * kept[1 + j]
            square += total * total
        square *= (weight + n) / n * (weight + n) / n
        square /= max(1.0 - weight * n / (weight + n) * square, 1e-15)  # by the inverse of M
        power = 0.5 * (degrees + n)
        for g in range(len(weights)):
            share = grid[g] / (grid[g] + n)
            products[g] *= share
            weights[g] -= power * log_positive(1.0 + share * n * square)
        if k % AT_A_TIME == AT_A_TIME - 1 or k == c.n_clusters[0] - 1:
            for g in range(len(weights)):
                weights[g] += 0.5 * width * log_positive(products[g])
                products[g] = 1.0


@outline
def weigh_mean(model, chain, place, column, grid):
    """Leave the log density of the data for each value of the prior mean of a column in the weights.

    What is kept may follow another mean.
    """
    m, c, width, weights = model, chain, place.width, model.unknown.weights
    degrees, weight = m.parameters[place.parameters + DEGREES], m.parameters[place.parameters + MEAN_WEIGHT]
    moves = c.scratch[vectors_at(place) :]
    before, now, along = moves[width:], moves[2 * width :], moves[3 * width :]
    inverse = m.parameters[own_vector(model, place, INVERSE) :]
    load_mean(model, place, moves)
    value = m.hyperparameters[number_of(model, place, MEAN) + column]
    for g in range(len(weights)):
        weights[g] = 0.0
    for i in range(width):
        along[i] = inverse[i * width + column] if i >= column else 0.0
    for k in range(c.n_clusters[0]):
        kept, n = c.kept[c.slots[k]][place.kept :], float(c.sizes[k])
        w = kept[1 + width :]
        for i in range(width):
            before[i] = (weight + n) / n * kept[1 + i]
            now[i] = before[i] - moves[i]
        of_before = of_now = of_along = before_now = before_along = now_along = 0.0
        for i in range(width):
            row = w[row_of(i) :]
            a = b = e = 0.0
            for j in range(i + 1):
                a += row[j] * before[j]
                b += row[j] * now[j]
                e += row[j] * along[j]
            of_before += a * a
            of_now += b * b
            of_along += e * e
            before_now += a * b
            before_along += a * e
            now_along += b * e
        # Products by the inverse of M, which is Psi less what the mean that it follows adds to it.
        shrunk = weight * n / (weight + n)
        more = shrunk / max(1.0 - shrunk * of_before, 1e-15)
        squares, products = of_now + more * before_now * before_now, now_along + more * before_now * before_along
        own, power = of_along + more * before_along * before_along, 0.5 * (degrees + n)
        for g in range(len(weights)):
            step = grid[g] - value
            square = max(0.0, squares - 2.0 * step * products + step * step * own)
            weights[g] -= power * log_positive(1.0 + shrunk * square)


# --- what column groups are asked for --------------------------------------------------------------------------------


@outline
def weigh_hyperparameter(model, chain, place, role, column, grid, log_prior):
    """Leave the log density of the data for each value of a grid in the weights."""
    follow(model, chain, place, role != MEAN)
    if role == SCALE:
        weigh_scale(model, chain, place, grid, log_prior)
    elif role == WEIGHT:
        weigh_weight(model, chain, place, grid)
    else:
        weigh_mean(model, chain, place, column, grid)


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


@outline
def shift_points(model, place):
    """Shift points by the present mean, unless they are; tell whether they were not. Their squares are behind them."""
    m, width, rows = model, place.width, own_parameters(model, place) + ROWS
    present, shifted = m.parameters[own_vector(model, place, 0) :], m.parameters[own_vector(model, place, SHIFTED) :]
    is_old = m.parameters[rows] != len(m.unknown.raw)  # points of a grid have come
    m.parameters[rows] = len(m.unknown.raw)
    for i in range(width):
        is_old |= present[i] != shifted[i]
        shifted[i] = present[i]
    if is_old:
        first = m.integers[place.hyper + RAW]
        for n in range(len(m.unknown.raw)):
            raw, point, squares = m.unknown.raw[n][first:], m.points[n][place.plain :], 0.0
            for j in range(width):
                x = raw[j] - present[j]
                point[j] = x
                squares += x * x
            point[width + 1] = squares
    return is_old


@outline
def renew(model, chain, place):
    """Bring what is kept, the table and the points up to date."""
    m, width, own, first = model, place.width, own_parameters(model, place), place.parameters
    follow(model, chain, place, True)
    weight, factor = m.parameters[first + MEAN_WEIGHT], m.parameters[first + FACTOR]
    is_old = shift_points(model, place)
    if weight != m.parameters[own + OF_TABLE]:
        renew_table(model, place, weight)
        is_old = True
    if not is_old and factor == m.parameters[own + OF_POINTS]:
        return
    m.parameters[own + OF_TABLE], m.parameters[own + OF_POINTS] = weight, factor
    shrinkage, log_det = m.table[0, place.table + SHRINKAGE] / factor, m.parameters[first + LOG_DET]
    alone = m.table[0, place.table + NORMALISER] - 0.5 * log_det
    degrees = m.parameters[first + DEGREES]
    points, at = m.points, place.plain + width
    for n in range(len(m.unknown.raw)):
        points[n, at] = alone - 0.5 * (degrees + 1.0) * log_positive(1.0 + shrinkage * points[n, at + 1])
