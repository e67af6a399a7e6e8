"""Figure 1: chains coupled by optimal transport meet sooner than those of label-based couplings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import copartition as cp
from copartition import plots
from reproduction.drawing import line_of
from reproduction.experiments import Reproduction
from reproduction.section import Claim, Section, picture, plus_minus

COUPLINGS = ("transport", "maximal", "common")
OURS = "copartition"  # what the package does where nothing is chosen; for colourings that is transport
ARMS = (OURS, *COUPLINGS)
STYLES: dict[str, dict[str, Any]] = {arm: line_of(number) for number, arm in enumerate(ARMS)}
LAG_A, CAP_A = 250, 2_000
VERTICES = 25
LAG_B, CAP_B = 1000 // VERTICES, 100_000
TRACED = 400  # sweeps of a trace that are kept
SHOWN = 30  # traces of single pairs in a picture


def mixture(reproduction: Reproduction, number: int) -> cp.Mixture:
    """Return the posterior of Figure 1A on a data set of its own: 150 points in the plane from 4 components."""
    rng = np.random.default_rng([reproduction.seed, number])
    means = rng.normal(0, 2.5, (4, 2))
    proportions = rng.dirichlet([0.2 if reproduction.as_in_text else 10.0] * 4)
    data = means[rng.choice(4, 150, p=proportions)] + rng.normal(0, 2, (150, 2))
    return cp.Mixture(data, cp.Gaussian(noise_sd=2.0, mean_sd=2.5), cp.DirichletProcess(alpha=0.2))


def coloring(reproduction: Reproduction, number: int) -> cp.GraphColoring:
    """Return the distribution of colourings of Figure 1B on a graph of its own: Erdos-Renyi, 25 vertices."""
    rng = np.random.default_rng([reproduction.seed, number])
    edges = np.argwhere(np.triu(rng.random((VERTICES, VERTICES)) < 0.2, 1))
    greedy = np.asarray(cp.GraphColoring(edges, colors=VERTICES, n_vertices=VERTICES).start_labels("greedy"))
    more = 2 if reproduction.as_in_text else 1
    return cp.GraphColoring(edges, colors=int(greedy.max()) + 1 + more, n_vertices=VERTICES)


def meet(
    make: Callable[[Reproduction, int], cp.Target],
    arms: tuple[str, ...],
    reproduction: Reproduction,
    lag: int,
    cap: int,
    number: int,
) -> dict[str, Any]:
    """Run one pair of chains on data set `number` for each arm: a coupling of the paper, or as the package does."""
    target = make(reproduction, number)
    found = {}
    # the data sets are spread over threads already
    for arm in arms:
        m = cp.meeting_times(
            target,
            replicates=1,
            coupling=None if arm == OURS else arm,
            lag=lag,
            max_sweeps=lag + cap,
            trace=True,
            seed=number,
            executor=1,
        )
        assert m.traces is not None
        found[arm] = {
            "sweeps": int(m.meeting_times[0] - lag),
            "met": bool(m.met[0]),
            "seconds": float(m.seconds[0]),
            "trace": m.traces[0][:TRACED].tolist(),
        }
    return found


def figure1(reproduction: Reproduction) -> Section:
    """Return the section on Figure 1."""
    parts = [
        ("1A", "mixture of Gaussians", mixture, ARMS, LAG_A, CAP_A),
        ("1B", "graph colouring", coloring, COUPLINGS, LAG_B, CAP_B),
    ]
    text = (
        "the paper's text: proportions Dirichlet(0.2), greedy + 2 colours"
        if reproduction.as_in_text
        else "the code that made the published figure: proportions Dirichlet(10), greedy + 1 colours (the text has "
        "Dirichlet(0.2) and + 2; --as-in-text)"
    )
    section = Section(
        "Figure 1: meeting times",
        [
            f"Every one of {reproduction.scale.pairs} replicates has data of its own. Settings as in {text}.",
            "1A has, beside the paper's couplings, what copartition does by itself: it couples whole sweeps and makes "
            "split-merge moves. Colourings it couples by transport.",
            f"1A: one chain starts in one cluster and is {LAG_A} sweeps ahead of the other; at most {CAP_A:,} sweeps. "
            f"1B: both start from the greedy colouring; the first is 1,000 updates ahead, {LAG_B} sweeps over all "
            f"vertices (the authors drew vertices at random); at most {CAP_B:,} sweeps.",
        ],
    )
    for name, title, make, arms, lag, cap in parts:
        results = reproduction.each(
            f"Figure {name}",
            partial(meet, make, arms, reproduction, lag, cap),
            reproduction.scale.pairs,
            [lag, cap, reproduction.as_in_text, "data from rng [seed, number]", arms],
        )
        _add(section, reproduction, name, title, results)
    return section


def _add(section: Section, reproduction: Reproduction, name: str, title: str, results: list[dict[str, Any]]) -> None:
    arms = list(results[0])
    sweeps = {c: np.array([result[c]["sweeps"] for result in results]) for c in arms}
    seconds = {c: np.array([result[c]["seconds"] for result in results]) for c in arms}
    censored = {c: sum(not result[c]["met"] for result in results) for c in arms}
    slug = f"figure{name.lower()}"
    reproduction.write_numbers(
        slug,
        ["data set", "coupling", "sweeps to meet", "met", "CPU seconds"],
        [
            [number, c, result[c]["sweeps"], result[c]["met"], result[c]["seconds"]]
            for number, result in enumerate(results)
            for c in arms
        ],
    )
    section.pictures.append(
        picture(
            reproduction,
            f"{slug}-traces",
            f"Figure {name}, left: distance of the two chains",
            f"{title.capitalize()}. Faint: single pairs; bold: medians of all.",
            lambda ax: _draw_traces(ax, results),
        )
    )
    section.pictures.append(
        picture(
            reproduction,
            f"{slug}-histogram",
            f"Figure {name}, right: sweeps until chains meet",
            f"{title.capitalize()}. On a logarithmic scale, because couplings differ by so much.",
            lambda ax: _draw_histogram(ax, sweeps),
        )
    )
    head = ["coupling", "sweeps: mean", "median", "95 %", "CPU ms: mean", "median", "95 %", "not met"]
    rows = [
        [
            c,
            *[f"{value:.1f}" for value in (sweeps[c].mean(), np.median(sweeps[c]), np.quantile(sweeps[c], 0.95))],
            *[f"{1e3 * v:.2f}" for v in (seconds[c].mean(), np.median(seconds[c]), np.quantile(seconds[c], 0.95))],
            str(censored[c]),
        ]
        for c in arms
    ]
    section.tables.append((head, rows))
    section.claims += [
        _compared(name, title, "fewer sweeps", "sweeps", sweeps, 1.0),
        _compared(name, title, "a shorter time, although a sweep costs more", "CPU ms", seconds, 1e3),
        Claim(
            f"Figure {name}",
            "the distance between coupled chains decreases to 0",
            f"{len(results) - censored['transport']} of {len(results)} pairs met with transport",
            censored["transport"] == 0,
        ),
        *([_ours(name, title, sweeps)] if OURS in sweeps else []),
    ]


def _compared(name: str, title: str, what: str, unit: str, values: dict[str, np.ndarray], factor: float) -> Claim:
    """Compare transport with both others, pair by pair on the same data."""
    error = {c: factor * values[c].std(ddof=1) / np.sqrt(len(values[c])) for c in COUPLINGS}
    shown = ", ".join(f"{c} {plus_minus(factor * values[c].mean(), error[c])}" for c in COUPLINGS)
    holds = True
    for other in COUPLINGS[1:]:
        difference = values[other] - values["transport"]
        holds &= bool(difference.mean() > 2 * difference.std(ddof=1) / np.sqrt(len(difference)))
    return Claim(f"Figure {name}", f"{title}: chains coupled by transport meet after {what}", f"{shown} {unit}", holds)


def _ours(name: str, title: str, sweeps: dict[str, np.ndarray]) -> Claim:
    """Compare what the package does with the paper's transport, pair by pair on the same data."""
    difference = sweeps["transport"] - sweeps[OURS]
    shown = [
        f"{c} {plus_minus(sweeps[c].mean(), sweeps[c].std(ddof=1) / np.sqrt(len(difference)))} (99 %: "
        f"{np.quantile(sweeps[c], 0.99):.0f})"
        for c in ("transport", OURS)
    ]
    holds = bool(difference.mean() > 2 * difference.std(ddof=1) / np.sqrt(len(difference)))
    return Claim("ours", f"{title}: what copartition does by itself meets sooner still", ", ".join(shown), holds)


