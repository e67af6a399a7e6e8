"""Figure 2: unbiased estimates, of a predictive density (A) and of the share of the largest cluster of cells (B)."""

from __future__ import annotations

from reproduction.experiments import Reproduction
from reproduction.figure2a import add_predictive_density
from reproduction.figure2b import add_largest_cluster
from reproduction.section import Section


def figure2(reproduction: Reproduction) -> Section:
    """Return the section on Figure 2."""
    section = Section("Figure 2: unbiased estimates", [])
    add_predictive_density(reproduction, section)
    add_largest_cluster(reproduction, section)
    return section
