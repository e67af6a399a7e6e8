"""Pairs on real tables: with the former default, with what is done by itself now, and with the step that tune takes."""

from __future__ import annotations

import numpy as np

import cases
import copartition as cp
from copartition.chains.chain import advance_chain
from copartition.chains.moves import dealt_by
from copartition.chains.start import check_start, start_chain
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.runs.defaults import bind, read_step
from copartition.runs.meeting import PairJob, pair_job, watch_pairs
from report import Report
from tables import CELLS, TABLES

PAIRS = 100
LAG, CAP = 100, 2_000
GOALS = {
    "cells x 10, known noise": "35 / 110, a third of the CPU",
    "cells x 50, known noise": "120 / 450, 100 of 100",
    "digits x 20, known noise": "half of the former",
    "breast cancer x 30, known noise 0.5": "80 of 100",
    "wine x 13": "100 of 100, 0.4 s",
    "diabetes x 9": "90 of 100",
    "cells x 10": "80 of 100",
    "1,000 overlapping points": "100 / 400",
}
EASY = {"RNA-seq": cases.rna_seq, "Figure 1A, data set 1": lambda: cases.figure1a(1)}


def former(target: cp.Target) -> BoundStep:
    """Return the step of earlier versions: partners of moves are any two points, a third of a sweep for moves."""
    random = stream(0, int.from_bytes(b"auto", "big"))
    sweeps = int(np.clip(200_000 // target.n_points, 1, 20))
    chain = start_chain(target, check_start(target, None), random)
    chain = advance_chain(target, BoundStep(cp.Step(cp.couplings.Independent(), 10)), chain, random, sweeps)
    stepper = BoundStep(cp.Step(cp.couplings.Independent(), 10)).stepper(target)
    advance_chain(target, stepper, chain, random, sweeps)
    cost = 0.5 * dealt_by(stepper) / (sweeps * 10 * target.n_points) + 0.01
    return BoundStep(cp.Step(cp.couplings.Path(), int(np.clip(round(0.3 / cost), 1, 20))))


def tuned(target: cp.Target) -> BoundStep | None:
    """Return the step that tune takes, none if it does not recommend any."""
    try:
        t = cp.tune(target, seed=1)
    except cp.errors.TuningError:
        return None
    return bind(target, t.step)


def measure(report: Report) -> None:
    """Run pairs of all steps on all tables, a few of each step at a time."""
    targets = {**TABLES, "1,000 overlapping points": cases.overlapping, **EASY}
    for name, make in targets.items():
        if ("cells" in name and not CELLS.exists()) or (name == "RNA-seq" and not cases.cells_available()):
            continue
        target = make()
        steps = {
            "former": former(target),
            "**nothing chosen**": bind(target, read_step(target)),
            "tuned": tuned(target),
        }
        found: dict[str, list[cp.answers.MeetingTimes]] = {arm: [] for arm in steps}
        for part in range(4):
            for arm, step in steps.items():
                if step is not None:
                    job = pair_job(target, (), step, check_start(target, None), LAG, CAP, seed=part)
                    task = PairJob(job, False, np.zeros(0, dtype=np.int64))
                    found[arm].append(watch_pairs(task, PAIRS // 4, None, False)[0])
        for arm, parts in found.items():
            report.add(
                "Pairs on real tables", f"{name}, {arm}{_described(steps[arm])}", _words(parts), _goal(name, arm)
            )


def _goal(name: str, arm: str) -> str:
    return GOALS.get(name, "not slower in CPU") if arm != "former" else ""


def _described(step: BoundStep | None) -> str:
    if step is None:
        return ""
    updates = f", {step.plan.number} joint updates of {len(step.plan.anchors)} points" if step.plan.number else ""
    return f" ({step.coupling.name}, {step.split_merge} moves{updates})"


def _words(parts: list[cp.answers.MeetingTimes]) -> str:
    if not parts:
        return "tune recommends nothing: pairs do not meet"
    coupled = np.concatenate([m.meeting_times - m.lag for m in parts])
    met, seconds = np.concatenate([m.met for m in parts]), np.concatenate([m.seconds for m in parts])
    return (
        f"{coupled.mean():.1f} +- {coupled.std() / np.sqrt(len(coupled)):.1f} / {np.quantile(coupled, 0.99):.0f} "
        f"sweeps, {met.sum()} of {len(met)} met, {seconds.mean():.4f} CPU s a pair"
    )
