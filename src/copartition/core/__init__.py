"""Every kernel of the package, and nothing else: compiled functions and the arrays that they work on.

This room imports no other room. Targets, couplings, functionals and moves arrive as compiled functions with published
signatures, so that each kernel is compiled once for all of them. To be read in this order:

- `types`, `state`, `room`: the states that kernels take by reference; how they are made and grow;
- `compiling`, `cache`, `loading`, `announcing`: when a function is compiled, where its machine code is kept and linked;
- `references`, `views`, `parts`, `complaints`: how Numba compiles it, and what is said where it cannot;
- `random`, `exponential`, `logarithm`: the random numbers that kernels draw; functions of many numbers at once;
- `status`, `clusters`, `conditional`: why kernels stop; points leave and join clusters; the distribution of one point;
- `matching`, `overlaps`: which clusters of two chains go with each other; how far the chains are apart;
- `sweeps`, `whole_sweeps`, `proposals`, `split_merge`, `in_place`, `joint_updates`, `numbers`: the moves, of one chain
  and of two;
- `steps`, `starts`: a step, which is a list of moves; where chains begin;
- `batch`, `estimator`: replicates of the unbiased estimator, and pairs that are watched until they meet.
"""
