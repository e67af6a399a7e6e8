"""Several models of the same data, by their log evidences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from copartition.chains.step import Step
from copartition.diagnostics.evidence import Comparison, comparison_of
from copartition.runs.defaults import MAX_SWEEPS
from copartition.runs.evidence import log_evidence
from copartition.runs.powers import EVIDENCE, OF_COMPARISON, EvidenceError
from copartition.runs.workers import lasting
from copartition.targets.base import Target, check_target
from copartition.validation import integer, shorten


def compare(
    posteriors: Mapping[str, Target],
    target_stderr: float = 0.1,
    *,
    method: str = "coupled",
    particles: int = 200,
    step: Step | None = None,
    init: Any = None,
    max_sweeps: int = MAX_SWEEPS,
    max_seconds: float | None = None,
    seed: int = 0,
    executor: Any = None,
    progress: bool = False,
) -> Comparison:
    """Compare models of the same data by their log evidences.

    Parameters
    ----------
    posteriors : dict of Target
        By name. They must be of the same data, in the same units: the evidence is a density of the data.
    target_stderr : float
        Of each log evidence; a difference of two has 1.4 times as much.
    method, particles, step, init, max_sweeps, max_seconds, executor, progress
        See `log_evidence`; `max_seconds` are those of one model. A step is resolved for each of them.
    seed : int
        Every model has random numbers of its own, so that log evidences are independent.

    Returns
    -------
    Comparison
        A table, the best model first: print it.

    Examples
    --------
    >>> import copartition as cp
    >>> data = [-3.0, -2.9, -3.1, 3.0, 2.9]
    >>> narrow, wide = (cp.Mixture(data, cp.Gaussian(noise_sd=sd, mean_sd=3)) for sd in (0.1, 2.0))
    >>> cp.compare({"narrow": narrow, "wide": wide}, seed=1).best
    'narrow'
    """
    named = check_models(posteriors)
    seed = integer("seed", seed, 0)
    evidences = {}
    with lasting(executor) as place:
        for number, (name, posterior) in enumerate(named.items()):
            words = np.random.SeedSequence(seed, spawn_key=(EVIDENCE, OF_COMPARISON, number)).generate_state(4)
            try:
                evidences[name] = log_evidence(
                    posterior,
                    target_stderr,
                    method=method,
                    particles=particles,
                    step=step,
                    init=init,
                    max_sweeps=max_sweeps,
                    max_seconds=max_seconds,
                    seed=int.from_bytes(words.tobytes(), "little"),
                    executor=place,
                    progress=progress,
                )
            except EvidenceError as error:
                raise EvidenceError(f"{name}: {error}") from None
    return comparison_of(evidences)


def check_models(posteriors: Any) -> dict[str, Target]:
    """Return models by name, if they are of the same data as far as one can see."""
    if not isinstance(posteriors, Mapping):
        raise TypeError(f"posteriors must be a dict of targets by name, got {shorten(posteriors)}.")
    if not posteriors:
        raise ValueError("posteriors must have at least one model, got none.")
    named = {str(name): check_target(one) for name, one in posteriors.items()}
    (first, reference), *others = named.items()
    for name, one in others:
        if one.n_points != reference.n_points:
            raise ValueError(
                f"posteriors must be of the same data, got {reference.n_points} points in {first!r} and "
                f"{one.n_points} in {name!r}."
            )
        for about in ("shape", "histogram"):
            here, there = (getattr(target, about, None) for target in (reference, one))
            if here is not None and there is not None and here != there:
                found = f"{here} and {there}" if about == "shape" else "other values"
                raise ValueError(f"posteriors must be of the same data, got {found} in {first!r} and {name!r}.")
    return named
