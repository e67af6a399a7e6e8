"""Stores as former versions wrote them, as interrupted runs leave them, and damaged ones."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np

from copartition.results.rows import COLUMNS, TABLES
from copartition.results.store import Store


def as_format_2(path, *statements):
    """Make a store what a former version would have written, without checksums; then execute statements."""
    with closing(sqlite3.connect(path)) as connection, connection as c:
        for table, columns in TABLES.items():
            rows = c.execute(f"SELECT {', '.join(COLUMNS[table])} FROM {table}").fetchall()
            c.execute(f"DROP TABLE {table}")
            c.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            c.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)
        c.execute("DELETE FROM description WHERE key IN ('run', 'tally')")
        c.execute("PRAGMA user_version = 2")
        for statement in statements:
            c.execute(*statement) if isinstance(statement, tuple) else c.execute(statement)


def without(path, *numbers):
    """Leave some replicates out of a store, as if the run had been interrupted while these were under way."""
    old = Store(path)
    outcomes, description = old.read(), old.description
    old.close()
    path.unlink()
    kept = ~np.isin(outcomes.indices, numbers)
    new = Store(path, description)
    new.append(type(outcomes)(*[array[kept] for array in outcomes[:6]]))
    new.close()


def damaged(path, *statements):
    """Change a store behind its back."""
    with closing(sqlite3.connect(path)) as connection, connection as c:
        for statement in statements:
            assert c.execute(statement).rowcount != 0
