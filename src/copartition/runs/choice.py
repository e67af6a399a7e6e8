"""From the arguments of a call to a job: what was given, what `tune` recommends, what is the default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from copartition.chains.neighbours import BlockUpdates
from copartition.chains.start import check_start
from copartition.couplings.base import Coupling
from copartition.diagnostics.modes import Modes
from copartition.diagnostics.tuning import Tuned
from copartition.functionals import Functional, as_list, bind_all
from copartition.runs.defaults import choose_step
from copartition.runs.pilot import tune
from copartition.runs.replicates import UNBOUNDED, Job, Settings
from copartition.targets.base import Target, check_target
from copartition.validation import integer, shorten


@dataclass(frozen=True)
class Choice:
    """How pairs are run; None where nothing was chosen."""

    burn_in: int | None = None
    min_sweeps: int | None = None
    lag: int | None = None
    coupling: str | Coupling | None = None
    split_merge: int | str | None = None
    blocks: int | BlockUpdates | None = None
    init: Any = None
    modes: Modes | None = None

    def arguments(self) -> dict[str, Any]:
        """Return what was chosen as the arguments of `estimate`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "modes"}

    def completed(
        self, settings: Tuned | str | None, target: Target, functional: Any, seed: int, executor: Any, progress: bool
    ) -> Choice:
        """Return the choice with settings, or else defaults, for what was not chosen.

        A pilot, where one has to be run, runs where the estimate does.
        """
        if isinstance(settings, str):
            if settings != "auto":
                raise ValueError(f"settings must be 'auto' or what tune returns, got {shorten(settings)}.")
            settings = tune(
                target,
                functional,
                coupling=self.coupling,
                split_merge=self.split_merge,
                blocks=self.blocks,
                init=self.init,
                seed=seed,
                executor=executor,
                progress=progress,
            )
        if settings is None:
            settings_or_defaults: Any = DEFAULTS
        elif isinstance(settings, Tuned):
            settings_or_defaults = settings
        else:
            raise TypeError(f"settings must be 'auto' or what tune returns, got {shorten(settings)}.")
        chosen = {
            name: getattr(settings_or_defaults, name) if getattr(self, name) is None else getattr(self, name)
            for name in self.__dataclass_fields__
        }
        return Choice(**chosen)


DEFAULTS = Choice(burn_in=100, min_sweeps=500, lag=100)


def make_job(
    target: Target,
    functional: Functional | Sequence[Functional],
    choice: Choice,
    seed: int,
    max_sweeps: int | None,
    keeps_all: bool = False,
) -> Job:
    """Return the job of a complete choice, if it makes sense; all values are kept if `keeps_all`."""
    check_target(target)
    burn_in = integer("burn_in", choice.burn_in, 0)
    min_sweeps = integer("min_sweeps", choice.min_sweeps, 0)
    lag = integer("lag", choice.lag, 1)
    if burn_in > min_sweeps:
        raise ValueError(f"burn_in must be at most min_sweeps, {min_sweeps}, got {burn_in}.")
    if max_sweeps is not None:
        max_sweeps = integer("max_sweeps", max_sweeps, 1)
        if max_sweeps < max(lag, min_sweeps):
            raise ValueError(
                f"max_sweeps must be at least the lag and min_sweeps, {max(lag, min_sweeps)}, got {max_sweeps}."
            )
    step = choose_step(target, choice.coupling, choice.split_merge, choice.blocks)
    target, functionals = bind_all(target, as_list(functional))
    return Job(
        target=target,
        functionals=tuple(f.kept() for f in functionals) if keeps_all else functionals,
        step=step,
        start=check_start(target, choice.init),
        settings=Settings(burn_in, min_sweeps, lag, UNBOUNDED if max_sweeps is None else max_sweeps),
        seed=integer("seed", seed, 0),
    )
