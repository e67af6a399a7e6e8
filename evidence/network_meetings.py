"""Block models of networks that nothing was tuned to, with all defaults: do pairs meet?

A part of ``evidence/run.py``; see there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import graph_tool_asked
import networkx as nx
import numpy as np

import copartition as cp
from networks import planted_graph  # of the benchmarks

LAGS = (100, 200)
PAIRS = 200
COUPLED, LEAST_COUPLED = 20_000, 200  # sweeps, at most and at least
CHAINS, SWEEPS, CHAIN_SECONDS = 4, 1_000, 15


class Budget(NamedTuple):
    """How long the pairs of a network may run.

    Attributes
    ----------
    seconds : float
        CPU time of all pairs at one lag, judged by the first ones.
    longest : float
        CPU time of the coupled sweeps of one pair, about.
    pairs : int
        That are run anyway.
    modes : bool
        Whether to look for modes where pairs do not meet.
    """

    seconds: float
    longest: float
    pairs: int
    modes: bool


SMALL, LARGE = Budget(30.0, 10.0, 10, True), Budget(20.0, 6.0, 6, False)


def of_graph_tool(name: str) -> cp.BlockModel | None:
    """Return the posterior of a graph of graph-tool's collection, directions of edges left out; None if not there."""
    found = graph_tool_asked.ask("graph", name=name)
    return found and cp.BlockModel(np.array(found["edges"]), n_vertices=found["n_vertices"])


def planted(n_vertices: int, ratio: float) -> cp.BlockModel:
    """Return the posterior of a planted graph: 5 groups, mean degree 10."""
    return cp.BlockModel(planted_graph(n_vertices, 5, 10.0, ratio, 1)[0], n_vertices=n_vertices)


NETWORKS: dict[str, Callable[[], cp.BlockModel | None]] = {
    "Florentine families": lambda: cp.BlockModel(nx.florentine_families_graph()),
    "karate club": lambda: cp.BlockModel(nx.karate_club_graph()),
    "Davis, Southern women (two kinds)": lambda: cp.BlockModel(nx.davis_southern_women_graph(), kinds="bipartite"),
    "Les Miserables": lambda: cp.BlockModel(nx.les_miserables_graph()),
    "Les Miserables, weights": lambda: cp.BlockModel(nx.les_miserables_graph(), weight="weight"),
    "dolphins": partial(of_graph_tool, "dolphins"),
    "political books": partial(of_graph_tool, "polbooks"),
    "adjectives and nouns": partial(of_graph_tool, "adjnoun"),
    "football": partial(of_graph_tool, "football"),
    "Serengeti food web (directed)": partial(of_graph_tool, "serengeti-foodweb"),
    "C. elegans, neurons (directed)": partial(of_graph_tool, "celegansneural"),
    "political blogs (directed)": partial(of_graph_tool, "polblogs"),
    "network scientists": partial(of_graph_tool, "netscience"),
    "power grid": partial(of_graph_tool, "power"),
    "hep-th, co-authors": partial(of_graph_tool, "hep-th"),
    "planted, 1,000 vertices, ratio 30": partial(planted, 1_000, 30.0),
    "planted, 1,000 vertices, ratio 15": partial(planted, 1_000, 15.0),
    "planted, 1,000 vertices, ratio 8": partial(planted, 1_000, 8.0),
    "planted, 10,000 vertices, ratio 30": partial(planted, 10_000, 30.0),
}


def seconds_of_sweep(posterior: cp.BlockModel) -> float:
    """Return the CPU seconds of a step of one chain that has run for a while."""
    cp.sample(posterior, cp.n_clusters(), sweeps=2, burn_in=0, chains=1, seed=2, executor=1)  # compiles
    begin = time.process_time()
    cp.sample(posterior, cp.n_clusters(), sweeps=50, burn_in=50, chains=1, seed=2, executor=1)
    return (time.process_time() - begin) / 100


def pairs_of(posterior: cp.BlockModel, lag: int, coupled: int, count: int) -> tuple[cp.answers.MeetingTimes, float]:
    """Return meeting times, and CPU seconds of a pair."""
    begin = time.process_time()
    times = cp.meeting_times(posterior, replicates=count, lag=lag, max_sweeps=lag + coupled, seed=1, executor=1)
    return times, (time.process_time() - begin) / count


