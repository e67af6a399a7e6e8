"""What a functional is, and how it meets a target and a chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from copartition.core.compiling import Kernel, hook
from copartition.core.state import FUNCTIONALS, Chain, Functionals, Hooks, Model, functional_signature
from copartition.core.steps import evaluate_chain
from copartition.names import Names
from copartition.partition import canonical
from copartition.validation import integer, shorten

evaluation = hook(functional_signature, "model, chain, hooks, parameters, out")
evaluation.__doc__ = """\
Decorator of a functional's compiled function ``f(model, chain, hooks, parameters, out)``.

Examples
--------
>>> import copartition as cp
>>> @cp.kernels.evaluation
... def largest_share(model, chain, hooks, parameters, out):
...     out[0] = 0.0
...     for k in range(chain.n_clusters[0]):
...         out[0] = max(out[0], chain.sizes[k] / len(chain.labels))
>>> share = cp.kernels.Functional("largest share", largest_share, 1)
>>> share.size
1
"""


MOST_KEPT = 10_000  # components of which every value of every replicate is kept
MOST_NAMED = 1_000_000  # components that have names of their own, or values that cannot be summed exactly


def check_count(name: str, count: int, what: str) -> int:
    """Return a number of components if names and arrays of so many can be made; checked before any is."""
    if count > MOST_NAMED:
        raise ValueError(
            f"{name} must be at most {MOST_NAMED:,}{what}, got {count:,}, whose values in 1,000 replicates would take "
            f"{8e3 * count / 1e9:,.0f} GB: ask for fewer at a time."
        )
    return count


class Functional:
    """A function of a partition with `size` components.

    Parameters
    ----------
    name : str
    evaluate : Kernel or callable
        A function decorated with `copartition.kernels.evaluation`, or a Python function of the canonical labels.
    size : int
        Number of components.
    parameters : array, optional
        What the compiled function needs to know.
    components : list of str, optional
        Names of the components.
    about : dict, optional
        What a plot needs to know of the components: the ``grid`` of a density, the ``points`` of a co-clustering.
    picture : str, optional
        Name of the picture that suits it, of those that ``Estimate.plot`` knows.
    range : pair of float, optional
        What its values lie between: ``(0, 1)`` of probabilities and shares, for which findings and plots know more.
    counts : bool
        Whether all values, multiplied by `divisors`, are whole numbers, so that sums of them are exact.
    keep_values : bool, optional
        Whether `estimate` keeps the values of every replicate, or only their sums, from which mean and standard error
        follow. Left out: values are kept of up to 10,000 components, and of functionals that do not count.
    divisors : array, optional
        One number a component; left out, 1.

    Examples
    --------
    >>> import copartition as cp
    >>> import numpy as np
    >>> alone = cp.kernels.Functional("alone", lambda labels: np.sum(np.bincount(labels) == 1), 1)
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> cp.estimate(posterior, alone, replicates=20, burn_in=5, min_sweeps=20, lag=5, seed=1).components
    ['alone']
    """

    gathers = False  # whether its components are all pairs of the points in `parameters`, which kernels record at once

    def __init__(
        self,
        name: str,
        evaluate: Kernel | Callable[..., Any],
        size: int,
        parameters: Any = (),
        components: Sequence[str] | None = None,
        about: dict[str, Any] | None = None,
        *,
        picture: str = "",
        range: tuple[float, float] | None = None,
        counts: bool = False,
        keep_values: bool | None = None,
        divisors: np.ndarray | None = None,
    ) -> None:
        self.name = name
        self.evaluate = evaluate
        self.size = integer("size", size, 1)
        self.parameters = np.ascontiguousarray(parameters, dtype=np.float64)
        self.about = (about or {}) | ({} if components is None else {"components": list(components)})
        self.about |= {"picture": picture} if picture else {}
        self.about |= {"range": [float(end) for end in range]} if range is not None else {}
        self.counts = counts
        if keep_values is False and not counts:
            raise ValueError(f"keep_values must not be False for {name}, whose values are not whole numbers.")
        self.keep_values = keep_values
        self.divisors = divisors

    @property
    def components(self) -> Sequence[str]:
        """Names of the components."""
        return Names([{"name": self.name, "size": self.size, **self.about}])

    @property
    def is_streamed(self) -> bool:
        """Whether `estimate` keeps sums over replicates only."""
        return self.counts and self.size > MOST_KEPT if self.keep_values is None else not self.keep_values

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return a target and a functional that go together, or refuse this one; see `bind_all`."""
        return target, self

    def kept(self) -> Functional:
        """Return the same functional, of which all values are kept, whatever its size."""
        other = copy(self)
        other.keep_values = True
        return other

    def glimpse(self, components: int) -> Functional:
        """Return a functional of about so many components that stands for this one in a pilot."""
        return self

    @property
    def is_compiled(self) -> bool:
        """Whether kernels can call the function themselves."""
        return isinstance(self.evaluate, Kernel)

    def of_labels(self, labels: np.ndarray) -> np.ndarray:
        """Return the value of a Python function at a partition."""
        answer = self.evaluate(canonical(labels))
        try:
            value = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{self.name} must return {self.size} number(s), got {shorten(answer)}.") from None
        if value.size != self.size or not np.isfinite(value).all():
            raise ValueError(f"{self.name} must return {self.size} finite number(s), got {shorten(answer)}.")
        return value.reshape(self.size)

    def __repr__(self) -> str:
        return f"<functional {self.name} of size {self.size}>"


