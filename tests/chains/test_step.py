"""A step is resolved once: what the pilot ran, what it recommends, what a run makes and a command says are equal."""

from __future__ import annotations

import inspect
import pickle
import shlex
from dataclasses import replace
from functools import partial

import click
import numpy as np
import pytest

import copartition as cp
import small
import small_hyperparameters
import small_networks
from copartition.cli.model import model_options, moving_of, step_options
from copartition.runs import pilot
from copartition.runs.defaults import bind, resolve


@cp.kernels.log_predictive
def beta_bernoulli(model, chain, n_choices, n):
    """Answers yes or no, all clusters alike."""
    m, c = model[0], chain[0]
    for k in range(n_choices):
        slot = c.slots[k]
        yes = (c.sums[slot, 0] + 0.5) / (c.sizes[slot] + 1.0)
        c.weights[k] = np.log(yes if m.points[n, 0] == 1.0 else 1.0 - yes)


@cp.kernels.log_predictive
def by_labels(model, chain, n_choices, n):
    """No density for growing clusters."""
    for k in range(n_choices):
        chain[0].weights[k] = 0.0


def own(exchangeable):
    points = np.array([[1.0], [0.0], [1.0], [1.0], [0.0], [0.0]])
    kernel = beta_bernoulli if exchangeable else by_labels
    return cp.Target(points, kernel, cp.DirichletProcess(1.0), exchangeable=exchangeable)


# All components, priors, networks, colourings, unknown hyperparameters, and targets that a user writes.
TARGETS = {
    **{name: lambda make=make: make()[0] for name, make in small.TARGETS.items()},
    **{f"network, {name}": lambda make=make: make()[0] for name, make in small_networks.SMALL.items()},
    **{f"unknown, {name}": lambda make=make: make().target for name, make in small_hyperparameters.CASES.items()},
    "own": partial(own, True),
    "own, by labels": partial(own, False),
}
DETAILED = cp.Step(split_merge=1, joint_updates=cp.JointUpdates(2, points=[0, 2, 3, 4], tries=3, least=2, most=3))
GIVEN = {"nothing": cp.Step(), "details": DETAILED, "the paper's": cp.Step(cp.Transport(metric="vi", nugget=0.05))}
GUIDED = cp.Step(split_merge=1, guided=True)


@click.command()
@model_options
def command(**options):
    """Stand for a command; never run."""


def read_back(text):
    """The step and the start that options of a command give, as they are written."""
    moving = moving_of(command.make_context("estimate", shlex.split(text)).params)
    return moving["step"], moving["init"]


def of_description(made_by):
    """The step that the description of a run tells."""
    about = made_by["step"]
    updates = None if about["joint_updates"] is None else cp.JointUpdates(**about["joint_updates"])
    return cp.Step(eval(about["coupling"], {**vars(cp.couplings)}), about["split_merge"], updates, about["guided"])


@pytest.fixture
def piloted(monkeypatch):
    """The steps of all pairs that pilots run, in their order."""
    steps, watch = [], pilot.watch_pairs

    def seen(task, *arguments):
        steps.append(task.job.step.resolved)
        return watch(task, *arguments)

    monkeypatch.setattr(pilot, "watch_pairs", seen)
    return steps


@pytest.mark.parametrize("name", ["coloring", "own, by labels", "network, corrected"])
def test_moves_that_a_target_cannot_make_are_refused(name):
    step, match = (GUIDED, "guided must be left out") if "network" in name else (DETAILED, "must be 0 for")
    with pytest.raises(ValueError, match=match):
        resolve(TARGETS[name](), step)
    with pytest.raises(ValueError, match="guided must be left out, or split_merge at least 1"):
        resolve(TARGETS["scalar"](), cp.Step("path", 0, guided=True))
    with pytest.raises(TypeError, match="guided must be True or False, got 'yes'"):
        cp.Step(guided="yes")


STEPS = [(name, step) for name in TARGETS for step in GIVEN.values()]
STEPS = [one for one in STEPS if not (one[1] is DETAILED and one[0] in ("coloring", "own, by labels"))]
STEPS += [(name, GUIDED) for name in ("scalar", "mixed", "own", "unknown, full")]


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_the_step_of_a_pilot_is_that_of_the_run_and_of_the_command(name, step, piloted, tmp_path):
    target = TARGETS[name]()
    t = cp.tune(target, cp.n_clusters(), pairs=60, step=step, modes=False, seed=1)
    assert piloted[-1] == t.step
    assert resolve(target, t.step) == t.step  # nothing in it is left to be decided
    run = {"replicates": 2, "settings": t, "burn_in": 1, "min_sweeps": 2, "lag": 1, "seed": 1}
    e = cp.estimate(target, cp.n_clusters(), store=tmp_path / "run.db", **run)
    assert of_description(e.made_by) == t.step
    assert of_description(cp.Estimate.load(tmp_path / "run.db").made_by) == t.step
    written, init = read_back(step_options(t.step, t.init))
    assert resolve(target, written) == t.step
    assert init == t.init == e.made_by["init"]
    same = cp.estimate(target, cp.n_clusters(), **run | {"settings": None, "step": written, "init": init})
    np.testing.assert_array_equal(same.values, e.values)


