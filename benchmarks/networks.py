"""Speed of block models of networks: sweeps against plain C and graph-tool, growth with the number of edges, memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import networkx as nx
import numpy as np

import copartition as cp
import plain_c
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.partition import canonical
from plain_network import PlainNetwork
from report import Report

AGAINST_C = "Block models: one single sweep against plain C"
AGAINST_GRAPH_TOOL = "Block models: one single sweep against graph-tool's gibbs_sweep (one thread)"
GROWTH = "Block models: growth with the number of edges (5 groups, mean degree 10)"

# vertices, groups, how much likelier an edge inside of a group is than one between two of them, sweeps to time
PLANTED_CASES = {
    "1,000 vertices in 5 groups": (1_000, 5, 30.0, 500),
    "10,000 vertices in 5 groups": (10_000, 5, 30.0, 50),
    "10,000 vertices in 50 groups": (10_000, 50, 200.0, 20),
}

# Reads a graph and labels, then for every number on a line of its input makes so many sweeps from these labels, and
# answers with the seconds and the number of candidates for a vertex, on average.
GRAPH_TOOL_PROGRAM = """
    import sys, time
    import numpy as np
    from graph_tool import Graph
    from graph_tool.inference import BlockState
    data = np.load(sys.argv[1])
    graph = Graph(directed=False)
    graph.add_vertex(len(data["labels"]))
    graph.add_edge_list(data["edges"])
    state = BlockState(graph, b=graph.new_vertex_property("int", vals=data["labels"]), deg_corr=True)
    for line in sys.stdin:
        own = state.copy()
        own.gibbs_sweep(niter=1)
        begin = time.perf_counter()
        attempts = own.gibbs_sweep(niter=int(line))[1]
        print(time.perf_counter() - begin, attempts / int(line) / len(data["labels"]), flush=True)
"""

MEMORY_PROGRAM = """
    import sys, tracemalloc
    sys.path.insert(0, {folder!r})
    import networks
    from copartition.chains.start import advance_pair, start_pair
    from copartition.chains.start import check_start
    from copartition.chains.step import BoundStep
    from copartition.core.random import stream
    def start(edges, labels):
        target = networks.package_target(edges, len(labels))
        pair = start_pair(target, BoundStep(), check_start(target, labels), 1, stream(1))
        return target, advance_pair(target, BoundStep(), pair, stream(2), 1)
    start(*networks.planted_graph(100, 5, 10.0, 30.0, 1))  # compiles
    edges, labels = networks.planted_graph({n_vertices}, 5, 10.0, 30.0, 1)
    tracemalloc.start()
    held = start(edges, labels)
    print(*[size / len(edges) for size in tracemalloc.get_traced_memory()])
