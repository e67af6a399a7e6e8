"""Kinds of columns and their compiled functions, each for a group of columns of its kind.

A cluster's points are independent between column groups, so log densities add up. What a function is told of its column
group is a `Place`; where the numbers of the column group stand in the arrays of a model is written in
``Model.integers``.
"""
