"""Kept partitions with every point drawn anew: variance and CPU time against the functionals as they are.

A replicate is 100 sweeps and then 400, of which every 25th partition is kept; its value is the mean over these 16.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import cases
import copartition as cp
from copartition import datasets
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.start import check_start, start_chain
from copartition.core.random import stream
from copartition.core.steps import reset_chain
from copartition.functionals.base import bind_all, evaluate_at
from copartition.functionals.redrawn import evaluate_redrawn
from copartition.runs.defaults import bind, read_step_alone
from report import Report

SECTION = "Kept partitions with every point drawn anew: variance x CPU time against the functionals as they are"
SWEEPS, KEPT, EVERY = 500, 16, 25
REPLICATES = 1200
POINTS = 30  # between which pairs are looked at
CONSTANT = 0.005  # components whose variance is below this are left out


def galaxies() -> cp.Target:
    """Return the posterior of the galaxies."""
    return cp.Mixture(datasets.galaxies(), cp.Gaussian(noise_sd=1.0, mean_sd=5.0, mean=21.0), cp.DirichletProcess(1.0))


def targets() -> dict[str, Callable[[], cp.Target]]:
    """Return the data sets that are there."""
    import networkx as nx
    from sklearn.datasets import load_iris

    known = {
        "galaxies": galaxies,
        "RNA-seq": cases.rna_seq,
        "Old Faithful": lambda: cp.Mixture(datasets.faithful(), cp.NormalInverseWishart()),
        "iris": lambda: cp.Mixture(load_iris().data, cp.NormalInverseWishart()),
        "karate club": lambda: cp.BlockModel(nx.karate_club_graph()),
        "Les Miserables": lambda: cp.BlockModel(nx.les_miserables_graph(), weight="weight"),
    }
    return {name: make for name, make in known.items() if name != "RNA-seq" or cases.cells_available()}


def measure_target(report: Report, name: str, target: cp.Target) -> None:
    """Compare both ways on the partitions of one long chain."""
    step, target, random = bind(target, read_step_alone(target, None, None)), target.of_chain(), stream(1, 5)
    stepper = step.stepper(target)
    chain = start_chain(target, check_start(target, None), random)
    chain = advance_chain(target, stepper, chain, random, 2000)
    points = np.random.default_rng(3).choice(target.n_points, POINTS, replace=False)
    functionals = [cp.co_clustering(points), cp.memberships(chain.labels.copy()), cp.n_clusters()]
    target, bound = bind_all(target, functionals)
    ways = (evaluate_at, evaluate_redrawn)
    values = [np.zeros((REPLICATES * KEPT, 2, f.size)) for f in bound]
    seconds, running = np.zeros((len(bound), 2)), 0.0
    beside = chain_at(target, np.arange(target.n_points))
    for t in range(REPLICATES * KEPT):
        begin = time.process_time()
        chain = advance_chain(target, stepper, chain, random, EVERY)
        running += time.process_time() - begin
        labels = cp.partition.canonical(chain.labels)
        for i, f in enumerate(bound):
            for way, evaluate in enumerate(ways):
                begin = time.process_time()
                reset_chain(target.model, target.hooks, beside, labels)
                values[i][t, way] = evaluate(target.model, target.hooks, [f], beside)
                seconds[i, way] += time.process_time() - begin
    sweeps = running * SWEEPS / (EVERY * KEPT)
    for i, f in enumerate(functionals):
        moving = values[i][:, 0].var(axis=0) > CONSTANT
        means = values[i][:, :, moving].reshape(REPLICATES, KEPT, 2, -1).mean(axis=1)
        plain, drawn = means.var(axis=0)
        ratios = drawn / plain
        variance, cpu = drawn.sum() / plain.sum(), (sweeps + seconds[i, 1]) / (sweeps + seconds[i, 0])
        measured = (
            f"{variance * cpu:.2f} (variance {variance:.2f}, CPU time {cpu:.2f}; variance by component: median "
            f"{np.median(ratios):.2f}, worst {ratios.max():.2f})"
        )
        report.add(SECTION, f"{name}, {f.name}", measured, "0.9")


def measure(report: Report) -> None:
    """Compare on all data sets."""
    for name, make in targets().items():
        measure_target(report, name, make())