def _draw_traces(ax: Any, results: list[dict[str, Any]]) -> None:
    end = 10.0
    for c in reversed(list(results[0])):
        traces = [np.array(result[c]["trace"]) for result in results]
        for trace in traces[:SHOWN]:
            ax.plot(trace, lw=0.3, alpha=0.25, color=STYLES[c]["color"], zorder=1)
        length = max(len(trace) for trace in traces)
        median = np.median([np.pad(trace, (0, length - len(trace)), mode="edge") for trace in traces], axis=0)
        ax.plot(median, lw=2.2, label=c, zorder=2, **STYLES[c])
        end = max(end, 1.6 * int(np.argmax(median == 0) or length))
    ax.set_xlim(0, min(end, TRACED))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("coupled sweeps")
    ax.set_ylabel("Hamming distance")
    _finish(ax)


def _draw_histogram(ax: Any, sweeps: dict[str, np.ndarray]) -> None:
    top = max(values.max() for values in sweeps.values())
    edges = np.geomspace(1, max(top, 2) + 1, 30)
    for c in reversed(list(sweeps)):
        style = STYLES[c]
        counts, _ = np.histogram(np.maximum(sweeps[c], 1), edges)
        ax.stairs(counts, edges, color=style["color"], linestyle=style["linestyle"], lw=1.8, label=c)
    ax.set_xscale("log")
    plots.plain_numbers(ax.xaxis)
    ax.set_xlabel("sweeps until the chains meet")
    ax.set_ylabel("pairs")
    _finish(ax)


def _finish(ax: Any) -> None:
    """Take lines away where nothing is, and name the arms in their order: the last was drawn first."""
    ax.spines[["top", "right"]].set_visible(False)
    handles, names = ax.get_legend_handles_labels()
    ax.legend(handles[::-1], names[::-1], frameon=False, loc="upper right")  # "best" is slow where lines are many
