"""From the arguments of a call to a job: what was given, what `tune` recommends, what is the default.

All that a call leaves out is decided here, once. What comes out, a `Choice`, has no gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from copartition.chains.moves import JointUpdates
from copartition.chains.start import ANNEALED, check_start, read_init
from copartition.chains.step import Step
from copartition.couplings import COUPLINGS, check_coupling
from copartition.couplings.base import Coupling
from copartition.diagnostics.findings import Finding
from copartition.diagnostics.tuning import Tuned
from copartition.functionals import Functional
from copartition.functionals.base import as_list, bind_all
from copartition.results.store import Store
from copartition.runs.defaults import BURN_IN, LAG, MIN_SWEEPS, bind, given_step, resolve
from copartition.runs.pilot import tune
from copartition.runs.replicates import UNBOUNDED, Job, Settings
from copartition.runs.workers import Where
from copartition.targets.base import Target, check_target
from copartition.validation import check_names, integer, shorten


class How(TypedDict, total=False):
    """How chains run: arguments that `estimate`, `estimate_within` and `consensus` share.

    All may be left out. `estimate` says more of each.

    Attributes
    ----------
    burn_in, min_sweeps : int
        From which sweep on a replicate averages, and to which: 100 and 500 if left out.
    lag : int
        Sweeps that the first chain of a pair is ahead of the second: 100 if left out.
    max_sweeps : int
        A cap on the sweeps of a pair, the lag included: none if left out.
    init : str, array of int or Start
        Where chains start: where the target says if left out.
    coupling : str or Coupling
    split_merge : int or "auto"
        Short for ``step=Step(coupling, split_merge)``, see `Step`.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> how: cp.kernels.How = {"burn_in": 5, "min_sweeps": 50, "lag": 5, "coupling": "transport"}
    >>> cp.estimate(posterior, cp.n_clusters(), replicates=10, seed=1, **how).made_by["settings"]["lag"]
    5
    """

    burn_in: int | None
    min_sweeps: int | None
    lag: int | None
    max_sweeps: int | None
    init: Any
    coupling: str | Coupling | None
    split_merge: int | str | None


def check_how(function: Callable[..., Any], how: How, without: tuple[str, ...] = ()) -> None:
    """Refuse arguments among those that say how chains run which do not.

    Parameters
    ----------
    function : callable
        Which was called with them.
    how : How
    without : tuple of str
        Those that the function does not take.
    """
    check_names(function, how, [name for name in How.__annotations__ if name not in without])


@dataclass(frozen=True)
class Choice:
    """How pairs are run, all of it decided.

    Attributes
    ----------
    settings : Settings
    step : Step
        Resolved for the target.
    init : str, array of int or Start
    look : Finding, optional
        Whether chains live where the posterior is, if a pilot looked.
    model : list of Finding, optional
        Where the model does not suit the data, if that was looked at.
    """

    settings: Settings
    step: Step
    init: Any
    look: Finding | None = None
    model: list[Finding] | None = None


def choose(
    target: Target, functional: Any, how: How, step: Any, settings: Any, where: Where, store: Any = None
) -> Choice:
    """Return what a call chooses: what is given, then what settings say, then the defaults.

    Parameters
    ----------
    target : Target
    functional : Functional or sequence of Functional, optional
        For the pilot, where one has to be run; it runs where the estimate does.
    how : How
    step : Step, optional
    settings : Tuned or "auto", optional
    where : Where
    store : path, optional
        The file that the run is going to use: if it is there, ``"auto"`` is what its run was made with.
    """
    check_target(target)
    init = how.get("init")
    given = given_step(step, how.get("coupling"), how.get("split_merge"))
    if isinstance(settings, str):
        if settings != "auto":
            raise ValueError(f"settings must be 'auto' or what tune returns, got {shorten(settings)}.")
        if (found := _in_store(store, target, how, given)) is not None:
            return found
        run = {"seed": where.seed, "executor": where.executor, "progress": where.progress}
        settings = tune(target, functional, step=given, init=init, **run)
    if settings is None:
        return Choice(_settings(how, BURN_IN, MIN_SWEEPS, LAG), resolve(target, given), read_init(target, init))
    if not isinstance(settings, Tuned):
        raise TypeError(f"settings must be 'auto' or what tune returns, got {shorten(settings)}.")
    if given.coupling is None:  # otherwise it is the whole step
        given = given.completed_by(settings.step)
    return Choice(
        _settings(how, settings.burn_in, settings.min_sweeps, settings.lag),
        resolve(target, given),
        read_init(target, settings.init if init is None else init),
        None if settings.modes is None else settings.modes.finding,
    )


def _in_store(store: Any, target: Target, how: How, given: Step) -> Choice | None:
    """Return what the run in a file was made with, so that it can be gone on with; None if there is no file.

    A pilot would not choose the same settings twice: it looks at the clock.
    """
    if store is None or not Path(store).exists() or not Path(store).stat().st_size:
        return None
    opened = Store(store)
    made_by = opened.description
    opened.close()
    s, stored = made_by["settings"], made_by["step"]
    is_annealed = how.get("init") is None and made_by.get("ladder") is not None  # only a pilot takes that by itself
    init = read_init(target, ANNEALED if is_annealed else how.get("init"))
    updates = stored["joint_updates"]
    if given.coupling is None:
        usual = resolve(target, given).coupling
        couplings = [usual, *[check_coupling(name) for name in COUPLINGS]]
        coupling = next((one for one in couplings if repr(one) == stored["coupling"]), usual)
        joint = 0 if updates is None else JointUpdates(**updates)
        given = given.completed_by(Step(coupling, stored["split_merge"], joint, stored["guided"]))
    look = made_by.get("modes")
    # Whatever does not agree with the file after all is refused where it is opened.
    return Choice(
        _settings(how, s["burn_in"], s["min_sweeps"], s["lag"]),
        resolve(target, given),
        init,
        None if look is None else Finding(**look),
    )


def _settings(how: How, burn_in: int, min_sweeps: int, lag: int) -> Settings:
    """Return settings: those that are given, and these otherwise."""
    given = {name: how.get(name) for name in ("burn_in", "min_sweeps", "lag", "max_sweeps")}
    every = {"burn_in": burn_in, "min_sweeps": min_sweeps, "lag": lag, "max_sweeps": UNBOUNDED}
    return check_settings(**every | {name: value for name, value in given.items() if value is not None})


def check_settings(burn_in: Any, min_sweeps: Any, lag: Any, max_sweeps: Any = UNBOUNDED) -> Settings:
    """Return settings that make sense."""
    found = Settings(
        integer("burn_in", burn_in, 0),
        integer("min_sweeps", min_sweeps, 0),
        integer("lag", lag, 1),
        integer("max_sweeps", max_sweeps, 1),
    )
    if found.burn_in > found.min_sweeps:
        raise ValueError(f"burn_in must be at most min_sweeps, {found.min_sweeps}, got {found.burn_in}.")
    least = max(found.lag, found.min_sweeps)
    if found.max_sweeps < least:
        raise ValueError(f"max_sweeps must be at least the lag and min_sweeps, {least}, got {found.max_sweeps}.")
    return found


def make_job(
    target: Target, functional: Functional | Sequence[Functional], choice: Choice, seed: Any, keeps_all: bool = False
) -> Job:
    """Return the job of a choice; all values are kept if `keeps_all`."""
    check_target(target)
    step = bind(target, choice.step)
    target, functionals = bind_all(target, as_list(functional))
    return Job(
        target=target,
        functionals=tuple(f.kept() for f in functionals) if keeps_all else functionals,
        step=step,
        start=check_start(target, choice.init),
        settings=choice.settings,
        seed=integer("seed", seed, 0),
    )
