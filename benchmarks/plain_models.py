"""Yardsticks for other components: `plain_wishart.c` and `plain_columns.c`, from plain arrays; run it to check them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

# points, columns, components, spread of their means, seed, sweeps to time. Mean numbers of clusters: about 5.4, 5.4,
# 4.6, 17. With 50 columns this prior breaks data up: a chain that began from one cluster goes on growing slowly.
WISHART_CASES = {
    "272 x 2": (272, 2, 5, 4.0, 1, 2000),
    "1000 x 1": (1000, 1, 10, 12.0, 6, 1000),
    "2000 x 10": (2000, 10, 4, 2.0, 2, 200),
    "700 x 50": (700, 50, 20, 0.5, 1, 40),
}


@lru_cache
def program_for(source: str, *defines: str) -> ctypes.CDLL:
    """Return a program, compiled with these constants."""
    library = Path(tempfile.mkdtemp(prefix="copartition-bench-")) / f"{source}.so"
    flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", *[f"-D{define}" for define in defines]]
    compiler = shutil.which("gcc") or shutil.which("cc") or "gcc"
    path = Path(__file__).with_name(f"{source}.c")
    subprocess.run([compiler, *flags, "-o", str(library), str(path), "-lm"], check=True)
    program = ctypes.CDLL(str(library))
    program.sweeps.restype = ctypes.c_int64
    return program


def address(array: np.ndarray | None) -> ctypes.c_void_p:
    """Return where an array is."""
    return ctypes.c_void_p(None) if array is None else array.ctypes.data_as(ctypes.c_void_p)


def whiten(points: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return points for which the prior mean is 0 and the prior scale matrix the identity."""
    return np.ascontiguousarray(np.linalg.solve(np.linalg.cholesky(scale), (points - mean).T).T)


