"""Efficiency against ordinary chains, robust summaries, and warnings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

import copartition as cp
import small
from copartition.answers import Sample
from copartition.diagnostics.findings import BAD, GOOD, NOTE, verdict_of
from made_up import changed, estimate_from, interrupted, late_pairs, made_up, truncated


def test_inefficiency_is_cost_times_variance_against_the_chain():
    rng = np.random.default_rng(1)
    draws = rng.normal(0, 2.0, (4, 40_000, 1))  # asymptotic variance 4
    s = Sample(draws, np.full(4, 2.0), "h", 40_000, 0, 0)
    e = estimate_from(rng.normal(0, 0.3, (5000, 1)), sweeps=rng.integers(50, 150, 5000))
    found = e.inefficiency(s)
    assert found.sweeps[0] == pytest.approx(100 * 0.09 / 4, rel=0.1)
    assert found.seconds[0] == pytest.approx(0.5 * 0.09 / (4 * 2.0 / 40_000), rel=0.1)
    assert 0 < found.stderr[0] < 0.15 * found.sweeps[0]
    assert "in sweeps" in str(found)


def test_stderr_of_the_inefficiency_is_its_spread_over_runs():
    rng = np.random.default_rng(2)
    found = []
    for _ in range(200):
        s = Sample(rng.normal(0, 2.0, (4, 2_500, 1)), np.ones(4), "h", 2_500, 0, 0)
        e = estimate_from(rng.normal(0, 0.3, (300, 1)), sweeps=rng.integers(50, 150, 300))
        one = e.inefficiency(s)
        found.append((one.sweeps[0], one.stderr[0]))
    spread, told = np.std([a for a, _ in found]), np.mean([b for _, b in found])
    assert told == pytest.approx(spread, rel=0.35)


def test_a_component_that_never_changes_has_no_inefficiency():
    e = estimate_from(np.ones((10, 1)))
    s = Sample(np.full((2, 100, 1), 0.1), np.ones(2), "h", 100, 0, 0)
    assert np.isnan(e.inefficiency(s).sweeps[0])


def test_parts_of_an_estimate_by_the_names_of_functionals():
    target, _ = small.scalar()
    wanted = [cp.n_clusters(), cp.largest_clusters(2), cp.co_clustering([0, 1, 2])]
    e = cp.estimate(target, wanted, replicates=5, burn_in=1, min_sweeps=3, lag=1)
    assert np.array_equal(e.select("largest_clusters").values, e.values[:, 1:3])
    assert np.array_equal(e.select("largest_clusters(2)").values, e.values[:, 1:3])
    assert e.select("co_clustering").components == ["together[0, 1]", "together[0, 2]", "together[1, 2]"]
    assert [part.values.shape[1] for part in e.parts()] == [1, 2, 3]
    with pytest.raises(ValueError, match="no functional 'density' in this estimate; it has n_clusters, largest"):
        e.select("density")
    s = cp.sample(target, cp.largest_clusters(2), sweeps=50, burn_in=0)
    assert len(e.inefficiency(s).sweeps) == 2


def test_the_trimmed_mean_is_that_of_its_definition_and_says_what_it_is():
    rng = np.random.default_rng(1)
    e = estimate_from(rng.standard_t(2, (1003, 2)))
    trimmed = e.trimmed_mean(0.05)
    np.testing.assert_allclose(trimmed.value, trim_mean(e.values, 0.05, axis=0))
    assert np.all((trimmed.low < trimmed.value) & (trimmed.value < trimmed.high))
    assert "NOT UNBIASED" in str(trimmed)
    assert np.all(trimmed.high - trimmed.low < 1.0)


def test_wild_replicates_do_not_move_the_trimmed_mean():
    values = np.random.default_rng(1).normal(0, 1, (1000, 1))
    values[3] = 1e6
    e = estimate_from(values)
    assert abs(e.mean[0]) > 900
    assert abs(e.trimmed_mean().value[0]) < 0.2


def test_bootstrap_intervals_of_the_trimmed_mean_cover_its_true_value():
    """Symmetric values: the trimmed mean estimates 0. 150 runs; 95 % +- 1.8 %."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(150):
        summary = estimate_from(rng.standard_t(3, (150, 1))).trimmed_mean(0.1)
        covered += summary.low[0] <= 0 <= summary.high[0]
    assert covered >= 0.89 * 150


