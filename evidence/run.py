"""Statistical evidence that takes longer than a test may: writes docs/evidence.md.

``make evidence`` runs everything; ``python evidence/run.py coverage tuning`` only the parts whose titles contain one of
these words, and keeps the rest of the page.
"""

from __future__ import annotations

import inspect
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "evidence.md"
sys.path[:0] = [str(ROOT / folder) for folder in ("tests", "examples", "benchmarks", "evidence")]

import block_models  # noqa: E402
import chain_variance  # noqa: E402
import estimates  # noqa: E402
import network_meetings  # noqa: E402
import partitions  # noqa: E402
import sooner  # noqa: E402
import streaming  # noqa: E402
import trust  # noqa: E402
import unknown_hyperparameters  # noqa: E402
import which_model  # noqa: E402

HEAD = [
    "# Evidence",
    "",
    "Written by `make evidence`. The targets scalar, diagonal, full, proportional, coloring, bernoulli, wishart, gaps",
    "and mixed are those of `tests/small.py`: a few points, all partitions enumerated.",
]


def written() -> dict[str, list[str]]:
    """Return the parts that the page has now."""
    parts: dict[str, list[str]] = {}
    lines = PAGE.read_text().splitlines() if PAGE.exists() else []
    for line in lines:
        if line.startswith("## "):
            parts[line[3:]] = []
        elif parts:
            parts[list(parts)[-1]].append(line)
    return parts


def main(words: list[str]) -> None:
    """Run the parts asked for, and write the page after each."""
    everything = (
        estimates.PARTS
        | unknown_hyperparameters.PARTS
        | trust.PARTS
        | chain_variance.PARTS
        | sooner.PARTS
        | streaming.PARTS
        | partitions.PARTS
        | which_model.PARTS
        | block_models.PARTS
        | network_meetings.PARTS
    )
    for title, part in everything.items():
        if words and not any(word.lower() in title.lower() for word in words):
            continue
        begin = time.perf_counter()
        print(f"## {title}", flush=True)
        lines = [*(inspect.getdoc(part) or "").splitlines(), "", *part()]
        page = written() | {title: lines}  # as it is now: another run may have written in the meantime
        print(f"{time.perf_counter() - begin:.0f} s", flush=True)
        names = [*(name for name in everything if name in page), *(name for name in page if name not in everything)]
        body = [f"## {name}\n\n" + "\n".join(page[name]).strip() for name in names]
        PAGE.write_text("\n\n".join(["\n".join(HEAD), *body]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
