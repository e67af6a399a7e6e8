"""Run benchmarks and write what they measure to RESULTS.md; ``python benchmarks/run.py sweeps`` runs one part."""

from __future__ import annotations

import sys
from pathlib import Path

import answers
import clients
import clusters
import draws
import meetings
import models
import networks
import real
import redrawn
import runs
import scaling
import solver
import sweeps
import versions
from report import Report

PARTS = {
    "versions": versions.measure,
    "sweeps": sweeps.measure,
    "models": models.measure,
    "networks": networks.measure,
    "draws": draws.measure,
    "solver": solver.measure,
    "scaling": scaling.measure,
    "runs": runs.measure,
    "meetings": meetings.measure,
    "real": real.measure,
    "redrawn": redrawn.measure,
    "answers": answers.measure,
    "clients": clients.measure,
    "clusters": clusters.measure,
}


def main() -> None:
    """Run the parts named on the command line, or all."""
    chosen = sys.argv[1:] or list(PARTS)
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        sys.exit(f"no part named {unknown[0]!r}: choose from {', '.join(PARTS)}")
    report = Report()
    for name in chosen:
        PARTS[name](report)
        report.write(Path(__file__).with_name("RESULTS.md"))


if __name__ == "__main__":
    main()
