"""Efficiency against ordinary chains, robust summaries, and warnings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import trim_mean

import copartition as cp
import small
from copartition.results import Estimate, Sample


def estimate_from(values, sweeps=None, coupled=None, functionals=None, **settings):
    """An estimate with made-up replicates."""
    values = np.asarray(values, dtype=float)
    count, size = values.shape
    settings = {"burn_in": 10, "min_sweeps": 100, "lag": 10, "max_sweeps": 1 << 60} | settings
    functionals = functionals or [{"name": "h", "size": size}]
    return Estimate(
        values=values,
        meeting_times=settings["lag"] + (np.full(count, 3) if coupled is None else np.asarray(coupled)),
        met=np.ones(count, dtype=bool),
        sweeps=np.full(count, 100) if sweeps is None else np.asarray(sweeps),
        seconds=np.full(count, 0.5),
        components=[f"{about['name']}[{i}]" for about in functionals for i in range(about["size"])],
        made_by={"settings": settings, "functionals": functionals, "coupling": "Transport()"},
    )


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


def test_robust_summaries_are_those_of_their_definitions_and_say_what_they_are():
    rng = np.random.default_rng(1)
    e = estimate_from(rng.standard_t(2, (1003, 2)))
    trimmed, medians = e.trimmed_mean(0.05), e.median_of_means(17)
    np.testing.assert_allclose(trimmed.value, trim_mean(e.values, 0.05, axis=0))
    groups = [part.mean(axis=0) for part in np.array_split(e.values, 17)]
    np.testing.assert_allclose(medians.value, np.median(groups, axis=0))
    for summary in (trimmed, medians):
        assert np.all((summary.low < summary.value) & (summary.value < summary.high))
        assert "NOT UNBIASED" in str(summary)
        assert np.all(summary.high - summary.low < 1.0)


def test_wild_replicates_do_not_move_robust_summaries():
    values = np.random.default_rng(1).normal(0, 1, (1000, 1))
    values[3] = 1e6
    e = estimate_from(values)
    assert abs(e.mean[0]) > 900
    assert abs(e.trimmed_mean().value[0]) < 0.2
    assert abs(e.median_of_means(20).value[0]) < 0.2


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
    late[:5] = 500
    (warning,) = estimate_from(values, coupled=late).warnings
    assert "HEAVY TAIL" in warning
    assert "larger burn_in and lag" in warning
    (warning,) = estimate_from(values).warnings
    assert "rare event" in warning
    assert estimate_from(values).summary().startswith("HEAVY TAIL")


def test_a_rare_component_among_others_is_no_heavy_tail():
    rng = np.random.default_rng(1)
    values = np.hstack([rng.normal(0, 1, (1000, 1)), (rng.random((1000, 1)) < 0.002) * 1e-3])
    assert estimate_from(values).warnings == []
    functionals = [{"name": "often", "size": 1}, {"name": "rare", "size": 1}]
    (warning,) = estimate_from(values, functionals=functionals).warnings
    assert "variance of rare" in warning


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.trimmed_mean(0.5), "proportion must lie between 0 and 0.5, got 0.5"),
        (lambda e: e.trimmed_mean(level=2), "level must lie between 0 and 1, got 2"),
        (lambda e: e.median_of_means(0), "groups must be a whole number of at least 1"),
        (lambda e: e.median_of_means(11), "groups must be at most the number of replicates, 10, got 11"),
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
