"""Kinds of columns and their compiled functions, each for a block of columns of its kind.

A cluster's points are independent between blocks, so log densities add up. What a function is told of its block is a
`Block`; where the numbers of the block stand in the arrays of a model is written in ``Model.integers``.
"""
