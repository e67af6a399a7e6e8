"""Pairs of coupled chains: the certificate that an answer carries no bias of chains that were stopped too soon.

A few pairs tell how long chains take to meet. If all of them meet within what the work allows, replicates follow, with
a burn-in of twice what the slowest took, so that hardly any needs a correction: first a few, then as many as the
precision calls for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from copartition.chains.step import Step
from copartition.clustering.work import COUPLED, Budget, Cost
from copartition.diagnostics.findings import Finding
from copartition.functionals import memberships, n_clusters
from copartition.results import MeetingTimes
from copartition.runs.choice import Choice, check_settings, make_job
from copartition.runs.consensus import seed_of
from copartition.runs.drawing import PER_REPLICATE, WeightedPartitions
from copartition.runs.estimating import run_until
from copartition.runs.meeting import meeting_times
from copartition.runs.stopping import UntilPrecise
from copartition.runs.workers import Where
from copartition.targets.base import Target

PILOT, FEW_PAIRS = 12, 4  # pairs of the pilot; where points are many
PILOT_SHARE = 0.25  # of all work, that a pilot may take
LAG, SHORT_LAG = 50, 20
LEAST_COUPLED = 30  # coupled sweeps that must be affordable for a pilot to be worth it
LONGEST = 20_000  # coupled sweeps of a pair of the pilot, however much work there is
LEAST_BURN_IN = 20
SAFETY = 2  # burn-ins in what the slowest pair of the pilot took
HORIZON, SHORT_HORIZON = 5.0, 2.5  # in burn-ins
FIRST_ROUND, FEWEST_CERTIFY = 32, 16  # replicates of the first round; fewer certify nothing
PRECISION = 0.04  # standard error of probabilities at effort 1
PART = int.from_bytes(b"pilot", "big")  # of the key of random streams
SPARE = 0.95  # of the work that is left, which replicates may take


class Certificate(NamedTuple):
    """What pairs have shown.

    Attributes
    ----------
    pilot : MeetingTimes or None
        None where no pair could be afforded.
    draws : WeightedPartitions or None
        From replicates, with the probabilities of memberships and numbers of clusters as `run`; None without any.
    why : str
        Why there are none, or what they do not certify; empty if they certify the answer.
    """

    pilot: MeetingTimes | None
    draws: WeightedPartitions | None
    why: str


class Answer(NamedTuple):
    """What ordinary chains have found, and pairs are to certify.

    Attributes
    ----------
    labels : int array
        The clustering that probabilities are about.
    most_clusters : int
        Up to which number of clusters probabilities are told.
    model, look : findings
        What is already known, for the findings of the run.
    """

    labels: np.ndarray
    most_clusters: int
    model: list[Finding]
    look: Finding | None


class Pairs:
    """Pairs of coupled chains of a target: the first few are run here.

    Parameters
    ----------
    target, step, init
        Resolved: what chains do, and where they start.
    mean_n_clusters : float
        For what chains cost.
    budget : Budget
    where : Where
    """

    def __init__(
        self, target: Target, step: Step, init: str, mean_n_clusters: float, budget: Budget, where: Where
    ) -> None:
        self._target, self._step, self._init = target, step, init
        self._budget, self._where = budget, where
        self._a_step = Cost(target).of_step(mean_n_clusters)
        self.pilot = self._first()

    @property
    def slowest(self) -> int:
        """How many coupled sweeps the slowest of the first pairs took; 0 if there are none, or some have not met."""
        if self.pilot is None or self.pilot.censored:
            return 0
        return int((self.pilot.meeting_times - self.pilot.lag).max())

    def _first(self) -> MeetingTimes | None:
        """Run a few pairs until they meet; None if that takes too much work."""
        for count, lag in ((PILOT, LAG), (FEW_PAIRS, SHORT_LAG)):
            work = min(PILOT_SHARE * self._budget.total, 0.5 * self._budget.left)
            coupled = int(min((work / (count * self._a_step) - lag) / COUPLED, LONGEST))
            if coupled >= LEAST_COUPLED:
                break
        else:
            return None
        m = meeting_times(
            self._target,
            replicates=count,
            step=self._step,
            lag=lag,
            init=self._init,
            max_sweeps=lag + coupled,
            trace=True,
            seed=seed_of(self._where.seed, PART),  # nothing that replicates draw
            executor=self._where.executor,
        )
        work = self._a_step * float((m.lag + COUPLED * (m.meeting_times - m.lag)).sum())
        self._budget.spend(work, "first pairs of chains")
        return m

    def certify(self, answer: Answer, effort: float) -> Certificate:
        """Run replicates, as far as the work goes.

        Parameters
        ----------
        answer : Answer
        effort : float
            The precision gets better with its square root.
        """
        pilot, a_step, budget = self.pilot, self._a_step, self._budget
        if pilot is None:
            return Certificate(None, None, "pairs of coupled chains take more work than there is")
        coupled = pilot.meeting_times - pilot.lag
        if pilot.censored:
            unmet = f"{pilot.censored} of {len(coupled)} pairs of coupled chains"
            return Certificate(pilot, None, f"{unmet} did not meet within {pilot.max_sweeps:,} sweeps")
        burn_in = max(LEAST_BURN_IN, SAFETY * self.slowest)
        left, most, horizon = SPARE * budget.left, 0.0, burn_in
        for burn_ins in (HORIZON, SHORT_HORIZON):
            horizon = int(burn_ins * burn_in)
            of_replicate = a_step * (burn_in + COUPLED * coupled.mean() + horizon)
            most = left // of_replicate
            if most >= FEWEST_CERTIFY:
                break
        if most < FEWEST_CERTIFY:
            return Certificate(
                pilot, None, f"{FEWEST_CERTIFY} replicates with a burn-in of {burn_in:,} sweeps take too much work"
            )
        cap = horizon + int(max(burn_in, left / (4 * COUPLED * a_step)))
        choice = Choice(
            check_settings(burn_in, horizon, burn_in, cap), self._step, self._init, answer.look, answer.model
        )
        functionals = [memberships(answer.labels), n_clusters(answer.most_clusters)]
        job = replace(make_job(self._target, functionals, choice, self._where.seed), keeps=PER_REPLICATE)
        rule = UntilPrecise(
            stderr=PRECISION / np.sqrt(effort), relative=None, most=int(most), first=min(FIRST_ROUND, int(most))
        )

        def tell(done: int, total: int, mean: np.ndarray, stderr: np.ndarray) -> None:
            budget.show(done * of_replicate, f"pairs of chains: {done} of {total}")

        run = run_until(rule, job, choice, executor=self._where.executor, progress=tell)
        # At once: the same sum in whatever order they end.
        budget.spend(len(run.met) * of_replicate, "pairs of chains")
        unmet = (
            f"{run.censored} of {len(run.met)} replicates did not meet within {cap:,} sweeps" if run.censored else ""
        )
        return Certificate(pilot, WeightedPartitions(run, self._target), unmet)
