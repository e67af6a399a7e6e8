"""The logarithm of positive numbers, for loops over many of them.

As with `copartition.core.exponential`: compiled code calls the C library's `log` one number at a time; this one has no
branch, so that a loop runs on vector registers. It is within a few units in the last place of the exact value.
"""

from __future__ import annotations

import numpy as np

from copartition.core.compiling import part
from copartition.core.exponential import DIGITS, LOG_2_HIGH, LOG_2_LOW

# The bits of the square root of 1/2, but for its last digits: mantissas are taken from there to the root of 2.
ROOT = np.int64(0x3FE6A09E00000000)
C1, C2, C3, C4, C5, C6, C7, C8, C9, C10 = (2.0 / (2 * k + 1) for k in range(1, 11))


# Sums must not be reordered here: the last step adds a small number to a large one.
@part(forceinline=True, fastmath={"contract"})
def log_positive(x):
    """Return log(x) for a positive number that is not tiny: with ``x = 2^n m``, n log 2 and the series of log m.

    With ``s = (m - 1) / (m + 1)`` that is ``2 (s + s^3 / 3 + s^5 / 5 + ...)``, and |s| is at most 0.172.
    """
    bits = np.float64(x).view(np.int64)
    n = np.int64((bits - ROOT) >> DIGITS)
    m = np.int64(bits - np.int64(n << DIGITS)).view(np.float64)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    z2 = z * z
    z4 = z2 * z2
    low = (C1 + C2 * z) + z2 * (C3 + C4 * z)
    high = (C5 + C6 * z) + z2 * (C7 + C8 * z) + z4 * (C9 + C10 * z)
    series = 2.0 * s + s * z * (low + z4 * high)
    return n * LOG_2_HIGH + (n * LOG_2_LOW + series)
