"""Every kernel of the package, and nothing else: compiled functions and the arrays that they work on.

This room imports no other room. Targets, couplings and functionals arrive as compiled functions with published
signatures, so that a step is compiled once for all of them. To be read in this order:

- `compiling`, `cache`, `complaints`: how a Python function becomes machine code that is cached and never stale;
- `types`, `state`, `room`: the named tuples of arrays that kernels read and change; how they are made and grow;
- `random`, `exponential`: the random numbers that kernels draw; the exponential function, for many clusters at once;
- `status`, `clusters`, `conditional`: why kernels stop; points leave and join clusters; the law of one point;
- `matching`, `books`: which clusters of two chains go with each other; how far the chains are apart;
- `sweeps`, `whole_sweeps`, `split_merge`: what chains do, one alone and two together;
- `steps`, `starts`: a sweep and the moves after it; where chains begin;
- `batch`, `estimator`: replicates of the unbiased estimator, and pairs that are watched until they meet.
- `announcing`, `parts`: what a person is told while kernels compile; how Numba is kept from compiling parts twice.
"""
