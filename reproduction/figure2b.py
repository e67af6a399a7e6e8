"""Figure 2B: the share of the largest cluster of cells, from many processes with a time limit each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import copartition as cp
from copartition import plots
from reproduction import cells
from reproduction.drawing import dots_of, line_of
from reproduction.experiments import Reproduction
from reproduction.section import Claim, Section, picture, plus_minus

BUDGET = 1_800  # single-chain sweeps that the authors' 90 seconds bought
PIECE = 50  # processes in a piece of work that is kept
CHAINS = 10
STEP = cp.Step(split_merge="auto", joint_updates=0)  # of our arm: what the package does by itself
ARMS = {
    name: line_of(number) | dots_of(number)
    for name, number in (("authors' coupled chains", 1), ("single chains", 2), ("ours", 0))
}


@dataclass(frozen=True)
class Arm:
    """Values of processes; NaN for one that did not finish."""

    name: str
    values: np.ndarray

    def groups(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return means and standard errors of successive groups of processes."""
        count = len(self.values) // size
        parts = self.values[: count * size].reshape(count, size)
        finished = np.maximum(np.sum(~np.isnan(parts), axis=1), 1)
        means = np.nansum(parts, axis=1) / finished
        squares = np.nansum((parts - means[:, None]) ** 2, axis=1)
        return means, np.sqrt(squares / np.maximum(finished - 1, 1) / finished)


def load_cells(reproduction: Reproduction) -> tuple[np.ndarray, str]:
    """Return the cells, and a warning if they are simulated."""
    if reproduction.cells is not None:
        return cells.read_cells(reproduction.cells).values, ""
    # one data set whatever the seed, as the real one is
    simulated = cells.cells_from_counts(cells.simulated_counts(), *reproduction.scale.cells)
    return simulated.values, (
        "Figure 2B was made with SIMULATED cells, not with the RNA-seq data of the paper: they were not given. "
        "python -m reproduction fetch downloads them; --cells PATH takes a file."
    )


def add_largest_cluster(reproduction: Reproduction, section: Section) -> None:
    """Add Figure 2B to the section on Figure 2."""
    data, warning = load_cells(reproduction)
    posterior = cp.Mixture(data, cp.Gaussian(noise_sd=1.3, mean_sd=0.5), cp.DirichletProcess(alpha=1.0))
    arms = [
        _authors(reproduction, posterior),
        _single(reproduction, posterior),
        _ours(reproduction, posterior, section),
    ]
    settings = _key(posterior, reproduction.scale.reference)
    chains = reproduction.each(
        "Figure 2B, reference", lambda i: _reference(reproduction, posterior, i), CHAINS, settings
    )
    means = np.array([chain["mean"] for chain in chains])
    reference, error = float(means.mean()), float(means.std(ddof=1) / np.sqrt(CHAINS))
    limit = (
        f"{reproduction.seconds:g} CPU seconds"
        if reproduction.seconds
        else f"{BUDGET:,} sweeps (a coupled one counts as two)"
    )
    section.notes.append(
        f"2B: share of the largest cluster of {len(data)} cells x {data.shape[1]} genes. Each process has {limit}. "
        "The authors' coupled chains: from one cluster, burn-in 1, at least 120 sweeps, lag 1, one replicate after "
        "another, averaged over those that finished (the paper may also be read as one replicate a process, whose "
        "variance is larger still). The reference is the mean of "
        f"{CHAINS} chains of {reproduction.scale.reference:,} sweeps: {plus_minus(reference, error)}."
    )
    sizes = [m for m in (10, 30, 100, 300, 1_000, 2_000, 5_000, 10_000, 14_000) if m <= reproduction.scale.processes]
    _show(reproduction, section, arms, sizes, reference, error)
    section.warning = warning


def _key(posterior: cp.Mixture, *more: Any) -> list[Any]:
    return [posterior.fingerprint, *more]


def _seed(reproduction: Reproduction, arm: int, piece: int) -> int:
    return int(np.random.SeedSequence([reproduction.seed, arm, piece]).generate_state(1, np.uint64)[0])


def _authors(reproduction: Reproduction, posterior: cp.Mixture) -> Arm:
    """Replicates one after another; a process that completes none in time is dropped."""

    def work(piece: int) -> dict[str, Any]:
        e = cp.estimate_within(
            posterior,
            cp.largest_clusters(1),
            workers=PIECE,
            deadline=_deadline(reproduction),
            burn_in=1,
            min_sweeps=120,
            lag=1,
            coupling="transport",
            seed=_seed(reproduction, 0, piece),
            executor=1,
        )
        assert e.completed is not None
        return {"values": np.where(e.completed > 0, e.values[:, 0], np.nan).tolist()}

    return _arm(reproduction, "authors' coupled chains", work, _key(posterior, reproduction.seconds))


def _deadline(reproduction: Reproduction) -> cp.Sweeps | cp.Seconds:
    return cp.Seconds(reproduction.seconds) if reproduction.seconds else cp.Sweeps(BUDGET)


