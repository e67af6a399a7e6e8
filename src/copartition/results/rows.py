"""The rows of a store: every one has a checksum, and a tally tells how many there are and the sum of their checksums.

A checksum is that of the table's name, of all cells, the key included, and of the run: a flipped bit, a row in the
place of another and a row of another run are found out. That a row is gone the others cannot tell; the tally does: for
every table the number of rows, their checksums combined by exclusive or, and the largest key. It is a row of the
description, written in the transaction of the rows that it counts.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NoReturn

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
