"""The yardstick: `plain_sweep.c`, compiled where there is a C compiler and run from the same state as ours."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from functools import lru_cache
from pathlib import Path

import numpy as np

import copartition as cp
from copartition.core.state import Chain

SOURCE = Path(__file__).with_name("plain_sweep.c")


def has_compiler() -> bool:
    """Tell whether there is a C compiler."""
    return bool(shutil.which("cc") or shutil.which("gcc"))


@lru_cache
def program_for(n_columns: int) -> ctypes.CDLL:
    """Return the program, compiled for this number of columns."""
    library = Path(tempfile.mkdtemp(prefix="copartition-bench-")) / "plain_sweep.so"
    flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", f"-DCOLUMNS={n_columns}"]
    compiler = shutil.which("cc") or "gcc"
    subprocess.run([compiler, *flags, "-o", str(library), str(SOURCE), "-lm"], check=True)
    program = ctypes.CDLL(str(library))
    program.sweeps.restype = ctypes.c_int64
    return program


def run(target: cp.Mixture, chain: Chain, random: np.ndarray, sweeps: int) -> tuple[float, np.ndarray]:
    """Run sweeps from the state of `chain`, which stays as it is; return the seconds and the labels at the end."""
    model = target.model
    n_points, n_columns = target.shape  # ours may have more columns, of zeros
    points = np.ascontiguousarray(model.points[:, :n_columns])
    table = model.table.copy()
    log_new = model.log_new[0] + table[0, 0]
    table[1:, 0] += model.log_size[1:]
    capacity = n_points + 1
    sizes = np.zeros(capacity, dtype=np.int64)
    sums = np.zeros((capacity, n_columns))
    count = int(chain.n_clusters[0])
    sizes[:count], sums[:count] = chain.sizes[:count], chain.sums[:count, :n_columns]
    labels, state = chain.labels.copy(), random.copy()

    def address(array: np.ndarray) -> ctypes.c_void_p:
        return array.ctypes.data_as(ctypes.c_void_p)

    numbers = [ctypes.c_int64(n) for n in (sweeps, n_points)]
    program = program_for(n_columns)
    begin = time.perf_counter()
    program.sweeps(
        *numbers,
        address(points),
        address(table),
        ctypes.c_double(log_new),
        ctypes.c_int64(capacity),
        address(labels),
        address(sizes),
        address(sums),
        ctypes.c_int64(count),
        address(state),
    )
    return time.perf_counter() - begin, labels
