"""Numbers of the target that are unknown and drawn along with the partition."""

from __future__ import annotations

from typing import Any

from copartition.functionals.base import Functional, evaluation


@evaluation
def present_numbers(model, chain, law, parameters, out):
    """The numbers where the chain is."""
    for i in range(len(out)):
        out[i] = model[0].numbers[i]


class Hyperparameters(Functional):
    """The numbers of a target that are unknown; see `hyperparameters`."""

    def __init__(self, names: list[str] | None = None) -> None:
        # Before it meets a target it does not know how many there are.
        super().__init__("hyperparameters", present_numbers, len(names or [""]), (), names)

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional with the names of the target's numbers."""
        if not target.numbers:
            raise TypeError(
                "hyperparameters needs a target with unknown numbers, such as Mixture(data, TiedGaussian()), got "
                f"{target!r}."
            )
        return target, Hyperparameters(target.numbers)


def hyperparameters() -> Functional:
    """Return the functional that gives the numbers of a target that are unknown, by name.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([0.0, 0.3, 0.1, 5.0, 5.2], cp.TiedGaussian("spherical"))
    >>> e = cp.estimate(posterior, cp.hyperparameters(), replicates=20, burn_in=10, min_sweeps=50, lag=10, seed=1)
    >>> list(e.components)
    ['variance']
    """
    return Hyperparameters()
