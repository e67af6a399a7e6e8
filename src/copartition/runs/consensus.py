"""From a posterior to one clustering that stands for it, and how sure each point and each cluster is: in one call.

Three rounds, each with random numbers of its own:

1. Ordinary chains give clusterings, and a search among and around them gives candidates
   (`copartition.diagnostics.search`). Chains are biased; that makes candidates a little worse, and nothing else.
2. Unbiased replicates estimate the expected loss of every candidate. The best is the answer.
3. More replicates, which had no part in the choice, estimate its expected loss, and how surely points belong to its
   clusters (`memberships`, `cluster_similarity`).

From weighted partitions (`copartition.draw`) no round is run: every second replicate takes part in the first two, the
others in the third.

Nothing takes memory for all pairs of points, unless that is asked for besides.

A cap on the sweeps of pairs bounds the work, also where chains do not meet: the pilot then says so, a few pairs are run
to the cap, and what comes out is marked as biased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from copartition.answers import Estimate
from copartition.chains.start import check_start, read_init
from copartition.chains.step import Step
from copartition.diagnostics.checks import check_model
from copartition.diagnostics.consensus import (
    METRICS,
    Consensus,
    check_estimate,
    check_loss,
    consensus_of,
)
from copartition.diagnostics.findings import Finding
from copartition.diagnostics.search import from_draws, from_similarity
from copartition.diagnostics.tuning import Tuned
from copartition.functionals import Functional, cluster_similarity, distance_to, memberships
from copartition.functionals.base import as_list
from copartition.partition import canonical
from copartition.results import Replicates
from copartition.runs.checks import some_of
from copartition.runs.choice import Choice, How, check_how, check_settings, choose, make_job
from copartition.runs.defaults import MAX_SWEEPS, bind, read_step
from copartition.runs.drawing import WeightedPartitions, part_of
from copartition.runs.estimating import run_until
from copartition.runs.meeting import meeting_times
from copartition.runs.pilot import TuningError
from copartition.runs.replicates import UNBOUNDED
from copartition.runs.sampling import DrawJob, run_chains
from copartition.runs.stopping import FIRST_LOOK, MOST_REPLICATES, FixedNumber, UntilPrecise, stopping_rule
from copartition.runs.workers import Where, lasting
from copartition.targets.base import Target, check_target
from copartition.validation import flag, integer

PILOT_LAG = 50
LEAST_BURN_IN = 20
REPLICATES_IF_UNMET = (
    32  # replicates of a round where most pairs of the pilot did not meet: more would not make it unbiased
)
PARTS = int.from_bytes(b"consensu", "big")  # of the key of random streams


class Effort(NamedTuple):
    """How much work goes into the parts of a consensus.

    Attributes
    ----------
    pairs : int
        Of the pilot.
    horizon : int
        Of replicates, in burn-ins.
    chains, draws : int
        That give clusterings, and how many each.
    thinning : int
        A burn-in has so many times the sweeps between two clusterings of a chain.
    starts : int
        Of the search.
    candidates : int
        Whose expected losses are estimated.
    uses_pairs : bool
        Whether candidates from all pairs join those from draws.
    """

    pairs: int
    horizon: int
    chains: int
    draws: int
    thinning: int
    starts: int
    candidates: int
    uses_pairs: bool


def effort_for(n_points: int) -> Effort:
    """Return how much work is worth it: of more points a replicate tells more, and takes longer."""
    usual = Effort(pairs=16, horizon=5, chains=8, draws=25, thinning=4, starts=4, candidates=20, uses_pairs=True)
    if n_points <= 2_000:
        return usual
    if n_points <= 20_000:
        return usual._replace(starts=1, candidates=8, uses_pairs=False)
    return Effort(pairs=4, horizon=2, chains=4, draws=12, thinning=8, starts=1, candidates=4, uses_pairs=False)


def consensus(
    target: Target | WeightedPartitions | Replicates,
    loss: str = "vi",
    *,
    replicates: int = 200,
    target_stderr: float | None = None,
    also: Functional | Sequence[Functional] = (),
    settings: Tuned | str | None = None,
    step: Step | None = None,
    starts: int | None = None,
    seed: int = 0,
    executor: Any = None,
    progress: bool = False,
    **how: Unpack[How],
) -> Consensus:
    """Return the clustering with the least posterior expected loss, and how sure it is.

    Parameters
    ----------
    target : Target, WeightedPartitions or Replicates
        A posterior: all that it takes is run here, and the expected loss is unbiased. What `draw` returns: no other run
        is needed; half of the replicates choose the clustering and the others say how sure it is, so that it is
        unbiased too; only `loss`, `also`, `starts` and `seed` matter then. Or an estimate of `co_clustering`, alone or
        among others, from which the clustering follows without another run: by the lower bound of the expected
        variation of information, or, if `distance_to` some partitions was estimated too, with the metric of the loss,
        as the best of these.
    loss : str
        ``"vi"``, the variation of information, or ``"binder"``, the number of pairs in dispute, which tends to give
        more and smaller clusters.
    replicates : int
        Of the second round and of the third. More make standard errors smaller. With `target_stderr`: the most there
        may be, of the second round 200 at most.
    target_stderr : float, optional
        Run the third round until the standard errors of all memberships, how surely each point belongs to each cluster,
        are this small.
    also : Functional or sequence of Functional, optional
        What is estimated besides, up to three: ``Consensus.chosen_by`` has it, from the replicates of the second round.
    settings : Tuned or "auto", optional
        How replicates are run, see `estimate`. If neither this nor `burn_in`, `min_sweeps` or `lag` is given, a small
        pilot decides: the burn-in is what the slowest of 16 pairs (4 of more than 20,000 points) took to meet.
    step : Step, optional
        What chains do in a step, see `meeting_times`.
    starts : int, optional
        Number of random orders in which the search places points; left out, fewer where there are more points.
    seed : int
    executor, progress
        See `estimate`.
    **how
        How chains run, see `How`.

    Other Parameters
    ----------------
    burn_in, min_sweeps, lag, init, coupling, split_merge
        See `estimate`.
    max_sweeps : int, optional
        A cap on the sweeps of a pair, the lag included. Pairs that have not met by then make all numbers biased, which
        the result says (``censored``). Left out, there is none, and where pairs of the pilot do not meet within
        20,000 sweeps an error says so.

    Returns
    -------
    Consensus

    Examples
    --------
    >>> import copartition as cp
    >>> data = [-3.1, -3.0, -2.9, 2.9, 3.0, 3.1]
    >>> posterior = cp.Mixture(data, cp.Gaussian(noise_sd=0.5, mean_sd=3), cp.DirichletProcess(1.0))
    >>> c = cp.consensus(posterior, seed=1)
    >>> c.labels
    array([0, 0, 0, 1, 1, 1])
    >>> bool(c.belongs.min() > 0.7)
    True
    """
    check_loss(loss)
    check_how(consensus, how)
    if starts is not None:
        integer("starts", starts, 1)
    if isinstance(target, WeightedPartitions):
        given = {"target_stderr": target_stderr, "settings": settings, "step": step, **how}
        if unused := [name for name, value in given.items() if value is not None]:
            raise ValueError(f"{unused[0]} must be left out for partitions that have been drawn: nothing is run.")
        return _of_partitions(target, loss, as_list(also) if also else [], starts, integer("seed", seed, 0))
    if not isinstance(target, Target):
        return consensus_of(check_estimate(target), loss, starts=starts, seed=seed)
    check_target(target)
    replicates, seed = integer("replicates", replicates, 2), integer("seed", seed, 0)
    rule = stopping_rule(replicates, target_stderr, None)
    besides = as_list(also) if also else []
    effort = effort_for(target.n_points)
    with lasting(executor) as place:
        where = Where(place, flag("progress", progress), seed)
        if settings is None and not any(how.get(name) is not None for name in ("burn_in", "min_sweeps", "lag")):
            choice, most = _choice(target, how, step, effort, where)
        else:
            choice, most = choose(target, None, how, step, settings, where), MOST_REPLICATES
        draws = _draw(target, choice, effort, replace(where, seed=seed_of(seed, 1)))
        candidates = _candidates(draws, loss, effort, starts, seed)
        choice = replace(choice, model=check_model(getattr(target, "normal", None), some_of(draws)))

        def run(rule: FixedNumber | UntilPrecise, functionals: list[Functional], part: int, choice: Choice) -> Estimate:
            job = make_job(target, functionals, choice, seed_of(seed, part))
            return run_until(replace(rule, most=min(rule.most, most)), job, choice, executor=place, progress=progress)

        first_look = replicates if target_stderr is None else min(replicates, FIRST_LOOK)
        second = run(FixedNumber(first_look), [distance_to(candidates, METRICS[loss][0]), *besides], 2, choice)
        order = np.argsort(second.mean[: len(candidates)], kind="stable")
        best = candidates[order[0]]
        functionals = about_one(best, keep_values=False)
        looked = replace(choice, look=Finding(**second.made_by["modes"])) if "modes" in second.made_by else choice
        third = run(replace(rule, only=0) if isinstance(rule, UntilPrecise) else rule, functionals, 3, looked)
    nodes = getattr(target, "nodes", None) or target.names
    return replace(consensus_of(third, loss), candidates=candidates[order], nodes=nodes, chosen_by=second)


def about_one(partition: np.ndarray, keep_values: bool | None = None) -> list[Functional]:
    """Return what there is to be said of one clustering."""
    return [
        memberships(partition, keep_values=keep_values),
        distance_to(partition, "vi"),
        distance_to(partition, "hamming"),
        cluster_similarity(partition),
    ]


def _of_partitions(
    d: WeightedPartitions, loss: str, besides: list[Functional], starts: int | None, seed: int
) -> Consensus:
    """Return the consensus of partitions: chosen by every second replicate, judged by the others."""
    count = len(d.run.values)
    if count < 4:
        raise ValueError(f"A consensus needs at least 4 replicates, two to choose and two to judge, got {count}.")
    judge = np.arange(count) % 2 == 1
    choosing, judging = part_of(d, ~judge), part_of(d, judge)
    effort = effort_for(d.labels.shape[1])
    candidates = _candidates(_some_draws(choosing, effort), loss, effort, starts, seed)
    second = choosing.expect([distance_to(candidates, METRICS[loss][0]), *besides])
    order = np.argsort(second.mean[: len(candidates)], kind="stable")
    third = judging.expect(about_one(candidates[order[0]]))
    nodes = getattr(d.target, "nodes", None) or d.run.made_by.get("names")
    return replace(consensus_of(third, loss), candidates=candidates[order], nodes=nodes, chosen_by=second)


def _some_draws(d: WeightedPartitions, effort: Effort) -> np.ndarray:
    """Return about as many partitions as chains would give, from all replicates: of averages, evenly spaced."""
    labels = d.labels[d.averaged]
    wanted = np.linspace(0, len(labels) - 1, effort.chains * effort.draws)
    return labels[np.unique(wanted.astype(np.int64))].astype(np.int32)


def seed_of(seed: int, part: int) -> int:
    """Return the seed of one part, whose random numbers no other part draws."""
    words = np.random.SeedSequence(seed, spawn_key=(PARTS, part)).generate_state(4)
    return int.from_bytes(words.tobytes(), "little")


def _choice(target: Target, how: How, step: Any, effort: Effort, where: Where) -> tuple[Choice, int]:
    """Return how chains and pairs are run, as long as a few pairs took to meet, and the most replicates."""
    cap, init = how.get("max_sweeps"), read_init(target, how.get("init"))
    if cap is not None:
        cap = integer("max_sweeps", cap, effort.horizon + 1)
    resolved = read_step(target, step, how.get("coupling"), how.get("split_merge"))
    m = meeting_times(
        target,
        replicates=effort.pairs,
        step=resolved,
        lag=PILOT_LAG if cap is None else min(PILOT_LAG, cap),
        init=init,
        max_sweeps=MAX_SWEEPS if cap is None else cap,
        seed=seed_of(where.seed, 0),
        executor=where.executor,
        progress=where.progress,
    )
    if m.censored and cap is None:
        raise TuningError(
            f"{m.censored} of {effort.pairs} pairs of the pilot did not meet within {MAX_SWEEPS:,} sweeps, so that no "
            "unbiased consensus can be had in reasonable time: try more split_merge moves or another init, give "
            "settings to run them for as long as it takes, or max_sweeps for a biased one."
        )
    burn_in = max(LEAST_BURN_IN, int((m.meeting_times - m.lag).max()))
    if cap is not None:
        burn_in = min(burn_in, cap // (effort.horizon + 1))  # so that pairs have time to meet after the horizon
    most = REPLICATES_IF_UNMET if 2 * m.censored > effort.pairs else MOST_REPLICATES
    settings = check_settings(burn_in, effort.horizon * burn_in, burn_in, UNBOUNDED if cap is None else cap)
    return Choice(settings, resolved, init), most


# --- clusterings from chains -----------------------------------------------------------------------------------------


def _draw(target: Target, choice: Choice, effort: Effort, where: Where) -> np.ndarray:
    """Return clusterings from ordinary chains (draws, points)."""
    step = bind(target, choice.step)
    burn_in = choice.settings.burn_in or LEAST_BURN_IN
    thin = max(1, burn_in // effort.thinning)
    job = DrawJob(target, step, check_start(target, choice.init), burn_in, thin, effort.draws, where.seed)
    draws, _ = run_chains(job, effort.chains, where.executor, where.progress, "chains")
    return draws.reshape(-1, target.n_points)


def _candidates(draws: np.ndarray, loss: str, effort: Effort, starts: int | None, seed: int) -> np.ndarray:
    """Return clusterings that may be the best, by the loss over the draws."""
    count, most = draws.shape[1], effort.candidates
    found, _ = from_draws(draws, loss, starts=starts or effort.starts, seed=seed, most=most)
    if not effort.uses_pairs or count < 2:
        return found
    table = np.zeros((count, count))
    for row in draws:
        table += row[:, None] == row[None, :]
    more, _ = from_similarity(table / len(draws), loss, starts=starts, seed=seed, most=most)
    rows = {tuple(canonical(row).tolist()) for row in [*found, *more[: most // 2]]}
    return np.array(sorted(rows))
