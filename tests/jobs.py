"""Jobs of replicates, and what they give."""

from __future__ import annotations

import numpy as np

import copartition as cp
from copartition.chains.start import check_start
from copartition.chains.step import BoundStep
from copartition.runs.progress import Pause
from copartition.runs.replicates import Job, Settings


def job_for(target, functionals, step, settings, init=None, seed=1):
    """A job; a coupling in place of a step stands for sweeps coupled by it."""
    step = step if isinstance(step, BoundStep) else BoundStep(cp.Step(step, 0))
    return Job(target, tuple(functionals), step, check_start(target, init), Settings(*settings), seed)


def run(job, count):
    results, failure = job.run(range(count), Pause())
    assert failure is None
    return results


def growing():
    """A target whose chains go from one cluster to dozens, more than their first arrays hold, and never rest."""
    return cp.Mixture(np.arange(40) * 3.0, cp.Gaussian(noise_sd=1.0, mean_sd=100.0), cp.DirichletProcess(30.0))
