"""Questions to graph-tool, which many Pythons do not have: they are put to one that has, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from typing import Any

from networks import GraphTool  # of the benchmarks

ABSENT = "Not run: no Python with graph-tool was found."

# Reads one question from its input, writes one answer. Chains are looked at every `niter` sweeps.
PROGRAM = """
    import json, sys
    import numpy as np
    import graph_tool as gt
    from graph_tool.inference import BlockState
    asked = json.load(sys.stdin)

    def make_state(labels):
        graph = gt.Graph(directed=False)
        graph.add_vertex(asked["n_vertices"])
        graph.add_edge_list(asked["edges"])
        labels = graph.new_vertex_property("int", vals=labels)
        return BlockState(graph, b=labels, deg_corr=asked["deg_corr"])

    def entropies():
        return [make_state(labels).entropy(**asked["arguments"]) for labels in asked["partitions"]]

    def chains():
        gt.seed_rng(asked["seed"])
        np.random.seed(asked["seed"])
        return [chain() for _ in range(asked["chains"])]

    def chain():
        state = make_state([0] * asked["n_vertices"])
        sweep = getattr(state, asked["sweep"])
        seen = []
        for _ in range(asked["looks"]):
            sweep(niter=asked["niter"], entropy_args=asked["arguments"])
            labels = state.b.a
            together = [int(labels[u] == labels[v]) for u, v in asked["pairs"]]
            seen.append([len(set(labels.tolist())), *together])
        return seen

    def graph():
        from graph_tool.collection import data
        found = data[asked["name"]]
        return {"n_vertices": found.num_vertices(), "edges": found.get_edges().tolist()}

    print(json.dumps({"entropies": entropies, "chains": chains, "graph": graph}[asked["task"]]()))
"""


def ask(task: str, **question: Any) -> Any:
    """Return graph-tool's answer to a question; None where no Python has graph-tool."""
    python = GraphTool.python()
    if python is None:
        return None
    done = subprocess.run(
        [python, "-W", "ignore", "-c", textwrap.dedent(PROGRAM)],
        input=json.dumps({"task": task, **question}),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    return json.loads(done.stdout)
