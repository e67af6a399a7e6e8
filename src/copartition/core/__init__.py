"""Every kernel of the package, and nothing else: compiled functions and the arrays that they work on.

This package imports no other. Targets, couplings, functionals and moves arrive as compiled functions with published
signatures, so that each kernel is compiled once for all of them. To be read in this order:

- `types`, `state`, `room`: the states that kernels take by reference; how they are made and grow; why kernels stop;
- `compiling`, `cache`: when a function is compiled, where its machine code is kept, how it is linked;
- `references`, `views`, `parts`: how Numba compiles it, and what is said where it cannot;
- `random`, `numerics`: the random numbers that kernels draw; functions of many numbers at once;
- `clusters`, `overlaps`: points leave and join clusters, the distribution of one point; how far two chains are apart,
  and which of their clusters go with each other;
- `sweeps`, `proposals`, `split_merge`, `in_place`, `neighbours`, `joint_updates`, `hyperparameters`: the moves, of one
  chain and of two;
- `steps`, `starts`, `tempering`: a step, which is a list of moves; where chains begin; chains of flatter targets;
- `batch`, `estimator`, `differences`, `records`: replicates of the unbiased estimator, pairs that are watched until
  they meet, and the partitions that they keep.
"""