def functional(
    f: Callable[[np.ndarray], Any], size: int = 1, *, counts: bool = False, keep_values: bool | None = None
) -> Functional:
    """Return a functional from any Python function of the canonical labels.

    Slower than the compiled ones: Python is called after every sweep.

    Parameters
    ----------
    f : callable
        Gets the labels, returns `size` numbers.
    size : int
    counts : bool
        Whether all values are whole numbers, so that many components can be streamed.
    keep_values : bool, optional
        See `co_clustering`.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.functional(lambda labels: labels[0] == labels[1])
    <functional <lambda> of size 1>
    """
    if not callable(f):
        raise TypeError(f"f must be a function of an array of labels, got {shorten(f)}.")
    return Functional(getattr(f, "__name__", "functional"), f, size, counts=counts, keep_values=keep_values)


def as_list(functional: Any) -> list[Any]:
    """Return one functional, or a sequence of some, as a list; refuse what is neither."""
    several = isinstance(functional, Sequence) and not isinstance(functional, str)
    functionals = list(functional) if several else [functional]
    if not 1 <= len(functionals) <= FUNCTIONALS:
        raise ValueError(f"functional must be one to {FUNCTIONALS} functionals, got {len(functionals)}.")
    return functionals


def bind_all(target: Any, functionals: Sequence[Any]) -> tuple[Any, tuple[Functional, ...]]:
    """Return the target and the functionals in the form that kernels need, or refuse what does not fit."""
    bound = []
    for value in functionals:
        if not isinstance(value, Functional):
            hint = "; wrap a function as copartition.functional(f, size)" if callable(value) else ""
            raise TypeError(f"functional must be a functional such as n_clusters(), got {shorten(value)}{hint}.")
        target, one = value.bind(target)
        bound.append(one)
    return target, tuple(bound)


def evaluate_at(model: Model, hooks: Hooks, functionals: Sequence[Functional], chain: Chain) -> np.ndarray:
    """Return the values of functionals, as `bind_all` returns them, where a chain is; `model` is that of the chain."""
    values = []
    for f in functionals:
        if isinstance(f.evaluate, Kernel):
            out = np.zeros(f.size)
            evaluate_chain(model, hooks, chain, f.evaluate, f.parameters, out)
            values.append(out)
        else:
            values.append(f.of_labels(chain.labels))
    return np.concatenate(values)


@evaluation
def nothing(model, chain, hooks, parameters, out):
    """Stand where there is no functional; never called."""


def arranged(functionals: Sequence[Functional]) -> Functionals:
    """Return functionals as kernels take them: those that are compiled, one after another; none if some are not."""
    used = list(functionals) if all(f.is_compiled for f in functionals) else []
    first_parameter, first_component = np.zeros((2, FUNCTIONALS + 1), dtype=np.int64)
    first_parameter[1 : len(used) + 1] = np.cumsum([len(f.parameters) for f in used])
    first_component[1 : len(used) + 1] = np.cumsum([f.size for f in used])
    parameters = np.concatenate([np.zeros(0), *[f.parameters for f in used]])
    return Functionals(tuple(f.evaluate for f in used), len(used), parameters, first_parameter, first_component)
