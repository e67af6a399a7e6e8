"""Run the tests that are marked long, and write what came of them to docs/evidence.md."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "evidence.md"
TITLE = "Long tests"
ABOUT = [
    "Written by `make test-long`: tests of which `make test` has smaller versions, with more draws, or all pairs of",
    "targets and couplings in place of one for each.",
]


def commit() -> str:
    """Return the commit that was tested, and whether there was more than that."""
    answers = [
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        for words in (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "--", ".", ":!docs/evidence.md"))
    ]
    if any(answer.returncode for answer in answers):
        return "unknown"
    number, changes = (answer.stdout.strip() for answer in answers)
    return f"{number}, with changes" if changes else number


def counted(results: Path) -> dict[str, int]:
    """Return how many tests had which outcome, from a file in JUnit's format."""
    suite = next(ElementTree.parse(results).getroot().iter("testsuite"))
    number = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    failed = number["failures"] + number["errors"]
    return {"tests": number["tests"], "failed": failed, "skipped": number["skipped"]}


def section(counts: dict[str, int], seconds: float) -> str:
    """Return the part of the page."""
    row = (
        f"| {datetime.now(UTC):%Y-%m-%d} | {commit()} | {counts['tests']} | {counts['failed']} | {counts['skipped']} |"
    )
    head = ["| day | commit | tests | failed | skipped | seconds |", "| --- | --- | --- | --- | --- | --- |"]
    return "\n".join([f"## {TITLE}", "", *ABOUT, "", *head, f"{row} {seconds:.0f} |"]) + "\n"


def put(page: str, part: str) -> str:
    """Return the page with this part in place of the one that it has, or at its end."""
    others = re.sub(rf"^## {TITLE}\n.*?(?=^## |\Z)", "", page, flags=re.MULTILINE | re.DOTALL)
    return others.rstrip("\n") + "\n\n" + part


def main(words: list[str]) -> int:
    """Run the tests, with further arguments for pytest; return its exit code."""
    with TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        several = ["-n", "2", "--dist", "loadgroup", "-m", "long", f"--junitxml={results}"]
        begin = time.monotonic()
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", *several, *(words or ["tests"])], cwd=ROOT)
        seconds = time.monotonic() - begin
        if results.exists() and not words:  # the page is about all of them
            PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), section(counted(results), seconds)), encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
