"""The common ground of everything compiled: how a kernel is built, what it works on, its random numbers.

Five modules, read in this order:

- `kernel`: how a Python function becomes machine code that is cached and never stale;
- `state`: the named tuples of arrays that kernels read and change, and the published signatures;
- `random`: the uniform random numbers that kernels draw;
- `exponential`: the exponential function, for many clusters at once;
- `clusters`: points leave and join clusters, and the books are kept.
"""