def _single(reproduction: Reproduction, posterior: cp.Mixture) -> Arm:
    """One ordinary chain a process, averaged over all sweeps that it can make."""
    how: dict[str, Any] = {"burn_in": 1, "split_merge": 0, "executor": 1}
    sweeps = BUDGET
    if reproduction.seconds:  # what chains make in that time, by the speed of one
        timed = cp.sample(posterior, cp.largest_clusters(1), sweeps=BUDGET, chains=1, **how)
        sweeps = max(2, round(reproduction.seconds * BUDGET / float(timed.seconds[0])))

    def work(piece: int) -> dict[str, Any]:
        s = cp.sample(
            posterior,
            cp.largest_clusters(1),
            sweeps=sweeps - 1,  # beside that of the burn-in
            chains=PIECE,
            seed=_seed(reproduction, 1, piece),
            **how,
        )
        return {"values": s.draws.mean(axis=(1, 2)).tolist()}

    return _arm(reproduction, "single chains", work, _key(posterior, reproduction.seconds))


def _ours(reproduction: Reproduction, posterior: cp.Mixture, section: Section) -> Arm:
    """The unbiased deadline rule, with tuned burn-in and lag and a horizon that fits the deadline."""
    h = cp.largest_clusters(1)

    def pilot(piece: int) -> dict[str, Any]:
        t = cp.tune(posterior, h, pairs=reproduction.scale.pilot, step=STEP, seed=reproduction.seed, executor=1)
        return {"burn_in": t.burn_in, "sweeps": t.pilot_sweeps, "split_merge": t.split_merge}

    (tuned,) = reproduction.each("Figure 2B, tuning", pilot, 1, _key(posterior, reproduction.scale.pilot, repr(STEP)))
    burn_in = tuned["burn_in"]
    min_sweeps = max(2 * burn_in, BUDGET - burn_in)

    def work(piece: int) -> dict[str, Any]:
        e = cp.estimate_within(
            posterior,
            h,
            workers=PIECE,
            deadline=_deadline(reproduction),
            burn_in=burn_in,
            lag=burn_in,
            min_sweeps=min_sweeps,
            step=STEP,
            seed=_seed(reproduction, 2, piece),
            executor=1,
        )
        return {"values": e.values[:, 0].tolist()}

    section.notes.append(
        f"2B, ours: as the package does by itself, whole sweeps coupled and {tuned['split_merge']} split-merge moves "
        "after each, which make a sweep dearer by about a third (with a limit in seconds that counts). Tuned burn-in "
        f"and lag {burn_in}, horizon {min_sweeps}; a process that completes no replicate in time finishes its first "
        f"one, so that the mean is unbiased. The pilot cost {tuned['sweeps']:,.0f} sweeps, as much as "
        f"{tuned['sweeps'] / BUDGET:.0f} processes."
    )
    return _arm(
        reproduction, "ours", work, _key(posterior, reproduction.seconds, burn_in, min_sweeps, tuned["split_merge"])
    )