@pytest.mark.parametrize("name", ["scalar", "coloring", "network, corrected"])
def test_auto_takes_the_step_of_its_pilot(name, piloted):
    target = TARGETS[name]()
    e = cp.estimate(target, cp.n_clusters(), settings="auto", replicates=2, seed=1)
    assert of_description(e.made_by) == piloted[-1]
    assert (name == "network, corrected") == (e.made_by["step"]["joint_updates"] is not None)


def test_settings_fill_what_a_step_leaves_out():
    target = TARGETS["network, corrected"]()
    t = cp.tune(target, cp.n_clusters(), pairs=60, modes=False, seed=1)
    run = {"replicates": 2, "settings": t, "seed": 1}
    found = of_description(cp.estimate(target, cp.n_clusters(), split_merge=3, **run).made_by)
    assert found == cp.Step(t.coupling, 3, t.step.joint_updates)
    found = of_description(cp.estimate(target, cp.n_clusters(), step=cp.Step(joint_updates=0), **run).made_by)
    assert found == cp.Step(t.coupling, t.split_merge)
    found = of_description(cp.estimate(target, cp.n_clusters(), coupling="common", **run).made_by)
    assert found == cp.Step("common", 0)  # who names a coupling names the whole step


RUN = {"burn_in": 1, "min_sweeps": 2, "lag": 1, "seed": 1}


def test_a_store_of_another_step_is_refused(tmp_path):
    target, path = TARGETS["scalar"](), tmp_path / "run.db"
    step = cp.Step("path", 1, cp.JointUpdates(2, points=[0, 1, 3, 4]))
    cp.estimate(target, cp.n_clusters(), step=step, replicates=2, store=path, **RUN)
    others = {"coupling": "common"}, {"split_merge": 2}, {"joint_updates": 2}, {"guided": True}
    for other in (replace(step, **part) for part in others):
        with pytest.raises(cp.errors.StoreError, match="belongs to another run: step is"):
            cp.estimate(target, cp.n_clusters(), step=other, replicates=2, store=path, **RUN)
    assert len(cp.estimate(target, cp.n_clusters(), step=step, replicates=3, store=path, **RUN).values) == 3


# --- the value -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [
        cp.Step(),
        cp.Step("path"),
        cp.Step(cp.Transport(metric="vi", nugget=0.01), "auto", 0),
        cp.Step(
            cp.couplings.Path(reach=3, base="transport"), 4, cp.JointUpdates(20, points=[3, 1, 2], tries=2, most=8)
        ),
        cp.Step(split_merge=2, joint_updates=5),
        cp.Step(split_merge=2, guided=True),
    ],
)
def test_a_step_can_be_written_compared_and_sent(step):
    assert eval(repr(step), vars(cp) | vars(cp.couplings)) == step
    assert pickle.loads(pickle.dumps(step)) == step
    assert hash(pickle.loads(pickle.dumps(step))) == hash(step)


def test_steps_and_couplings_differ_by_their_parts():
    assert cp.Step("path", 4) == cp.Step(cp.couplings.Path(), 4, None)
    assert len({cp.Step(), cp.Step("path"), cp.Step("path", 4), cp.Step("path", 4, 0), cp.Step("path", 4, 2)}) == 5
    couplings = [*small.COUPLINGS.values(), cp.Transport(nugget=0.1), cp.couplings.Path()]
    for i, one in enumerate(couplings):
        assert [one == other for other in couplings] == [i == j for j in range(len(couplings))]
    assert cp.couplings.Maximal() != "maximal"


def test_what_is_left_out_depends_on_whether_a_coupling_is_named():
    network, mixture, coloring = (TARGETS[name]() for name in ("network, corrected", "scalar", "coloring"))
    found = resolve(network, cp.Step())
    assert isinstance(found.coupling, cp.couplings.Path)
    assert found.split_merge > 0
    assert found.joint_updates == cp.JointUpdates(1, least=2, most=8)
    assert resolve(network, cp.Step(split_merge=3)) == cp.Step("path", 3, found.joint_updates)
    assert resolve(network, cp.Step(joint_updates=0)) == cp.Step("path", found.split_merge)
    assert resolve(network, cp.Step("transport")) == cp.Step("transport", 0)
    assert resolve(network, cp.Step("transport", "auto")) == cp.Step("transport", found.split_merge)
    assert resolve(mixture, cp.Step()).joint_updates is None
    assert resolve(coloring, cp.Step()) == cp.Step("transport", 0)
    assert resolve(coloring, cp.Step("path")) == cp.Step(cp.couplings.Path(base="transport"), 0)


