"""A page about a run, for people: the verdict in plain words, then pictures, then how it was made."""

from copartition.view.report.clustering import write_clustering
from copartition.view.report.page import write_report

__all__ = ["write_clustering", "write_report"]