def _arm(reproduction: Reproduction, name: str, work: Any, settings: Any) -> Arm:
    pieces = reproduction.each(f"Figure 2B, {name}", work, -(-reproduction.scale.processes // PIECE), settings)
    values = [value for piece in pieces for value in piece["values"]]
    return Arm(name, np.array(values[: reproduction.scale.processes]))


def _reference(reproduction: Reproduction, posterior: cp.Mixture, number: int) -> dict[str, Any]:
    s = cp.sample(
        posterior,
        cp.largest_clusters(1),
        sweeps=reproduction.scale.reference,
        burn_in=min(2_000, reproduction.scale.reference),
        chains=1,
        seed=_seed(reproduction, 3, number),
        executor=1,
    )
    return {"mean": float(s.mean[0])}


def _show(
    reproduction: Reproduction, section: Section, arms: list[Arm], sizes: list[int], reference: float, error: float
) -> None:
    rows, table, errors, covered = [], [], {}, {}
    for arm in arms:
        for size in sizes:
            mean, stderr = arm.groups(size)
            off = float(np.sqrt(np.mean((mean - reference) ** 2)))
            inside = float(np.mean(np.abs(mean - reference) <= 2 * np.hypot(stderr, error)))
            errors[arm.name, size], covered[arm.name, size] = off, inside
            rows.append([arm.name, size, mean[0], stderr[0], off, inside, len(mean)])
        table.append(
            [
                arm.name,
                f"{np.nanstd(arm.values):.2g}",
                *[f"{errors[arm.name, size]:.2g}" for size in sizes],
                *[f"{100 * covered[arm.name, size]:.0f} %" for size in sizes],
            ]
        )
    reproduction.write_numbers("figure2b", ["arm", "processes", "mean", "SEM", "error", "covered", "groups"], rows)
    section.tables.append(
        (["processes", "sd of one", *[f"error, {m:,}" for m in sizes], *[f"covers, {m:,}" for m in sizes]], table)
    )
    section.pictures += [
        picture(
            reproduction,
            "figure2b-estimates",
            "Figure 2B: estimates from M processes",
            "Error bars: two standard errors of the mean; line: the reference.",
            lambda ax: _draw_estimates(ax, arms, sizes, reference),
        ),
        picture(
            reproduction,
            "figure2b-errors",
            "Figure 2B: error against M",
            "Root mean square distance from the reference, over all disjoint groups of M processes.",
            lambda ax: _draw_errors(ax, errors, sizes, error),
        ),
    ]
    section.claims += _claims(arms, sizes, errors, covered, reference, error)


def _claims(
    arms: list[Arm],
    sizes: list[int],
    errors: dict[Any, float],
    covered: dict[Any, float],
    reference: float,
    error: float,
) -> list[Claim]:
    authors, single, ours = arms
    most = sizes[-1]
    spread = {arm.name: float(np.nanstd(arm.values)) for arm in arms}
    mean, stderr = (float(part[0]) for part in single.groups(most))
    bias = abs(mean - reference)
    away = bias / float(np.hypot(stderr, error))
    crossing = spread[authors.name] ** 2 / max(bias**2 - error**2, 1e-300)
    finished = float(np.mean(~np.isnan(authors.values)))
    small = [m for m in sizes if len(ours.values) // m >= 10] or sizes[:1]
    share = float(np.mean([covered[ours.name, m] for m in small]))
    ratio = errors[ours.name, sizes[0]] / max(errors[ours.name, most], error)
    return [
        Claim(
            "Figure 2B",
            "single-chain estimates have lower variance than the authors' coupled ones",
            f"standard deviation {spread[single.name]:.2g} against {spread[authors.name]:.2g}",
            spread[single.name] < spread[authors.name],
        ),
        Claim(
            "Figure 2B",
            "the true value is many standard errors from the single-chain estimate",
            f"{away:.1f} standard errors at {most:,} processes ({plus_minus(mean, stderr)} against the reference "
            f"{plus_minus(reference, error)})",
            away > 4,
        ),
        Claim(
            "Figure 2B",
            "coupled chains yield smaller error when aggregated over many processes",
            f"at {most:,}: {errors[authors.name, most]:.2g} against {errors[single.name, most]:.2g} "
            f"({100 * finished:.1f} % of the authors' processes finished a replicate)",
            errors[authors.name, most] < errors[single.name, most],
        ),
        Claim(
            "Figure 2B",
            "about 5,000 pairs are needed for an error comparable to that of as many single chains",
            f"variance over squared bias: {crossing:,.0f}",
            1_000 <= crossing <= 25_000,
        ),
        Claim(
            "Figure 2B (ours)",
            "with tuned settings and the unbiased deadline rule, the error falls as one over the root of M",
            f"{ratio:.1f} times smaller at {most:,} than at {sizes[0]} (root: {np.sqrt(most / sizes[0]):.1f}); "
            f"{errors[ours.name, most]:.2g} against {errors[single.name, most]:.2g} of single chains",
            ratio > 0.4 * np.sqrt(most / sizes[0]) and errors[ours.name, most] < errors[single.name, most],
        ),
        Claim(
            "Figure 2B (ours)",
            "intervals of two standard errors cover the reference about 95 times in 100",
            f"{100 * share:.1f} % of {sum(len(ours.values) // m for m in small)} intervals",
            share >= 0.9,
        ),
    ]


def _draw_estimates(ax: Any, arms: list[Arm], sizes: list[int], reference: float) -> None:
    ax.axhline(reference, color=plots.INK, lw=0.8)
    for shift, arm in zip((0.92, 1.0, 1.08), arms, strict=True):
        points = [(size, *(float(part[0]) for part in arm.groups(size))) for size in sizes]
        x, mean, stderr = (np.array(column) for column in zip(*points, strict=True))
        style = ARMS[arm.name] | {"linestyle": "none"}
        ax.errorbar(x * shift, mean, 2 * stderr, label=arm.name, capsize=2, lw=1.0, markersize=4, **style)
    # Room for the last and shortest bar of each; earlier ones may run out of the picture.
    last = [tuple(float(part[0]) for part in arm.groups(sizes[-1])) for arm in arms]
    room = 1.3 * max(abs(mean - reference) + 2 * stderr for mean, stderr in last)
    ax.set_ylim(reference - room, reference + room)
    _finish(ax, "processes M", "share of the largest cluster")


def _draw_errors(ax: Any, errors: dict[Any, float], sizes: list[int], error: float) -> None:
    for name, style in ARMS.items():
        ax.plot(sizes, [errors[name, size] for size in sizes], label=name, markersize=4, **style)
    ax.axhline(error, color=plots.MUTED, lw=0.8)
    ax.annotate(
        "error of the reference", (sizes[0], error), (0, 3), textcoords="offset points", color=plots.MUTED, fontsize=8
    )
    ax.set_yscale("log")
    _finish(ax, "processes M", "error")


def _finish(ax: Any, x: str, y: str) -> None:
    ax.set_xscale("log")
    plots.plain_numbers(ax.xaxis)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