def test_heavy_tails_are_told_with_what_to_do():
    rng = np.random.default_rng(1)
    values = rng.normal(0, 1, (1000, 1))
    assert estimate_from(values).warnings == []
    assert estimate_from(values).heaviest_share[0] == pytest.approx(0.084, abs=0.03)
    values[:5] *= 100
    late = np.full(1000, 3)
    late[:5] = 25
    (warning,) = estimate_from(values, coupled=late).warnings
    assert warning.startswith("HEAVY TAIL: 1 % of the replicates have 9")
    assert "larger burn_in and lag" in warning
    (warning,) = estimate_from(values).warnings
    assert "rare event" in warning
    assert estimate_from(values).summary().startswith("HEAVY TAIL: ")
    # So late that corrections count twenty times over: then chains are far from their target after the burn-in, too.
    late[:5] = 500
    short, heavy = estimate_from(values, coupled=late).warnings
    assert short.startswith("SHORT BURN-IN: ")
    assert heavy.startswith("HEAVY TAIL: ")


def test_a_rare_component_among_others_is_no_heavy_tail():
    rng = np.random.default_rng(1)
    values = np.hstack([rng.normal(0, 1, (1000, 1)), (rng.random((1000, 1)) < 0.002) * 1e-3])
    assert estimate_from(values).warnings == []
    functionals = [{"name": "often", "size": 1}, {"name": "rare", "size": 1}]
    (warning,) = estimate_from(values, functionals=functionals).warnings
    assert "variance of rare" in warning


# --- warnings and verdict: one list ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", made_up())
def test_each_kind_of_trouble_has_its_warning(name):
    e, titles = made_up()[name]
    assert [warning.partition(": ")[0] for warning in e.warnings] == titles
    assert e.summary().splitlines()[: len(titles)] == e.warnings
    assert e.is_biased == any("BIASED" in title for title in titles)


def test_two_reasons_to_be_biased_are_both_told():
    e = interrupted(truncated(made_up()["good"][0]))
    assert [warning.partition(": ")[0] for warning in e.warnings] == [
        "TRUNCATED AT 200 SWEEPS, BIASED",
        "INTERRUPTED, BIASED",
    ]


def test_an_estimate_without_replicates_says_so():
    e = made_up()["good"][0]
    nothing = changed(
        e, **{name: getattr(e, name)[:0] for name in ("values", "met", "meeting_times", "sweeps", "seconds")}
    )
    assert nothing.warnings == ["NO REPLICATES: There is no replicate yet. Run more replicates."]


def assert_one_voice(e):
    """Check that what the verdict holds against an estimate is what the estimate warns of, and nothing else."""
    verdict = verdict_of(e)
    against = [finding for finding in verdict.findings if finding.level not in (GOOD, NOTE)]
    assert [str(finding) for finding in against] == e.warnings
    assert (verdict.level == BAD) == e.is_biased == any(", BIASED: " in warning for warning in e.warnings)
    assert ("under control" in verdict.headline) == (e.warnings == [])
    assert ("biased: do not rely" in verdict.headline) == e.is_biased
    assert verdict.advice == list(dict.fromkeys(finding.advice for finding in against))


@pytest.mark.parametrize("name", made_up())
def test_verdict_and_warnings_are_one_list(name):
    assert_one_voice(made_up()[name][0])


