"""The answer and its grade: `cp.cluster` from table to clustering, and what it claims."""

import signal
import threading
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import copartition as cp
import naive
import small
from copartition.clustering import call, chains, model, pairs, work
from copartition.clustering.model import component_for
from copartition.clustering.reading import Reading, grade_of, own_share, settled
from copartition.datasets.kinds import recognise
from copartition.diagnostics.checks import numbers_differ
from copartition.runs.defaults import bind, read_step
from copartition.runs.workers import Where

EASY = np.concatenate([np.random.default_rng(1).normal(m, 1.0, (25, 2)) for m in (-5.0, 5.0)])
LITTLE = 0.02  # effort


@pytest.fixture(scope="module")
def easy():
    return cp.cluster(EASY, seed=1, effort=LITTLE)


def test_an_easy_table(easy):
    assert easy.grade == "unbiased"
    assert easy.labels.tolist() == [0] * 25 + [1] * 25
    assert easy.certainty.min() > 0.7
    assert np.median(easy.certainty) > 0.95
    assert not easy.undecided.any()
    assert easy.work["pairs"] == easy.work["pairs_met"] >= 28
    assert sum(easy.n_clusters.values()) == pytest.approx(1.0, abs=0.05)
    assert easy.headline.startswith("2 clusters (P = ")
    assert str(easy).startswith("UNBIASED: 2 clusters")
    assert repr(easy).startswith("<Clustering, unbiased: 2 clusters")
    assert next(iter(easy.to_dict().items())) == ("grade", "unbiased")
    assert [one["component"] for one in easy.scores if one["chosen"]] == [easy.scores[0]["component"]]


def test_predictions_of_the_data_are_its_clusters(easy):
    probabilities = easy.predict_proba(EASY)
    assert np.array_equal(easy.predict(EASY), easy.labels)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
    assert easy.predict([[0.0, 1e3]]).tolist() == [-1]
    assert easy.predict([[5.0, np.nan]]).tolist() == [1]
    grid = np.stack(np.meshgrid(*[np.linspace(-12, 12, 97)] * 2), axis=-1).reshape(-1, 2)
    assert np.exp(easy.score_samples(grid)).sum() * 0.25**2 == pytest.approx(1.0, abs=0.05)


def test_far_from_the_origin_no_digit_of_a_spread_is_lost():
    here, there = (cp.cluster(EASY + far, "diagonal", seed=1, effort=LITTLE) for far in (0.0, 1e9))
    near, far = here.profile(), there.profile()
    np.testing.assert_allclose(far.estimate - 1e9, near.estimate, atol=2e-4)
    for what in ("sd", "sd_stderr"):
        np.testing.assert_allclose(far[what], near[what], rtol=1e-3, atol=1e-5)
    gaps = EASY + 1e9
    gaps[[3, 30], 1] = np.nan
    cells = cp.cluster(gaps, "diagonal", seed=1, effort=LITTLE).impute()
    assert cells["sd"].between(0.7, 2.0).all()


def test_what_becomes_of_the_data_changes_no_answer():
    data = EASY.copy()
    c = cp.cluster(data, cp.NormalInverseGamma(), seed=1, effort=LITTLE)
    before = c.predict_proba(EASY)
    data *= 100.0
    np.testing.assert_array_equal(c.predict_proba(EASY), before)


def test_numbers_of_clusters_are_the_most_probable_ones(easy):
    many = {k: 0.04 + 0.01 * (k % 5) for k in range(20, 36)}
    told = " ".join(str(replace(easy, n_clusters=many)).split())
    assert "with probabilities: 21 (0.05)" in told or "22 (0.06), 23 (0.07), 24 (0.08)" in told
    assert "29 (0.08)" in told
    assert "others (0.3" in told


