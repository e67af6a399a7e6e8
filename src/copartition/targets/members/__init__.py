"""What members of the clusters of one partition look like: predictive distributions, in plain NumPy.

The compiled functions of a target say how likely every cluster is for one point of the data, and leave constants out.
Here are the same distributions for whole tables of new rows, with missing cells integrated out; for every row of the
data, given the others of its cluster; and for single columns, with their moments. All numbers are in the units of the
data.

`Component.members` of a component that has met data gives `MembersOf`; called with a partition, that gives `Members`.
The formulas are in `student` (means and variances unknown), `normal` (means unknown) and `discrete`.
"""

from copartition.targets.members.table import Column, Members, MembersOf, NewRows

__all__ = ["Column", "Members", "MembersOf", "NewRows"]
