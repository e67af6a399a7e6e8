"""Stores as interrupted runs leave them, and damaged ones."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np

from copartition.results.store import Store


def without(path, *indices):
    """Leave some replicates out of a store, as if the run had been interrupted while these were under way."""
    old = Store(path)
    outcomes, description = old.read(), old.description
    old.close()
    path.unlink()
    kept = ~np.isin(outcomes.indices, indices)
    new = Store(path, description)
    new.append(type(outcomes)(*[array[kept] for array in outcomes[:6]]))
    new.close()


def damaged(path, *statements):
    """Change a store behind its back."""
    with closing(sqlite3.connect(path)) as connection, connection as c:
        for statement in statements:
            assert c.execute(statement).rowcount != 0
