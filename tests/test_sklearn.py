"""The clusterer for scikit-learn, checked by scikit-learn itself, and against what it is made of."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import copartition as cp
from copartition import front
from copartition.sklearn import MixtureClusterer

FEW = {"max_replicates": 20, "target_stderr": None, "random_state": 3}


@parametrize_with_checks([MixtureClusterer(max_replicates=20, target_stderr=None)])
def test_scikit_learn_finds_nothing_to_object_to(estimator, check):
    check(estimator)


def blobs():
    """Two clear clusters of 12 and 8 points, and a point between them."""
    rng = np.random.default_rng(5)
    return np.concatenate([rng.normal(-3, 0.7, (12, 2)), rng.normal(3, 0.7, (8, 2)), [[0.0, 0.0]]])


def test_attributes_are_those_of_the_consensus():
    clusterer = MixtureClusterer("diagonal", **FEW).fit(blobs())
    c = clusterer.consensus_
    assert clusterer.labels_.dtype == np.int64
    assert clusterer.labels_.tolist()[:20] == [0] * 12 + [1] * 8
    assert np.array_equal(clusterer.labels_, c.labels)
    assert clusterer.n_clusters_ == len(set(clusterer.labels_.tolist()))
    assert np.array_equal(clusterer.probabilities_, np.clip(c.belongs, 0, 1))
    assert np.array_equal(clusterer.probabilities_stderr_, c.belongs_stderr)
    assert clusterer.probabilities_[20] < clusterer.probabilities_[:20].min()
    assert clusterer.co_clustering_.shape == (21, 21)
    assert np.array_equal(clusterer.co_clustering_, clusterer.co_clustering_.T)
    assert np.array_equal(np.diag(clusterer.co_clustering_), np.ones(21))
    assert clusterer.n_clusters_mean_ == c.chosen_by.select("n_clusters").mean[0]
    assert np.isnan(clusterer.n_clusters_interval_).all()  # of 20 replicates there is none
    assert clusterer.converged_
    assert clusterer.n_iter_ >= clusterer.estimate_.meeting_times.max()
    assert isinstance(clusterer.component_, cp.NormalInverseGamma)
    assert clusterer.component_.scale is not None
    assert repr(clusterer.prior_) == repr(cp.DirichletProcess())


def test_numbers_are_those_of_an_estimate_with_other_seeds():
    """Two independent estimates differ by less than five of their standard errors, ten numbers: false alarm 6e-6."""
    data = blobs()
    clusterer = MixtureClusterer("diagonal", max_replicates=200, target_stderr=None, random_state=3).fit(data)
    functionals = [cp.n_clusters(), cp.memberships(clusterer.labels_, keep_values=True)]
    e = cp.estimate(cp.Mixture(data, cp.NormalInverseGamma()), functionals, replicates=200, seed=99)
    memberships = e.select("memberships")
    own = np.arange(21) * clusterer.n_clusters_ + clusterer.labels_
    some = own[:20:2]  # of points in clusters of several points the certainty is the membership itself
    difference = clusterer.consensus_.belongs[:20:2] - memberships.mean[some]
    assert np.all(np.abs(difference) < 5 * np.hypot(clusterer.probabilities_stderr_[:20:2], memberships.stderr[some]))
    number = e.select("n_clusters")
    error = np.hypot(clusterer.estimate_.stderr[0], number.stderr[0])
    assert abs(clusterer.n_clusters_mean_ - number.mean[0]) < 5 * error


def test_it_is_the_same_again_on_any_number_of_threads():
    one = MixtureClusterer("diagonal", n_jobs=1, **FEW).fit(blobs())
    two = MixtureClusterer("diagonal", n_jobs=2, **FEW).fit(blobs())
    assert np.array_equal(one.probabilities_, two.probabilities_)
    assert one.n_clusters_mean_ == two.n_clusters_mean_
    back = pickle.loads(pickle.dumps(one))
    assert np.array_equal(back.labels_, one.labels_)
    assert np.array_equal(back.score_samples([[0.0, 0.0]]), one.score_samples([[0.0, 0.0]]))


def test_it_works_in_a_pipeline_with_data_frames():
    frame = load_iris(as_frame=True).data.iloc[::5]
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), MixtureClusterer("diagonal", **FEW))
    labels = pipeline.fit_predict(frame)
    assert labels.shape == (30,)
    assert len(set(labels[:10].tolist()) & set(labels[10:].tolist())) == 0  # setosa is apart from the others
    assert pipeline[-1].feature_names_in_.tolist() == frame.columns.tolist()


def test_missing_cells_and_columns_of_other_kinds():
    data = blobs()
    data[0, 0] = np.nan
    assert MixtureClusterer("diagonal", **FEW).fit(data).labels_.tolist()[:20] == [0] * 12 + [1] * 8
    with pytest.raises(ValueError, match=r"X contains NaN in column 0, row 0, .*; give component='diagonal', where"):
        MixtureClusterer("full", **FEW).fit(data)
    frame = pd.DataFrame({"x": data[:, 1], "colour": ["red"] * 12 + ["blue"] * 9})
    component = cp.Columns([(["x"], cp.NormalInverseGamma()), (["colour"], cp.Categorical())])
    clusterer = MixtureClusterer(component, **FEW).fit(frame)
    assert clusterer.labels_.tolist()[:20] == [0] * 12 + [1] * 8
    assert clusterer.feature_names_in_.tolist() == ["x", "colour"]


def test_text_is_told_which_component_it_needs():
    frame = pd.DataFrame({"x": blobs()[:, 1], "colour": ["red"] * 12 + ["blue"] * 9})
    words = r"component=Columns\(\[\(\['x'\], NormalInverseGamma\(\)\), \(\['colour'\], Categorical\(\)\)\]\)"
    with pytest.raises(ValueError, match=f"X must hold numbers for component='full', got text .* such as {words}"):
        MixtureClusterer(**FEW).fit(frame)
    spoilt = pd.DataFrame({"x": [*blobs()[:20, 1].astype(str), "?"], "y": 1.5})
    with pytest.raises(ValueError, match="got '\\?' in column 'x', row 20, where 20 of 21 cells are numbers; mend it"):
        MixtureClusterer("diagonal", **FEW).fit(spoilt)


def test_components_by_name():
    data = blobs()
    assert isinstance(front.component_of("full", data), cp.NormalInverseWishart)
    assert front.component_of("tied", data).covariance == "full"
    known = front.component_of("known", data, noise_sd=0.7)
    assert np.isclose(known.mean_sd, np.sqrt(data.var(axis=0).mean()))
    np.testing.assert_allclose(known.mean, data.mean(axis=0))
    assert MixtureClusterer("known", noise_sd=0.7, **FEW).fit(data).labels_.tolist()[:20] == [0] * 12 + [1] * 8


def test_where_pairs_do_not_meet_it_says_so_and_ends():
    data = np.random.default_rng(2).normal(0, 1, (60, 2))
    clusterer = MixtureClusterer("known", noise_sd=0.2, max_sweeps=6, **FEW)
    with pytest.warns(ConvergenceWarning, match=r"of \d+ pairs of chains did not meet within 6 sweeps .*max_sweeps"):
        clusterer.fit(data)
    assert not clusterer.converged_
    assert clusterer.n_iter_ == 6
    assert clusterer.labels_.shape == (60,)
    assert np.all((clusterer.probabilities_ >= 0) & (clusterer.probabilities_ <= 1))


def test_a_precision_that_is_not_reached_is_said():
    clusterer = MixtureClusterer("diagonal", target_stderr=1e-4, max_replicates=10, random_state=1)
    with pytest.warns(ConvergenceWarning, match=r"standard errors .* at most 0.0001 was asked for: raise max_rep"):
        clusterer.fit(blobs())
    assert not clusterer.converged_
    assert len(clusterer.consensus_.estimate.met) == 10


def test_the_predictive_density_of_new_points():
    data = blobs()[:20]
    clusterer = MixtureClusterer("diagonal", max_replicates=50, target_stderr=None, random_state=3).fit(data)
    grid = np.array([[-3.0, -3.0], [0.0, 0.0], [3.0, 3.0]])
    density, error = clusterer.predictive_density(grid)
    e = cp.estimate(cp.Mixture(data, cp.NormalInverseGamma()), cp.predictive_density(grid), replicates=200, seed=99)
    assert np.all(np.abs(density - e.mean) < 5 * np.hypot(error, e.stderr))  # false alarm 2e-6
    np.testing.assert_allclose(clusterer.score_samples(grid), np.log(density))
    assert clusterer.score(grid) == pytest.approx(np.log(density).mean())
    with pytest.raises(NotFittedError):
        MixtureClusterer().score_samples(grid)


def test_of_many_points_only_near_pairs_are_looked_at(monkeypatch):
    monkeypatch.setattr(front, "ALL_PAIRS", 20)
    monkeypatch.setattr(front, "NEIGHBOURS", 3)
    clusterer = MixtureClusterer("diagonal", **FEW).fit(blobs())
    found = clusterer.co_clustering_
    assert issparse(found)
    assert abs(found - found.T).max() == 0
    assert np.array_equal(found.diagonal(), np.ones(21))
    assert 21 < found.nnz <= 21 + 2 * 3 * 21
    data = blobs()
    data[0, 0] = np.nan
    assert MixtureClusterer("diagonal", **FEW).fit(data).co_clustering_ is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"component": "round"}, "component must be 'full', 'diagonal', 'tied', 'known' or a Component, got 'round'"),
        ({"component": "known"}, "noise_sd must be given with component='known'"),
        ({"noise_sd": 1.0}, "noise_sd goes with component='known', got 1.0 for 'full'"),
        ({"loss": "square"}, "loss must be 'vi' or 'binder', got 'square'"),
        ({"max_sweeps": 3}, "max_sweeps must be a whole number of at least 6, got 3"),
        ({"max_replicates": 1}, "replicates must be"),
    ],
)
def test_mistakes_are_one_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        MixtureClusterer(**options).fit(blobs())


def test_the_cap_depends_on_the_number_of_points():
    assert [front.cap_for(n) for n in (10, 200, 1_000, 100_000)] == [5_000, 2_500, 500, 200]
