"""How variable the averages of a Markov chain are."""

from __future__ import annotations

import numpy as np

AUTOCORRELATION_TIMES_A_BATCH = 20.0
FEWEST_BATCHES = 10  # in a chain
ROUNDING = 1e-12
STANDARD_ERRORS = 5.0  # that averages of chains may be apart


def asymptotic_variance(draws: np.ndarray) -> np.ndarray:
    """Estimate the asymptotic variance of ergodic averages by batch means.

    Batches of b sweeps are short of correlations beyond b, so the estimate is too small by about c / b. That of batches
    a third as long is too small by 3 c / b; the lugsail combination of Vats and Flegal (2022), 3/2 of the first minus
    1/2 of the second, cancels the error.

    Its relative standard error is about the square root of 4 b / n, so batches should be no longer than they have to
    be, and no shorter. Their length is twenty autocorrelation times of the slowest component, at least the cube root
    and at most a tenth of the length of a chain. As batches that are too short make that time look shorter than it is,
    it is estimated again with the batches that it leads to.

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


def compared_variance(draws: np.ndarray) -> float:
    """Estimate the sum over components of asymptotic variances, to compare one step with another.

    By the initial monotone sequence of Geyer (1992): sums of two neighbouring autocovariances, as long as they are
    positive, and none larger than the one before. From short chains the error is half of that of batch means. It is not
    used for standard errors: for chains that are not reversible, as sweeps are not, there is no proof behind it.

    Parameters
    ----------
    draws : array (chains, sweeps, components)
    """
    centred = _centred(draws)
    sweeps = centred.shape[1]
    spectrum = np.abs(np.fft.rfft(centred, 2 * sweeps, axis=1)) ** 2
    covariances = np.fft.irfft(spectrum.sum(axis=(0, 2)))[:sweeps] / (len(centred) * sweeps)
    pairs = covariances[: sweeps // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    positive = pairs[: ends[0]] if len(ends) else pairs
    return float(max(0.0, 2.0 * np.minimum.accumulate(positive).sum() - covariances[0]))


def averages_agree(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether averages of two sets of chains are within five standard errors of each other, in every component.

    Parameters
    ----------
    first, second : arrays (chains, sweeps, components)
    """
    variance = sum(asymptotic_variance(draws) / (draws.shape[0] * draws.shape[1]) for draws in (first, second))
    apart = np.abs(first.mean(axis=(0, 1)) - second.mean(axis=(0, 1)))
    rounding = ROUNDING * np.maximum(1.0, np.abs(first).max(axis=(0, 1)))
    return bool(np.all(apart <= STANDARD_ERRORS * np.sqrt(variance) + rounding))


def _centred(draws: np.ndarray) -> np.ndarray:
    """Subtract the mean; what never changes but for rounding becomes 0 exactly."""
    constant = np.ptp(draws, axis=(0, 1)) <= ROUNDING * np.abs(draws).max(axis=(0, 1))
    return np.where(constant, 0.0, draws - draws.mean(axis=(0, 1)))


def _batch_length(centred: np.ndarray) -> int:
    sweeps = centred.shape[1]
    spread = np.mean(centred**2, axis=(0, 1))
    moving = spread > 0
    length = max(1, int(np.sqrt(sweeps)))
    if not moving.any():
        return length
    for _ in range(3):
        autocorrelation_time = float(np.max(_lugsail(centred, length)[moving] / spread[moving]))
        wanted = AUTOCORRELATION_TIMES_A_BATCH * autocorrelation_time
        length = max(1, int(np.clip(wanted, np.cbrt(sweeps), max(1, sweeps // FEWEST_BATCHES))))
    return length


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
