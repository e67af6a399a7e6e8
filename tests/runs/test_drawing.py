"""Weighted partitions: what is kept is a measure with the right expectation, and all questions asked of it later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import copartition as cp
import naive
import small
import small_hyperparameters
import small_networks
from conftest import JIT_DISABLED, once_each
from copartition.chains.chain import chain_at
from copartition.chains.start import check_start
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.functionals.base import bind_all, evaluate_at
from copartition.results.kept import Partitions
from copartition.runs import recording
from copartition.runs.drawing import part_of
from copartition.runs.progress import Pause
from copartition.runs.replicates import Job, Settings
from stores import damaged

CAP = 10**6
REFERENCE = [0, 0, 1, 1, 0]
SHORT = {"settings": None, "burn_in": 0, "min_sweeps": 6, "lag": 2}


def two_groups(count):
    data = np.linspace(-0.2, 0.2, count) + np.repeat([-3.0, 3.0], [count // 2, count - count // 2])
    return cp.Mixture(data, cp.Gaussian(noise_sd=0.7, mean_sd=3), cp.DirichletProcess(1.0))


def job_for(target, functionals, coupling, times, keeps, seed=1, init=None):
    target, functionals = bind_all(target, functionals)
    step = BoundStep(cp.Step(coupling, 0))
    return Job(target, functionals, step, check_start(target, init), Settings(*times, CAP), seed, keeps)


def run(job, count):
    outcomes, failure = job.run(range(count), Pause())
    assert failure is None
    return outcomes


# --- what is kept ----------------------------------------------------------------------------------------------------


def states_of(job, number):
    """All states of both chains of a replicate, by time, and the meeting time: written down by another run of it."""
    seen = []
    noted = cp.functional(lambda labels: seen.append(tuple(naive.canonical(labels))) or 0.0)
    k, m, lag = 0, 60, job.settings.lag
    whole = replace(job, functionals=(noted,), settings=Settings(k, m, lag, CAP), keeps=0)
    outcomes, _ = whole.run([number], Pause())
    tau = int(outcomes.meeting_times[0])
    x, y = [], []
    for t in range(max(m, tau) + 1):
        if t <= m or lag <= t < tau:
            x.append(seen.pop(0))
        if lag <= t < tau:
            y.append(seen.pop(0))
    assert not seen
    return x, y, tau


@pytest.mark.plain
@pytest.mark.parametrize(("times", "per_replicate"), [((0, 0, 1), 1), ((2, 9, 1), 3), ((0, 6, 3), 16), ((0, 12, 2), 2)])
def test_what_is_kept_is_what_the_definition_says(monkeypatch, times, per_replicate):
    monkeypatch.setattr(recording, "CORRECTIONS", 2)
    target, _ = small.scalar()
    job = job_for(target, [cp.n_clusters()], cp.couplings.Independent(), times, per_replicate)
    count = 3 if JIT_DISABLED else 25
    kept = run(job, count).partitions
    first, most_corrections = kept.first, 0
    for i in range(count):
        random = naive.Xoshiro(stream(1, i, recording.PART))
        expected = naive.kept_atoms(*states_of(job, i), times, per_replicate, 2 * per_replicate, random.uniform)
        here = slice(first[i], first[i + 1])
        assert [tuple(row) for row in kept.labels[here].tolist()] == [state for state, _ in expected]
        assert kept.counts[here].tolist() == [weight * kept.unit for _, weight in expected]
        assert np.all(kept.replicate[here] == i)
        most_corrections = max(most_corrections, len(expected) - kept.averaged)
    assert JIT_DISABLED or times[2] > 2 or most_corrections > 2 * per_replicate  # halves were dropped


@pytest.mark.plain
def test_weights_sum_to_one_and_keeping_changes_no_bit():
    target, _ = small.scalar()
    job = job_for(target, [cp.n_clusters()], cp.couplings.Maximal(), (0, 7, 1), 3)
    kept, plain = run(job, 20), run(replace(job, keeps=0), 20)
    assert kept.values.tolist() == plain.values.tolist()
    assert plain.partitions is None
    p = kept.partitions
    assert np.add.reduceat(p.counts, p.first[:-1]).tolist() == [p.unit] * 20
    assert p.labels.dtype == np.uint8
    assert not p.is_averaged.all()


def test_what_is_kept_does_not_depend_on_the_batch_or_on_room():
    target, _ = small.scalar()
    job = job_for(target, [cp.n_clusters()], cp.couplings.Independent(), (0, 7, 1), 3)
    together = run(job, 30).partitions
    alone = Partitions.joined([job.run([i], Pause())[0].partitions for i in reversed(range(30))])
    for a, b in zip(together, alone, strict=True):
        assert np.array_equal(a, b)
    with_pairs = job_for(target, [cp.co_clustering(keep_values=False)], cp.couplings.Independent(), (0, 7, 1), 3)
    for a, b in zip(together, run(with_pairs, 30).partitions, strict=True):
        assert np.array_equal(a, b)


def test_all_states_of_a_short_average_are_kept():
    target, _ = small.scalar()
    wanted = [cp.n_clusters(3), cp.largest_clusters(2), cp.predictive_density([0.5])]
    d = cp.draw(target, wanted, replicates=30, per_replicate=100, coupling="maximal", seed=1, **SHORT)
    np.testing.assert_allclose(d.expect(wanted).values, d.run.values, atol=1e-12)


# --- expectations ----------------------------------------------------------------------------------------------------


def questions(target):
    """Functionals of every kind that a target can be asked for, some of them so that only sums are kept."""
    found = [
        cp.n_clusters(),
        cp.n_clusters(2),
        cp.largest_clusters(2),
        cp.co_clustering(),
        cp.functionals.cluster_similarity(REFERENCE),
    ]
    found += [
        cp.co_clustering(pairs=[[0, 3], [1, 4]]),
        cp.memberships(REFERENCE),
        cp.functionals.cluster_sizes_histogram([1, 2, 6]),
    ]
    found += [cp.functionals.distance_to([REFERENCE, [0] * 5], "vi"), cp.functional(lambda labels: labels[4] + 0.5)]
    found += [cp.co_clustering(keep_values=False), cp.memberships(REFERENCE, keep_values=False)]
    if isinstance(target, cp.Mixture):
        grid = np.linspace(-1.0, 1.0, 2 * target.shape[1]).reshape(2, -1)
        found += [cp.predictive_density(grid), cp.functionals.log_likelihood()]
    return found


def exact_of(target, density, functionals):
    states, distribution = naive.distribution(density, target.n_points)
    found = []
    for f in functionals:
        own, bound = bind_all(target, [f])
        at = [evaluate_at(own.model, own.hooks, bound, chain_at(own, np.array(state))) for state in states]
        found.append(distribution @ np.array(at))
    return np.concatenate(found)


def apart(e, exact):
    """How many standard errors each component is from its exact value."""
    return np.abs(e.mean - exact) / np.maximum(e.stderr, 1e-9)


def drawn(target, coupling, times, count, seed=1):
    """Partitions of many replicates, of which most is thinned away."""
    job = job_for(target, [cp.n_clusters()], coupling, times, keeps=2, seed=seed)
    outcomes = run(job, count)
    about = {"functionals": [{"name": "n_clusters", "size": 1}], "functional": "n_clusters"}
    settings = {"burn_in": times[0], "min_sweeps": times[1], "lag": times[2], "max_sweeps": None}
    e = cp.Estimate.of(
        outcomes, about | {"settings": settings, "step": {"coupling": "x"}}, partitions=outcomes.partitions
    )
    return cp.WeightedPartitions(e, target)


EVERY = [case.values for case in once_each(["scalar", "coloring", "full"], [*small.COUPLINGS]) if not case.marks]


@pytest.mark.parametrize(
    ("name", "coupling", "lag", "burn_in", "count"),
    [(*case, (1, 3, 7)[turn % 3], 2 * (turn % 2), 3_000) for turn, case in enumerate(EVERY)]
    + [
        pytest.param(*case, lag, burn_in, 20_000, marks=pytest.mark.long)
        for case in EVERY
        for lag in (1, 3, 7)
        for burn_in in (0, 2)
    ],
)
def test_expectations_of_everything_are_exact(monkeypatch, name, coupling, lag, burn_in, count):
    """At most two corrections are kept, and two of five states: all that is thinned is thinned.

    About fifty components: a case with a new seed would be a false alarm with a probability of 0.003.
    """
    monkeypatch.setattr(recording, "CORRECTIONS", 1)
    target, density = small.TARGETS[name]()
    wanted = questions(target)
    d = drawn(target, small.COUPLINGS[coupling], (burn_in, burn_in + 4, lag), count, seed=lag)
    assert apart(d.expect(wanted), exact_of(target, density, wanted)).max() < 4.0


def without_offset(monkeypatch):
    """The first state of the average is always kept: the start of the chain is counted too often."""
    monkeypatch.setattr(recording, "stream", lambda *key: np.array([0, 5, 6, 0], dtype=np.uint64))


def without_strides(monkeypatch):
    """Corrections that are kept stand for themselves alone."""
    partitions = recording.Keeper.partitions

    def wrong(keeper, *args):
        keeper.atoms.strides[:] = 1
        return partitions(keeper, *args)

    monkeypatch.setattr(recording.Keeper, "partitions", wrong)


def thinned_separately(monkeypatch):
    """One of the two atoms of a correction is dropped, and the other counts twice as much."""
    partitions = recording.Keeper.partitions

    def wrong(keeper, *args):
        p = partitions(keeper, *args)
        counts = np.where(p.is_averaged, p.counts, np.where(p.counts > 0, 2 * p.counts, 0))
        return p._replace(counts=counts)

    monkeypatch.setattr(recording.Keeper, "partitions", wrong)


def of_another_replicate(monkeypatch):
    """Weights of corrections belong to the partitions of another replicate."""
    partitions = recording.Keeper.partitions

    def wrong(keeper, *args):
        p = partitions(keeper, *args)
        labels = p.labels.copy()
        labels[~p.is_averaged] = np.roll(labels[~p.is_averaged], 7, axis=0)
        return p._replace(labels=labels)

    monkeypatch.setattr(recording.Keeper, "partitions", wrong)


@pytest.mark.parametrize("wrong", [without_offset, without_strides, thinned_separately, of_another_replicate])
def test_wrong_ways_of_keeping_fail_the_same_test(monkeypatch, wrong):
    monkeypatch.setattr(recording, "CORRECTIONS", 1)
    target, density = small.scalar()
    wanted = questions(target)
    wrong(monkeypatch)
    d = drawn(target, cp.Transport(), (0, 4, 1), 3_000)
    assert apart(d.expect(wanted), exact_of(target, density, wanted)).max() > 4.0


@pytest.mark.parametrize("name", ["spherical", "full", "spherical_all"])
def test_hyperparameters_are_kept_with_their_partitions(name):
    """Against averages of the same replicates over all sweeps, which are exact by other tests: 1 in 2,000 fails."""
    target = small_hyperparameters.CASES[name]().target
    grid = np.zeros((1, target.shape[1]))
    wanted = [cp.hyperparameters(), cp.predictive_density(grid), cp.functionals.log_likelihood()]
    d = cp.draw(target, wanted, replicates=2_000, per_replicate=2, coupling="transport", seed=3, **SHORT)
    e = d.expect(wanted)
    difference = e.values - d.run.values
    z = np.abs(difference.mean(axis=0)) / (difference.std(axis=0, ddof=1) / np.sqrt(len(difference)))
    assert z.max() < 4.0
    assert d.hyperparameters.shape == (len(d), len(target.hyperparameters))
    assert d.hyperparameter_names == target.hyperparameters
    direct = np.add.reduceat(d.weights[:, None] * d.hyperparameters, d.run.partitions.first[:-1], axis=0)
    np.testing.assert_allclose(e.select("hyperparameters").values, direct, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", small_networks.SMALL)
def test_networks_are_asked_afterwards(name):
    target, _, _ = small_networks.SMALL[name]()
    wanted = [cp.functionals.edge_probability([(0, 1), (2, 5)]), cp.n_clusters(3)]
    d = cp.draw(target, wanted, replicates=500, per_replicate=2, seed=3, **SHORT)
    difference = d.expect(wanted).values - d.run.values
    spread = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
    assert np.all(np.abs(difference.mean(axis=0)) < 4.0 * np.maximum(spread, 1e-12))


@pytest.fixture(scope="module")
def posterior():
    return two_groups(8)


@pytest.fixture(scope="module")
def some(posterior):
    return cp.draw(posterior, replicates=120, per_replicate=5, seed=2, **SHORT | {"lag": 1})


def test_expectations_are_weighted_sums(some):
    together = lambda labels: labels[0] == labels[7]  # noqa: E731
    e = replace(some, target=None).expect([together, cp.co_clustering([0, 7])])
    values = np.array([together(row) for row in some.labels])
    expected = np.add.reduceat(some.weights * values, some.run.partitions.first[:-1])
    np.testing.assert_allclose(e.values, np.stack([expected] * 2, axis=1), atol=1e-12)
    assert e.components[0] == "<lambda>"


def test_points_are_drawn_anew_where_the_posterior_is_known(posterior):
    """The same expectation from the same partitions, and less noise: the difference has mean 0 (1 in 5,000 fails)."""
    unknown = cp.Mixture(small.DATA_1D, cp.TiedGaussian("spherical"), cp.DirichletProcess(0.9))
    for target in (posterior, unknown):
        d = cp.draw(target, replicates=600, per_replicate=2, seed=2, **SHORT)
        wanted = [cp.co_clustering(), cp.n_clusters(), cp.memberships(np.arange(target.n_points) % 2)]
        redrawn, plain = d.expect(wanted), replace(d, target=None).expect(wanted)
        difference = redrawn.values - plain.values
        z = difference.mean(axis=0) / np.maximum(difference.std(axis=0, ddof=1) / np.sqrt(600), 1e-12)
        assert np.abs(z).max() < 4.0
        assert redrawn.parts()[0].stderr.mean() < 0.9 * plain.parts()[0].stderr.mean()


def test_what_is_the_same_in_all_partitions_has_no_known_error():
    """Single points drawn anew tell nothing of partitions that no replicate has come to."""
    far = cp.Mixture([-9.0, -8.8, 9.0, 9.2], cp.Gaussian(noise_sd=0.5, mean_sd=9), cp.DirichletProcess(0.01))
    d = cp.draw(far, replicates=120, seed=1, **SHORT | {"burn_in": 3})
    e = d.expect(cp.co_clustering())
    constant = np.ptp(replace(d, target=None).expect(cp.co_clustering()).values, axis=0) == 0
    assert constant.any()
    assert np.all(e.stderr[constant] < 1e-15)
    assert np.any((e.mean[constant] != 0) & (e.mean[constant] != 1))  # the mean is not what was looked up
    assert "0 *" in str(e)


def test_any_number_of_questions_and_of_threads(some):
    wanted = [cp.n_clusters(), cp.co_clustering(keep_values=False), cp.largest_clusters(2), cp.n_clusters(3)] * 2
    one, three = some.expect(wanted, threads=1), some.expect(wanted, threads=3)
    assert np.array_equal(one.mean, three.mean)
    assert np.array_equal(one.stderr, three.stderr)
    kept = replace(some, target=None).expect(cp.co_clustering())
    np.testing.assert_allclose(one.parts()[1].mean, kept.mean)
    np.testing.assert_allclose(one.parts()[1].stderr, kept.stderr, rtol=1e-9)


def test_more_partitions_of_a_replicate_than_16_bits_count():
    alike = cp.Mixture([0.0, 0.0], cp.Gaussian(noise_sd=0.1, mean_sd=30), cp.DirichletProcess(0.1))
    how = {"settings": None, "burn_in": 0, "min_sweeps": 34_999, "lag": 1, "split_merge": 0, "seed": 1}
    d = replace(cp.draw(alike, replicates=2, per_replicate=35_000, **how), target=None)
    summed, kept = (d.expect(cp.co_clustering(keep_values=keeps)) for keeps in (False, True))
    assert kept.mean[0] > 0.95
    np.testing.assert_allclose(summed.mean, kept.mean, rtol=1e-12)


def test_no_column_of_a_point_is_lost_by_its_name():
    target = two_groups(4)
    target.names = ["weight [1]", "weight", "c", "d"]
    d = cp.draw(target, replicates=2, seed=2, **SHORT)
    assert d.to_dataframe().shape[1] == 2 + 4


def test_an_answer_can_do_what_an_estimate_can(some, tmp_path):
    e = some.expect([cp.n_clusters(3), cp.co_clustering()])
    assert "5 kept partitions of each" in str(e)
    assert [finding.title for finding in e.findings] == [
        finding.title for finding in some.expect(cp.n_clusters()).findings
    ]
    cp.write_report(e, tmp_path / "page.html")
    assert "Number of clusters" in (tmp_path / "page.html").read_text()
    assert e.to_dataframe().shape == (120, 4 + 28 + 5)
    assert e.interval()[0].shape == (32,)
    reference = cp.sample(some.target, cp.n_clusters(3), sweeps=2000, seed=1)
    assert np.isfinite(e.inefficiency(reference).sweeps[1])


def test_under_a_cap_ordinary_averages_are_there(posterior):
    how = SHORT | {"coupling": "independent", "max_sweeps": 7}
    d = cp.draw(posterior, cp.n_clusters(), replicates=150, per_replicate=100, seed=2, **how)
    e = d.expect(cp.n_clusters())
    assert e.censored == d.run.censored > 0
    np.testing.assert_allclose(e.ordinary_values, d.run.ordinary_values, atol=1e-12)
    assert e.is_biased


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ([], "functional must be one functional or more"),
        ("n_clusters", "functional must be a functional such as"),
        (cp.functionals.edge_probability([(0, 1)]), "BlockModel"),
        (lambda labels: float("nan"), "must return 1 finite number"),
        (lambda labels: [], "must return one number or more"),
        (cp.n_clusters, "got the function n_clusters: call it"),
    ],
)
def test_questions_that_make_no_sense(some, wanted, message):
    with pytest.raises((TypeError, ValueError), match=message):
        some.expect(wanted)


@pytest.mark.parametrize(
    ("name", "value"), [("per_replicate", 0), ("replicates", 0), ("settings", "best"), ("lagg", 3)]
)
def test_arguments_that_make_no_sense(posterior, name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        cp.draw(posterior, **{name: value})


# --- in a file -------------------------------------------------------------------------------------------------------


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a.run.partitions, b.run.partitions, strict=True))


@pytest.mark.parametrize("functional", [cp.n_clusters(), cp.co_clustering(keep_values=False)])
def test_a_store_goes_on_and_is_read_again(posterior, tmp_path, functional):
    path = tmp_path / "run.db"
    how = {"per_replicate": 4, "seed": 2, **SHORT}
    whole = cp.draw(posterior, functional, replicates=60, **how)
    cp.draw(posterior, functional, replicates=25, store=path, **how)
    on = cp.draw(posterior, functional, replicates=60, store=path, **how)
    read = cp.WeightedPartitions.load(path, posterior)
    assert same(whole, on)
    assert same(whole, read)
    assert np.array_equal(
        read.expect(cp.functionals.log_likelihood()).values, whole.expect(cp.functionals.log_likelihood()).values
    )
    with pytest.raises(cp.errors.StoreError, match=r"per_replicate is 4 there and (None|1) here"):
        cp.estimate(posterior, functional, replicates=60, store=path, seed=2, burn_in=0, min_sweeps=6, lag=2)


def test_without_the_posterior_labels_can_be_asked(posterior, some, tmp_path):
    path = tmp_path / "run.db"
    cp.draw(posterior, replicates=120, per_replicate=5, seed=2, store=path, **SHORT | {"lag": 1})
    read = cp.WeightedPartitions.load(path)
    assert read.target is None
    wanted = [cp.co_clustering(), cp.memberships([0, 1] * 4), lambda labels: labels[3]]
    assert np.array_equal(read.expect(wanted).values, replace(some, target=None).expect(wanted).values)
    for asks in (cp.functionals.log_likelihood(), cp.predictive_density([0.0])):
        with pytest.raises(
            (TypeError, ValueError), match=r"asks the posterior, which a file does not hold: give the target"
        ):
            read.expect(asks)
    with pytest.raises(ValueError, match="target must be the one that the run"):
        cp.WeightedPartitions.load(path, two_groups(9))
    plain = tmp_path / "plain.db"
    cp.estimate(posterior, cp.n_clusters(), replicates=3, store=plain)
    with pytest.raises(ValueError, match="holds no partitions"):
        cp.WeightedPartitions.load(plain)


def test_settings_of_a_pilot_are_taken_from_the_store(posterior, tmp_path):
    path = tmp_path / "run.db"
    first = cp.draw(posterior, replicates=5, seed=2, store=path)
    on = cp.draw(posterior, replicates=8, seed=2, store=path)
    assert on.run.made_by["settings"] == first.run.made_by["settings"]
    assert np.array_equal(on.labels[: len(first)], first.labels)


def test_damaged_partitions_are_refused_and_made_anew(posterior, tmp_path):
    path = tmp_path / "run.db"
    how = {"per_replicate": 4, "seed": 2, "replicates": 12, **SHORT}
    whole = cp.draw(posterior, store=path, **how)
    damaged(path, "UPDATE partitions SET packed = (SELECT packed FROM partitions WHERE number = 3) WHERE number = 7")
    with pytest.raises(cp.errors.StoreError, match="replicate 7 cannot be read"):
        cp.WeightedPartitions.load(path)
    with pytest.raises(cp.errors.StoreError, match="11 replicates were copied to"):
        cp.draw(posterior, store=path, **how)
    assert same(whole, cp.draw(posterior, store=tmp_path / "run-rest.db", **how))


# --- consensus, and other programs -----------------------------------------------------------------------------------


def test_a_consensus_is_chosen_and_judged_by_different_replicates(some):
    c = cp.consensus(some, also=cp.n_clusters(), seed=1)
    assert c.labels.tolist() == [0] * 4 + [1] * 4
    assert len(c.estimate.values) == len(c.chosen_by.values) == 60
    assert np.array_equal(c.chosen_by.meeting_times, some.run.meeting_times[::2])
    assert np.array_equal(c.estimate.meeting_times, some.run.meeting_times[1::2])
    assert c.chosen_by.components[-1] == "n_clusters"
    judging = part_of(some, np.arange(120) % 2 == 1)
    expected = judging.expect(cp.functionals.distance_to(c.labels, "vi"))
    assert c.expected_loss == pytest.approx(expected.mean[0])
    assert c.expected_loss_stderr == pytest.approx(expected.stderr[0])
    with pytest.raises(ValueError, match="burn_in must be left out"):
        cp.consensus(some, burn_in=3)
    with pytest.raises(ValueError, match="at least 4 replicates"):
        cp.consensus(part_of(some, np.arange(120) < 3))


def test_partitions_for_other_programs(some, tmp_path):
    frame = some.to_dataframe()
    assert list(frame.columns[:3]) == ["replicate", "weight", "0"]
    assert frame.groupby("replicate")["weight"].sum().round(12).eq(1.0).all()
    tree = some.to_datatree()
    assert tree["posterior"]["labels"].shape == (1, len(some), 8)
    assert np.array_equal(tree["posterior"]["weight"][0], some.weights)
    matrix = some.to_matrix()
    assert matrix.shape == (600, 8)
    assert matrix.min() == 1
    assert len(some) > 600  # corrections are left out there


def test_what_is_printed(some):
    assert repr(some) == f"<WeightedPartitions: {len(some)} partitions of 8 points from 120 replicates>"
    assert str(some).startswith(
        f"{len(some)} partitions of 8 points from 120 replicates: 5 of each, and more that correct"
    )
    assert some.names == list(range(8))
    assert some.warnings == some.run.warnings
