"""What a run is, in a form that can be compared, stored and read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from copartition._version import __version__
from copartition.chains.start import describe_start
from copartition.core.cache import code_hash, digest_of
from copartition.core.compiling import Kernel
from copartition.diagnostics.findings import Finding
from copartition.functionals import Functional
from copartition.runs.replicates import Job


def describe(job: Job, init: Any) -> dict[str, Any]:
    """Return all that determines the replicates of a job, as text and numbers."""
    return {
        "version": __version__,
        "target": _lasting(job.target.in_full),
        "fingerprint": job.target.fingerprint,
        **describe_functionals(job.functionals),
        "step": job.step.resolved.described(),
        "init": describe_start(job.target, init),
        "start_fingerprint": digest_of(job.start.labels.tobytes()),
        "settings": asdict(job.settings) | {"max_sweeps": job.settings.cap},
        "per_replicate": job.keeps or None,
        "names": job.target.names if job.keeps else None,
        "hyperparameters": job.target.hyperparameters if job.keeps else None,
        "seed": job.seed,
        "assumptions": [_lasting(sentence) for sentence in job.target.assumptions()],
        "histogram": getattr(job.target, "histogram", None),
        "source": job.target.source,
    }


def describe_functionals(functionals: Sequence[Functional]) -> dict[str, Any]:
    """Return what is estimated."""
    return {
        "functional": ", ".join(f.name for f in functionals),
        "functional_fingerprint": digest_of(*[_functional_bytes(f) for f in functionals]),
        "functionals": [_about(f) for f in functionals],
    }


def describe_look(finding: Finding | None) -> dict[str, Any]:
    """Return what a look at other starts or for hidden modes found: it determines nothing of a run."""
    return {} if finding is None else {"modes": asdict(finding)}


def describe_model(findings: list[Finding] | None) -> dict[str, Any]:
    """Return where a model does not suit the data, if that was looked at."""
    return {} if findings is None else {"model": [asdict(finding) for finding in findings]}


def _about(functional: Functional) -> dict[str, Any]:
    """Return what a result says of a functional."""
    streamed: dict[str, Any] = {"streamed": True} if functional.is_streamed else {}
    if functional.is_streamed and functional.divisors is not None:
        streamed["divisors"] = functional.divisors.astype(np.int64)
    return {"name": functional.name, "size": functional.size, **streamed, **functional.about}


def _lasting(text: str) -> str:
    """Return a text without addresses of objects, which are others in every process."""
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", text)


def _functional_bytes(functional: Functional) -> bytes:
    evaluate = functional.evaluate
    code = code_hash(evaluate.function if isinstance(evaluate, Kernel) else evaluate) if _has_code(evaluate) else b""
    return functional.name.encode() + code + functional.parameters.tobytes()


def _has_code(evaluate: Any) -> bool:
    return isinstance(evaluate, Kernel) or hasattr(evaluate, "__code__")
