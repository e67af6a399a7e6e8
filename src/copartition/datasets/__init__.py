"""Data: bundled examples, tables and networks in files."""

from copartition.datasets.examples import faithful, galaxies
from copartition.datasets.frames import is_annotated, read_annotated, representation_of
from copartition.datasets.graphs import NETWORKS, Network, is_network, read_network
from copartition.datasets.kinds import KINDS, Column, Kinds, read_kinds, recognise
from copartition.datasets.relations import reproduced_by
from copartition.datasets.tables import read_columns, read_table

__all__ = [
    "KINDS",
    "NETWORKS",
    "Column",
    "Kinds",
    "Network",
    "faithful",
    "galaxies",
    "is_annotated",
    "is_network",
    "read_annotated",
    "read_columns",
    "read_kinds",
    "read_network",
    "read_table",
    "recognise",
    "representation_of",
    "reproduced_by",
]
