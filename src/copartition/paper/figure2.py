"""Figure 2: unbiased estimates, of a predictive density (A) and of the share of the largest cluster of cells (B)."""

from __future__ import annotations

from copartition.paper.desk import Desk
from copartition.paper.figure2a import add_predictive_density
from copartition.paper.figure2b import add_largest_cluster
from copartition.paper.section import Section


def figure2(desk: Desk) -> Section:
    """Return the section on Figure 2."""
    section = Section("Figure 2: unbiased estimates", [])
    add_predictive_density(desk, section)
    add_largest_cluster(desk, section)
    return section
