"""One fused loop for 7 columns of yes and no, 6 of categories, 6 of counts and 6 of numbers: a yardstick for `Columns`.

The same arithmetic on the same arrays as the compiled functions of `copartition.targets.kinds`, in one function that
knows which columns are where when it is compiled. Its logarithms are shared by kinds.
"""

from __future__ import annotations

import math

import numpy as np

import copartition as cp
from copartition.targets.kinds.column_group import FIELDS, Place

YES_NO, CATEGORIES, COUNTS, NUMBERS, LEVELS = 7, 6, 6, 6, 4
# Where columns are in points and sums: as `copartition.targets.column_groups.prepared` arranges blocks of these kinds.
CODES = YES_NO + CATEGORIES
ALL_LEVELS = 2 * YES_NO + LEVELS * CATEGORIES
FIRST_COUNT = ALL_LEVELS
FIRST_NUMBER = FIRST_COUNT + COUNTS
FIRST_CODE = FIRST_NUMBER + 2 * NUMBERS
FACTORIALS = FIRST_CODE + CODES
OF_COUNTS = 1 + ALL_LEVELS + 2 * CODES + 1


@cp.kernels.log_predictive
def fused(model, chain, n_choices, n):
    """Log predictive density of all 25 columns."""
    m, c = model[0], chain[0]
    x, parameters, table = m.points[n], m.parameters, m.table
    log_gammas, of_numbers = parameters[OF_COUNTS + 4 :], parameters[m.integers[1 + 2 * FIELDS + 5] :]
    of_point = x[FACTORIALS + 1]
    for k in range(n_choices):
        size, sums = c.sizes[k], c.sums[k]
        product = 1.0
        for j in range(CODES):
            category = np.uint64(x[FIRST_CODE + j])
            product *= parameters[np.uint64(1) + category] + sums[category]
        result, total = x[FACTORIALS], COUNTS * parameters[OF_COUNTS]
        for j in range(COUNTS):
            s = sums[FIRST_COUNT + j]
            result += log_gammas[np.uint64(s + x[FIRST_COUNT + j])] - log_gammas[np.uint64(s)]
            total += s
        result += total * table[size, 1] - of_point * table[size, 2]
        kappa, shrinkage = of_numbers[0] + size, table[size, 4]
        inverse, a = 1.0 / kappa, of_numbers[1] + 0.5 * size
        without = within = 1.0
        for j in range(NUMBERS):
            mean = (of_numbers[2 + j] + sums[FIRST_NUMBER + j]) * inverse
            b = of_numbers[2 + NUMBERS + j] + sums[FIRST_NUMBER + NUMBERS + j] - kappa * mean * mean
            b = max(b, 1.0)
            difference = x[FIRST_NUMBER + j] - mean
            without *= b
            within *= b + shrinkage * difference * difference
        result += NUMBERS * table[size, 3] + a * math.log(without) - (a + 0.5) * math.log(within)
        c.weights[k] = table[size, 0] + math.log(product) + result


def with_fused(target: cp.Mixture) -> cp.Target:
    """Return the same target with the fused function in place of its own."""
    places = target.model.integers[1:].reshape(-1, FIELDS)
    assert [Place(*row).width for row in places] == [CODES, COUNTS, NUMBERS]
    m = target.model
    return cp.Target(
        m.points, fused, target.prior, table=m.table, parameters=m.parameters, integers=m.integers, summed=m.n_summed
    )
