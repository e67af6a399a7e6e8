"""Uniform random numbers inside kernels: the generator xoshiro256++ of Blackman and Vigna (2021).

A call costs about a nanosecond, six times less than a NumPy `Generator` in compiled code, and its bits do not depend
on the version of any library. The state is four 64-bit words, filled by NumPy's `SeedSequence`, which is made for
giving any number of streams that do not overlap in practice: replicate ``i`` of a run with seed ``s`` draws from
``SeedSequence(s, spawn_key=(i,))``.
"""

from __future__ import annotations

import numpy as np

from copartition.compiled.kernel import inner

U11 = np.uint64(11)
U17 = np.uint64(17)
U19 = np.uint64(19)
U23 = np.uint64(23)
U41 = np.uint64(41)
U45 = np.uint64(45)
TO_UNIT = 2.0**-53


def stream(seed: int, *key: int) -> np.ndarray:
    """Return the state of the random stream with this number, or several, of a run with this seed."""
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return sequence.generate_state(4, np.uint64)


@inner
def uniform(state):
    """Return a number from [0, 1), a multiple of 2^-53, and advance `state` in place."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    total = s0 + s3
    result = ((total << U23) | (total >> U41)) + s0
    shifted = s1 << U17
    s2 ^= s0
    s3 ^= s1
    state[1] = s1 ^ s2
    state[0] = s0 ^ s3
    state[2] = s2 ^ shifted
    state[3] = (s3 << U45) | (s3 >> U19)
    return np.float64(result >> U11) * TO_UNIT


@inner
def draw(weights, n_choices, level):
    """Return the choice at which the running sum of the weights passes `level`, never one of weight 0."""
    chosen = 0
    for k in range(n_choices):
        if weights[k] > 0.0:
            chosen = k
            level -= weights[k]
            if level < 0.0:
                break
    return chosen
