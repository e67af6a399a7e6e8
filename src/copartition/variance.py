"""How variable the averages of a Markov chain are."""

from __future__ import annotations

import numpy as np

AUTOCORRELATION_TIMES_A_BATCH = 20.0


def asymptotic_variance(draws: np.ndarray) -> np.ndarray:
    """Estimate the asymptotic variance of ergodic averages by batch means.

    Batches of b sweeps are short of correlations beyond b, so the estimate is too small by about c / b. That of batches
    a third as long is too small by 3 c / b; the lugsail combination of Vats and Flegal (2022), 3/2 of the first minus
    1/2 of the second, cancels the error.

    Its relative standard error is about the square root of 4 b / n, so batches should be no longer than they have to
    be. Their length is twenty autocorrelation times (of the slowest component, from a first estimate with long
    batches), kept between the cube root and the square root of the length of a chain.

    Parameters
    ----------
    draws : array (chains, sweeps, components)

    Returns
    -------
    numpy.ndarray
        One number a component.
    """
    centred = _centred(draws)
    return _lugsail(centred, _batch_length(centred))


def relative_error(draws: np.ndarray) -> float:
    """Return the relative standard error of `asymptotic_variance`, about."""
    chains, sweeps, _ = draws.shape
    length = _batch_length(_centred(draws))
    return float(np.sqrt(4.0 * length / (chains * sweeps)))


def _centred(draws: np.ndarray) -> np.ndarray:
    """Subtract the mean; what never changes becomes 0 exactly, whatever the rounding of its mean."""
    constant = np.all(draws == draws[:1, :1], axis=(0, 1))
    return np.where(constant, 0.0, draws - draws.mean(axis=(0, 1)))


def _batch_length(centred: np.ndarray) -> int:
    sweeps = centred.shape[1]
    longest = max(1, int(np.sqrt(sweeps)))
    spread = np.mean(centred**2, axis=(0, 1))
    moving = spread > 0
    if not moving.any():
        return longest
    autocorrelation_time = float(np.max(_lugsail(centred, longest)[moving] / spread[moving]))
    return max(1, int(np.clip(AUTOCORRELATION_TIMES_A_BATCH * autocorrelation_time, np.cbrt(sweeps), longest)))


def _lugsail(centred: np.ndarray, length: int) -> np.ndarray:
    chains, sweeps, _ = centred.shape
    short = max(1, length // 3)
    ratio = short / length
    by_long, by_short = (_batch_means_variance(centred, b) for b in (length, short))
    if length == short or chains * (sweeps // length) < 2:
        return by_long
    combined = (by_long - ratio * by_short) / (1.0 - ratio)
    # A difference of noisy numbers may be negative, which no variance is.
    return np.where(combined > 0, combined, by_long)


def _batch_means_variance(centred: np.ndarray, length: int) -> np.ndarray:
    chains, sweeps, components = centred.shape
    batches = sweeps // length
    means = centred[:, : batches * length].reshape(chains * batches, length, components).mean(axis=1)
    return length * np.sum(means**2, axis=0) / max(1, chains * batches - 1)