def wishart_tables(points: np.ndarray, kappa: float, nu: float, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows by size and the log weight of a new cluster for each (whitened) point."""
    n_points, n_columns = points.shape
    sizes = np.arange(n_points + 1.0)
    kappas, nus = kappa + sizes, nu + sizes
    shrink = kappas / (kappas + 1)
    levels = gammaln((nus + 1) / 2) - gammaln((nus + 1 - n_columns) / 2) + n_columns / 2 * np.log(shrink)
    with np.errstate(divide="ignore", invalid="ignore"):
        table = np.column_stack(
            [
                np.log(sizes) + levels,
                shrink,
                -(nus + 1) / 2,
                np.log(sizes - 1) + np.roll(levels, 1),
                -kappas / (kappas - 1),
                (nus - 1) / 2,
            ]
        )
    table[0, [0, 3, 4]], table[1, 3] = 0.0, 0.0  # the program never takes these
    log_new = np.log(alpha) + levels[0] - (nu + 1) / 2 * np.log1p(shrink[0] * (points**2).sum(1))
    return np.ascontiguousarray(table), log_new


def run_wishart(
    points: np.ndarray,
    labels: np.ndarray,
    random: np.ndarray,
    sweeps: int,
    *,
    kappa: float = 1.0,
    nu: float | None = None,
    alpha: float = 1.0,
    layout: int | None = None,
    defines: tuple[str, ...] = (),
    trace: bool = False,
) -> tuple[float, np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    """Run sweeps on whitened points from these labels; return the seconds, the labels at the end and the trace.

    The trace, if asked for: for each point the log weights in the last sweep, and the labels when they were found.
    """
    points = np.ascontiguousarray(points, dtype=np.float64)
    n_points, n_columns = points.shape
    table, log_new = wishart_tables(points, kappa, n_columns + 2 if nu is None else nu, alpha)
    labels, random = np.array(labels, dtype=np.int64), np.array(random, dtype=np.uint64)
    layouts = [] if layout is None else [f"LAYOUT={layout}"]
    program = program_for("plain_wishart", f"COLUMNS={n_columns}", *layouts, *defines, *(["TRACE"] if trace else []))
    traces = (np.zeros((n_points, n_points + 1)), np.zeros((n_points, n_points), dtype=np.int64)) if trace else None
    begin = time.perf_counter()
    program.sweeps(
        ctypes.c_int64(sweeps),
        ctypes.c_int64(n_points),
        address(points),
        address(table),
        address(log_new),
        address(labels),
        ctypes.c_int64(int(labels.max()) + 1),
        address(random),
        *[address(array) for array in traces or (None, None)],
    )
    return time.perf_counter() - begin, labels, traces


def wishart_case(name: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return whitened points, labels where a chain is after burn-in, and how many sweeps to time."""
    n_points, n_columns, kinds, spread, seed, sweeps = WISHART_CASES[name]
    generator = np.random.default_rng(seed)
    labels = generator.integers(kinds, size=n_points)
    points = spread * generator.normal(size=(kinds, n_columns))[labels] + generator.normal(size=(n_points, n_columns))
    points = whiten(points, points.mean(0), np.atleast_2d(np.cov(points.T)))
    random = np.array([1, 2, 3, 4], dtype=np.uint64)
    return points, run_wishart(points, np.zeros(n_points, dtype=np.int64), random, max(sweeps // 2, 10))[1], sweeps


def log_density_t(point: np.ndarray, mean: np.ndarray, shape: np.ndarray, freedom: float) -> float:
    """Return a multivariate t log density by a Cholesky factor in long doubles, for scale matrices near singular."""
    size = len(point)
    factor, solved = np.zeros((size, size), dtype=np.longdouble), np.zeros(size, dtype=np.longdouble)
    for j in range(size):
        factor[j, j] = np.sqrt(shape[j, j] - factor[j, :j] @ factor[j, :j])
        for i in range(j + 1, size):
            factor[i, j] = (shape[i, j] - factor[i, :j] @ factor[j, :j]) / factor[j, j]
        solved[j] = (point[j] - mean[j] - factor[j, :j] @ solved[:j]) / factor[j, j]
    level = gammaln((freedom + size) / 2) - gammaln(freedom / 2) - size / 2 * np.log(freedom * np.pi)
    square = np.log1p(solved @ solved / np.longdouble(freedom))
    return float(level - np.log(np.diag(factor)).sum() - (freedom + size) / 2 * square)


def check_wishart(n_columns: int, layout: int, far: float, sweeps: int) -> float:
    """Return the largest error of a log weight (those above -40 from the top), against t densities from the members."""
    from scipy.stats import multivariate_t

    generator = np.random.default_rng(n_columns)
    n_points, kappa, nu, alpha = 60, 0.7, n_columns + 2.5, 1.3
    points = generator.normal(size=(n_points, n_columns)) + 2 * generator.integers(-1, 2, size=(n_points, 1))
    points[7] += far
    exact = points.astype(np.longdouble)
    labels = generator.integers(0, 3, size=n_points)
    labels[:3] = range(3)
    random = generator.integers(1, 2**63, size=4, dtype=np.uint64)
    trace = run_wishart(points, labels, random, sweeps, kappa=kappa, nu=nu, alpha=alpha, layout=layout, trace=True)[2]
    worst = 0.0
    for i, (weights, labels) in enumerate(zip(*trace, strict=True)):
        count = labels.max() + 1
        right = np.full(count + 1, -np.inf)
        for c in range(count + 1):
            members = exact[(labels == c) & (np.arange(n_points) != i)]
            size = len(members)
            if size == 0 and c < count:
                continue
            mean = members.sum(0) / (kappa + size)
            scale = np.eye(n_columns) + (members - mean).T @ (members - mean) + kappa * np.outer(mean, mean)
            freedom = nu + size - n_columns + 1
            shape = scale * (kappa + size + 1) / ((kappa + size) * freedom)
            if far == 0:
                log_density = multivariate_t(mean.astype(float), shape.astype(float), df=freedom).logpdf(points[i])
            else:
                log_density = log_density_t(exact[i], mean, shape, freedom)
            right[c] = log_density + np.log(alpha if c == count else size)
        right += n_columns / 2 * np.log(np.pi)
        seen = right > right.max() - 40
        worst = max(worst, np.abs(weights[: count + 1] - right)[seen].max())
        assert np.all(weights[: count + 1][~seen] < right.max() - 39)
    return worst


class Columns(NamedTuple):
    """Data and hyperparameters of `plain_columns.c`; any kind may have no columns. The prior mean of normals is 0."""

    bernoulli: np.ndarray  # points x columns, 0 or 1
    categorical: np.ndarray  # points x columns, levels from 0
    poisson: np.ndarray
    normal: np.ndarray
    levels: int = 4
    beta: tuple[float, float] = (1.0, 1.0)  # of 1, of 0
    dirichlet: float = 1.0
    gamma: tuple[float, float] = (1.0, 1.0)  # shape, rate
    normal_gamma: tuple[float, float, float] = (1.0, 2.0, 1.0)  # kappa, a, b


def columns_tables(data: Columns, alpha: float) -> tuple[np.ndarray, ...]:
    """Return codes, rows by size, logs by level and count, log gammas, log weights of a new cluster."""
    n_points = len(data.normal)
    shapes = [data.bernoulli.shape[1], data.categorical.shape[1], data.poisson.shape[1], data.normal.shape[1]]
    sizes = np.arange(n_points + 1.0)
    (beta_one, beta_zero), (shape, rate), (kappa, a, b) = data.beta, data.gamma, data.normal_gamma
    codes = np.hstack(
        [
            data.bernoulli + 2 * np.arange(shapes[0]),
            data.categorical + 2 * shapes[0] + data.levels * np.arange(shapes[1]),
        ]
    ).astype(np.int64)
    shrink = (kappa + sizes) / (kappa + sizes + 1)
    whole = -shapes[0] * np.log(sum(data.beta) + sizes) - shapes[1] * np.log(data.levels * data.dirichlet + sizes)
    whole += shapes[3] * (gammaln(a + (sizes + 1) / 2) - gammaln(a + sizes / 2) + np.log(shrink) / 2)
    with np.errstate(divide="ignore"):
        table = np.column_stack(
            [
                whole + np.where(sizes > 0, np.log(sizes), 0),
                np.log((rate + sizes) / (rate + sizes + 1)),
                np.log(rate + sizes + 1),
                shrink,
                -(a + (sizes + 1) / 2),
                -(kappa + sizes) / np.where(sizes > 0, kappa + sizes - 1, 1),
                a + (sizes - 1) / 2,
            ]
        )
    starts = np.array([beta_zero, beta_one] * shapes[0] + [data.dirichlet] * (data.levels * shapes[1]))
    logs = np.log(np.maximum(starts[:, None] + np.arange(-1.0, n_points + 1), 1e-300))
    gammas = gammaln(shape + np.arange(int(data.poisson.sum(0).max(initial=0)) + int(data.poisson.max(initial=0)) + 2))
    log_new = np.log(alpha) + whole[0] - shapes[3] / 2 * np.log(b)
    log_new += np.log(starts)[codes].sum(1)
    log_new = log_new + (gammas[data.poisson] - gammas[0] + shape * table[0, 1] - data.poisson * table[0, 2]).sum(1)
    log_new = log_new - (a + 0.5) * np.log1p(shrink[0] * data.normal**2 / (2 * b)).sum(1)
    return codes, np.ascontiguousarray(table), np.ascontiguousarray(logs), gammas, np.ascontiguousarray(log_new)


def run_columns(
    data: Columns, labels: np.ndarray, random: np.ndarray, sweeps: int, *, alpha: float = 1.0, trace: bool = False
) -> tuple[float, np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    """Run sweeps from these labels; return the seconds, the labels at the end and the trace (see `run_wishart`)."""
    codes, table, logs, gammas, log_new = columns_tables(data, alpha)
    counts, reals = np.ascontiguousarray(data.poisson, dtype=np.int64), np.ascontiguousarray(data.normal, dtype=float)
    hyper = np.array([data.gamma[0], data.normal_gamma[0], data.normal_gamma[2]])
    labels, random = np.array(labels, dtype=np.int64), np.array(random, dtype=np.uint64)
    n_points = len(labels)
    kinds = {"BERNOULLI": data.bernoulli, "CATEGORICAL": data.categorical, "POISSON": data.poisson}
    defines = [f"{kind}={values.shape[1]}" for kind, values in {**kinds, "NORMAL": data.normal}.items()]
    program = program_for("plain_columns", *defines, f"LEVELS={data.levels}", *(["TRACE"] if trace else []))
    traces = (np.zeros((n_points, n_points + 1)), np.zeros((n_points, n_points), dtype=np.int64)) if trace else None
    begin = time.perf_counter()
    program.sweeps(
        ctypes.c_int64(sweeps),
        ctypes.c_int64(n_points),
        *[address(array) for array in (codes, counts, reals, table, logs, gammas, log_new, hyper, labels)],
        ctypes.c_int64(int(labels.max()) + 1),
        address(random),
        *[address(array) for array in traces or (None, None)],
    )
    return time.perf_counter() - begin, labels, traces


def columns_case(
    shape: tuple[int, int, int, int], n_points: int, kinds: int, seed: int = 1
) -> tuple[Columns, np.ndarray]:
    """Return columns drawn from a mixture (so many of each kind) and the true labels."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(kinds, size=n_points)
    labels[:kinds] = range(kinds)
    bernoulli = generator.random((n_points, shape[0])) < generator.random((kinds, shape[0]))[labels]
    bounds = generator.dirichlet(np.ones(4), size=(kinds, shape[1])).cumsum(2)[labels]
    categorical = (generator.random((n_points, shape[1], 1)) > bounds[:, :, :3]).sum(2)
    poisson = generator.poisson(generator.gamma(1, 4, (kinds, shape[2]))[labels])
    normal = generator.normal(0, 2, (kinds, shape[3]))[labels] + generator.normal(size=(n_points, shape[3]))
    return Columns(bernoulli.astype(np.int64), categorical, poisson, normal), labels


def check_columns(shape: tuple[int, int, int, int], far: float, sweeps: int) -> float:
    """Return the largest error of a log weight (up to a constant of the point), against predictives from members."""
    from scipy.stats import nbinom
    from scipy.stats import t as student

    data, labels = columns_case(shape, 60, 3)
    data.normal[7] += far
    data = data._replace(beta=(0.7, 1.2), dirichlet=0.6, gamma=(1.4, 0.8), normal_gamma=(0.6, 1.7, 0.9))
    (one, zero), (rise, rate), (kappa, a, b) = data.beta, data.gamma, data.normal_gamma
    random = np.array([1, 2, 3, 4], dtype=np.uint64)
    worst = 0.0
    trace = run_columns(data, labels, random, sweeps, alpha=1.3, trace=True)[2]
    for i, (weights, labels) in enumerate(zip(*trace, strict=True)):
        count = labels.max() + 1
        right = np.full(count + 1, -np.inf)
        for c in range(count + 1):
            inside = (labels == c) & (np.arange(60) != i)
            size = inside.sum()
            if size == 0 and c < count:
                continue
            ones = data.bernoulli[inside].sum(0)
            chance = (one + ones) / (one + zero + size)
            right[c] = np.log(1.3 if c == count else size)
            right[c] += np.log(np.where(data.bernoulli[i] == 1, chance, 1 - chance)).sum()
            same = (data.categorical[inside] == data.categorical[i]).sum(0)
            right[c] += np.log((data.dirichlet + same) / (data.levels * data.dirichlet + size)).sum()
            sums = data.poisson[inside].sum(0)
            right[c] += nbinom.logpmf(data.poisson[i], rise + sums, (rate + size) / (rate + size + 1)).sum()
            mean = data.normal[inside].sum(0) / (kappa + size)
            spread = b + (((data.normal[inside] - mean) ** 2).sum(0) + kappa * mean**2) / 2
            scale = np.sqrt(spread * (kappa + size + 1) / ((a + size / 2) * (kappa + size)))
            right[c] += student.logpdf(data.normal[i], 2 * a + size, mean, scale).sum()
        seen = right > right.max() - 40
        errors = (weights[: count + 1] - right)[seen]
        worst = max(worst, np.abs(errors - errors[np.argmax(right[seen])]).max())
        assert np.all(weights[: count + 1][~seen] < weights[: count + 1].max() - 39)
    return worst


def main() -> None:
    """Check the programs against obvious formulas."""
    for n_columns in (1, 2, 5, 10, 21):
        for layout in (0, 1, 2) if n_columns <= 16 else (1, 2):
            errors = [check_wishart(n_columns, layout, *case) for case in ((0, 1), (0, 5000), (1e3, 1), (1e5, 50))]
            print(f"Wishart, {n_columns} columns, layout {layout}: errors", *[f"{error:.1e}" for error in errors])
    for shape in ((7, 6, 6, 6), (7, 0, 0, 0), (0, 6, 0, 0), (0, 0, 6, 0), (0, 0, 0, 6), (0, 0, 0, 50)):
        errors = [check_columns(shape, *case) for case in ((0, 1), (0, 2000), (1e3, 1), (1e5, 50))]
        print(f"columns {shape}: errors", *[f"{error:.1e}" for error in errors])


if __name__ == "__main__":
    main()
