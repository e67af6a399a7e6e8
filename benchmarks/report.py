"""Rows of figures, with the goal beside each, printed as they come and written to a table."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from pathlib import Path

HEAD = [
    "# Measured",
    "",
    "Written by `make bench`; `README.md` says what each figure means. Ratios come from one run, the things compared",
    "taking turns, on a shared machine: expect them to vary by 10 %. A part that is run by itself is written over, and",
    "the others stay as they were.",
    "",
    f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}.",
]


@dataclass
class Report:
    """Sections of rows: what, measured, goal."""

    sections: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)

    def add(self, section: str, what: str, measured: str, goal: str = "") -> None:
        """Note a figure and print it."""
        self.sections.setdefault(section, []).append((what, measured, goal))
        print(f"{section}: {what}: {measured}" + (f"   (goal {goal})" if goal else ""), flush=True)

    def write(self, path: Path) -> None:
        """Write all of it as a Markdown page, with the sections that are there already and were not measured now."""
        sections = _read(path)
        for title, rows in self.sections.items():
            table = [f"| {what} | {measured} | {goal} |" for what, measured, goal in rows]
            sections[title] = ["| what | measured | goal |", "| --- | --- | --- |", *table]
        lines = list(HEAD)
        for title, table in sections.items():
            lines += ["", f"## {title}", "", *table]
        path.write_text("\n".join(lines) + "\n")


def _read(path: Path) -> dict[str, list[str]]:
    """Return the tables of a page by title."""
    sections: dict[str, list[str]] = {}
    title = ""
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.startswith("## "):
            title = line[3:]
            sections[title] = []
        elif title and line:
            sections[title].append(line)
    return sections
