"""Figure 1 of the paper: how soon chains meet under three couplings, on mixtures and on graph colourings.

Every replicate has data of its own. (A) 150 points in the plane from 4 components; one chain is 250 sweeps ahead of the
other. (B) A random graph with 25 vertices and one colour more than its greedy colouring needs; the first chain is 40
sweeps, 1,000 updates, ahead. Run it with ``make run``; it writes ``out/figure1.png`` and ``out/figure1.csv``.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import copartition as cp

REPLICATES = 250
COUPLINGS = ("transport", "maximal", "common")
# Told apart in grey too.
STYLES = {
    "transport": {"color": "#0b5394", "linestyle": "-"},
    "maximal": {"color": "#e69f00", "linestyle": "--"},
    "common": {"color": "#777777", "linestyle": ":"},
}


def mixture(seed: int) -> cp.Mixture:
    """Make the posterior of data set `seed` of Figure 1A."""
    rng = np.random.default_rng(seed)
    means = rng.normal(0, 2.5, (4, 2))
    kinds = rng.choice(4, 150, p=rng.dirichlet([10.0] * 4))
    data = means[kinds] + rng.normal(0, 2, (150, 2))
    return cp.Mixture(data, cp.Gaussian(noise_sd=2.0, mean_sd=2.5), cp.DirichletProcess(alpha=0.2))


def coloring(seed: int) -> cp.GraphColoring:
    """Make the law of colourings of graph `seed` of Figure 1B."""
    rng = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(rng.random((25, 25)) < 0.2, 1))
    greedy = cp.GraphColoring(edges, colors=25, n_vertices=25).start_labels("greedy")
    return cp.GraphColoring(edges, colors=int(greedy.max()) + 2, n_vertices=25)


def meet(make: Callable[[int], cp.Target], lag: int, cap: int, seed: int) -> dict[str, cp.MeetingTimes]:
    """Run one pair of chains on data set `seed` under every coupling."""
    target = make(seed)
    with ThreadPoolExecutor(1) as here:  # the data sets are spread over threads already
        return {
            coupling: cp.meeting_times(
                target,
                replicates=1,
                coupling=coupling,
                lag=lag,
                max_sweeps=lag + cap,
                trace=True,
                seed=seed,
                executor=here,
            )
            for coupling in COUPLINGS
        }


PANELS = {
    "A: mixtures": (mixture, 250, 2_000),
    "B: graph colourings": (coloring, 40, 100_000),
}


def run_panel(name: str, progress: Progress) -> list[dict[str, cp.MeetingTimes]]:
    """Run all data sets of a panel."""
    make, lag, cap = PANELS[name]
    meet(make, lag, cap, 0)  # compiles, so that no pair's time includes it
    task = progress.add_task(name, total=REPLICATES)
    results = []
    with ThreadPoolExecutor() as pool:
        for result in pool.map(lambda seed: meet(make, lag, cap, seed), range(REPLICATES)):
            results.append(result)
            progress.advance(task)
    return results


def draw(axes: np.ndarray, name: str, results: list[dict[str, cp.MeetingTimes]]) -> None:
    """Draw traces of the distance on the data set in the middle, and histograms of the sweeps to meet."""
    traces, histogram = axes
    slowest = [max(m.meeting_times[0] for m in result.values()) for result in results]
    typical = results[int(np.argsort(slowest)[len(slowest) // 2])]
    for coupling, style in STYLES.items():
        traces.plot(typical[coupling].traces[0], label=coupling, **style)
    traces.set(
        xlabel="sweep", ylabel="distance of the chains", title=f"{name}: one data set", xlim=(0, None), ylim=(0, None)
    )
    traces.legend(frameon=False)
    sweeps = {c: np.array([r[c].meeting_times[0] - r[c].lag for r in results]) for c in COUPLINGS}
    edges = np.geomspace(0.9, max(s.max() for s in sweeps.values()) + 1, 30)
    for coupling, style in STYLES.items():
        label = f"{coupling}, mean {sweeps[coupling].mean():.0f}"
        values = np.maximum(sweeps[coupling], 1)
        histogram.hist(values, bins=edges, histtype="step", linewidth=1.8, label=label, **style)
    histogram.set(
        xscale="log", xlabel="sweeps to meet", ylabel="pairs of chains", title=f"{name}: {len(results)} data sets"
    )
    histogram.legend(frameon=False)


def main() -> None:
    """Run both panels; write the picture, the numbers and a table."""
    out = Path(__file__).resolve().parents[1] / "out"
    out.mkdir(exist_ok=True)
    console = Console()
    table = Table("", "coupling", "mean sweeps", "median", "95 %", "not met", "mean ms")
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    with (out / "figure1.csv").open("w", newline="") as file, Progress(console=console) as progress:
        writer = csv.writer(file)
        writer.writerow(["panel", "data set", "coupling", "sweeps to meet", "met", "seconds"])
        for row, name in zip(axes, PANELS, strict=True):
            results = run_panel(name, progress)
            draw(row, name, results)
            for coupling in COUPLINGS:
                runs = [result[coupling] for result in results]
                sweeps = np.array([m.meeting_times[0] - m.lag for m in runs])
                seconds = np.array([m.seconds[0] for m in runs])
                censored = sum(m.censored for m in runs)
                figures = [f"{sweeps.mean():.1f}", f"{np.median(sweeps):.0f}", f"{np.quantile(sweeps, 0.95):.0f}"]
                table.add_row(name, coupling, *figures, str(censored), f"{seconds.mean() * 1e3:.2f}")
                for seed, m in enumerate(runs):
                    writer.writerow([name, seed, coupling, sweeps[seed], bool(m.met[0]), f"{seconds[seed]:.6f}"])
    figure.savefig(out / "figure1.png", dpi=150)
    console.print(table)
    console.print("Wrote out/figure1.png and out/figure1.csv.")


if __name__ == "__main__":
    main()
