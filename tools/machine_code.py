"""Add machine code to a wheel, so that first estimates need not compile: ``python tools/machine_code.py WHEEL``.

The wheel is unpacked; the package in it runs what people run first, compiled for a level of processors that is common
(x86-64-v3: those of the last ten years), and what it compiled is packed with it. It is used only by the very sources
that it was made of, on processors that have all it needs; everywhere else kernels are compiled as before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LEVEL = "x86-64-v3"
FEATURES = ["avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2", "ssse3"]
WIDTHS = range(1, 11)  # of tables of numbers


def pack(wheel: Path) -> None:
    """Unpack a wheel, let the package in it compile, and pack it again."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-m", "wheel", "unpack", "--dest", scratch, str(wheel)], check=True)
        (root,) = Path(scratch).iterdir()
        environment = os.environ | {
            "PYTHONPATH": str(root),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CPU_NAME": LEVEL,
            "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in FEATURES),
            "NUMBA_CACHE_DIR": str(Path(scratch) / "cache"),
        }
        subprocess.run([sys.executable, __file__, "--here", str(root / "copartition")], env=environment, check=True)
        subprocess.run([sys.executable, "-m", "wheel", "pack", "--dest-dir", str(wheel.parent), str(root)], check=True)


def compile_here(package: Path) -> None:
    """Run what people run first, and copy what was compiled into the package."""
    import numpy as np

    import copartition as cp

    if Path(cp.__file__).parent != package:
        raise SystemExit(f"copartition is imported from {cp.__file__}, not from {package}.")
    rng = np.random.default_rng(1)
    table = np.concatenate([rng.normal(mean, 1.0, (20, 2)) for mean in (-4.0, 0.0, 4.0)])
    yes = rng.integers(0, 2, (60, 3))
    how = {"replicates": 4, "burn_in": 2, "min_sweeps": 6, "lag": 2, "seed": 1}
    functionals = [cp.n_clusters(), cp.largest_clusters(3), cp.co_clustering([0, 1, 7])]
    columns = cp.Columns([([0, 1], cp.NormalInverseGamma()), ([2, 3, 4], cp.Bernoulli(1.0, 1.0))])
    edges = [(a, b) for a in range(8) for b in range(a) if (a < 4) == (b < 4)] + [(0, 7)]
    targets = [
        cp.Mixture(table, cp.Gaussian(noise_sd=1.0, mean_sd=4.0)),
        cp.Mixture(table, cp.NormalInverseWishart()),
        cp.Mixture(table[:, :1], cp.NormalInverseGamma()),
        cp.Mixture(table, cp.TiedGaussian(covariance="full")),
        cp.Mixture(np.hstack([table, yes]), columns),
        cp.BlockModel(edges),
    ]
    for target in targets:
        cp.estimate(target, functionals, **how)
        cp.sample(target, cp.n_clusters(), sweeps=5, burn_in=2, chains=1, seed=1)
    for width in WIDTHS:  # kernels of their own; those of shared and diagonal covariances from 100 points on
        for component in (cp.NormalInverseWishart(), cp.TiedGaussian("full"), cp.NormalInverseGamma()):
            posterior = cp.Mixture(rng.normal(size=(100, width)), component)
            hyperparameters = posterior.model.hyperparameters.copy() if posterior.hyperparameters else None
            cp.kernels.conditional(posterior, np.zeros(100, dtype=int), 0, hyperparameters)
    for data in (table, np.hstack([table, yes]), np.hstack([table, yes * 3.0 + 1.0])):
        cp.cluster(data, seed=1, effort=0.01).consensus  # noqa: B018 - which is what a page asks for
    cp.tune(targets[0], cp.n_clusters(), pairs=60, seed=1)
    cp.consensus(targets[0], replicates=4, seed=1)
    ship(package)


def ship(package: Path, features: list[str] = FEATURES) -> None:
    """Copy all that this process has compiled into the package, for processors that can do so much."""
    import gc

    from copartition.core.cache import platform, shipped_name, sources, values_of
    from copartition.core.compiling import Kernel

    folder = package / "machine_code"
    folder.mkdir()
    made = [one for one in gc.get_objects() if isinstance(one, Kernel) and one._address and one.file is not None]
    for one in made:
        (folder / f"{shipped_name(one)}.o").write_bytes(one.file.read_bytes())
    functions = {shipped_name(one): values_of(one) for one in made}
    about = {"platform": platform(), "features": features, "sources": sources(), "functions": functions}
    (folder / "about.json").write_text(json.dumps(about, indent=1))
    print(f"{len(made)} kernels, {sum(path.stat().st_size for path in folder.iterdir()) / 1e6:.1f} MB")


if __name__ == "__main__":
    if sys.argv[1] == "--here":
        compile_here(Path(sys.argv[2]))
    else:
        pack(Path(sys.argv[1]))
