"""The answer from ordinary chains and pairs, what may be claimed of it, and why.

**The rule.** Chains from different starts are compared with each other, and with pairs if there are any, in how often
points are together (`copartition.diagnostics.checks`).

- *unbiased*: all pairs of coupled chains met, 16 replicates at least, and chains from other starts agree with them;
- *approximate*: not so, but chains from different starts agree;
- *unsettled*: chains, or chains and pairs, disagree; or two pairs or more of a dozen have not met and stay as far apart
  as no chain gets from itself: by twice the mean distance of clusterings of one chain, and 2 % of all pairs of rows.

A chain that is still on its way is left out if three others are there: its log density is lower by more than 30, and
five standard deviations along a chain. The answer then says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from copartition.answers import Estimate
from copartition.clustering.answer import Clustering
from copartition.clustering.around import best_allowed, distance, is_allowed
from copartition.clustering.chains import CHAINS, OrdinaryChains, places_looked_at
from copartition.clustering.model import TIED
from copartition.clustering.pairs import Answer, Certificate
from copartition.clustering.predicting import by_replicate, mean_of, stderr_of
from copartition.clustering.work import Budget
from copartition.datasets.relations import reproduced_by
from copartition.diagnostics.averages import belonging
from copartition.diagnostics.checks import BATCHES, check_model, gap_between
from copartition.diagnostics.findings import CAUTION, GOOD, NOTE, Finding
from copartition.diagnostics.search import from_draws
from copartition.functionals import memberships, n_clusters
from copartition.names import Names
from copartition.partition import canonical
from copartition.results import MeetingTimes, Replicates
from copartition.results.kept import Partitions
from copartition.runs.asking import expectations
from copartition.runs.checks import some_of
from copartition.runs.choice import Choice, check_settings, make_job
from copartition.runs.consensus import effort_for
from copartition.runs.defaults import describe, read_step
from copartition.runs.drawing import WeightedPartitions
from copartition.targets.network import BlockModel

GRADES = ("unbiased", "approximate", "unsettled")


class Grade(NamedTuple):
    """What may be claimed of an answer.

    Attributes
    ----------
    name : str
        One of `GRADES`.
    reason : str
        A sentence or two: why, what it means, and what would help.
    """

    name: str
    reason: str


def grade_of(n_chains: int, steps: int, disagreement: str, n_pairs: int, why_not: str) -> Grade:
    """Return the grade of an answer.

    Parameters
    ----------
    n_chains, steps : int
        Ordinary chains, and how long they are.
    disagreement : str
        What chains disagree on, a sentence; empty if they agree.
    n_pairs : int
        Replicates from pairs; 0 if these are no part of the answer.
    why_not : str
        Why there are none.
    """
    if disagreement:
        return Grade(
            "unsettled",
            f"{disagreement} Take these clusters as one of several possible answers, and look at alternatives(). More "
            "effort, a simpler component or fewer columns may settle it.",
        )
    if n_pairs:
        return Grade(
            "unbiased",
            f"All {n_pairs} pairs of coupled chains met, so no bias is left from stopping chains too soon, and the "
            "standard errors are the whole Monte Carlo error. Chains from other starts agree.",
        )
    return Grade(
        "approximate",
        f"{n_chains} chains of {steps:,} steps from different starts agree. But {why_not}, so that a bias that all "
        "chains share cannot be excluded. Standard errors are the differences between chains. Raise effort for more.",
    )


UNDECIDED = 0.5  # certainty below which a row is
MORE_CLUSTERS = 5  # than any chain has seen, up to which probabilities are told
DISPUTED = 0.5  # difference between chains of how surely a row is in its cluster
SEARCHED, LEAST_SEARCHED = 30_000_000, 24  # clusters of points of all clusterings that the search looks at
DEARER = 1.01  # times the expected loss that it may cost to put undecided rows where they most likely are
BETTER = 0.95  # times the expected loss that another clustering must have to take the place of that of the chains
FAR_APART = 2.0  # times the usual distance of two clusterings of one chain
MATTERS = 0.02  # of all pairs of rows, in dispute: what is less is no other mode
MANY_APART = 1 / 6  # of the pairs of the pilot
NAMED = 8  # rows that a sentence lists
FEW_VALUES, ROWS_A_VALUE = 20, 10  # different values of a column of numbers that are few, if rows are so many for each
MANY_UNDECIDED, MANY_ALONE = 0.25, 0.5  # shares of rows
RARE = 0.1  # probability of a number of clusters, relative to the largest


@dataclass(frozen=True, eq=False)
class Reading:
    """The answer of ordinary chains, and what is needed to grade it.

    Attributes
    ----------
    asked : Question
    chains : OrdinaryChains
    loss : str
    seed : int
    labels : int64 array (points)
        The clustering of least expected loss, undecided rows with their most probable cluster; in canonical numbering.
    draws : WeightedPartitions
        Those of the chains.
    about : Estimate
        Memberships in these clusters, and probabilities of numbers of clusters.
    gap : float
        See `OrdinaryChains.gap`.
    misfits : list of Finding
        Where the model does not suit the data.
    """

    asked: Any
    chains: OrdinaryChains
    loss: str
    seed: int
    labels: np.ndarray
    draws: WeightedPartitions
    about: Estimate
    gap: float
    misfits: list[Finding]

    @property
    def to_certify(self) -> Answer:
        """What pairs are to certify."""
        return Answer(self.labels, most_clusters_of(self.draws), self.misfits, self.look)

    @property
    def look(self) -> Finding | None:
        """What the run of pairs should know of other starts."""
        if self.gap > 0.0:
            return None
        count = len(self.chains.arrivals.labels)
        return Finding(GOOD, "Other starts", f"{count} chains from different starts agree with each other.")

    def graded(self, certificate: Certificate, budget: Budget, effort: float, was_interrupted: bool) -> Clustering:
        """Return the answer with its grade: that of pairs if they certify one, else that of the chains."""
        pairs = None if certificate.why else certificate.draws
        if pairs is not None and (better := self._better_by(pairs)) is not None:
            companions = expectations(pairs.run, None, [memberships(better)], None, False)
            return replace(self, labels=better)._graded(certificate, companions, budget, effort, was_interrupted)
        companions, _ = (self.about if pairs is None else pairs.run).parts()
        return self._graded(certificate, companions, budget, effort, was_interrupted)

    def _better_by(self, pairs: WeightedPartitions) -> np.ndarray | None:
        """Return a clustering that is clearly better by the partitions of pairs; None if that of the chains will do.

        Few chains may mislead where many clusterings fit. Half of the replicates choose, the other half judge.
        """
        chooses = pairs.replicate % 2 == 0
        judges = np.flatnonzero(~chooses)
        rows = pairs.labels[chooses & (pairs.weights > 0)]
        if not len(rows) or not len(judges) or len(self.labels) * len(judges) > SEARCHED:
            return None

        def loss_of(labels: np.ndarray) -> float:
            each = [distance(labels, pairs.labels[i].astype(np.int64), self.loss) for i in judges]
            return float(np.average(each, weights=pairs.weights[judges]))

        found = canonical(_chosen_from(rows.astype(np.int32), pairs.target, self.loss, self.seed))
        found = settled(found, pairs, loss_of)
        return found if loss_of(found) < BETTER * loss_of(self.labels) else None

    def _graded(
        self, certificate: Certificate, companions: Replicates, budget: Budget, effort: float, was_interrupted: bool
    ) -> Clustering:
        pairs = None if certificate.why else certificate.draws
        gap = self.gap if pairs is None else max(self.gap, self._gap_with(pairs))
        draws, about = (self.draws, self.about) if pairs is None else (pairs, pairs.run)
        count, n_chains = 0 if pairs is None else len(pairs.run.values), len(self.chains.arrivals.labels)
        why = "the run was interrupted" if was_interrupted else certificate.why
        pilot = certificate.pilot
        disagreement = self._disagreement(gap, pairs is not None) or self._pairs_apart(pilot)
        grade = grade_of(n_chains, self.chains.steps, disagreement, count, why)
        if n_chains < CHAINS and not disagreement:
            grade = grade._replace(reason=f"{grade.reason} One chain was left out: see A LATE CHAIN.")
        n_pairs = 0 if certificate.draws is None else len(certificate.draws.run.met)
        met = 0 if certificate.draws is None else int(certificate.draws.run.met.sum())
        coupled = np.zeros(0)
        if pilot is not None:
            coupled = (pilot.meeting_times - pilot.lag).astype(np.float64)
            n_pairs, met = n_pairs + len(coupled), met + int(pilot.met.sum())
        work = {
            "chains": CHAINS,
            "steps": self.chains.steps,
            "starts": self.chains.starts,
            "pairs": n_pairs,
            "pairs_met": met,
            "meeting_mean": float(coupled.mean()) if coupled.size else None,
            "share_of_budget": round(float(budget.spent / budget.total), 3),
            "interrupted": was_interrupted,
        }
        _, of_numbers = about.parts()
        shape = len(self.labels), -1
        mean, stderr = companions.mean.reshape(shape), companions.stderr.reshape(shape)
        certainty, error = belonging(self.labels, mean, stderr)
        alone = np.flatnonzero(np.bincount(self.labels)[self.labels] == 1)
        if len(alone):  # to belong to a cluster of one is to be alone
            each = by_replicate(draws, lambda partition, values: is_alone(partition)[alone])
            certainty[alone], error[alone] = each.mean(axis=0), stderr_of(each)
        rank = rank_by_size(self.labels)
        probabilities = np.clip(mean, 0.0, 1.0)
        probabilities[np.arange(len(mean)), self.labels] = np.clip(certainty, 0.0, 1.0)
        names = draws.target.names if draws.target is not None else None
        certainty = np.clip(certainty, 0.0, 1.0)
        numbers = {k + 1: float(p) for k, p in enumerate(of_numbers.mean)}
        model = (
            f" The model '{self.asked.scores[0].component}' is a close choice: see MODELS TIE." if self._ties() else ""
        )
        findings = [
            *self._of_clusters(certainty, numbers),
            *self._findings(grade, rank[self.labels], about, pairs is not None),
        ]
        return Clustering(
            labels=rank[self.labels],
            certainty=certainty,
            certainty_stderr=error,
            probabilities=probabilities[:, np.argsort(rank)],
            n_clusters=numbers,
            n_clusters_stderr={k + 1: float(p) for k, p in enumerate(of_numbers.stderr)},
            grade=grade.name,
            reason=f"{grade.reason}{model}",
            findings=findings,
            draws=draws,
            posterior=self.asked.posterior,
            loss=self.loss,
            names=list(range(len(self.labels))) if names is None else list(names),
            recognised=self.asked.kinds,
            scores=[one._asdict() for one in self.asked.scores],
            given=self.asked.given,
            effort=effort,
            seed=self.seed,
            work=work,
        )

    def _gap_with(self, pairs: WeightedPartitions) -> float:
        """Return by how much chains, and pairs beside them, differ in which points are together."""
        places = places_looked_at(len(self.labels))
        if len(places) < 2:
            return 0.0
        together = [*self.chains.together(places), _together_in(pairs, places)]
        return gap_between(np.stack(together))

    def _disagreement(self, gap: float, has_pairs: bool) -> str:
        """Return what chains do not agree on, in words."""
        if gap == 0.0:
            return ""
        seen = self.chains.arrivals
        if has_pairs and self.gap == 0.0:
            what = "in how often two rows are together"
            return f"Pairs of coupled chains say otherwise than ordinary chains, by {gap:.2g} {what}."
        own = np.array([own_share(self.labels, one) for one in seen.labels])
        disputed = np.flatnonzero(np.ptp(own, axis=0) > DISPUTED)
        count, names = len(self.labels), self.draws.names
        listed = ", ".join(str(names[i]) for i in disputed[:NAMED]) + (", ..." if len(disputed) > NAMED else "")
        numbers = [f"{k:.1f}" for k in seen.n_clusters.mean(axis=1)]
        rows = (
            f"they place {len(disputed):,} of {count:,} rows differently ({listed})"
            if len(disputed)
            else (f"they differ by {gap:.2g} in how often two rows are together")
        )
        begin = f"{len(seen.labels)} chains of {self.chains.steps:,} steps from different starts disagree"
        counts = f", and have {', '.join(numbers)} clusters on average" if len(set(numbers)) > 1 else ""
        return f"{begin}: {rows}{counts}."

    def _pairs_apart(self, pilot: MeetingTimes | None) -> str:
        """Return that pairs which have not met are in different modes, in words; nothing if few or none are."""
        if pilot is None or pilot.traces is None or not pilot.censored:
            return ""
        count, apart = len(self.labels), []
        for rows in self.chains.arrivals.labels:
            every = rows.astype(np.int64)
            half = len(every) // 2
            apart += [distance(a, b, "binder") for a, b in zip(every[:half], every[half:], strict=False)]
        limit = (FAR_APART * float(np.mean(apart)) + MATTERS) * count * (count - 1)
        unmet = [one for one, met in zip(pilot.traces, pilot.met, strict=True) if not met]
        far = sum(float(one[-max(1, len(one) // 4) :].mean()) > limit for one in unmet)
        if far < MANY_APART * len(pilot.met):
            return ""
        pairs = f"{far} of {len(pilot.met)} pairs of coupled chains"
        return (
            f"Chains from different starts agree, but {pairs} stay far apart: there may be several quite different "
            "clusterings that fit as well."
        )

    def _findings(self, grade: Grade, labels: np.ndarray, about: Estimate, is_from_pairs: bool) -> list[Finding]:
        """Return what else there is to know: the model, the precision, columns that look like classes."""
        found = [*self.misfits, *self._of_starts(), *self._of_model()]
        reached = about.made_by.get("precision", {}).get("reached", True)
        if is_from_pairs and not reached:
            error = max(float(part.stderr.max()) for part in about.parts())
            text = (
                f"Standard errors of probabilities are up to {error:.2g}: more precision takes more work than there is."
            )
            found.append(Finding(CAUTION, "Precision", text, "Raise effort."))
        kinds = self.asked.kinds
        if kinds is not None:
            found += [
                Finding(NOTE, "A class", f"{note.removesuffix('.')}.") for note in reproduced_by(kinds.columns, labels)
            ]
        return found

    def _of_starts(self) -> list[Finding]:
        """Return which chain is left out, if one is."""
        chains = self.chains
        if chains.arrived.all():
            return []
        start = {"singletons": "every row by itself", "one_cluster": "all rows in one cluster"}
        left_out = int(np.argmin(chains.arrived))
        begun, seen = start.get(chains.starts[left_out], "rows placed one after another"), chains.seen
        assert seen is not None
        many = seen.n_clusters[left_out].mean()
        text = (
            f"One of {CHAINS} chains, which began with {begun}, is still on its way after {chains.steps:,} steps: it "
            f"has {many:.0f} clusters, and a far lower density than the others. It is left out."
        )
        return [Finding(NOTE, "A late chain", text)]

    def _of_model(self) -> list[Finding]:
        """Return what the choice of the model leaves open: scores that are as good as equal, columns taken apart."""
        kinds, found = self.asked.kinds, []
        if ties := self._ties():
            told, verb = " and ".join(f"'{one.component}'" for one in ties), "is" if len(ties) == 1 else "are"
            text = (
                f"'{self.asked.scores[0].component}' predicts rows left out best, but {told} {verb} within two "
                "standard errors of it: it is a close choice, and another model may find other clusters."
            )
            others = " and ".join(f"component={one.component!r}" for one in ties)
            found.append(Finding(CAUTION, "Models tie", text, f"Compare with {others}."))
        numbers = [] if kinds is None else [one for one in kinds.columns if one.kind == "number"]
        lacking = [one for one in numbers if one.n_missing]
        if lacking and len(numbers) > 1 and self.asked.component != "diagonal":
            listed = ", ".join(f"{one.name} ({one.n_missing})" for one in lacking[:NAMED])
            text = (
                f"Columns of numbers with missing cells are taken for independent of others within clusters: {listed}."
            )
            found.append(Finding(NOTE, "Missing cells", text, "Leave such rows out for a full covariance."))
        for one in numbers:
            values = np.array(one.cells, dtype=np.float64)
            different = len(np.unique(values[~np.isnan(values)]))
            if different <= FEW_VALUES and len(values) >= ROWS_A_VALUE * different:
                text = (
                    f"'{one.name}' has only {different} different values, which are not normal: clusters may form "
                    "around single values."
                )
                found.append(Finding(CAUTION, "Few values", text, "Take it as a category, or leave it out."))
        return found

    def _ties(self) -> list[Any]:
        """Return the scores of models that predict as well as the one that was chosen."""
        first, *others = self.asked.scores or [None]
        return [one for one in others if first.score - one.score < TIED * one.stderr]

    def _of_clusters(self, certainty: np.ndarray, n_clusters: dict[int, float]) -> list[Finding]:
        """Return that there are no clear clusters, if there are none."""
        undecided, count = float(np.mean(certainty < UNDECIDED)), int(self.labels.max()) + 1
        alone = int(np.sum(np.bincount(self.labels) == 1))
        likely = max(n_clusters, key=lambda k: n_clusters[k])
        what = "vertices" if isinstance(self.asked.posterior, BlockModel) else "rows"
        if alone > MANY_ALONE * len(self.labels):
            text = f"{alone:,} of {len(self.labels):,} {what} are clusters of their own."
            return [Finding(CAUTION, "No clear clusters", text, "Take fewer columns, or component='diagonal'.")]
        if undecided > MANY_UNDECIDED:
            text = f"{100.0 * undecided:.0f} % of the {what} belong to no cluster with a probability above a half."
        elif n_clusters.get(count, 0.0) < RARE * n_clusters[likely]:
            text = f"Hardly any clustering that fits the data has as many clusters as this one, {count:,}."
        else:
            return []
        text += " This answer is a compromise between clusterings that are quite different."
        return [Finding(CAUTION, "No clear clusters", text, "Look at alternatives() and credible_ball().")]


def answer_of(asked: Any, chains: OrdinaryChains, loss: str, seed: int) -> Reading:
    """Return the answer of ordinary chains."""
    target = asked.posterior
    chains.tell_apart()
    seen = chains.arrivals
    rows = np.concatenate([one.astype(np.int32) for one in seen.labels])
    draws = draws_of_chains(asked.posterior, chains, seed)
    judges = rows[np.unique(np.linspace(0, len(rows) - 1, LEAST_SEARCHED).astype(np.int64))]
    labels = settled(_chosen_from(rows, target, loss, seed), draws, partial(_mean_distance, judges, loss))
    misfits = check_model(getattr(target, "normal", None), some_of(rows))
    wanted = [memberships(labels), n_clusters(most_clusters_of(draws))]
    about = expectations(draws.run, None, wanted, None, False)
    return Reading(asked, chains, loss, seed, labels, draws, about, chains.gap, misfits)


def _chosen_from(rows: np.ndarray, target: Any, loss: str, seed: int) -> np.ndarray:
    """Return the clustering of least expected loss by clusterings that were drawn, of which some are looked at."""
    effort = effort_for(target.n_points)
    many = max(LEAST_SEARCHED, SEARCHED // (target.n_points * (int(rows.max()) + 1)))
    some = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), many)).astype(np.int64))]
    found, _ = from_draws(some, loss, starts=effort.starts, seed=seed, most=effort.candidates)
    return best_allowed(target, found, some)


def draws_of_chains(target: Any, chains: OrdinaryChains, seed: int) -> WeightedPartitions:
    """Return the clusterings of ordinary chains as weighted partitions: a replicate is a chain, all weights alike."""
    seen = chains.arrivals
    steps, kept, count = chains.steps, len(seen.labels[0]), len(seen.labels)
    choice = Choice(check_settings(steps // 2, steps, 1), read_step(target), target.default_start)
    job = replace(make_job(target, n_clusters(), choice, seed), keeps=kept)
    made_by = describe(job, choice.init) | {"ordinary": True, "wanted": count}
    partitions = Partitions(
        labels=np.concatenate([one.astype(np.int32) for one in seen.labels]),
        counts=np.ones(count * kept, dtype=np.int64),
        replicate=np.repeat(np.arange(count), kept),
        hyperparameters=np.concatenate(seen.hyperparameters),
        averaged=kept,
        unit=kept,
    )
    run = Estimate(
        values=seen.n_clusters.mean(axis=1)[:, None],
        meeting_times=np.full(count, steps),
        met=np.full(count, True),
        sweeps=np.full(count, steps),
        seconds=np.zeros(count),
        components=Names(made_by["functionals"]),
        made_by=made_by,
        indices=np.arange(count),
        partitions=partitions,
    )
    return WeightedPartitions(run, target)


def _mean_distance(some: np.ndarray, loss: str, labels: np.ndarray) -> float:
    """Return how far a clustering is from some others, on average."""
    return float(np.mean([distance(labels, one.astype(np.int64), loss) for one in some]))


def settled(labels: np.ndarray, draws: WeightedPartitions, loss_of: Callable[[np.ndarray], float]) -> np.ndarray:
    """Return a clustering in which rows that are undecided have the label of their most probable cluster.

    A cluster of one row that is more likely not alone is none; then rows that are with the others of their cluster with
    a probability below a half go where they are most often. Where that makes the expected loss more than a little
    larger, they stay: what is least is the loss of the whole clustering.
    """
    target: Any = draws.target
    most = DEARER * loss_of(canonical(labels))
    for _ in range(2):
        labels = canonical(labels)
        e = expectations(draws.run, None, [memberships(labels)], None, False)
        mean = e.mean.reshape(len(labels), -1)
        certainty, _ = belonging(labels, mean, np.zeros_like(mean))
        sizes = np.bincount(labels)
        if np.any(sizes < 2):
            share = mean_of(draws, lambda partition, values: is_alone(partition))
            certainty = np.where(sizes[labels] < 2, share, certainty)
        mean[:, sizes < 2] = -1.0  # nobody joins a cluster of one
        best = np.argmax(mean, axis=1)
        undecided = (certainty < UNDECIDED) & (mean[np.arange(len(labels)), best] > np.maximum(certainty, 0.0))
        # Where most of a cluster is undecided it is the cluster that is: it stays, and its rows are flagged.
        undecided &= target.constraint.labels < 0  # whose cluster is known, stays there
        of_cluster = np.bincount(labels, weights=undecided) / sizes
        undecided &= (of_cluster[labels] < 0.5) | (sizes[labels] < 2)
        if not undecided.any():
            break
        moved = np.where(undecided, best, labels)
        if not is_allowed(target, moved) or loss_of(canonical(moved)) > most:
            break
        labels = moved
    return canonical(labels)


def is_alone(partition: np.ndarray) -> np.ndarray:
    """Return 1 for each row that is alone in its cluster, 0 for the others."""
    return np.asarray(np.bincount(partition)[partition] == 1, dtype=np.float64)


def rank_by_size(labels: np.ndarray) -> np.ndarray:
    """Return the new number of each cluster, the largest 0."""
    sizes = np.bincount(labels)
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return rank


def most_clusters_of(draws: WeightedPartitions) -> int:
    """Return the number of clusters up to which probabilities are told."""
    target: Any = draws.target
    most = int(draws.labels.max(initial=0)) + 1 + MORE_CLUSTERS
    return min(most, target.n_points)


def own_share(labels: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return how often each row is with the others of its cluster, on average over clusterings; 1 where it is alone."""
    sizes = np.bincount(labels)
    total = np.zeros(len(labels))
    for row in draws.astype(np.int64):
        both = np.zeros((row.max() + 1, len(sizes)))
        np.add.at(both, (row, labels), 1.0)
        total += (both[row, labels] - 1.0) / np.maximum(sizes[labels] - 1, 1)
    return np.where(sizes[labels] > 1, total / len(draws), 1.0)


def _together_in(pairs: WeightedPartitions, places: np.ndarray) -> np.ndarray:
    """Return how often points are together by the partitions of pairs, in batches of replicates (batches, pairs)."""
    a, b = np.triu_indices(len(places), 1)
    of_batch = pairs.replicate * BATCHES // (int(pairs.replicate.max()) + 1)
    found = np.zeros((BATCHES, len(a)))
    for batch in range(BATCHES):
        here = of_batch == batch
        weights = pairs.weights[here]
        for row, weight in zip(pairs.labels[here][:, places], weights, strict=True):
            found[batch] += weight * (row[a] == row[b])
        found[batch] /= weights.sum()
    return found
