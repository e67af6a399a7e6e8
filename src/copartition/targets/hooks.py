"""The compiled functions by which a target is known: how each is declared, and what stands where one is not given."""

from __future__ import annotations

from dataclasses import dataclass

from copartition.core.compiling import Kernel, hook
from copartition.core.state import (
    Hooks,
    begin_signature,
    enter_signature,
    leave_signature,
    log_merge_signature,
    log_odds_signature,
    log_predictive_signature,
)
from copartition.validation import integer, shorten

log_predictive = hook(log_predictive_signature, "model, chain, n_choices, n")
log_predictive.__doc__ = """\
Decorator of a target's compiled function ``f(model, chain, n_choices, n)``.

It writes the log weight of putting point `n` into each of the `n_choices` clusters into ``chain.weights``, prior
aside. The point is in no cluster at that moment: sizes, sums and labels are those of the other points.

Examples
--------
>>> import copartition as cp
>>> @cp.kernels.log_predictive
... def near_the_mean(model, chain, n_choices, n):
...     for k in range(n_choices):
...         mean = chain.sums[k, 0] / max(chain.sizes[k], 1)
...         chain.weights[k] = -((model.points[n, 0] - mean) ** 2)
>>> target = cp.Target([[0.0], [0.0], [2.0]], near_the_mean, cp.DirichletProcess(1.0))
>>> cp.kernels.conditional(target, [0, 0, 1], 1).round(3)  # with the first, with the third, alone
array([0.495, 0.009, 0.495])
"""

log_merge = hook(log_merge_signature, "model, chain, a, b")
log_merge.__doc__ = """\
Decorator of a target's compiled function ``f(model, chain, a, b)``, which makes split-merge moves faster.

It returns the log of the density of all points of the clusters `a` and `b` as one cluster, divided by their density as
two, prior aside, from the sizes and sums of the two clusters.

Examples
--------
>>> import copartition as cp
>>> @cp.kernels.log_merge
... def log_merge(model, chain, a, b):
...     return -0.5 * (chain.sizes[a] + chain.sizes[b])
>>> log_merge.function.__name__
'log_merge'
"""


log_odds = hook(log_odds_signature, "model, chain, a, b, n")
log_odds.__doc__ = """\
Decorator of a target's compiled function ``f(model, chain, a, b, n)``, for split-merge moves in the chain itself.

It returns the log weight of putting point `n` into cluster `a`, less that of putting it into cluster `b`, prior aside,
as `log_predictive` does. Many points may be in no cluster at that moment (their labels are negative): the weights are
those of a distribution of the other points alone.

Examples
--------
>>> import copartition as cp
>>> @cp.kernels.log_odds
... def log_odds(model, chain, a, b, n):
...     return 0.1 * (chain.sizes[a] - chain.sizes[b])
>>> log_odds.function.__name__
'log_odds'
"""


begin_cluster = hook(begin_signature, "model, chain, k")
begin_cluster.__doc__ = """\
Decorator of a compiled function ``f(model, chain, k)`` of `Keeping`: cluster k is about to get its first point.

Examples
--------
>>> import copartition as cp
>>> @cp.kernels.begin_cluster
... def begin(model, chain, k):
...     chain.kept[chain.slots[k], 0] = 0.0
>>> begin.function.__name__
'begin'
"""

enter_cluster = hook(enter_signature, "model, chain, k, n")
enter_cluster.__doc__ = """\
Decorator of a compiled function ``f(model, chain, k, n)`` of `Keeping`: point `n` has joined cluster `k`.

Sizes, sums and labels know it already.

Examples
--------
>>> import copartition as cp
>>> @cp.kernels.enter_cluster
... def enter(model, chain, k, n):
...     chain.kept[chain.slots[k], 0] += model.points[n, 0] ** 2
>>> enter.function.__name__
'enter'
"""

leave_cluster = hook(leave_signature, "model, chain, k, n")
leave_cluster.__doc__ = """\
Decorator of a compiled function ``f(model, chain, k, n)`` of `Keeping`: point `n` has left cluster `k`.

It returns whether so many digits were lost that what is kept is to be built anew from the members of the cluster: True
or False.

Examples
--------
>>> import copartition as cp
>>> @cp.kernels.leave_cluster
... def leave(model, chain, k, n):
...     chain.kept[chain.slots[k], 0] -= model.points[n, 0] ** 2
...     return False
>>> leave.function.__name__
'leave'
"""


@dataclass(frozen=True)
class Keeping:
    """What a target keeps for every cluster besides its size and sums, and how it is kept up to date.

    It must be a function of the members of a cluster, however they came to be there: chains that have the same
    partition are the same. ``docs/own-target.md`` shows how it is used.

    Parameters
    ----------
    begin, enter, leave : Kernel
        Functions decorated with `copartition.kernels.begin_cluster`, `copartition.kernels.enter_cluster` and
        `copartition.kernels.leave_cluster`.
    width : int
        How many numbers there are for each cluster: those of cluster k are ``chain.kept[chain.slots[k]]``.
    scratch : int, default 0
        How many numbers the functions want as scratch, in ``chain.scratch``.
    between : bool, default False
        Whether something is counted between every two clusters: whole numbers in ``chain.between``, found by the
        slots of the two, with room for a tally of the point at hand in ``chain.tally``. Then `leave` takes exactly
        what `enter` added, and returns False.

    Examples
    --------
    >>> import copartition as cp
    >>> @cp.kernels.begin_cluster
    ... def begin(model, chain, k):
    ...     chain.kept[chain.slots[k], 0] = 0.0
    >>> @cp.kernels.enter_cluster
    ... def enter(model, chain, k, n):
    ...     chain.kept[chain.slots[k], 0] += model.points[n, 0] ** 2
    >>> @cp.kernels.leave_cluster
    ... def leave(model, chain, k, n):
    ...     chain.kept[chain.slots[k], 0] -= model.points[n, 0] ** 2
    ...     return False
    >>> cp.kernels.Keeping(begin, enter, leave, width=1).width  # the sum of squares of every cluster
    1
    """

    begin: Kernel
    enter: Kernel
    leave: Kernel
    width: int
    scratch: int = 0
    between: bool = False

    def __post_init__(self) -> None:
        signatures = {"begin": begin_signature, "enter": enter_signature, "leave": leave_signature}
        for name, signature in signatures.items():
            given = getattr(self, name)
            if not isinstance(given, Kernel) or given.signature != signature:
                raise TypeError(
                    f"{name} must be a function decorated with copartition.kernels.{name}_cluster, got "
                    f"{shorten(getattr(self, name))}."
                )
        integer("width", self.width, 0 if self.between else 1)
        integer("scratch", self.scratch, 0)


def hooks_of(
    log_predictive: Kernel,
    log_merge: Kernel | None,
    log_odds: Kernel | None,
    keeping: Keeping | None,
    drawing: tuple[Kernel | None, ...],
) -> Hooks:
    """Return the functions of a target as kernels take them, None where it gives none; `drawing` are of `Unknowns`."""
    kept = (None, None, None) if keeping is None else (keeping.begin, keeping.enter, keeping.leave)
    given = [int(one is not None) for one in (log_merge, log_odds, keeping)]
    first = (log_predictive, log_merge, given[0], log_odds, given[1])
    return Hooks._make([*first, *kept, given[2], *drawing])
