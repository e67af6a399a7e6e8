"""From the arguments of a call to what chains do, and to a description of it that can be compared, stored and read.

What was left out is what the benchmarks found to be best.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, cast

import numpy as np

from copartition._version import __version__
from copartition.chains.chain import advance_chain
from copartition.chains.guides import find_guides
from copartition.chains.moves import JointUpdates, dealt_by, partners_of, plan_updates
from copartition.chains.start import check_start, describe_start, start_chain
from copartition.chains.step import BoundStep, Step, check_split_merge, objection_to_moves
from copartition.core.cache import code_hash, digest_of
from copartition.core.compiling import Kernel
from copartition.core.random import stream
from copartition.core.room import NO_PARTNERS, NO_UPDATES
from copartition.couplings import check_coupling
from copartition.couplings.base import Independent
from copartition.diagnostics.findings import Finding
from copartition.functionals import Functional
from copartition.runs.replicates import Job
from copartition.targets.base import Target, remembered
from copartition.validation import shorten

BURN_IN, MIN_SWEEPS, LAG = 100, 500, 100  # of replicates, and the lag of all pairs
MAX_SWEEPS = 20_000  # of a pair, where chains that do not meet have nothing to tell
DEFAULT_COUPLING, PALETTE_COUPLING = "path", "transport"

# What a move costs, in updates of one point: about one for each point that it deals out (0.3 to 2.7 by the model,
# `benchmarks/README.md`), and a little for looking at all points. "auto" spends about as much on moves as on the sweep:
# enough for chains to leave states that are not split enough.
COST_OF_DEALING = 1.0
COST_OF_LOOKING = 0.02
SHARE = 1.0
# Where clusters have no densities of their own, as in networks, chains get nowhere without moves, and small groups of
# points go from cluster to cluster together: four times the cost of a sweep for moves, and joint updates besides.
SHARE_IN_PLACE = 4.0
COST_OF_UPDATE = 21  # of an update of two to eight points in four ways, in updates of one point
LEAST_POINTS, MOST_POINTS = 2, 8
MOST_MOVES = 20
TRIED = 10
UPDATES_OF_TRIAL = 200_000  # updates of points in each half of the trial, at most

# What "auto" was resolved to, and lists of near points, by the fingerprint and the promise of the target.
_chosen: dict[Any, int] = {}
_partners: dict[Any, np.ndarray] = {}
_dealt_out: dict[Any, float] = {}
_guides: dict[Any, np.ndarray] = {}


def read_step(target: Target, step: Any = None, coupling: Any = None, split_merge: Any = None) -> Step:
    """Return the step that the arguments of a public function give, resolved for its target.

    Parameters
    ----------
    target : Target
    step : Step, optional
    coupling, split_merge
        Short for ``step=Step(coupling, split_merge)``.
    """
    return resolve(target, given_step(step, coupling, split_merge))


def read_step_alone(target: Target, step: Any, split_merge: Any) -> Step:
    """Return the step of ordinary chains, which are coupled to none, and otherwise do what those of pairs do."""
    return replace(read_step(target, step, None, split_merge), coupling=Independent())


def given_step(step: Any = None, coupling: Any = None, split_merge: Any = None) -> Step:
    """Return the step that the arguments of a public function give, as it was written."""
    if step is None:
        return Step(coupling, split_merge)
    if not isinstance(step, Step):
        raise TypeError(f"step must be a Step, such as Step('path', split_merge=4), got {shorten(step)}.")
    for name, value in (("coupling", coupling), ("split_merge", split_merge)):
        if value is not None:
            raise ValueError(f"{name} must be part of the step where a step is given, got {name}={shorten(value)} too.")
    return step


def resolve(target: Target, step: Step) -> Step:
    """Return a step with all its parts: a coupling, a number of moves, joint updates or None.

    Who names a coupling gets that and nothing else: ``coupling="transport"`` alone is the method of the paper.
    """
    is_named = step.coupling is not None
    coupling = check_coupling(step.coupling if is_named else default_coupling(target)).suited(target.model.palette)
    moves = (0 if is_named else "auto") if step.split_merge is None else step.split_merge
    updates = step.joint_updates
    if updates is None and not is_named:
        updates = default_updates(target)
    number = choose_split_merge(target, moves)
    return Step(coupling, number, check_updates(target, updates), check_guided(target, step.guided, number))


def bind(target: Target, step: Step) -> BoundStep:
    """Return a resolved step with the lists of near points that it takes, and its guides."""
    bound = BoundStep(step)
    bound = replace(
        bound,
        partners=partners_for(target) if bound.split_merge else NO_PARTNERS,
        plan=NO_UPDATES if bound.joint_updates is None else plan_updates(target, bound.joint_updates),
    )
    return replace(bound, guides=guides_for(target, bound.split_merge)) if step.guided else bound


def guides_for(target: Target, split_merge: int) -> np.ndarray:
    """Return the clusterings that guide so many split-merge moves, found once for a target."""
    step = BoundStep(Step(Independent(), split_merge), partners_for(target))
    return remembered(_guides, target, lambda one: find_guides(one, step), split_merge)


def check_guided(target: Target, guided: bool | None, split_merge: int) -> bool | None:
    """Return whether split-merge moves are guided: True or None."""
    if not guided:
        return None
    if target.hooks.in_place:
        raise ValueError(f"guided must be left out for {shorten(target)}: its clusters have no densities of their own.")
    if not split_merge:
        raise ValueError("guided must be left out, or split_merge at least 1, got split_merge=0.")
    return True


def default_updates(target: Target) -> JointUpdates | None:
    """Return the joint updates if nothing was named: some for targets that split and merge in place."""
    if not target.hooks.in_place or target.n_points < 2:
        return None
    number = int(np.clip(round(target.n_points / COST_OF_UPDATE), 1, MOST_MOVES))
    return JointUpdates(number, least=LEAST_POINTS, most=MOST_POINTS)


def default_coupling(target: Target) -> str:
    """Return the coupling that serves a target best: whole sweeps, or that of the paper where labels are a palette."""
    return PALETTE_COUPLING if target.model.palette else DEFAULT_COUPLING


def check_updates(target: Target, updates: Any) -> JointUpdates | None:
    """Return joint updates that the target can make; None if there are none."""
    if updates is None or updates.number == 0:
        return None
    if reason := objection_to_moves(target):
        raise ValueError(f"joint_updates must be 0 for {shorten(target)}, got {updates.number}: {reason}.")
    if updates.points is not None and updates.points[-1] >= target.n_points:
        raise ValueError(
            f"points of JointUpdates must be below the number of points, {target.n_points}, got {updates.points[-1]}."
        )
    return cast(JointUpdates, updates)


def choose_split_merge(target: Target, value: int | str) -> int:
    """Return a number of split-merge moves, ``"auto"`` from their cost."""
    return remembered(_chosen, target, _auto) if isinstance(value, str) else check_split_merge(target, value)


def partners_for(target: Target) -> np.ndarray:
    """Return the nearest points of each point, found once for a target."""
    return remembered(_partners, target, partners_of)


def _auto(target: Target) -> int:
    if target.n_points < 2 or objection_to_moves(target):
        return 0
    share = SHARE_IN_PLACE if target.hooks.in_place else SHARE
    return int(np.clip(round(share * target.n_points / cost_of_moves(target, 1)), 1, MOST_MOVES))


def cost_of_moves(target: Target, count: int) -> float:
    """Return what so many split-merge moves cost, in updates of one point."""
    if count == 0:
        return 0.0
    return count * (COST_OF_DEALING * remembered(_dealt_out, target, _dealt) + COST_OF_LOOKING * target.n_points)


def _dealt(target: Target) -> float:
    """Return how many points a move deals out on average, along a short chain.

    Counted, not timed, and with random numbers of its own, so that it is the same on every machine and for every seed.
    """
    sweeps = int(np.clip(UPDATES_OF_TRIAL // target.n_points, 1, 20))
    random = stream(0, int.from_bytes(b"auto", "big"))
    target = target.of_chain()
    chain = start_chain(target, check_start(target, None), random)
    step = BoundStep(Step(Independent(), TRIED), partners_for(target))
    chain = advance_chain(target, step, chain, random, sweeps)
    stepper = step.stepper(target)
    advance_chain(target, stepper, chain, random, sweeps)
    return dealt_by(stepper) / (sweeps * TRIED)


def describe(job: Job, init: Any) -> dict[str, Any]:
    """Return all that determines the replicates of a job, as text and numbers."""
    return {
        "version": __version__,
        "target": _lasting(job.target.in_full),
        "fingerprint": job.target.fingerprint,
        **describe_functionals(job.functionals),
        "step": job.step.resolved.described(),
        "init": describe_start(job.target, init),
        "start_fingerprint": digest_of(job.start.labels.tobytes(), job.start.ladder(1.0).tobytes()),
        "ladder": list(job.start.knots) or None,
        "guides": digest_of(job.step.guides.tobytes()) if job.step.guides.size else None,
        "settings": asdict(job.settings) | {"max_sweeps": job.settings.cap},
        "per_replicate": job.keeps or None,
        "names": job.target.names if job.keeps else None,
        "hyperparameters": job.target.hyperparameters if job.keeps else None,
        "seed": job.seed,
        "assumptions": [_lasting(sentence) for sentence in job.target.assumptions()],
        "histogram": getattr(job.target, "histogram", None),
        "source": job.target.source,
    }


def describe_functionals(functionals: Sequence[Functional]) -> dict[str, Any]:
    """Return what is estimated."""
    return {
        "functional": ", ".join(f.name for f in functionals),
        "functional_fingerprint": digest_of(*[_functional_bytes(f) for f in functionals]),
        "functionals": [_about(f) for f in functionals],
    }


def describe_look(finding: Finding | None) -> dict[str, Any]:
    """Return what a look at other starts or for hidden modes found: it determines nothing of a run."""
    return {} if finding is None else {"modes": asdict(finding)}


def describe_model(findings: list[Finding] | None) -> dict[str, Any]:
    """Return where a model does not suit the data, if that was looked at."""
    return {} if findings is None else {"model": [asdict(finding) for finding in findings]}


def _about(functional: Functional) -> dict[str, Any]:
    """Return what a result says of a functional."""
    streamed: dict[str, Any] = {"streamed": True} if functional.is_streamed else {}
    if functional.is_streamed and functional.divisors is not None:
        streamed["divisors"] = functional.divisors.astype(np.int64)
    return {"name": functional.name, "size": functional.size, **streamed, **functional.about}


def _lasting(text: str) -> str:
    """Return a text without addresses of objects, which are others in every process."""
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", text)


def _functional_bytes(functional: Functional) -> bytes:
    evaluate = functional.evaluate
    code = code_hash(evaluate.function if isinstance(evaluate, Kernel) else evaluate) if _has_code(evaluate) else b""
    return functional.name.encode() + code + functional.parameters.tobytes()


def _has_code(evaluate: Any) -> bool:
    return isinstance(evaluate, Kernel) or hasattr(evaluate, "__code__")
