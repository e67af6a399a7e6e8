"""The logarithm of positive numbers, without a branch, so that a loop over clusters runs on vector registers."""

from __future__ import annotations

import numpy as np

from copartition.core.compiling import part
from copartition.core.exponential import LOG_2_HIGH, LOG_2_LOW

LARGEST = float.fromhex("0x1.fffffffffffffp+1023")
# The bits of the square root of one half: what is above, in units of the exponent, is the power of 2.
ROOT_OF_HALF = np.int64(0x3FE6A09E667F3BCD)
DIGITS = np.int64(52)
# log m = 2 atanh s with s = (m - 1) / (m + 1), by its series; s^2 is at most 0.0295.
S3, S5, S7, S9, S11, S13, S15, S17, S19, S21 = (2.0 / k for k in range(3, 22, 2))


# Sums must not be reordered here, and quotients not be turned into products.
@part(forceinline=True, fastmath={"contract"})
def log_positive(x):
    """Return log(x) for normal numbers x > 0, to about one unit in the last place; inf and NaN are returned as given.

    ``x = 2^n m`` with n whole and m between the roots of one half and of two.
    """
    bits = np.float64(x).view(np.int64)
    n = (bits - ROOT_OF_HALF) >> DIGITS
    m = np.int64(bits - (n << DIGITS)).view(np.float64)
    power = np.float64(n)
    f = m - 1.0
    s = f / (m + 1.0)
    z = s * s
    z2 = z * z
    low = (S3 + S5 * z) + z2 * (S7 + S9 * z)
    high = (S11 + S13 * z) + z2 * (S15 + S17 * z) + z2 * z2 * (S19 + S21 * z)
    series = z * (low + z2 * z2 * high)
    # 2 s = f - s f, the first part of which is exact.
    log_m = f - s * (f - series)
    result = power * LOG_2_HIGH + (log_m + power * LOG_2_LOW)
    return result if x <= LARGEST else x
