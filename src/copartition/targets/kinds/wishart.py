"""Normal clusters whose mean and covariance are unknown: the normal-inverse-Wishart distribution, both integrated out.

Data are in coordinates in which the prior mean is 0 and the prior scale the identity, times a factor f, which is 1
unless it is unknown. For a cluster of s points with
``kappa = mean_weight + s`` and ``nu = degrees_of_freedom + s`` the posterior has a mean m and a scale matrix Psi, and
the predictive distribution of a point x is a multivariate t: with ``d = x - m``, ``q = d' Psi^-1 d`` and
``r = kappa / (kappa + 1)``

    log p(x) = T[s] - 1/2 log|Psi| - (nu + 1) / 2 log(1 + r q),
    T[s] = lgamma((nu + 1) / 2) - lgamma((nu + 1 - D) / 2) + D / 2 log r      (up to a constant).

A point that joins adds ``r d d'`` to Psi, and one that leaves takes ``kappa / (kappa - 1) d d'`` away.

**Kept for each cluster**: log|Psi|, m, and W, the inverse of the Cholesky factor of Psi, so that ``q = |W d|^2`` takes
D^2 / 2 multiplications. A point of rank one changes W by as many: with w = W d, and sums ``a_i = 1 + c (w_0^2 + ... +
w_i^2)`` for a change of Psi by c d d', row i becomes

    sqrt(a_(i-1) / a_i) W_i  -  c w_i / sqrt(a_(i-1) a_i) (w_0 W_0 + ... + w_(i-1) W_(i-1)),

because the Cholesky factor of ``I + c w w'`` has an inverse of this form.

**The point stays inside.** Most points go back to where they were, so W is not touched before one really moves. From
the row that still holds x, with kappa and Psi those of all its points and ``u = 1 - kappa / (kappa - 1) q``, the weight
of going back is ``T[s - 1] - 1/2 log|Psi| + (nu - 1) / 2 log u``. Where u is tiny the point was what the covariance was
about, and digits are lost; the row is then built anew without it.

W is stored two rows at a time, each as long as the second of them: a loop over both at once is a third faster.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from copartition.core.compiling import inner, outline
from copartition.targets.kinds.column_group import factorise, place_of

WISHART = 1

NARROW = 16  # columns, for which there are functions of their own
LOST = 1e-4  # for u below this what is kept is built anew: the relative error of u is some 1e-15 / u

# Columns of the table, by cluster size: T, r, -1 / r, log marginal density but for log|Psi|.
NORMALISER, SHRINKAGE, BACK, MARGINAL = range(4)
# Parameters of a column group: weight of the prior mean, degrees of freedom; of the prior scale, f times the identity,
# f, the log determinant and one over the root of f.
MEAN_WEIGHT, DEGREES, FACTOR, LOG_DET, ROOT = range(5)


def kept_width(n_columns: int) -> int:
    """Return how many numbers are kept for a cluster: log|Psi|, the mean, W."""
    pairs = (n_columns + 1) // 2
    return 1 + n_columns + 2 * pairs * (pairs + 1)


def scratch_width(n_columns: int) -> int:
    """Return how much scratch the functions want: two matrices, or two vectors."""
    return 2 * max(n_columns * n_columns, n_columns + 2)


@inner
def row_of(i):
    """Return where row i of W begins."""
    pair = i // 2
    return 2 * pair * (pair + 1) + (i % 2) * (2 * pair + 2)


@inner
def distance_of_many(m, c, place, slot, n):
    """Return q of point n and what is kept in a slot; d is left in the scratch."""
    d, width = c.scratch, place.width
    x, mean = m.points[n][place.plain :], c.kept[slot][place.kept + 1 :]
    w = mean[width:]
    for j in range(width):
        d[j] = x[j] - mean[j]
    d[width] = 0.0  # for an odd number of columns, where the last pair has one row too many
    q = 0.0
    at, length = 0, 2
    while length < width + 2:
        upper = lower = 0.0
        for j in range(length):
            upper += w[at + j] * d[j]
            lower += w[at + length + j] * d[j]
        q += upper * upper + lower * lower
        at += 2 * length
        length += 2
    return q


@lru_cache
def distance_of(width: int) -> Any:
    """Return the function that computes q for so many columns: where these are few, loops of a known length.

    A sweep over ten columns takes a fifth less time then.
    """
    if width > NARROW:
        return distance_of_many

    @inner
    def distance_of_few(m, c, place, slot, n):
        x, mean = m.points[n][place.plain :], c.kept[slot][place.kept + 1 :]
        w = mean[width:]
        q = 0.0
        for i in range(width):
            total = 0.0
            for j in range(i + 1):
                total += w[row_of(i) + j] * (x[j] - mean[j])
            q += total * total
        return q

    return distance_of_few


@inner
def base_of(m, c, place, k, holder, q):
    """Return what is raised to a power in the predictive density of cluster k: 1 + r q, or u; 1 if it is empty."""
    table, size = m.table, c.sizes[k]
    change = table[size, place.table + BACK] if k == holder else table[size, place.table + SHRINKAGE]
    return 1.0 + change * q if size > 0 else 1.0


@inner
def log_density_of(m, c, place, k, n, holder, log_base):
    """Return the log predictive density of point n in cluster k, given the log of its base."""
    size = c.sizes[k]
    degrees = m.parameters[place.parameters + DEGREES] + size
    exponent = 0.5 * degrees if k == holder else -0.5 * (degrees + 1.0)
    log_det = c.kept[c.slots[k], place.kept]
    density = m.table[size, place.table + NORMALISER] - 0.5 * log_det + exponent * log_base
    # Whatever is kept for an empty cluster: the density of a point by itself has been looked up.
    return density if size > 0 else m.points[n, place.plain + place.width]


@inner
def is_lost(c):
    """Tell, by its base in the weights, whether the row that holds the point at hand cannot say what it is without."""
    holder = c.holder[0]
    return holder >= 0 and c.sizes[holder] > 0 and c.weights[holder] < LOST


@inner
def log_predictive_of(model, chain, m, c, place, k, n):
    """Return the log predictive density of point n in cluster k."""
    base = base_of(m, c, place, k, c.holder[0], distance_of_many(m, c, place, c.slots[k], n))
    if base < LOST:
        let_go(model, chain, k)
        base = base_of(m, c, place, k, c.holder[0], distance_of_many(m, c, place, c.slots[k], n))
    return log_density_of(m, c, place, k, n, c.holder[0], math.log(base))


@outline
def let_go(model, chain, k):
    """Build what is kept for cluster k anew without the point at hand, in all column groups of this kind."""
    c = chain
    size = c.sizes[k]
    for column_group in range(model.integers[0]):
        place = place_of(model, column_group)
        if place.kind == WISHART:
            begin(model, chain, place, k)
            c.sizes[k] = 0
            for n in range(len(c.labels)):
                if c.labels[n] == k:
                    c.sizes[k] += 1
                    enter(model, chain, place, k, n)
    c.sizes[k] = size
    c.holder[0] = -1


@inner
def begin(model, chain, place, k):
    """Set what is kept for cluster k to the prior: mean 0, W a multiple of the identity."""
    kept, width, root = chain.kept[chain.slots[k]][place.kept :], place.width, model.parameters[place.parameters + ROOT]
    w = kept[1 + width :]
    for j in range(1 + width + row_of(width + width % 2)):
        kept[j] = 0.0
    kept[0] = model.parameters[place.parameters + LOG_DET]
    for i in range(width):
        w[row_of(i) + i] = root


@outline
def enter(model, chain, place, k, n):
    """Let point n join what is kept for cluster k, whose size includes it."""
    kappa = model.parameters[place.parameters + MEAN_WEIGHT] + chain.sizes[k]
    change(model, chain, place, k, n, (kappa - 1.0) / kappa, 1.0 / kappa)


@outline
def leave(model, chain, place, k, n):
    """Let point n leave what is kept for cluster k, whose size is without it; return whether digits were lost."""
    if chain.sizes[k] == 0:
        return False  # the row begins afresh with its next point
    kappa = model.parameters[place.parameters + MEAN_WEIGHT] + chain.sizes[k]
    u = change(model, chain, place, k, n, -(kappa + 1.0) / kappa, -1.0 / kappa)
    return u < LOST


@outline
def change(model, chain, place, k, n, coefficient, shift):
    """Add ``coefficient d d'`` to Psi and ``shift d`` to the mean of cluster k; return the factor of the determinant.

    If that factor is not positive nothing of W is changed.
    """
    width, slot = place.width, chain.slots[k]
    factor = 1.0 + coefficient * distance_of_many(model, chain, place, slot, n)
    if not factor > 0.0:
        return 0.0
    kept, w, z = chain.kept[slot][place.kept :], chain.scratch, chain.scratch[width + 2 :]
    mean, inverse = kept[1:], kept[1 + width :]
    for j in range(width):
        mean[j] += shift * w[j]
        z[j] = 0.0
    # w = W d in place of d, from the last row upwards; then rows are changed from the first on.
    for i in range(width - 1, -1, -1):
        row, total = inverse[row_of(i) :], 0.0
        for j in range(i + 1):
            total += row[j] * w[j]
        w[i] = total
    before = 1.0
    for i in range(width):
        row, w_i = inverse[row_of(i) :], w[i]
        after = before + coefficient * w_i * w_i
        root = math.sqrt(before * after)
        own, others = before / root, coefficient * w_i / root
        for j in range(i + 1):
            old = row[j]
            row[j] = own * old - others * z[j]
            z[j] += w_i * old
        before = after
    kept[0] += math.log(before)
    return before


@outline
def log_merge(model, chain, place, a, b):
    """Return the log density of the points of two clusters as one, against two."""
    c = chain
    kept, table = c.kept, model.table
    size_a, size_b = c.sizes[a], c.sizes[b]
    degrees = model.parameters[place.parameters + DEGREES]
    log_det_a, log_det_b = kept[c.slots[a], place.kept], kept[c.slots[b], place.kept]
    log_det = log_det_of_both(model, chain, place, a, b)
    marginal = place.table + MARGINAL
    constants = table[size_a + size_b, marginal] - table[size_a, marginal] - table[size_b, marginal]
    exponents = (degrees + size_a) * log_det_a + (degrees + size_b) * log_det_b
    exponents -= degrees * model.parameters[place.parameters + LOG_DET]
    return constants + 0.5 * (exponents - (degrees + size_a + size_b) * log_det)


@outline
def log_det_of_both(model, chain, place, a, b):
    """Return log|Psi| of two clusters as one: the two Psi, less the prior's, and what their means add."""
    c, weight = chain, model.parameters[place.parameters + MEAN_WEIGHT]
    factor = model.parameters[place.parameters + FACTOR]
    psi, width = c.scratch, place.width
    for i in range(width * width):
        psi[i] = 0.0
    for i in range(width):
        psi[i * width + i] = -factor
    add_psi(chain, place, a)
    add_psi(chain, place, b)
    of_a, of_b = weight + c.sizes[a], weight + c.sizes[b]
    both = of_a + of_b
    apart, towards_prior = of_a * of_b / both, both * weight / (both - weight)
    mean_a, mean_b = c.kept[c.slots[a]][place.kept + 1 :], c.kept[c.slots[b]][place.kept + 1 :]
    for i in range(width):
        row = psi[i * width :]
        difference, average = mean_a[i] - mean_b[i], (of_a * mean_a[i] + of_b * mean_b[i]) / both
        for j in range(i + 1):
            row[j] += apart * difference * (mean_a[j] - mean_b[j])
            row[j] -= towards_prior * average * (of_a * mean_a[j] + of_b * mean_b[j]) / both
    return factorise(psi, width)


@outline
def add_psi(chain, place, k):
    """Add Psi of cluster k, of which W is kept, to the lower half of the first matrix in the scratch."""
    width, psi, factor = place.width, chain.scratch, chain.scratch[place.width * place.width :]
    inverse = chain.kept[chain.slots[k]][place.kept + 1 + place.width :]
    # The columns of L, the inverse of W, by forward substitution; then Psi = L L', column by column of L.
    for j in range(width):
        column = factor[j * width :]
        for i in range(j, width):
            row = inverse[row_of(i) :]
            total = 1.0 if i == j else 0.0
            for m in range(j, i):
                total -= row[m] * column[m]
            column[i] = total / row[i]
    for m in range(width):
        column = factor[m * width :]
        for i in range(m, width):
            row, l_i = psi[i * width :], column[i]
            for j in range(m, i + 1):
                row[j] += l_i * column[j]