"""


def planted_graph(
    n_vertices: int, n_groups: int, mean_degree: float, ratio: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return a simple graph with planted groups of equal size, in random order: its edges (one a row) and the groups.

    An edge between two vertices of a group is `ratio` times as likely as one between vertices of two groups.
    """
    generator = np.random.default_rng(seed)
    groups = np.arange(n_vertices) * n_groups // n_vertices
    bounds = np.searchsorted(groups, np.arange(n_groups + 1))
    sizes = np.diff(bounds)
    pairs_inside = int((sizes * (sizes - 1)).sum()) // 2
    weight_inside = ratio * pairs_inside
    weight_between = n_vertices * (n_vertices - 1) // 2 - pairs_inside
    n_edges = round(n_vertices * mean_degree / 2)
    n_inside = int(generator.binomial(n_edges, weight_inside / (weight_inside + weight_between)))

    def draw(how_many: int, inside: bool) -> np.ndarray:
        """Return so many different edges, each as one number."""
        edges = np.zeros(0, dtype=np.int64)
        while len(edges) < how_many:
            first = generator.integers(n_vertices, size=2 * (how_many - len(edges)) + 16)
            group = groups[first]
            second = (
                generator.integers(bounds[group], bounds[group + 1])
                if inside
                else generator.integers(n_vertices, size=len(first))
            )
            fits = (first != second) & ((group == groups[second]) == inside)
            low, high = np.minimum(first, second)[fits], np.maximum(first, second)[fits]
            edges = np.unique(np.concatenate([edges, low * n_vertices + high]))
        return generator.choice(edges, how_many, replace=False)

    numbers = np.sort(np.concatenate([draw(n_inside, True), draw(n_edges - n_inside, False)]))
    names = generator.permutation(n_vertices)
    labels = np.empty(n_vertices, dtype=np.int64)
    labels[names] = groups
    return names[np.column_stack([numbers // n_vertices, numbers % n_vertices])], labels


def karate_club() -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of Zachary's karate club, and which of the two clubs each member joined in the end."""
    graph = nx.karate_club_graph()
    clubs = [graph.nodes[member]["club"] == "Officer" for member in graph]
    return np.array(graph.edges(), dtype=np.int64), np.array(clubs, dtype=np.int64)


def package_target(edges: np.ndarray, n_vertices: int) -> cp.BlockModel:
    """Return the package's block model, degree-corrected, with the rate that it chooses by itself."""
    return cp.BlockModel(edges, n_vertices=n_vertices, prior=cp.DirichletProcess(1.0))


def package_sweep_seconds(
    edges: np.ndarray, n_vertices: int, labels: np.ndarray, sweeps: int = 10
) -> tuple[float, np.ndarray]:
    """Return the seconds of one of the package's sweeps, from these labels, and the labels at the end."""
    target, random = package_target(edges, n_vertices), stream(1)
    chain = advance_chain(target, BoundStep(), chain_at(target, canonical(labels)), random, 0)  # may compile
    begin = time.perf_counter()
    chain = advance_chain(target, BoundStep(), chain, random, 0)  # handing over the arrays
    middle = time.perf_counter()
    chain = advance_chain(target, BoundStep(), chain, random, sweeps)
    return (time.perf_counter() - middle - (middle - begin)) / sweeps, canonical(chain.labels)


def plain_sweep_seconds(network: PlainNetwork, labels: np.ndarray, sweeps: int) -> tuple[float, np.ndarray, float]:
    """Return the same of the C program, and the number of candidates that it looked at for a vertex, on average."""
    seconds, after, candidates, _ = network.run(canonical(labels), stream(1), sweeps)
    return seconds / sweeps, canonical(after), candidates / sweeps / network.n_vertices


class GraphTool:
    """A process of the system's Python that makes graph-tool's sweeps when asked to."""

    @staticmethod
    def python() -> str | None:
        """Return a Python that has graph-tool, or None; the system's, unless `GRAPH_TOOL_PYTHON` names another."""
        python = os.environ.get("GRAPH_TOOL_PYTHON") or shutil.which("python3", path=os.defpath)
        found = python and subprocess.run([python, "-c", "import graph_tool.inference"], capture_output=True)
        return python if found and found.returncode == 0 else None

    def __init__(self, python: str, edges: np.ndarray, labels: np.ndarray) -> None:
        self.folder = tempfile.TemporaryDirectory()
        graph = Path(self.folder.name) / "graph.npz"
        np.savez(graph, edges=edges, labels=labels)
        self.process = subprocess.Popen(
            [python, "-W", "ignore", "-c", textwrap.dedent(GRAPH_TOOL_PROGRAM), str(graph)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def sweep_seconds(self, sweeps: int) -> tuple[float, float]:
        """Return the seconds of a sweep, from the labels given at first, and the mean number of candidates."""
        self.process.stdin.write(f"{sweeps}\n")
        self.process.stdin.flush()
        seconds, candidates = self.process.stdout.readline().split()
        return float(seconds) / sweeps, float(candidates)

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


def compare_sweeps(report: Report, name: str, edges: np.ndarray, labels: np.ndarray, sweeps: int) -> None:
    """Time sweeps of all programs from the same labels, where a chain is after 20 sweeps, taking turns."""
    n_vertices = len(labels)
    network = PlainNetwork(edges, n_vertices, package_target(edges, n_vertices).rate)
    labels = canonical(network.run(labels, stream(0), 20)[1])
    python = GraphTool.python()
    graph_tool = GraphTool(python, edges, labels) if python else None
    ours, plain, theirs = [], [], []
    for _ in range(15):
        seconds, after = package_sweep_seconds(edges, n_vertices, labels, sweeps)
        ours.append(seconds)
        seconds, after_plain, candidates = plain_sweep_seconds(network, labels, sweeps)
        plain.append(seconds)
        assert after.tolist() == after_plain.tolist(), "the two programs walk different ways"
        if graph_tool:
            theirs.append(graph_tool.sweep_seconds(max(2, sweeps // 20)))
    unit = 1e9 / n_vertices / candidates

    def compare(section: str, seconds: list[float], unit_there: float, goal: str) -> None:
        ratio = np.median(np.array(ours) / np.array(seconds))
        words = f"{ratio:.2f}x" if ratio > 0.5 else f"{1 / ratio:.0f}x faster"
        times = f"{np.median(ours) * 1e6:,.1f} / {np.median(seconds) * 1e6:,.1f} microseconds"
        each = f"{np.median(ours) * unit:.1f} / {np.median(seconds) * unit_there:.1f} ns a vertex and candidate"
        report.add(section, f"{name} ({candidates:.1f} candidates)", f"{words} ({times}; {each})", goal)

    compare(AGAINST_C, plain, unit, "<= 1.3x, <= 30 ns")
    if graph_tool:
        graph_tool.close()
        seconds, counts = zip(*theirs, strict=True)
        compare(
            AGAINST_GRAPH_TOOL,
            list(seconds),
            1e9 / n_vertices / float(np.mean(counts)),
            ">= 4x" if n_vertices < 100 else ">= 10x",
        )
    else:
        report.add(AGAINST_GRAPH_TOOL, name, "not measured: no Python with graph-tool")


def growth(report: Report) -> None:
    """Time sweeps on larger and larger graphs, and measure what a target and a pair of chains take of memory."""
    sizes = (10**4, 10**5, 10**6)
    ours, plain = [], []
    for n_edges in sizes:
        edges, labels = planted_graph(n_edges // 5, 5, 10.0, 30.0, 1)
        network = PlainNetwork(edges, len(labels), package_target(edges, len(labels)).rate)
        sweeps = max(2, 2 * 10**6 // n_edges)
        rounds = []
        for _ in range(5):
            seconds = package_sweep_seconds(edges, len(labels), labels, sweeps)[0]
            rounds.append((seconds, plain_sweep_seconds(network, labels, sweeps)[0]))
        ours.append(np.median([seconds for seconds, _ in rounds]))
        plain.append(np.median([seconds for _, seconds in rounds]))
        detail = f"{ours[-1] / n_edges * 1e9:.0f} ns an edge, plain C {plain[-1] / n_edges * 1e9:.0f}"
        report.add(GROWTH, f"{n_edges:,} edges", f"{ours[-1] * 1e3:,.2f} milliseconds a sweep ({detail})")
    exponents = [np.polyfit(np.log(sizes), np.log(times), 1)[0] for times in (ours, plain)]
    report.add(GROWTH, "time of a sweep", "E^{:.2f} (plain C E^{:.2f})".format(*exponents), "<= E^1.05")
    for n_edges in sizes:
        program = textwrap.dedent(MEMORY_PROGRAM.format(folder=str(Path(__file__).parent), n_vertices=n_edges // 5))
        printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        kept, peak = (float(number) for number in printed.split())
        measured = f"{kept:.0f} bytes an edge, {peak:.0f} at the peak while they are made"
        report.add(GROWTH, f"memory of a target and a pair of chains, {n_edges:,} edges", measured, "<= 200")


def measure(report: Report) -> None:
    """Measure sweeps of block models, their growth and their memory."""
    if not plain_c.has_compiler():
        report.add(AGAINST_C, "all", "not measured: no C compiler")
        return
    compare_sweeps(report, "karate club", *karate_club(), 5_000)
    for name, (n_vertices, n_groups, ratio, sweeps) in PLANTED_CASES.items():
        compare_sweeps(report, name, *planted_graph(n_vertices, n_groups, 10.0, ratio, 1), sweeps)
    growth(report)


if __name__ == "__main__":
    measure(Report())