def row_of(name: str, posterior: cp.BlockModel, budget: Budget) -> list[str]:
    """Return the cells of one network."""
    sweep = seconds_of_sweep(posterior)
    coupled = int(np.clip(budget.longest / (2 * sweep), LEAST_COUPLED, COUPLED))
    coupled = coupled // 100 * 100
    pairs_of(posterior, 1, 1, 1)  # compiles
    _, trial = pairs_of(posterior, LAGS[-1], coupled, 3 if budget.modes else 1)
    count = int(np.clip(budget.seconds / trial, budget.pairs, PAIRS))
    cells, all_met, seconds = [], True, 0.0
    for lag in LAGS:
        times, seconds = pairs_of(posterior, lag, coupled, count)
        taken = times.meeting_times - lag
        least = "" if times.met.all() else "at least "
        all_met = all_met and bool(times.met.all())
        cells.append(f"{times.met.sum()} | {least}{taken.mean():.0f}, {np.quantile(taken, 0.99):.0f}")
    sweeps = int(np.clip(CHAIN_SECONDS / CHAINS / 2 / sweep, 100, SWEEPS))
    s = cp.sample(posterior, cp.n_clusters(), sweeps=sweeps, burn_in=sweeps, chains=CHAINS, seed=2, executor=1)
    means = s.draws[:, :, 0].mean(axis=1)
    found = "" if all_met else "not looked for"
    if not all_met and budget.modes:
        found = cp.find_modes(posterior, seed=1, executor=1).verdict
    size = f"{posterior.n_points:,}, {posterior.n_edges:,}"
    blocks = f"{means.mean():.1f} ({means.min():.1f} to {means.max():.1f})"
    return [name, size, str(count), f"{coupled:,}", *cells, f"{seconds:.2g}", blocks, found]


def table_of(names: list[str], budget: Budget) -> list[str]:
    """Return the table of some networks."""
    lags = [column for lag in LAGS for column in (f"met, lag {lag}", "sweeps: mean, 99 %")]
    head = ["network", "vertices, edges", "pairs", "cap", *lags, "CPU seconds a pair", "blocks", "modes"]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    for name in names:
        begin = time.perf_counter()
        posterior = NETWORKS[name]()
        cells = [name, "not run: no graph-tool"] if posterior is None else row_of(name, posterior, budget)
        lines.append(f"| {' | '.join(cells)} |")
        print(f"{lines[-1]} {time.perf_counter() - begin:.0f} s", flush=True)
    return lines


def small_networks() -> list[str]:
    """Real networks of up to 300 vertices, everything left at its defaults.

    The networks, of networkx and of graph-tool's collection, and the lags of 100 and 200 were chosen before any was
    run, and all are listed. Edges of directed ones (food web, neurons) count without their direction, both ways as two
    parallel edges; weights count only where the table says so. Where a larger lag no longer matters, sweeps are the
    same for both. Set once the time of a sweep was known: 200 pairs, fewer where they would take more than 30 CPU
    seconds, but at least 10. *Cap*: coupled sweeps that a pair may take, such that it takes about 10 CPU seconds at
    most, and no more than 20,000. Pairs that did not meet count with the cap. *CPU seconds a pair*: at lag 200, the
    sweeps that the first chain is ahead included. *Blocks*: mean of four chains, and the smallest and the largest mean
    of one of them. *Modes*: the verdict of `find_modes` where pairs did not meet: "apart", chains sit in different
    modes; "hidden", chains helped by tempering live elsewhere; "unsettled", not even those agree; "none", nothing of
    the kind was seen.
    """
    return table_of(SMALL_NETWORKS, SMALL)


def large_networks() -> list[str]:
    """The same of real networks of 1,490 to 8,361 vertices: columns as above; modes are not looked for.

    Political blogs are directed. 20 CPU seconds for all pairs, but at least 6 of them; about 6 CPU seconds a pair.
    These limits are lower than those above because the neurons of C. elegans had not ended within eight minutes.
    """
    return table_of(LARGE_NETWORKS, LARGE)


def planted_networks() -> list[str]:
    """The same of graphs with five planted groups of equal size, mean degree 10: columns as above.

    *Ratio*: how much likelier an edge inside of a group is than one between two groups. Limits are those of large ones.
    """
    return table_of([name for name in NETWORKS if name.startswith("planted")], LARGE)


LARGE_NETWORKS = ["political blogs (directed)", "network scientists", "power grid", "hep-th, co-authors"]
SMALL_NETWORKS = [name for name in NETWORKS if name not in LARGE_NETWORKS and not name.startswith("planted")]

PARTS = {
    "Block models: which networks' pairs meet": small_networks,
    "Block models: which large networks' pairs meet": large_networks,
    "Block models: which planted networks' pairs meet": planted_networks,
}
