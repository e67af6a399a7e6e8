"""The clusterer for scikit-learn, checked by scikit-learn itself, and against the call that it is a door to."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import copartition as cp
from bernoulli import Bernoulli
from copartition import sklearn as door
from copartition.clustering import pairs
from copartition.sklearn import MixtureClusterer

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of so little work

LITTLE = {"effort": 0.001, "random_state": 3}


@parametrize_with_checks([MixtureClusterer(effort=0.001)])
def test_scikit_learn_finds_nothing_to_object_to(estimator, check, monkeypatch):
    monkeypatch.setattr(pairs, "PER_REPLICATE", 1)  # which predictions for one row at a time take long by
    check(estimator)


def blobs():
    """Two clear clusters of 12 and 8 points, and a point between them."""
    rng = np.random.default_rng(5)
    return np.concatenate([rng.normal(-3, 0.7, (12, 2)), rng.normal(3, 0.7, (8, 2)), [[0.0, 0.0]]])


def test_it_is_the_one_call():
    data = blobs()
    clusterer = MixtureClusterer("diagonal", loss="binder", **LITTLE).fit(data)
    c = cp.cluster(data, "diagonal", effort=0.001, loss="binder", seed=3)
    assert clusterer.grade_ == c.grade
    assert clusterer.labels_.tolist() == c.labels.tolist() == [0] * 12 + [1] * 9
    assert clusterer.n_clusters_ == 2
    assert clusterer.clustering_.loss == "binder"
    assert np.array_equal(clusterer.probabilities_, c.certainty)
    assert clusterer.probabilities_[20] < clusterer.probabilities_[:20].min()
    assert np.array_equal(clusterer.probabilities_stderr_, c.certainty_stderr)
    assert clusterer.posterior_ is clusterer.clustering_.posterior
    assert clusterer.n_features_in_ == 2
    pd.testing.assert_frame_equal(clusterer.profile_, c.profile())
    pd.testing.assert_frame_equal(clusterer.separation_, c.separation())
    assert np.array_equal(clusterer.co_clustering_, np.clip(c.consensus.similarity, 0, 1))
    assert clusterer.profile_ is clusterer.profile_  # found once
    rows = [[3.0, 3.1], [np.nan, -3.0], [500.0, 0.0]]
    assert clusterer.predict(rows).tolist() == [1, 0, -1]
    assert np.array_equal(clusterer.predict_proba(rows), c.predict_proba(rows))
    assert np.array_equal(clusterer.score_samples(rows), c.score_samples(rows))
    assert clusterer.score(rows) == c.score_samples(rows).mean()


def test_it_is_the_same_on_any_number_of_threads_and_after_pickling():
    one = MixtureClusterer(n_jobs=1, **LITTLE).fit(blobs())
    two = MixtureClusterer(n_jobs=2, **LITTLE).fit(blobs())
    assert np.array_equal(one.probabilities_, two.probabilities_)
    back = pickle.loads(pickle.dumps(one))
    assert np.array_equal(back.predict_proba(blobs()), one.predict_proba(blobs()))
    pd.testing.assert_frame_equal(back.profile_, one.profile_)
    again = clone(MixtureClusterer(cp.NormalInverseGamma(), cp.DirichletProcess(1.0), **LITTLE))
    assert again.fit_predict(blobs()).tolist() == [0] * 12 + [1] * 9
    assert repr(again.posterior_.prior) == repr(cp.DirichletProcess(1.0))


def test_iris_in_a_pipeline():
    """Rows of the data go where they are; so do rows near them, and flowers of another size go nowhere."""
    flowers = load_iris().data
    pipeline = make_pipeline(StandardScaler(), MixtureClusterer("tied", effort=0.01, random_state=1))
    labels = pipeline.fit_predict(flowers)
    assert len(set(labels[:50].tolist())) == 1  # setosa
    assert not set(labels[:50].tolist()) & set(labels[50:].tolist())
    assert np.mean(pipeline.predict(flowers + 0.01) == labels) > 0.95
    shares = pipeline.predict_proba(np.vstack([flowers[:2], flowers[:1] + 1e3]))
    assert shares.shape == (3, pipeline[-1].n_clusters_ + 1)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    assert shares[2, -1] > 0.99
    assert pipeline.score(flowers) > pipeline.score(flowers + 1e3)


@pytest.mark.filterwarnings("ignore:MixtureClusterer. Columns flipper_length_mm:UserWarning")  # within species
def test_penguins_as_they_are():
    """Text, numbers, years, cells that are missing, and a column that is the same in every row."""
    table = load_penguins().drop(columns="species").assign(planet="Earth")
    clusterer = MixtureClusterer(effort=0.01, random_state=1).fit(table)
    assert clusterer.feature_names_in_.tolist() == table.columns.tolist()
    assert clusterer.clustering_.notes == ["left out: planet (the same in every row)"]
    assert clusterer.profile_.loc[(slice(None), "sex", "male"), "estimate"].between(0, 1).all()
    assert "planet" not in clusterer.separation_.index
    some = table.iloc[::20]
    labels = clusterer.predict(some)
    assert np.mean(labels == clusterer.labels_[::20]) > 0.9
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert np.array_equal(clusterer.predict(some.to_numpy()), labels)  # cells of all kinds, by place


def test_arrays_of_mixed_cells():
    """Columns are found by place when a frame comes after an array; text that is new is refused."""
    cells = [
        [x, "red" if x < 0 else "blue", None if i == 3 else float(i % 3), "same"] for i, (x, _) in enumerate(blobs())
    ]
    clusterer = MixtureClusterer("diagonal", **LITTLE).fit(cells)
    assert clusterer.clustering_.kinds == ["0: numbers", "1: 2 categories", "2: counts, 1 missing"]
    frame = pd.DataFrame(cells, columns=["x", "colour", "count", "word"])
    with pytest.warns(UserWarning, match="X has feature names, but"):
        labels = clusterer.predict(frame)
    assert np.array_equal(labels, clusterer.predict(np.array(cells, dtype=object)))
    with pytest.raises(ValueError, match=r"'blue', 'red'.*got 'green'"):
        clusterer.predict([[1.0, "green", 0.0, "same"]])
    cells[2] = [{}, "red", 0.0, "same"]
    with pytest.raises(TypeError, match=r"table of strings and numbers, got \{\} in row 2, column 0"):
        MixtureClusterer().fit(np.array(cells, dtype=object))


def test_a_warning_for_any_grade_but_unbiased(monkeypatch):
    monkeypatch.setattr(pairs, "LEAST_COUPLED", 10**12)  # which nobody can afford
    with pytest.warns(ConvergenceWarning, match=r"the answer is approximate\. \d chains of .* effort") as said:
        clusterer = MixtureClusterer("diagonal", **LITTLE).fit(blobs())
    assert clusterer.grade_ == "approximate"
    assert str(said[0].message).endswith(clusterer.clustering_.reason)
    assert said[0].filename == __file__


def test_what_is_found_later_is_of_the_last_fit(monkeypatch):
    clusterer = MixtureClusterer("diagonal", **LITTLE)
    for name in ("profile_", "separation_", "co_clustering_"):
        assert not hasattr(clusterer, name)
    with pytest.raises(NotFittedError):
        clusterer.predict(blobs())
    assert clusterer.fit(blobs()).co_clustering_.shape == (21, 21)
    assert clusterer.fit(blobs()[1:]).co_clustering_.shape == (20, 20)
    monkeypatch.setattr(door, "ALL_PAIRS", 20)
    assert clusterer.fit(blobs()).co_clustering_ is None


def test_a_component_of_ones_own():
    """It need not say what members of its clusters look like; scikit-learn then sees no such attributes."""
    answers = np.random.default_rng(0).integers(0, 2, (20, 4)).astype(float)
    answers[:10] = 1.0
    clusterer = MixtureClusterer(Bernoulli(), **LITTLE).fit(answers)
    assert len(set(clusterer.labels_[:10].tolist())) == 1
    assert not hasattr(clusterer, "profile_")
    assert "Fitted attributes" in clusterer._repr_html_()
    with pytest.raises(TypeError, match="Bernoulli must have a method members"):
        clusterer.predict(answers)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"component": "round"}, "component must be 'auto', 'full', 'tied', 'diagonal' or a Component, got 'round'"),
        ({"loss": "square"}, "loss must be 'vi' or 'binder', got 'square'"),
        ({"effort": 0}, "effort must be"),
        ({"n_jobs": 1.5}, "n_jobs must be a whole number or None, got 1.5"),
    ],
)
def test_mistakes_are_one_sentence(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        MixtureClusterer(**options).fit(blobs())
    with pytest.raises(ValueError, match="X must have at least two rows, got 1"):
        MixtureClusterer().fit(pd.DataFrame({"x": [1.0]}))