@pytest.mark.parametrize(
    ("labels", "certainty", "n_clusters", "text"),
    [
        ([0, 0, 1, 1], [0.9, 0.9, 0.4, 0.4], {2: 0.5, 3: 0.5}, "50 % of the rows belong to no cluster with"),
        ([0, 0, 1, 1], [0.9, 0.9, 0.9, 0.6], {2: 0.01, 3: 0.9}, "Hardly any clustering that fits the data has as many"),
        ([0, 0, 1, 1], [0.9, 0.9, 0.9, 0.6], {2: 0.2, 3: 0.6}, ""),
        ([0, 1, 2, 2, 3], [0.9, 0.9, 0.9, 0.9, 0.9], {4: 0.9}, "3 of 5 rows are clusters of their own."),
    ],
)
def test_clusters_that_are_not_clear_are_told(labels, certainty, n_clusters, text):
    asked = SimpleNamespace(posterior=None)
    found = Reading._of_clusters(SimpleNamespace(labels=np.array(labels), asked=asked), np.array(certainty), n_clusters)
    assert [finding.title for finding in found] == ["No clear clusters"] * bool(text)
    assert all(finding.text.startswith(text) for finding in found)


def test_columns_of_few_values_are_told():
    random = np.random.default_rng(3)
    table = np.column_stack([random.choice([0.5, 2.5, 6.0], 90), random.normal(size=90)])
    c = cp.cluster(table, "diagonal", seed=1, effort=LITTLE)
    (text,) = [finding.text for finding in c.findings if finding.title == "Few values"]
    assert text.startswith("'0' has only 3 different values")


@pytest.mark.parametrize("executor", [1, "processes"])
def test_the_same_seed_gives_the_same_answer_anywhere(easy, executor):
    c = cp.cluster(EASY, seed=1, effort=LITTLE, executor=executor)
    assert np.array_equal(c.draws.labels, easy.draws.labels)
    assert np.array_equal(c.certainty, easy.certainty)
    assert c.n_clusters == easy.n_clusters


def test_another_seed_gives_other_draws(easy):
    assert not np.array_equal(cp.cluster(EASY, seed=2, effort=LITTLE).draws.labels, easy.draws.labels)


@pytest.mark.parametrize("replicates", [pairs.FIRST_ROUND])
def test_probabilities_against_enumeration(replicates):
    """On five points pairs and enumeration agree; by chance it fails for fewer than one in 1,000 seeds."""
    make, density = small.wishart, small.wishart()[1]
    c = cp.cluster(make()[0], seed=3, effort=0.05)
    assert c.grade == "unbiased"
    assert len(c.draws.run.values) >= replicates
    states, distribution = naive.distribution(density, 5)
    count = np.array([max(state) + 1 for state in states])
    for k, p in c.n_clusters.items():
        assert abs(p - distribution[count == k].sum()) <= 4.5 * c.n_clusters_stderr[k] + 1e-3
    for n in range(5):
        for r in range(len(c.sizes)):
            members = [m for m in range(5) if c.labels[m] == r and m != n]
            if not members:
                continue
            together = np.array([np.mean([state[m] == state[n] for m in members]) for state in states])
            assert (
                abs(c.probabilities[n, r] - distribution @ together) <= 0.06
            )  # precision asked for: 0.04 / sqrt(effort)


def test_consensus_of_a_clustering(easy):
    c = easy.consensus
    assert np.array_equal(c.labels, easy.labels)
    assert c.similarity[0, 30] < 0.1 < 0.9 < c.similarity[0, 1]
    assert c.between[0, 1] == pytest.approx(c.similarity[:25, 25:].mean(), abs=1e-9)
    assert c.cohesion[1] == pytest.approx(c.similarity[25:, 25:][np.triu_indices(25, 1)].mean(), abs=1e-9)


def test_other_questions_of_an_answer(easy):
    ball = easy.credible_ball(0.9)
    assert ball.probability >= 0.9
    assert sum(one.probability for one in easy.alternatives(3)) == pytest.approx(1.0, abs=1e-9)
    assert easy.outliers().empty
    assert len(easy.outliers(least=0.0)) == 50
    assert easy.impute().empty
    frame = easy.to_frame()
    assert frame["cluster"].tolist() == easy.labels.tolist()
    assert frame.columns.tolist()[:2] == ["0", "1"]


# --- grades ----------------------------------------------------------------------------------------------------------


