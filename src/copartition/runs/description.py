"""What a run is, in a form that can be compared, stored and read."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from typing import Any

import numpy as np

from copartition.compiled.kernel import Kernel, code_hash
from copartition.functionals import Functional
from copartition.replicate import Job
from copartition.start import describe_start
from copartition.targets.base import Target


def describe(job: Job, init: Any) -> dict[str, Any]:
    """Return all that determines the replicates of a job, as text and numbers."""
    from copartition import __version__

    return {
        "version": __version__,
        "target": repr(job.target),
        "fingerprint": target_fingerprint(job.target),
        "functional": ", ".join(f.name for f in job.functionals),
        "functional_fingerprint": _digest([_functional_bytes(f) for f in job.functionals]),
        "functionals": [{"name": f.name, "size": f.size, **f.about} for f in job.functionals],
        "components": [name for f in job.functionals for name in f.components],
        "coupling": repr(job.coupling),
        "init": describe_start(job.target, init),
        "start_fingerprint": _digest([job.start.labels.tobytes()]),
        "settings": asdict(job.settings) | {"max_sweeps": job.settings.cap},
        "seed": job.seed,
        "histogram": getattr(job.target, "histogram", None),
    }


def target_fingerprint(target: Target) -> str:
    """Return a hash of everything that the law of a target depends on: its arrays and its code."""
    arrays = [np.asarray(field) for field in target.model]
    shapes = repr([(array.shape, array.dtype.str) for array in arrays]).encode()
    code = [code_hash(function.function) for function in (target.log_predictive, target.log_merge)]
    return _digest([shapes, *[array.tobytes() for array in arrays], *code])


def _functional_bytes(functional: Functional) -> bytes:
    evaluate = functional.evaluate
    code = code_hash(evaluate.function if isinstance(evaluate, Kernel) else evaluate) if _has_code(evaluate) else b""
    return functional.name.encode() + code + functional.parameters.tobytes()


def _has_code(evaluate: Any) -> bool:
    return isinstance(evaluate, Kernel) or hasattr(evaluate, "__code__")


def _digest(parts: list[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:16]