@given(
    count=st.sampled_from([1, 2, 29, 30, 31, 150]),
    censored=st.booleans(),
    unfinished=st.booleans(),
    share=st.floats(0.0, 1.0),
    sweeps=st.sampled_from([11, 30, 700]),
    lag=st.sampled_from([1, 10, 100]),
    heavy=st.booleans(),
    wasteful=st.booleans(),
    kind=st.sampled_from([{}, {"precision": {"reached": False}}, {"precision": {"reached": True}}, {"ordinary": True}]),
    deadline=st.booleans(),
)
def test_verdict_and_warnings_agree_on_everything(
    count, censored, unfinished, share, sweeps, lag, heavy, wasteful, kind, deadline
):
    values = np.random.default_rng(count).normal(size=(count, 2))
    values[0] += 1e3 if heavy else 0.0
    cost = np.full(count, 5000 if wasteful else 105)
    e = estimate_from(values, sweeps=cost, coupled=late_pairs(count, share, sweeps), lag=lag)
    e = changed(e, made_by=e.made_by | kind, completed=np.ones(count, dtype=int) if deadline else None)
    e = truncated(e, 1) if censored else e
    assert_one_voice(interrupted(e) if unfinished else e)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.trimmed_mean(0.5), "proportion must lie between 0 and 0.5, got 0.5"),
        (lambda e: e.trimmed_mean(level=2), "level must lie between 0 and 1, got 2"),
        (lambda e: e.inefficiency(Sample(np.ones((1, 9, 3)), np.ones(1), "h", 9, 0, 0)), "must have 1 components"),
        (lambda e: e.inefficiency(Sample(np.ones((1, 9, 1)), np.ones(1), "g", 9, 0, 0)), "no functional 'g'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(estimate_from(np.arange(10.0)[:, None]))


def test_one_replicate_has_no_inefficiency():
    with pytest.raises(ValueError, match="at least two replicates"):
        estimate_from([[1.0]]).inefficiency(Sample(np.ones((1, 9, 1)), np.ones(1), "h", 9, 0, 0))


# --- no answer yet, few replicates, interrupted runs -----------------------------------------------------------------


def probabilities(means, sd, count=200):
    """An estimate of the probabilities of numbers of clusters."""
    values = np.random.default_rng(1).normal(means, sd, (count, len(means)))
    return estimate_from(
        values, functionals=[{"name": "P", "size": len(means), "components": PROBABLE, "range": [0, 1]}]
    )


PROBABLE = ["P(1 cluster)", "P(2 clusters)", "P(more than 2 clusters)"]


@pytest.mark.parametrize(
    ("means", "sd", "is_open"),
    [
        ([0.1, 0.5, 0.4], 0.1, False),
        ([0.001, 0.998, 0.001], 0.01, False),  # intervals leave 0 to 1, by a little
        ([0.1, 0.5, 0.4], 2.0, True),  # wider than a half
        ([-0.3, 1.1, 0.2], 0.1, True),  # impossible
        ([0.0, 1.04, -0.04], 0.2, True),
    ],
)
def test_impossible_or_wide_probabilities_are_no_answer(means, sd, is_open):
    e = probabilities(means, sd)
    verdict = verdict_of(e)
    assert (verdict.level == "open") == is_open
    assert verdict.headline.startswith("There is no answer yet") == is_open
    assert bool(verdict.answers) == (not is_open)
    assert str(e).startswith("NO ANSWER YET: ") == is_open
    np.testing.assert_array_equal(e.mean, e.values.mean(axis=0))  # as they are, in data and exports


def test_of_many_probabilities_a_few_may_be_unknown():
    values = np.random.default_rng(1).normal(0.5, 0.1, (200, 400))
    about = [{"name": "co_clustering", "size": 400, "pairs": np.ones((400, 2), dtype=int), "range": [0, 1]}]
    values[:, :3] += np.linspace(-5, 5, 200)[:, None]
    assert verdict_of(estimate_from(values, functionals=about)).level != "open"
    values[:, :10] += np.linspace(-5, 5, 200)[:, None]
    assert verdict_of(estimate_from(values, functionals=about)).level == "open"


def test_few_replicates_have_a_standard_error_and_no_interval():
    values = np.random.default_rng(1).normal(size=(100, 1))
    few, enough = estimate_from(values[:99]), estimate_from(values)
    assert np.isnan(few.interval()).all()
    assert np.isfinite(few.stderr).all()
    assert "there is no interval" in str(few)
    assert np.isfinite(enough.interval()).all()


def test_digits_follow_the_standard_error():
    values = np.array([1.23456789, 1.24456789] * 100)[:, None]
    e = estimate_from(values)
    assert f"{'1.23957':>12}  {0.00035:9.2g}" in str(e)
    constant = estimate_from(np.full((100, 1), 0.1) + 1e-17 * np.arange(100)[:, None])
    assert " 0 *  -" in str(constant)
    assert "the same in all 100 replicates: fewer than 3 % of replicates differ" in str(constant)


def test_an_interrupted_run_says_how_many_were_asked_for():
    e = made_up()["good"][0]
    stopped = changed(e, made_by=e.made_by | {"wanted": 1000})
    assert (stopped.wanted, stopped.unfinished) == (1000, 500)
    assert stopped.is_biased
    assert "INTERRUPTED, BIASED: 1,000 replicates were asked for and 500 ended" in str(stopped)
    assert verdict_of(stopped).level == "bad"
    assert all("and biased" in answer for answer in verdict_of(stopped).answers)
    assert "of those begun" not in str(stopped)  # of how many were under way nothing is known
    two_workers = changed(e, made_by=e.made_by | {"wanted": 1000, "under_way": 2})
    assert "at most 2 or 0.4 % of those begun" in str(two_workers)
