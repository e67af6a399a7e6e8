"""What is checked after a run: chains from other starts, and the model, at a few of the partitions that the run kept.

The rules are in `copartition.diagnostics.checks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from copartition.chains.start import Beginning, begin_of, check_start, start_chain
from copartition.core.compiling import prepare
from copartition.core.random import stream
from copartition.core.starts import begin_at
from copartition.core.steps import begin_chain, evaluate_chain, make_steps
from copartition.diagnostics.checks import BATCHES, Answer, check_model, finding_on_starts
from copartition.diagnostics.findings import DOUBT, Finding
from copartition.diagnostics.modes import shares_together
from copartition.functionals import Functional
from copartition.functionals.base import as_list, evaluate_at
from copartition.functionals.pairs import CoClustering
from copartition.names import are_shares
from copartition.results import Outcomes
from copartition.results.kept import Partitions
from copartition.runs.pieces import OneByOne, run_all
from copartition.runs.progress import Chunks, Interrupted, Pause
from copartition.runs.replicates import Job
from copartition.runs.sampling import advance_by
from copartition.targets.base import Target
from copartition.targets.columns import Columns
from copartition.targets.mixture import Mixture
from copartition.targets.normal import NormalInverseWishart

CHAINS_A_START = 2
DRAWS_A_BATCH = 10
UPDATES = 300_000  # of points, that every chain makes at least, up to the most sweeps
LEAST_SWEEPS, MOST_SWEEPS = 100, 1_000
LONGER = 4  # times, where chains disagree at first
SHARE_OF_RUN = 0.1  # of the sweeps of a run that may go into these chains
COMPONENTS = 200  # of a functional that are looked at
POINTS_LOOKED_AT = 100  # between which co-clustering is looked at
MOST_SINGLETONS = 500
MANY_COLUMNS = 8  # from which on chains of full covariances hardly ever arrive from single points
ONE_IN_A_THOUSAND = 0.9995  # on either side
STARTS = int.from_bytes(b"starts", "big")  # of the key of random streams


def compare_starts(job: Job, outcomes: Outcomes, executor: Any) -> Finding | None:
    """Return whether a few chains from other starts agree with a run; None where there are no two other starts.

    Random numbers are none that a run with the same seed draws.
    """
    every = [(name, start) for name, start in reachable_starts(job.target).items() for _ in range(CHAINS_A_START)]
    sweeps = _sweeps(job, outcomes, len(every))
    found = _compare(job, outcomes, every, sweeps, executor)
    if found is not None and found.level == DOUBT:  # they may not have arrived
        found = _compare(job, outcomes, every, LONGER * sweeps, executor)
    return found


def _compare(
    job: Job, outcomes: Outcomes, every: list[tuple[str, Beginning]], sweeps: int, executor: Any
) -> Finding | None:
    """Run chains of so many sweeps, each from its start; return whether they agree with a run."""
    task = StartsJob(job, tuple(start for _, start in every), sweeps)
    found = [one for one in run_all(task, len(every), executor, False, "chains").results if one is not None]
    names = [every[one.number][0] for one in found]
    if len(set(names)) < 2:
        return None
    members = np.stack([one.members for one in found]).reshape(len(found) * BATCHES, DRAWS_A_BATCH, -1)
    together = shares_together(members).reshape(len(found), BATCHES, -1)
    values = np.stack([one.values for one in found]).reshape(len(found), BATCHES, DRAWS_A_BATCH, -1)
    widths = [len(columns) for columns in _columns(job)]
    draws = np.split(values, np.cumsum(widths)[:-1], axis=3) if widths else []
    return finding_on_starts(names, sweeps, _answers(job, outcomes, sweeps), draws, together)


def _answers(job: Job, outcomes: Outcomes, sweeps: int) -> list[Answer]:
    """Return what a run says of the functionals whose values are kept."""
    from scipy.special import stdtrit

    count, s, begin, answers = len(outcomes.values), job.settings, 0, []
    # A few replicates may agree by chance: their standard error is taken to be larger, by as much as Student's t says.
    doubt = stdtrit(count - 1, ONE_IN_A_THOUSAND) / stdtrit(np.inf, ONE_IN_A_THOUSAND) if count > 1 else np.inf
    for functional, columns in zip(job.arranged.kept, _columns(job), strict=True):
        values = outcomes.values[:, begin + columns]
        variance = values.var(axis=0, ddof=1) if count > 1 else np.full(len(columns), np.inf)
        answers.append(
            Answer(
                components=[functional.components[c] for c in columns.tolist()],
                mean=values.mean(axis=0),
                stderr=doubt * np.sqrt(variance / count),
                sd=np.sqrt(variance),
                chance=variance * (s.min_sweeps - s.burn_in + 1) / (sweeps / 2),
                are_shares=are_shares({"name": functional.name, "size": functional.size, **functional.about}),
            )
        )
        begin += functional.size
    return answers


def dispersed_starts(target: Target) -> dict[str, Beginning]:
    """Return starts that have little in common, by name, as far as the target allows them."""
    many = min(most_clusters(target), MOST_SINGLETONS)
    labels = {
        "one_cluster": target.constraint.coarsest(),
        "singletons": target.constraint.applied(np.arange(target.n_points) % many),
    }
    starts = {}
    for name, one in labels.items():
        try:
            starts[name] = Beginning(target.check_labels(one, f"the start {name!r}"))
        except ValueError:  # no proper colouring, for instance
            continue
    return starts | {"sequential": check_start(target, "sequential")}


def reachable_starts(target: Target) -> dict[str, Beginning]:
    """Return those of these starts from which chains arrive: not single points with many full covariances."""
    starts = dispersed_starts(target)
    if isinstance(target, Mixture):
        component, every = target.component, range(target.shape[1])
        parts = component.parts if isinstance(component, Columns) else [(every, component)]
        if any(isinstance(one, NormalInverseWishart) and len(own) >= MANY_COLUMNS for own, one in parts):
            starts.pop("singletons", None)
    return starts


def most_clusters(target: Target) -> int:
    """Return how many clusters the prior allows."""
    refused = np.flatnonzero(np.isneginf(target.model.log_new[1:]))
    allowed = refused[0] + 1 if refused.size else target.model.palette or target.n_points
    return int(min(target.n_points, allowed))


def _sweeps(job: Job, outcomes: Outcomes, chains: int) -> int:
    """Return the length of the chains: that of replicates, if that is long enough and does not cost too much."""
    least = int(np.clip(UPDATES // job.target.n_points, LEAST_SWEEPS, MOST_SWEEPS))
    affordable = SHARE_OF_RUN * float(outcomes.sweeps.sum()) / chains
    return int(np.clip(affordable, least, max(least, job.settings.min_sweeps)))


def _columns(job: Job) -> list[np.ndarray]:
    """Return the components of each functional that are looked at."""
    return [np.unique(np.linspace(0, f.size - 1, min(f.size, COMPONENTS)).astype(np.int64)) for f in job.arranged.kept]


class _Seen(NamedTuple):
    """What was seen of the second half of a chain: values of functionals and labels of points, a row a draw."""

    number: int
    values: np.ndarray
    members: np.ndarray


@dataclass(frozen=True)
class StartsJob(OneByOne):
    """All that determines the chains of a comparison; the job is that of the run."""

    job: Job
    starts: tuple[Beginning, ...]
    sweeps: int

    def prepare(self) -> None:
        """Compile what chains use."""
        job = self.job
        begins = {begin_of(job.target, start) for start in self.starts}
        prepare(
            make_steps,
            begin_chain,
            begin_at,
            evaluate_chain,
            *begins,
            *job.step.kernels(job.target, False),
            *job.target.kernels,
        )

    def one(self, index: int, pause: Pause) -> _Seen | None:
        """Run a chain; None where it is of no use: it could not begin there, or a functional has no value there."""
        try:
            seen = self._follow(index, pause)
        except Interrupted:
            raise
        except Exception:  # whatever a function of the user's own may raise: the run itself is sound
            return None
        return seen if np.isfinite(seen.values).all() else None

    def _follow(self, number: int, pause: Pause) -> _Seen:
        job, target, random = self.job, self.job.target.of_chain(), stream(self.job.seed, STARTS, number)
        chain = start_chain(target, self.starts[number], random)
        places = np.unique(np.linspace(0, target.n_points - 1, min(target.n_points, POINTS_LOOKED_AT)).astype(np.int64))
        chunks, step = Chunks(target.n_points), job.step.stepper(target)
        chain = advance_by(target, step, chain, random, self.sweeps - self.sweeps // 2, chunks, pause)
        kept, draws = job.arranged.kept, BATCHES * DRAWS_A_BATCH
        begins = np.cumsum([0, *[f.size for f in kept]])
        columns = np.concatenate([begin + own for begin, own in zip(begins, _columns(job), strict=False)] or [[]])
        values, members = np.zeros((draws, len(columns))), np.zeros((draws, len(places)), dtype=np.int32)
        done = 0
        for t in range(draws):
            due = (t + 1) * (self.sweeps // 2) // draws
            chain = advance_by(target, step, chain, random, due - done, chunks, pause)
            done = due
            if kept:
                values[t] = evaluate_at(target.model, target.hooks, kept, chain)[columns]
            members[t] = chain.labels[places]
        return _Seen(number, values, members)


LOOKED_AT = 10  # clusterings


def wants_look(target: Target, functional: Functional | Sequence[Functional]) -> bool:
    """Tell whether a run is about all pairs of points, and its model can be looked at."""
    return getattr(target, "normal", None) is not None and any(_is_of_all(f, target) for f in as_list(functional))


def look_at_model(target: Any, partitions: Partitions | None) -> list[Finding] | None:
    """Return where clusters are not as the model has them; None if nothing can be said.

    Parameters
    ----------
    target : Target
    partitions : Partitions, optional
        Of a run.
    """
    columns = getattr(target, "normal", None)
    if columns is None or partitions is None or not len(partitions.labels):
        return None
    return check_model(columns, partitions.labels[some_of(np.flatnonzero(partitions.is_averaged))])


def some_of(draws: np.ndarray) -> np.ndarray:
    """Return clusterings, or their places, that lie evenly in a list of them."""
    return draws[np.unique(np.linspace(0, len(draws) - 1, LOOKED_AT).astype(np.int64))]


def _is_of_all(functional: Any, target: Target) -> bool:
    if not isinstance(functional, CoClustering):
        return False
    return functional.points is None or len(functional.points) == target.n_points
