"""What is sound in a store that is damaged, and what to say of the rest."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from copartition.results.rows import RUN, TABLES, TALLY, Damage, Row, is_sound, scanned
from copartition.results.unmet import MOST_KEPT

SHOWN = 12  # stretches of numbers in a sentence


@dataclass
class Rest:
    """The sound rows of a store.

    Attributes
    ----------
    rows : dict
        By table, then by key. Replicates are there if all that belongs to them is.
    run : str or None
        Which run they belong to; None if that is not known: then no row but those of the description can be told.
    tally : dict or None
        What there should be; None if that is not known.
    made_by : dict
        How the replicates were made, as far as that is known.
    """

    rows: dict[str, dict[Any, Row]]
    run: str | None
    tally: dict[str, list[int]] | None
    made_by: dict[str, Any]

    def has(self, table: str) -> bool:
        """Tell whether there are rows of a table, or were."""
        by_tally = self.tally is not None and self.tally[table][0] > 0
        if table == "sums":
            by_description = any(about.get("streamed") for about in self.made_by.get("functionals", []))
        elif table == "partitions":
            by_description = bool(self.made_by.get("per_replicate"))
        else:
            by_description = self.made_by.get("settings", {}).get("max_sweeps") is not None
        return by_description or by_tally or bool(self.rows[table])

    @property
    def is_torn(self) -> bool:
        """Whether sums, or replicates that are in them, are lost: then the others are of no use."""
        if not self.has("sums"):
            return False
        return self.tally is None or any(
            len(self.rows[table]) != self.tally[table][0] for table in TABLES if table != "description"
        )

    def lost(self) -> list[int]:
        """Return the numbers of replicates that were there and cannot be read; also of those that never ended."""
        last = max(self.rows["replicates"], default=-1) if self.tally is None else self.tally["replicates"][2]
        return [number for number in range(last + 1) if number not in self.rows["replicates"]]

    def sentence(self) -> str:
        """Return which replicates cannot be read."""
        lost, kept = self.lost(), len(self.rows["replicates"])
        if not kept:
            return "its replicates cannot be read"
        if not lost:
            return f"its {kept:,} replicates can be read, but not all that belongs to them"
        count = len(lost) if self.tally is None else self.tally["replicates"][0] - kept
        among = f"{count:,} of " if 0 < count < len(lost) else ""  # the others never ended
        return f"{among}replicate{'s' * (len(lost) > 1)} {_in_words(lost)} cannot be read"


def _in_words(indices: list[int]) -> str:
    """Return increasing numbers as a text, successive ones as a stretch."""
    stretches = [[n for _, n in group] for _, group in groupby(enumerate(indices), lambda pair: pair[1] - pair[0])]
    words = [str(s[0]) if len(s) == 1 else f"{s[0]} to {s[-1]}" for s in stretches]
    if len(words) > SHOWN:
        words = [*words[: SHOWN - 1], f"{sum(map(len, stretches[SHOWN - 1 :])):,} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def rest_of(connection: sqlite3.Connection, run: str | None, made_by: dict[str, Any]) -> Rest:
    """Return what is sound.

    Parameters
    ----------
    connection : sqlite3.Connection
    run : str or None
        Which run the rows belong to, where the file does not tell.
    made_by : dict
        How the replicates were made, where the file does not tell.
    """
    rows: dict[str, dict[Any, Row]] = {table: {} for table in TABLES}
    rows["description"] = _sound(connection, "description", "")
    tally, own = rows["description"].pop(TALLY, None), rows["description"].pop(RUN, None)
    run = run if own is None else own[1]
    if run is not None:
        rows |= {table: _sound(connection, table, run) for table in TABLES if table != "description"}
    found = {key: json.loads(row[1]) for key, row in rows["description"].items()}
    rest = Rest(rows, run, None if tally is None else json.loads(tally[1]), made_by | found)
    _keep_whole(rest)
    return rest


def _sound(connection: sqlite3.Connection, table: str, run: str) -> dict[Any, Row]:
    """Return the sound rows of a table by key: from its beginning on, and from its end, as far as it can be read."""
    found = {}
    for backwards in (False, True):
        try:
            for row, check in scanned(connection, table, backwards):
                if is_sound(run, table, row, check):
                    found[row[0]] = row
        except (Damage, sqlite3.Error, MemoryError):
            continue
        break
    return found


def _keep_whole(rest: Rest) -> None:
    """Leave out replicates of which something else is lost: ordinary averages, partitions, or the chains of a pair."""
    tables = ("replicates", "ordinary", "partitions", "unmet")
    replicates, ordinary, partitions, unmet = (rest.rows[table] for table in tables)
    whole = set(replicates)
    if not rest.has("sums"):  # with which everything must be there
        whole &= set(ordinary) if rest.has("ordinary") else whole
        whole &= set(partitions) if rest.has("partitions") else whole
    apart = sorted(number for number, row in replicates.items() if not row[2])
    whole -= {number for number in apart[:MOST_KEPT] if number not in unmet}
    for table in (replicates, ordinary, partitions, unmet):
        for number in set(table) - whole:
            del table[number]
