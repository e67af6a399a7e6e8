"""Rows of figures, with the goal beside each, printed as they come and written to a table."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Report:
    """Sections of rows: what, measured, goal."""

    sections: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)

    def add(self, section: str, what: str, measured: str, goal: str = "") -> None:
        """Note a figure and print it."""
        self.sections.setdefault(section, []).append((what, measured, goal))
        print(f"{section}: {what}: {measured}" + (f"   (goal {goal})" if goal else ""), flush=True)

    def write(self, path: Path) -> None:
        """Write all of it as a Markdown page."""
        lines = [
            "# Measured",
            "",
            "Written by `make bench`; `README.md` says what each figure means. Ratios come from one run, the things",
            "compared taking turns, on a shared machine: expect them to vary by 10 %.",
            "",
            f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}.",
        ]
        for section, rows in self.sections.items():
            lines += ["", f"## {section}", "", "| what | measured | goal |", "| --- | --- | --- |"]
            lines += [f"| {what} | {measured} | {goal} |" for what, measured, goal in rows]
        path.write_text("\n".join(lines) + "\n")