def test_chains_that_disagree_are_unsettled():
    """Three heaps that two clusters must share: chains from different starts stay where they are."""
    apart = cp.Mixture(np.repeat([-3.0, 0.0, 3.0], 20), cp.Gaussian(noise_sd=0.5, mean_sd=3.0), cp.FiniteMixture(2))
    c = cp.cluster(apart, seed=1, effort=LITTLE)
    assert c.grade == "unsettled"
    assert "disagree" in c.reason
    assert "20 of 60 rows" in c.reason or "40 of 60 rows" in c.reason
    shares = [one.probability for one in c.alternatives(3)]
    assert 2 <= len(shares) <= 3


def test_pairs_that_cannot_be_afforded_leave_an_approximate_answer():
    data = np.random.default_rng(2).normal(np.repeat([[-4.0], [4.0]], 300, axis=0), 1.0)
    c = cp.cluster(data, component="diagonal", seed=1, effort=0.002)
    assert c.grade == "approximate"
    assert "pairs of coupled chains" in c.reason
    assert "unbiased" not in str(c).lower()
    assert len(np.unique(c.draws.replicate)) == chains.CHAINS


def test_chains_are_as_long_as_slow_pairs_ask_for(monkeypatch):
    """Chains that agree after a few steps may not have moved yet: pairs tell how long that takes."""
    monkeypatch.setattr(pairs.Pairs, "slowest", property(lambda self: 300))
    c = cp.cluster(EASY, "diagonal", seed=1, effort=0.1)
    assert c.grade == "unbiased"
    assert c.work["steps"] >= call.LENGTHS * 300
    assert c.draws.run.made_by["settings"]["burn_in"] == pairs.SAFETY * 300
    monkeypatch.setattr(pairs.Pairs, "slowest", property(lambda self: 10**6))
    assert cp.cluster(EASY, "diagonal", seed=1, effort=LITTLE).grade == "approximate"


def test_numbers_of_clusters_that_differ_are_a_disagreement():
    """Thirty clusters and forty: no two points are together often, so that co-clustering says little."""
    rng = np.random.default_rng(1)
    numbers = np.array([[31.0], [38.0], [33.0], [41.0]]) + rng.normal(0.0, 0.5, (4, 4))
    assert numbers_differ(numbers)
    assert not numbers_differ(33.0 + rng.normal(0.0, 0.5, (4, 4)))
    assert not numbers_differ(numbers + 1000.0)  # too little to matter
    assert not numbers_differ(33.0 + rng.normal(0.0, 5.0, (4, 4)))  # by chance


def test_no_chain_of_many_columns_with_full_covariances_begins_with_single_rows():
    """It hardly ever arrives, and every step of it is dear."""
    pandas = pytest.importorskip("pandas")
    data, full = np.random.default_rng(1).normal(size=(40, 9)), cp.NormalInverseWishart()
    mixed = cp.Columns([(list(range(7)), full), ([7, 8], cp.NormalInverseGamma())])
    some = [(data[:, :7], full), (data, full), (data, cp.NormalInverseGamma()), (data, mixed)]
    targets = [cp.Mixture(table, component) for table, component in some]
    starts = [chains.OrdinaryChains(one, bind(one, read_step(one)), Where(None, False, 1)).starts for one in targets]
    assert ["singletons" in names for names in starts] == [True, False, True, True]
    named = cp.Mixture(pandas.DataFrame({"a": data[:, 0], "b": data[:, 1]}), cp.NormalInverseGamma())
    assert work.Cost(named).of_step(2.0) > 0.0
    assert starts[1] == ["one_cluster", *["sequential"] * 3]


def test_the_rule_of_the_grade():
    assert grade_of(4, 100, "", 32, "").name == "unbiased"
    assert grade_of(4, 100, "", 0, "pairs did not meet").name == "approximate"
    assert grade_of(4, 100, "they differ.", 0, "").name == "unsettled"
    assert grade_of(4, 100, "they differ.", 32, "").name == "unsettled"


@pytest.mark.parametrize(("distance", "grade"), [(2_000, "unsettled"), (40, "approximate")])
def test_pairs_that_stay_far_apart_unsettle(monkeypatch, distance, grade):
    """Chains that agree are no proof where pairs stay in different modes; near ones are just slow."""
    run = pairs.meeting_times

    def with_three_unmet(*arguments, **more):
        m = run(*arguments, **more)
        m.met[:3] = False
        m.traces[:3] = [np.full(100, distance)] * 3
        return m

    monkeypatch.setattr(pairs, "meeting_times", with_three_unmet)
    c = cp.cluster(EASY, component="diagonal", seed=1, effort=LITTLE)
    assert c.grade == grade
    assert ("3 of 12 pairs of coupled chains stay far apart" in c.reason) == (grade == "unsettled")


