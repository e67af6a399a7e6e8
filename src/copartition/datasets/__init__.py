"""Data: a bundled example, tables in files, and cells from counts of RNA molecules."""

from copartition.datasets.cells import cells_from_counts, read_cells, read_counts, simulated_counts
from copartition.datasets.galaxies import galaxies
from copartition.datasets.tables import read_columns, read_table

__all__ = [
    "cells_from_counts",
    "galaxies",
    "read_cells",
    "read_columns",
    "read_counts",
    "read_table",
    "simulated_counts",
]
