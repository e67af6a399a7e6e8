"""Pairs that did not meet are looked at more closely: each of their chains runs on alone for a while.

What a chain does by itself is the measure for how far two chains are apart, see `copartition.diagnostics.agreement`.
Chain c of replicate i draws from ``SeedSequence(seed, spawn_key=(FOLLOW, i, c))``, which nothing else draws from, so
that what is found has the same bits on any executor, and no replicate is changed by it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from copartition.chains.chain import advance_chain
from copartition.chains.density import Density
from copartition.chains.start import Beginning, begin_of, start_chain
from copartition.core.compiling import prepare
from copartition.core.random import stream
from copartition.core.steps import begin_chain, make_steps
from copartition.core.tempering import make_weighed_steps
from copartition.results import Course, Unmet
from copartition.runs.pacing import Pause
from copartition.runs.pieces import OneByOne, run_all
from copartition.runs.replicates import Job

RECORDS = 20
SWEEPS_BETWEEN_RECORDS = 5  # between records
POINTS_KEPT = 2000  # whose labels are kept
FOLLOW = int.from_bytes(b"unmet", "big")


@dataclass(frozen=True)
class Following(OneByOne):
    """Pairs whose chains are run on."""

    job: Job
    unmet: tuple[Unmet, ...]

    def prepare(self) -> None:
        """Compile what chains use."""
        job = self.job
        own = (make_steps, begin_chain, begin_of(job.target, job.start), make_weighed_steps)
        prepare(*own, *job.step.kernels(job.target, False), *job.target.kernels)

    def one(self, index: int, pause: Pause) -> Unmet:
        """Follow a pair."""
        unmet = self.unmet[index]
        return unmet._replace(course=_course(self.job, unmet, pause))


def _course(job: Job, one: Unmet, pause: Pause) -> Course:
    """Run both chains of a pair on, each alone."""
    points = np.unique(np.linspace(0, job.target.n_points - 1, min(job.target.n_points, POINTS_KEPT)).astype(np.int64))
    log_density = np.zeros((2, RECORDS))
    n_clusters = np.zeros((2, RECORDS), dtype=np.int64)
    labels = np.zeros((2, RECORDS, len(points)), dtype=np.int32)
    stepper = job.step.stepper(job.target)
    for c in range(2):
        random = stream(job.seed, FOLLOW, one.number, c)
        target = job.target.of_chain()
        density = Density(target) if target.has_density else None  # known where clusters grow by points
        # Unknown hyperparameters were not kept: they are drawn anew, given the partition.
        chain = start_chain(target, Beginning(one.labels[c].astype(np.int64)), random)
        for t in range(RECORDS):
            pause()
            chain = advance_chain(target, stepper, chain, random, SWEEPS_BETWEEN_RECORDS)
            log_density[c, t] = np.nan if density is None else density.of(chain)
            n_clusters[c, t] = len(np.unique(chain.labels))
            labels[c, t] = chain.labels[points]
    return Course(log_density, n_clusters, labels)


def follow(job: Job, unmet: tuple[Unmet, ...], executor: Any) -> dict[int, Unmet]:
    """Follow the pairs that have not been followed yet; return them by the numbers of their replicates."""
    todo = tuple(one for one in unmet if one.course is None)
    if not todo:
        return {}
    found = run_all(Following(replace(job, sums=None), todo), len(todo), executor, False, "pairs that did not meet")
    return {one.number: one for one in found.results}