def test_one_pair_that_does_not_meet_takes_the_certificate_away(monkeypatch):
    run = pairs.run_until

    def with_one_apart(*arguments, **more):
        e = run(*arguments, **more)
        e.met[3] = False
        return e

    monkeypatch.setattr(pairs, "run_until", with_one_apart)
    c = cp.cluster(EASY, component="diagonal", seed=1, effort=LITTLE)
    assert c.grade == "approximate"
    assert "1 of 32 replicates did not meet" in c.reason
    assert c.draws.run.made_by["ordinary"]


def test_pairs_that_say_otherwise_unsettle(monkeypatch):
    """Where pairs have other partitions than chains, the answer is not called unbiased."""
    from copartition.clustering import reading

    monkeypatch.setattr(
        reading, "_together_in", lambda d, places: np.full((4, len(places) * (len(places) - 1) // 2), 0.5)
    )
    c = cp.cluster(EASY, component="diagonal", seed=1, effort=LITTLE)
    assert c.grade == "unsettled"
    assert "Pairs of coupled chains say otherwise" in c.reason


def test_a_chain_that_has_not_arrived_is_left_out():
    """All rows by themselves have a far lower density than two heaps; two chains of four are never left out."""
    target = cp.Mixture(EASY, cp.NormalInverseGamma())
    heaps, alone = np.repeat([0, 1], 25), np.arange(50)
    for lost, arrived in ((1, [True, False, True, True]), (2, [True] * 4)):
        late = chains.OrdinaryChains(target, bind(target, read_step(target)), Where(1, False, 1))
        labels = [heaps] + [alone] * lost + [heaps] * (3 - lost)
        late.seen = chains.Followed([np.array([one] * 40) for one in labels], [np.zeros((40, 0))] * 4)
        assert late.gap > 0.0
        late.tell_apart()
        assert late.arrived.tolist() == arrived
        assert (late.gap == 0.0) == (lost == 1)


def test_chains_that_agree_are_all_kept(monkeypatch):
    target = cp.Mixture(EASY, cp.NormalInverseGamma())
    same = chains.OrdinaryChains(target, bind(target, read_step(target)), Where(1, False, 1))
    same.seen = chains.Followed([np.array([np.repeat([0, 1], 25)] * 40)] * 4, [np.zeros((40, 0))] * 4)
    monkeypatch.setattr(chains, "_log_density", None)  # is not even asked
    same.tell_apart()
    assert same.arrived.all()


# --- work ------------------------------------------------------------------------------------------------------------


def test_work_stays_within_the_budget():
    spent = []
    budget = work.Budget(2e8, tell=lambda now, total, what: spent.append(now))
    asked = call._read(EASY, "auto", None, None, budget, Where(1, False, 1))
    call._cluster(asked, "vi", 0.01, budget, Where(1, False, 1))
    assert spent == sorted(spent)
    assert budget.spent <= 1.3 * budget.total  # the last piece may go beyond


def test_what_is_shown_of_the_work_never_goes_back_and_reaches_the_end(monkeypatch):
    shown = []

    class Bar:
        def show(self, done, total, note):
            shown.append((done, total, note))

    @contextmanager
    def bar_for(what, is_share):
        assert is_share
        yield Bar()

    monkeypatch.setattr(call, "bar_for", bar_for)
    cp.cluster(EASY, "diagonal", seed=1, effort=LITTLE, progress=True)
    parts = [done for done, _, _ in shown]
    assert parts == sorted(parts)
    assert parts[-2] < 1000
    assert shown[-1] == (1000, 1000, "done")
    with call._meter(True) as tell:
        for spent in (10.0, 30.0, 20.0, 150.0):
            tell(spent, 100.0, "chains")
    assert [done for done, _, _ in shown[-5:]] == [100, 300, 300, 999, 1000]


def test_more_effort_is_more_precise(easy):
    more = cp.cluster(EASY, component="diagonal", seed=1, effort=0.5)
    less = cp.cluster(EASY, component="diagonal", seed=1, effort=0.02)
    assert len(more.draws.run.values) >= len(less.draws.run.values)


def test_an_interrupted_run_gives_the_answer_so_far(monkeypatch):
    def stop(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(call, "Pairs", stop)
    c = cp.cluster(EASY, component="diagonal", seed=1, effort=LITTLE)
    assert c.work["interrupted"]
    assert c.grade == "approximate"
    assert "the run was interrupted" in c.reason


@pytest.fixture
def hears_ctrl_c():
    """Where tests run in the background (``nohup make test &``) a shell has had Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.posix
def test_ctrl_c_while_chains_run(monkeypatch, hears_ctrl_c):
    """A real signal, soon after the first stretch of chains, of work that would take ten seconds more."""
    spend, timers = work.Budget.spend, []

    def and_interrupt(budget, done, what):
        spend(budget, done, what)
        if what == "chains" and not timers and budget.spent > 2e8:
            timers.append(threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGINT)))
            timers[0].start()

    monkeypatch.setattr(work.Budget, "spend", and_interrupt)
    wide = np.random.default_rng(4).normal(size=(2_000, 8))
    c = cp.cluster(wide, component="full", seed=1, effort=50.0, executor=1)
    assert c.work["interrupted"]
    assert len(c.labels) == 2_000


def test_chains_go_on_exactly_where_they_stopped():
    """Cut into pieces or not, a chain with unknown hyperparameters has the same sequence of states."""
    target = cp.Mixture(EASY[::5], component_for(recognise(EASY[::5]).columns, "full"))
    step = bind(target, read_step(target))
    state = chains.State(np.zeros(10, dtype=np.int64), target.model.hyperparameters.copy())
    whole = chains.Stretch(target, step, (state,), 6, 6, 1, 0)
    random = chains.stream(1, chains.PART, 0, 0)
    batch, _ = whole.run([0], chains.Pause())
    labels, values = batch.results[0]
    own, found = target.of_chain(), []
    chain = chains.resumed(own, state)
    for k in range(6):
        if k:
            own = target.of_chain()
            chain = chains.resumed(own, chains.State(found[-1][0], found[-1][1]))
        chain = chains.advance_by(own, step.stepper(own), chain, random, 1, chains.Chunks(10), chains.Pause())
        found.append((chains.renumbered(chain.labels, own).astype(np.int64), own.model.hyperparameters.copy()))
    assert np.array_equal(labels, [one for one, _ in found])
    assert np.array_equal(values, [one for _, one in found])


# --- the model -------------------------------------------------------------------------------------------------------


def test_held_out_rows_choose_the_component_that_made_them():
    random = np.random.default_rng(3)
    lines = random.multivariate_normal([0, 0], [[4.0, 3.8], [3.8, 4.0]], 150)
    name, scores = model.choose_component(recognise(lines).columns, None, work.Budget(2e9), Where(None, False, 1))
    assert name in ("full", "tied")
    assert scores[-1].component == "diagonal"
    assert scores[-1].score < scores[0].score - 2 * scores[-1].stderr
    assert scores[0].stderr == 0.0


def test_a_close_choice_of_the_model_is_told_with_the_grade():
    random = np.random.default_rng(5)
    c = cp.cluster(random.normal(size=(60, 2)) * [1.0, 3.0], seed=1, effort=LITTLE)
    assert any(finding.title == "Models tie" for finding in c.findings)
    assert c.reason.endswith("is a close choice: see MODELS TIE.")
    assert c.reason in " ".join(str(c).split())


def test_held_out_rows_are_rows_of_the_table():
    columns = recognise([[float(i), "ab"[i % 2], 0.5 * i * i] for i in range(40)]).columns
    parts, rows = model._parts_of(columns, np.random.default_rng(1))
    assert len(parts) == model.FOLDS
    assert sorted(np.concatenate(parts).tolist()) == list(range(2, 40))  # the first "a" and "b" stay
    assert len(rows) == 40


def test_numbers_with_missing_cells_are_taken_apart():
    table = [[1.5, 2.0, "a"], [2.5, None, "b"], [0.5, 1.0, "a"], [0.1, 3.5, "b"], [0.7, 1.2, "a"]]
    component = component_for(recognise(table).columns, "full")
    kinds = {type(one).__name__: columns for columns, one in component.parts}
    assert kinds == {"NormalInverseWishart": [0], "NormalInverseGamma": [1], "Categorical": [2]}


# --- undecided rows --------------------------------------------------------------------------------------------------


def with_labels(rows):
    target = cp.Mixture(
        np.arange(len(rows[0]))[:, None] * 1.0, cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0)
    )
    chain = chains.OrdinaryChains(target, bind(target, read_step(target)), Where(1, False, 1))
    chain.seen = chains.Followed([np.array(rows)] * chains.CHAINS, [np.zeros((len(rows), 0))] * chains.CHAINS)
    chain.steps = 2 * len(rows)
    from copartition.clustering.reading import draws_of_chains

    return draws_of_chains(target, chain, 1)


def test_undecided_rows_are_no_clusters_of_one():
    rows = [[0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 2]]
    found = settled(np.array([0, 0, 0, 1, 1, 1, 2]), with_labels(rows), lambda labels: 1.0)
    assert found.tolist() == [0, 0, 0, 1, 1, 1, 1]
    dearer = settled(np.array([0, 0, 0, 1, 1, 1, 2]), with_labels(rows), lambda labels: 4.0 - labels.max())
    assert dearer.tolist() == [0, 0, 0, 1, 1, 1, 2]  # where the loss of the whole clustering would rise


def test_a_cluster_that_is_undecided_as_a_whole_stays():
    """Half of the time the second cluster is a part of the first; its rows are flagged, and it does not go."""
    rows = [[0, 0, 0, 0, 1, 1, 1]] * 9 + [[0, 0, 0, 0, 0, 0, 0]] * 11
    split = [[0, 0, 0, 0, 1, 2, 3]] * 4
    assert settled(np.array([0, 0, 0, 0, 1, 1, 1]), with_labels(rows + split), lambda labels: 1.0).tolist() == [
        0,
        0,
        0,
        0,
        1,
        1,
        1,
    ]


def test_a_row_that_is_alone_stays_alone():
    rows = [[0, 0, 0, 1, 1, 1, 2]] * 4
    assert settled(np.array([0, 0, 0, 1, 1, 1, 2]), with_labels(rows), lambda labels: 1.0).tolist() == [
        0,
        0,
        0,
        1,
        1,
        1,
        2,
    ]


def test_own_share_against_the_definition():
    rows = np.random.default_rng(1).integers(0, 3, (12, 9))
    labels = np.array([0, 0, 1, 1, 1, 2, 2, 0, 3])
    found = own_share(labels, rows)
    for n in range(9):
        others = [m for m in range(9) if m != n and labels[m] == labels[n]]
        expected = np.mean([[row[m] == row[n] for m in others] for row in rows]) if others else 1.0
        assert found[n] == pytest.approx(expected)


# --- what is refused, and what is taken -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"component": "round"}, "component must be 'auto', 'full', 'tied', 'diagonal' or a Component, got 'round'"),
        ({"effort": 0}, "effort must be"),
        ({"effort": 1e9}, "effort must be 0.001 to 1e\\+06"),
        ({"loss": "rand"}, "loss must be 'vi' or 'binder'"),
        ({"seed": -1}, "seed must be"),
        ({"progress": 2}, "progress must be"),
        ({"executor": "cloud"}, "executor must be"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        cp.cluster(EASY, **arguments)


def test_a_target_has_its_own_model():
    with pytest.raises(ValueError, match="prior must be left out for a target"):
        cp.cluster(small.scalar()[0], prior=cp.DirichletProcess(2.0))


def test_networks_and_colourings_have_no_columns():
    networkx = pytest.importorskip("networkx")
    c = cp.cluster(networkx.barbell_graph(5, 0), seed=1, effort=LITTLE)
    assert sorted(c.sizes.tolist()) == [5, 5]
    with pytest.raises(TypeError, match="profile is about the columns of a table"):
        c.profile()
    assert cp.cluster(small.coloring()[0], seed=1, effort=LITTLE).grade in ("unbiased", "approximate")


def test_rows_of_another_table_are_refused(easy):
    with pytest.raises(ValueError, match="column"):
        easy.predict([[1.0, 2.0, 3.0]])


def test_known_clusters_are_those_of_the_answer():
    """Two rows of one heap that are known to be apart are apart, in the answer and its alternatives."""
    rows = np.random.default_rng(5).normal(np.repeat([[-3.0], [3.0]], 12, axis=0), 1.0, (24, 2))
    known = np.full(24, -1)
    known[0], known[1] = 0, 1
    for loss in ("vi", "binder"):
        c = cp.cluster(rows, "diagonal", known=known, loss=loss, seed=7, effort=LITTLE)
        assert c.labels[0] != c.labels[1]
        assert all(one.labels[0] != one.labels[1] for one in c.alternatives(3))


@pytest.fixture(scope="module")
def mixed():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(EASY, [f"r{i}" for i in range(50)], ["x", "y"])
    table["group"] = pandas.Series(["a", None, "b", "a", "b"] * 10, table.index, dtype=object)
    return cp.cluster(table.assign(n=[0, 1, 3, 2, 4] * 10), "diagonal", seed=1, effort=LITTLE), table.assign(n=1)


@pytest.mark.parametrize("what", ["predict", "predict_proba", "score_samples"])
def test_columns_of_new_rows_go_by_name_in_any_order(mixed, what):
    c, table = mixed
    ask = getattr(c, what)
    expected = ask(table)
    assert np.array_equal(ask(table.assign(more=1.5)[["n", "more", "group", "y", "x"]]), expected)
    assert np.array_equal(ask(table.to_numpy()), expected)
    for rows, message in (
        (table.drop(columns="y"), "rows must have one column 'y'; it has x, group, n"),
        (table.to_numpy()[:, :3], r"rows must have the 4 column\(s\) of the data, got shape \(50, 3\)"),
        (table.iloc[0], r"rows must be a table with the 4 columns of the data, .* got shape \(4,\); \[rows\] makes"),
        (table.assign(group="c"), "rows must have the categories 'a', 'b' in column 'group', got 'c' in row 'r0'"),
        (table.assign(n=-1), "rows must be counts 0, 1, ... in column 'n' for Poisson, got -1 in row 'r0'"),
        (table.assign(x=np.inf), "rows, row 'r0', column 'x': expected a finite number"),
        (
            table.assign(x=np.nan, y=np.nan, group=None, n=None)[1:],
            "an observed cell in every row, got none in row 'r1'",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            ask(rows)


def test_new_rows_of_a_component_of_ones_own_go_by_name():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(EASY, columns=["x", "y"])
    c = cp.cluster(table, cp.NormalInverseGamma(), seed=1, effort=LITTLE)
    assert np.array_equal(c.predict(table[["y", "x"]]), c.predict(table))
    with pytest.raises(ValueError, match="rows must have one column 'y'; it has x"):
        c.predict(table[["x"]])


def test_cells_that_are_none_are_missing(mixed):
    c, _ = mixed
    assert c.kinds[2] == "group: 2 categories, 10 missing"
    filled = c.impute()
    assert filled.index.tolist() == [(f"r{i}", "group") for i in range(1, 50, 5)]
    assert set(filled["value"]) <= {"a", "b"}


@pytest.mark.parametrize(
    ("index", "row"),
    [(None, "row 3"), (list("abcdefgh"), "row 'd'"), (range(10, 18), "row 13"), ([0] * 8, "row number 3")],
)
@pytest.mark.parametrize("component", ["auto", cp.NormalInverseGamma()])
def test_rows_are_called_in_errors_what_the_index_calls_them(index, row, component):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(EASY[:8].copy(), index)
    table.iloc[3] = np.nan
    with pytest.raises(ValueError, match=f"got none in {row}; leave such rows out"):
        cp.cluster(table, component)


def test_rows_too_far_away_for_numbers_belong_nowhere(easy):
    assert easy.predict_proba([[1e200, 0.0], [-1e300, 1e300]]).tolist() == [[0.0, 0.0, 1.0]] * 2
    assert np.all(easy.score_samples([[1e200, 0.0]]) < -1e3)


def test_columns_go_by_their_names():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(np.column_stack([EASY, EASY[:, 0] ** 2 + np.arange(50.0)]))
    c = cp.cluster(table, "diagonal", seed=1, effort=LITTLE)
    with pytest.raises(ValueError, match="rows must have one column '0'; it has 1, 2"):
        c.predict(table[[1, 2]])
    assert np.array_equal(c.predict(table[[2, 1, 0]]), c.predict(table))
    assert np.array_equal(c.predict(table.to_numpy()), c.predict(table))
    with pytest.raises(ValueError, match="different names, got 'x' twice"):
        cp.cluster(pandas.DataFrame(EASY, columns=["x", "x"]))


@pytest.mark.parametrize(
    ("data", "arguments", "message"),
    [
        (EASY[:1], {}, "data must have at least two rows, a row a point, got 1"),
        ("t.csv", {}, "data must be a data frame or an array, a row a point, got 't.csv'; if that is a file, read it"),
        (
            np.column_stack([EASY, EASY.sum(axis=1)]),
            {"component": "full"},
            "component must be 'diagonal' for these data",
        ),
        (
            EASY[:3] @ np.ones((2, 5)) + np.eye(3, 5),
            {"component": "tied"},
            "covariance of 5 columns and 3 rows is sing",
        ),
        (EASY * 1e300, {}, "column '0' has values from .*e\\+300 to .*, whose variance is too large to be held"),
        (EASY, {"known": [-1] * 49}, "known must have an entry for each of the 50 points, got 49 entries"),
        (EASY, {"known": [0.5] * 50}, "known must hold whole numbers or words, .* got 0.5"),
    ],
)
def test_tables_that_cannot_be_clustered(data, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        cp.cluster(data, **arguments)


def test_known_clusters_of_other_rows_are_refused():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(EASY, columns=["x", "y"])
    with pytest.raises(ValueError, match="known must have the index of data, in the same order, got another"):
        cp.cluster(table, known=pandas.Series(-1, index=range(1, 51)))


def test_columns_of_which_one_is_a_sum_of_others_are_taken_for_independent():
    c = cp.cluster(np.column_stack([EASY, EASY.sum(axis=1)]), seed=1, effort=LITTLE)
    assert "of rank 2, so that columns are taken for independent" in c.notes[0]


def test_columns_of_the_data_keep_their_names():
    pandas = pytest.importorskip("pandas")
    names = ["cluster", "copartition_cluster"]
    table = pandas.DataFrame(EASY, columns=names)
    expected = [*names, "copartition_cluster_2", "certainty", "undecided", "probability_0", "probability_1"]
    for data in (table, recognise(table)):
        c = cp.cluster(data, "diagonal", seed=1, effort=LITTLE)
        frame = c.to_frame()
        assert frame.columns.tolist() == expected
        assert np.array_equal(frame[names].to_numpy(), EASY)
        assert c.notes == [
            "columns beside the data are called copartition_cluster_2 for cluster, because these names are taken"
        ]


def test_a_handful_of_rows_has_an_answer():
    c = cp.cluster([[0.1, 2.5, 0.3], [5.1, 2.7, 0.4], [5.3, 2.2, 0.9]], seed=1, effort=LITTLE)
    assert len(c.labels) == 3
    assert c.scores == []


def test_known_labels_stay():
    known = np.full(50, -1)
    known[[0, 1]], known[[30]] = 0, 1
    c = cp.cluster(EASY, component="diagonal", known=known, seed=1, effort=LITTLE)
    assert c.labels[0] == c.labels[1] != c.labels[30]


@pytest.mark.parametrize("seed", [0, 1])
def test_labels_of_a_wide_posterior_are_no_worse_than_one_cluster(seed):
    """Chains with seed 0 find three clusters whose expected distance is larger than that of pairs' own best one."""
    networkx = pytest.importorskip("networkx")
    c = cp.cluster(networkx.karate_club_graph(), seed=seed, effort=0.3)
    weights = c.draws.weights

    def loss_of(labels):
        each = [cp.partition.variation_of_information(labels, one) for one in c.draws.labels]
        return float(np.average(each, weights=weights))

    assert loss_of(c.labels) < 0.98 * loss_of(np.zeros(34, dtype=int))
