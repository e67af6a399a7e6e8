"""Asymptotic variances of chains without bias: are they exact, what do they cost, how many atoms pay?

A part of ``evidence/run.py``; see there.
"""

from __future__ import annotations

import numpy as np

import cases
import copartition as cp
import small
from copartition import datasets
from copartition.chains.start import check_start
from copartition.core.random import stream
from copartition.diagnostics.efficiency import asymptotic_variance, relative_error
from copartition.partition import canonical
from copartition.runs.defaults import bind, read_step
from copartition.runs.differences import PairRunner, States
from copartition.runs.progress import Pause
from copartition.runs.sampling import DrawJob, run_chains
from exact_variances import exact, exact_with_number, functionals

SMALL_REPLICATES, SMALL_ATOMS = 100_000, 16
LONG_CHAINS, LONG_SWEEPS, SEGMENT = 4, 100_000, 5_000
ATOMS = (1, 4, 16, 64, 256)
PAIRS = 2_000


def exactness() -> list[str]:
    """The asymptotic variance of the number of clusters and of the largest share, exact and estimated.

    Exact: from the transition matrix of a sweep; for gamma_scale and discount (`tests/small_hyperparameters.py`, four
    points) of a sweep and a draw of a hyperparameter from its grid, whose own variance is the third. 100,000 replicates
    of 16 atoms, 1.6 million pairs, in each row; `burn_in` 1, `min_sweeps` 8, lag 1, so that most have signed weights.
    Goal: below 4 standard errors.
    """
    lines = ["| target | coupling | exact | estimate | standard errors apart |", "| --- | --- | --- | --- | --- |"]
    short = {"burn_in": 1, "min_sweeps": 8, "lag": 1, "executor": 1}
    every = [("scalar", key) for key in small.COUPLINGS if key != "independent"]
    every += [(name, key) for name in ("coloring", "bernoulli", "wishart") for key in ("transport", "path")]
    every += [(name, key) for name in ("gamma_scale", "discount") for key in ("matched", "transport")]
    worst = 0.0
    for seed, (name, key) in enumerate(every):
        is_plain = name in small.TARGETS
        target, *_, variance = (exact if is_plain else exact_with_number)(name)
        of = functionals() if is_plain else [*functionals(), cp.hyperparameters()]
        coupling = small.COUPLINGS[key]
        size = {"replicates": SMALL_REPLICATES, "atoms": SMALL_ATOMS}
        v = cp.asymptotic_variance(target, of, coupling=coupling, seed=seed, **size, **short)
        apart = (v.mean - variance) / v.stderr
        worst = max(worst, float(np.abs(apart).max()))
        estimates = ", ".join(f"{a:.4f} +- {b:.4f}" for a, b in zip(v.mean, v.stderr, strict=True))
        cells = [", ".join(f"{one:.4f}" for one in variance), estimates, ", ".join(f"{one:+.2f}" for one in apart)]
        lines.append(f"| {name} | {coupling!r} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return [*lines, "", f"Largest: {worst:.2f}."]


def data_sets() -> dict[str, tuple[cp.Target, cp.kernels.Functional]]:
    """Return targets and functionals; the RNA-seq data only where their file is."""
    known = cp.Gaussian(noise_sd=1.0, mean_sd=5.0, mean=21.0)
    unknown = cp.NormalInverseGamma(20.0, 0.01, 2.0, 1.0)
    found: dict[str, tuple[cp.Target, cp.kernels.Functional]] = {
        "galaxies": (cp.Mixture(datasets.galaxies(), known, cp.DirichletProcess(1.0)), cp.n_clusters()),
        "galaxies, unknown variances": (
            cp.Mixture(datasets.galaxies(), unknown, cp.DirichletProcess(cp.Gamma(2, 4))),
            cp.n_clusters(),
        ),
        "Figure 1A": (cases.figure1a(1), cp.largest_clusters(1)),
    }
    return found | ({"RNA-seq": (cases.rna_seq(), cp.largest_clusters(1))} if cases.cells_available() else {})


def against_long_runs() -> list[str]:
    """Estimates with all defaults (100 replicates) against long chains that make the same step, and what both cost.

    Long chains: 4 of 100,000 sweeps after 2,000. Cost: CPU seconds of one core for a relative standard error of 1 %.
    Of `asymptotic_variance`: from the spread of its replicates. Of batch means (what `Sample.variance` does) of one
    long chain whose burn-in is free: the chains are cut into 80 stretches of 5,000 sweeps, and the mean square of the
    relative error of these, against all of them, counts, bias included.
    """
    head = "data | long chains | estimate | standard errors apart | atoms | cost, estimate | cost, batch means | ratio"
    lines = [f"| {head} |", "|" + " --- |" * (head.count("|") + 1)]
    for name, (target, functional) in data_sets().items():
        s = cp.sample(target, functional, sweeps=LONG_SWEEPS, burn_in=2_000, chains=LONG_CHAINS, seed=9, executor=1)
        v = cp.asymptotic_variance(target, functional, seed=1, executor=1)
        long, error = float(s.variance[0]), float(s.variance[0]) * relative_error(s.draws)
        apart = (v.mean[0] - long) / np.hypot(v.stderr[0], error)
        ours = 1e4 * float(v.values.var(ddof=1) / v.mean[0] ** 2 * v.seconds.mean())
        pieces = s.draws.reshape(-1, 1, SEGMENT, 1)
        errors = np.array([asymptotic_variance(one)[0] for one in pieces]) / long - 1
        a_sweep = float(s.seconds.sum()) / (LONG_CHAINS * (LONG_SWEEPS + 2_000))
        theirs = 1e4 * float(np.mean(errors**2)) * SEGMENT * a_sweep
        cells = [
            f"{long:.4g} +- {error:.2g}",
            f"{v.mean[0]:.4g} +- {v.stderr[0]:.2g}",
            f"{apart:+.2f}",
            str(v.made_by["settings"]["atoms"]),
            f"{ours:.3g}",
            f"{theirs:.3g}",
            f"{ours / theirs:.2f}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def how_many_atoms() -> list[str]:
    """CPU seconds for a relative standard error of 1 %, by the number of atoms; 100 replicates each.

    `burn_in` 100, `min_sweeps` 500, lag 100. In brackets: sweeps of the pairs that begin at atoms, against those of
    the two replicates. Chosen after a first look at such a table, on three of the same data sets: the share at
    which none costs more than 1.5 times its least. Pairs take about twice the sweeps of the replicates, 16 to 256
    atoms. Last column: variance of what one pair tells, times its sweeps, with a fixed state in the place of the
    second draw (Douc, Jacob, Lee and Vats), against two draws: the mean over three fixed states that a chain came
    by, from 2,000 pairs each.
    """
    head = f"data | {' | '.join(map(str, ATOMS))} | by the rule | fixed state, times as dear"
    lines = [f"| {head} |", "|" + " --- |" * (head.count("|") + 1)]
    for name, (target, functional) in data_sets().items():
        cells = []
        for atoms in (*ATOMS, None):
            v = cp.asymptotic_variance(target, functional, replicates=100, atoms=atoms, seed=2, executor=1)
            cost = 1e4 * float(v.values.var(ddof=1) / v.mean[0] ** 2 * v.seconds.mean())
            both = 2 * float(np.maximum(500, v.meeting_times).mean())
            chosen = f"{v.made_by['settings']['atoms']}: " if atoms is None else ""
            cells.append(f"{chosen}{cost:.3g} ({(v.sweeps.mean() - both) / both:.2g})")
        cells.append(f"{fixed_state(target, functional):.2f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def fixed_state(target: cp.Target, functional: cp.kernels.Functional) -> float:
    """Return how much dearer it is to compare draws with a fixed state than with other draws."""
    step = bind(target, read_step(target))
    draws, _ = run_chains(DrawJob(target, step, check_start(target, None), 500, 40, PAIRS, 5), 2, 1, False, "chains")
    labels = np.array([canonical(one) for one in draws.reshape(2 * PAIRS, -1)])
    states, first = States(labels, np.zeros((2 * PAIRS, 0))), np.arange(PAIRS)

    def run(second: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        seeds = np.array([stream(11, k) for k in first])
        begins = np.column_stack([first, second])
        found = PairRunner(target, [functional], step, states, begins, seeds, 1 << 40).run(Pause())
        return found.at_x[:, 0], found.at_y[:, 0], found.totals[:, 0], float(found.steps.mean())

    x, y, totals, steps = run(PAIRS + first)
    mean = np.append(x, y).mean()
    drawn = float(np.var((x - y) * (totals - (x - y)))) * steps
    fixed = []
    for k in (7, 407, 807):
        x, _, totals, steps = run(np.full(PAIRS, PAIRS + k))
        fixed.append(float(np.var(2 * (x - mean) * totals - (x - mean) ** 2)) * steps)
    return float(np.mean(fixed)) / drawn


PARTS = {
    "Asymptotic variance without bias": exactness,
    "Asymptotic variance: long chains and cost": against_long_runs,
    "Asymptotic variance: how many atoms": how_many_atoms,
}
