"""The rows of a store: every one has a checksum, and a tally tells how many there are and the sum of their checksums.

A checksum is that of the table's name, of all cells, the key included, and of the run: a flipped bit, a row in the
place of another and a row of another run are found out. That a row is gone the others cannot tell; the tally does: for
every table the number of rows, their checksums combined by exclusive or, and the largest key. It is a row of the
description, written in the transaction of the rows that it counts.

`Damage` is what is sound in a store that is damaged, and what to say of the rest.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NoReturn

from copartition.results.chains import MOST_KEPT

TABLES = {
    "description": ("key TEXT PRIMARY KEY", "value TEXT NOT NULL"),
    "replicates": (
        "number INTEGER PRIMARY KEY",
        "meeting_time INTEGER NOT NULL",
        "met INTEGER NOT NULL",
        "sweeps INTEGER NOT NULL",
        "seconds REAL NOT NULL",
        "value BLOB NOT NULL",
    ),
    "sums": ("chunk INTEGER PRIMARY KEY", "packed BLOB NOT NULL"),
    "ordinary": ("number INTEGER PRIMARY KEY", "value BLOB NOT NULL"),
    "unmet": ("number INTEGER PRIMARY KEY", "labels BLOB NOT NULL", "course BLOB"),
    "partitions": ("number INTEGER PRIMARY KEY", "packed BLOB NOT NULL"),
}
COLUMNS = {table: tuple(column.split()[0] for column in columns) for table, columns in TABLES.items()}
RUN, TALLY = "run", "tally"  # rows of the description that are about the file
# What SQLite says where a file cannot be had at the moment; everything else that it says while reading is damage.
NO_DAMAGE = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}

Row = tuple[Any, ...]
Put = Callable[[str, Iterable[Sequence[Any]], bool], None]


class Damage(Exception):
    """Something in a store is not as it was written; a user sees a `StoreError` instead."""


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a store."""
    for table, columns in TABLES.items():
        connection.execute(f"CREATE TABLE {table} ({', '.join(columns)}, checksum INTEGER NOT NULL)")


def checksum(run: str, table: str, row: Sequence[Any]) -> int:
    """Return the checksum of a row, its key first; rows of the description belong to no run, because they name it."""
    digest = hashlib.blake2b(f"{'' if table == 'description' else run}:{table}".encode(), digest_size=8)
    for value in row:
        if isinstance(value, bytes):
            digest.update(b"b%d:" % len(value))
            digest.update(value)
        elif isinstance(value, str):
            text = value.encode()
            digest.update(b"s%d:" % len(text))
            digest.update(text)
        elif isinstance(value, float):
            digest.update(struct.pack("<cd", b"f", value))
        else:
            digest.update(b"n" if value is None else b"i%d:" % value)
    return int.from_bytes(digest.digest(), "big", signed=True)


# --- writing ---------------------------------------------------------------------------------------------------------


@contextmanager
def writing(connection: sqlite3.Connection, run: str) -> Iterator[Put]:
    """Write rows with their checksums and count them, all or, if that fails, none.

    Yields a function that takes a table, rows, and whether these take the place of rows with the same keys, which stay
    otherwise.
    """
    with connection as c:
        found = c.execute("SELECT value FROM description WHERE key = ?", (TALLY,)).fetchone()
        tally = {table: [0, 0, -1] for table in TABLES} if found is None else json.loads(found[0])

        def put(table: str, rows: Iterable[Sequence[Any]], replaces: bool) -> None:
            rows = list(rows)
            if not rows:
                return
            keys, name = [row[0] for row in rows], COLUMNS[table][0]
            query = f"SELECT {name}, checksum FROM {table} WHERE {name} BETWEEN ? AND ?"
            there = dict(c.execute(query, (min(keys), max(keys))).fetchall())
            written = []
            for row in rows:
                before = there.get(row[0])
                if before is None or replaces:
                    there[row[0]] = check = checksum(run, table, row)
                    written.append((*row, check))
                    tally[table][0] += before is None
                    tally[table][1] ^= check ^ (before or 0)
            marks = ", ".join("?" * (len(COLUMNS[table]) + 1))
            c.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", written)
            if table != "description":
                tally[table][2] = max(tally[table][2], *keys)

        yield put
        row = (TALLY, json.dumps(tally))
        c.execute("INSERT OR REPLACE INTO description VALUES (?, ?, ?)", (*row, checksum("", "description", row)))


# --- reading ---------------------------------------------------------------------------------------------------------


def scanned(connection: sqlite3.Connection, table: str, backwards: bool = False) -> Iterator[tuple[Row, int]]:
    """Yield rows and their checksums, as they are; raises `Damage` where they cannot be read."""
    query = f"SELECT rowid, {', '.join(COLUMNS[table])}, checksum FROM {table} ORDER BY rowid"
    previous = None
    try:
        for place, *row, check in connection.execute(query + " DESC" * backwards):
            if previous is not None and (place >= previous if backwards else place <= previous):
                raise Damage(f"rows of {table} are out of order")
            previous = place
            yield tuple(row), check
    except sqlite3.Error as error:
        raise_damage(error)


def raise_damage(error: sqlite3.Error) -> NoReturn:
    """Raise `Damage` for what SQLite says of a file, or the error itself if it says nothing of what is in it."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in NO_DAMAGE:
        raise error
    raise Damage(str(error)) from error


def is_sound(run: str, table: str, row: Row, check: int) -> bool:
    """Tell whether a row is as it was written."""
    try:
        return row[0] is not None and check == checksum(run, table, row)
    except (TypeError, UnicodeError):  # cells of another type than any that is written
        return False


def read_rows(connection: sqlite3.Connection, table: str, run: str) -> Iterator[Row]:
    """Yield the rows of a table, all as they were written; raises `Damage` otherwise, at the end at the latest."""
    tally = read_tally(connection)
    count = combined = 0
    for row, check in scanned(connection, table):
        if not is_sound(run, table, row, check):
            raise Damage(f"a row of {table} is not as it was written")
        if row[0] != TALLY:
            count, combined = count + 1, combined ^ check
            yield row
    if [count, combined] != tally[table][:2]:
        raise Damage(f"{table} has {count} rows and should have {tally[table][0]}")


def read_tally(connection: sqlite3.Connection) -> dict[str, list[int]]:
    """Return the tally; raises `Damage`."""
    try:
        found = connection.execute("SELECT key, value, checksum FROM description WHERE key = ?", (TALLY,)).fetchone()
    except sqlite3.Error as error:
        raise_damage(error)
    if found is None or not is_sound("", "description", found[:2], found[2]):
        raise Damage("the tally of the rows is not as it was written")
    return json.loads(found[1])


def one_moment(connection: sqlite3.Connection) -> Any:
    """Let all that is read meanwhile be as it is at one moment, whatever a run writes."""
    return nullcontext() if connection.in_transaction else _transaction(connection)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.rollback()


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