@pytest.mark.parametrize("target", ["network, corrected", "scalar"])
def test_ordinary_chains_do_what_those_of_pairs_do(target, monkeypatch):
    jobs = []
    monkeypatch.setattr("copartition.runs.sampling.bind", lambda one, step: jobs.append(step) or bind(one, step))
    target = TARGETS[target]()
    cp.sample(target, cp.n_clusters(), sweeps=2, burn_in=0, chains=1)
    wanted = resolve(target, cp.Step())
    assert jobs == [cp.Step(cp.couplings.Independent(), wanted.split_merge, wanted.joint_updates)]


# --- from outside ----------------------------------------------------------------------------------------------------

RUNNING = (
    cp.estimate,
    cp.estimate_within,
    cp.meeting_times,
    cp.sample,
    cp.tune,
    cp.find_modes,
    cp.log_evidence,
    cp.compare,
    cp.consensus,
)


def test_everything_that_runs_chains_takes_a_step_and_a_target():
    for function in RUNNING:
        names = list(inspect.signature(function).parameters)
        assert "step" in names
        assert "blocks" not in names
        assert names[0] == ("posteriors" if function is cp.compare else "target")


@pytest.mark.parametrize("run", [cp.estimate, partial(cp.consensus), cp.meeting_times, cp.tune, cp.find_modes])
@pytest.mark.parametrize("more", [{"coupling": "path"}, {"split_merge": 2}])
def test_a_step_and_a_part_of_one_are_too_much(run, more):
    arguments = (TARGETS["scalar"](), cp.n_clusters()) if run in (cp.estimate, cp.tune) else (TARGETS["scalar"](),)
    (name,) = more
    with pytest.raises(ValueError, match=f"^{name} must be part of the step where a step is given, got {name}=.* too"):
        run(*arguments, step=cp.Step("path", 4), **more)


def test_mistakes_are_said():
    target = TARGETS["scalar"]()
    with pytest.raises(TypeError, match=r"step must be a Step, such as Step\('path', split_merge=4\), got 'path'"):
        cp.meeting_times(target, step="path")
    with pytest.raises(ValueError, match="coupling must be 'path'"):
        cp.Step("best")
    with pytest.raises(ValueError, match="split_merge must be a whole number or 'auto', got 'many'"):
        cp.Step(split_merge="many")
    with pytest.raises(ValueError, match="joint_updates must be a whole number of at least 0, got -1"):
        cp.Step(joint_updates=-1)
    with pytest.raises(TypeError, match="estimate takes no argument 'burnin'; did you mean 'burn_in'"):
        cp.estimate(target, cp.n_clusters(), burnin=3)
    with pytest.raises(TypeError, match="estimate takes no argument 'replicate'; did you mean 'replicates'"):
        cp.estimate(target, cp.n_clusters(), replicate=3)
    with pytest.raises(TypeError, match="Target takes no argument 'log_merged'; did you mean 'log_merge'"):
        cp.Target(np.zeros((2, 1)), by_labels, log_merged=None)
    with pytest.raises(
        TypeError, match=r"takes no argument 'blocks'; beside those that it names there are burn_in, .*\."
    ):
        cp.consensus(target, blocks=3)
    with pytest.raises(TypeError, match="estimate_within takes no argument 'max_sweeps'"):
        cp.estimate_within(target, cp.n_clusters(), workers=1, deadline=cp.Sweeps(5), max_sweeps=3)


@pytest.mark.parametrize(
    "text", ["many", "3:points", "3:points=a", "3:most=2:most=3", "3:size=2", "3:points=1-", "", "3:"]
)
def test_joint_updates_of_a_command_that_cannot_be_read(text):
    with pytest.raises(click.UsageError, match="--joint-updates must be a number, with details such as"):
        read_back(f"--joint-updates {shlex.quote(text)}")


def test_joint_updates_of_a_command():
    step, _ = read_back("--joint-updates 3:points=0-2,7,9-10:tries=2:least=1:most=5")
    assert step == cp.Step(joint_updates=cp.JointUpdates(3, [0, 1, 2, 7, 9, 10], tries=2, least=1, most=5))
    step, _ = read_back("--joint-updates 0 --split-merge auto")
    assert step == cp.Step(split_merge="auto", joint_updates=0)
