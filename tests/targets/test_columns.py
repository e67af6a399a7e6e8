"""Data as people have them: frames, lists, masked arrays, cells that are missing; columns by name; what is refused."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import scipy.stats

import copartition as cp
import naive

NAN = math.nan
DP = cp.DirichletProcess(0.8)
NIG, NIW = cp.NormalInverseGamma(0.0, 1.0, 1.0, 1.0), cp.NormalInverseWishart(0.0, 1.0, 5.0, [1.0, 2.0])
SET_BY_DATA = cp.NormalInverseGamma(), cp.NormalInverseWishart()


@pytest.fixture
def pd():
    return pytest.importorskip("pandas")


def distribution_of(target):
    """The conditional distributions of all points at two partitions, as one list."""
    count = target.n_points
    states = [np.arange(count) % 2, np.zeros(count, dtype=int)]
    return np.concatenate([cp.kernels.conditional(target, state, n) for state in states for n in range(count)])


def assert_same(data, other, component):
    """Two forms of the same data give the same model, to the last bit."""
    first, second = (cp.Mixture(one, component, DP) for one in (data, other))
    assert first.fingerprint == second.fingerprint
    assert np.array_equal(distribution_of(first), distribution_of(second))


# --- forms of data ---------------------------------------------------------------------------------------------------

NUMBERS = [[0.5, 2.0], [None, 1.0], [1.5, None], [-0.5, 3.0]]
FILLED = np.array(NUMBERS, dtype=float)


@pytest.mark.plain
def test_numbers_with_gaps_in_every_form(pd):
    forms = [
        np.array(NUMBERS, dtype=object),
        [tuple(row) for row in NUMBERS],
        FILLED,
        FILLED.astype(np.float32),
        np.asfortranarray(FILLED),
        np.ma.array(np.nan_to_num(FILLED), mask=np.isnan(FILLED)),
        pd.DataFrame(NUMBERS, columns=["x", "y"]),
        pd.DataFrame(NUMBERS, columns=["x", "y"]).astype("Float64"),
        pd.DataFrame(NUMBERS, columns=["x", "y"], dtype=object),
        pd.DataFrame(NUMBERS).replace(np.nan, pd.NA),
    ]
    for form in forms:
        assert_same(NUMBERS, form, NIG)
        assert_same(NUMBERS, form, cp.Gaussian(1.0, 2.0))
        assert_same(NUMBERS, form, SET_BY_DATA[0])


@pytest.mark.plain
def test_counts_and_answers_with_gaps_in_every_form(pd):
    counts = [[3, 0], [None, 2], [7, None]]
    frame = pd.DataFrame(counts, columns=["x", "y"])
    forms = [
        frame,
        frame.astype("Int64"),
        np.array(counts, dtype=float),
        np.ma.array([[3, 0], [9, 2], [7, 9]], mask=[[0, 0], [1, 0], [0, 1]]),
    ]
    for form in forms:
        assert_same(counts, form, cp.Poisson(1.5, 0.5))
    answers = [[True, False], [None, True], [False, None]]
    frame = pd.DataFrame(answers, columns=["x", "y"])
    forms = [frame, frame.astype("boolean"), frame.astype("Int64"), np.array(answers, dtype=float)]
    for form in forms:
        assert_same(answers, form, cp.Bernoulli(0.5, 1.5))
    for form in (np.array([True, False, True]), pd.Series([1, 0, 1]), [1.0, 0.0, 1.0], [[True], [False], [True]]):
        assert_same([1, 0, 1], form, cp.Bernoulli(0.5, 1.5))


@pytest.mark.plain
def test_categories_in_every_form(pd):
    words = [["red", 3], ["green", 7], [None, 3], ["red", None]]
    frame = pd.DataFrame(words, columns=["colour", "size"])
    forms = [
        np.array(words, dtype=object),
        frame,
        frame.astype("object"),
        frame.astype({"colour": "string", "size": "Int64"}),
        frame.astype("category"),
        pd.DataFrame({"colour": ["red", "green", NAN, "red"], "size": [3.0, 7.0, 3.0, NAN]}),
    ]
    for form in forms:
        target = cp.Mixture(form, cp.Categorical(0.7), DP)
        assert target.component.levels == [["green", "red"], [3, 7]]
        assert_same(words, form, cp.Categorical(0.7))
    answers = cp.Mixture([True, False, True], cp.Categorical())
    assert answers.component.levels == [[False, True]]
    assert cp.Mixture(np.array(["b", "a", "b"]), cp.Categorical()).component.levels == [["a", "b"]]


@pytest.mark.plain
def test_one_column_may_be_a_series_or_a_plain_list(pd):
    values = [0.5, 2.0, -1.0]
    for form in (pd.Series(values), pd.Series(values, name="x"), np.array(values), [[v] for v in values]):
        assert_same(values, form, NIG)
    words = pd.Series(["b", "a", "b"], name="letter", dtype="category")
    assert_same(["b", "a", "b"], words, cp.Categorical())
    with pytest.raises(ValueError, match="in column 'letter', got inf"):
        cp.Mixture(pd.Series([1.0, math.inf], name="letter"), cp.Categorical())


def test_data_frames_of_polars():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame({"x": [0.5, None, 2.0], "n": [1, 2, None], "c": ["a", None, "b"]})
    component = cp.Columns([("x", NIG), ("n", cp.Poisson()), ("c", cp.Categorical())])
    assert_same(
        [[0.5, 1, "a"], [None, 2, None], [2.0, None, "b"]],
        frame,
        cp.Columns(list(enumerate(part for _, part in component.parts))),
    )
    assert cp.Mixture(frame, component).component.parts[2][0] == ["c"]


@pytest.mark.plain
def test_categories_that_are_declared_count_though_none_was_seen(pd):
    seen = ["a", "b", "a"]
    column = partial(naive.categorical_column, concentration=0.7)
    for declared, count in ((["a", "b"], 2), (["c", "b", "a"], 3), (["a", "b", *"uvwxyz"], 8)):
        frame = pd.DataFrame({"letter": pd.Categorical(seen, categories=declared)})
        target = cp.Mixture(frame, cp.Categorical(0.7), DP)
        assert target.component.levels == [declared]
        log_cluster = naive.independent_columns([[one] for one in seen], [partial(column, categories=count)])
        density = naive.Mixture(log_cluster, partial(naive.process, alpha=0.8))
        for state in naive.all_partitions(3):
            expected = naive.conditional(density, state, 1)
            np.testing.assert_allclose(cp.kernels.conditional(target, state, 1), expected, rtol=1e-12)


def test_a_column_that_lacks_no_cell_is_not_slowed_down_by_others_that_do():
    """Complete columns are a column group of their own; the distribution is the same as if all were treated alike."""
    complete = cp.Mixture([[0.5, 1.0], [1.5, 0.0], [2.5, 7.0]], NIG, DP)
    half = cp.Mixture([[0.5, 1.0], [1.5, None], [2.5, 7.0]], NIG, DP)
    assert complete.model.integers[0] == 1
    assert half.model.integers[0] == 2


# --- columns ---------------------------------------------------------------------------------------------------------


def table(pd):
    return pd.DataFrame(
        {
            "height": [1.5, 2.5, 0.5, 1.0],
            "weight": [3.0, 1.0, 2.0, 2.5],
            "sort": ["a", "b", None, "a"],
            "n": [3, 0, 1, 5],
        }
    )


@pytest.mark.plain
def test_columns_by_name_by_number_and_in_any_order(pd):
    frame = table(pd)
    parts = [(["height", "weight"], NIW), ("sort", cp.Categorical(0.5)), ("n", cp.Poisson(2.0, 1.0))]
    by_name = cp.Mixture(frame, cp.Columns(parts), DP)
    by_number = [([0, 1], NIW), (2, cp.Categorical(0.5)), ([3], cp.Poisson(2.0, 1.0))]
    assert_same(frame, frame.to_numpy(), cp.Columns(by_number))
    for same in (by_number, [(np.array([0, 1]), NIW), *by_number[1:]], [(("height", 1), NIW), *parts[1:]]):
        assert by_name.fingerprint == cp.Mixture(frame, cp.Columns(same), DP).fingerprint
    distribution = distribution_of(by_name)
    np.testing.assert_allclose(
        distribution_of(cp.Mixture(frame, cp.Columns(parts[::-1]), DP)), distribution, rtol=1e-12
    )
    mixed_up = frame[["n", "sort", "height", "weight"]].assign(more="unused")
    np.testing.assert_allclose(distribution_of(cp.Mixture(mixed_up, cp.Columns(parts), DP)), distribution, rtol=1e-12)
    names = [names for names, _ in by_name.component.parts]
    assert names == [["height", "weight"], ["sort"], ["n"]]
    said = by_name.assumptions()
    assert said[0] == "Given the cluster of a point, these groups of columns are independent of each other."
    assert any(sentence.startswith("height, weight: Points of a cluster are normal") for sentence in said)


@pytest.mark.plain
def test_parts_are_as_if_each_column_had_its_own(pd):
    """One part for two columns, or a part for each, is the same distribution where columns are independent."""
    frame = table(pd)
    together = cp.Columns([(["height", "weight"], NIG), ("n", cp.Poisson())])
    apart = cp.Columns([("height", NIG), ("weight", NIG), ("n", cp.Poisson())])
    distributions = [distribution_of(cp.Mixture(frame, component, DP)) for component in (together, apart)]
    np.testing.assert_allclose(*distributions, rtol=1e-12)


def test_a_component_is_not_changed_by_the_data_it_meets(pd):
    component = cp.Columns([("height", cp.NormalInverseGamma()), ("sort", cp.Categorical())])
    first = cp.Mixture(table(pd), component, DP)
    second = cp.Mixture(table(pd).assign(height=[9.0, 7.0, 8.0, 0.0]), component, DP)
    assert component.parts[0][1].scale is None
    assert first.component.parts[0][1].scale != second.component.parts[0][1].scale
    assert (
        repr(component) == "Columns([(['height'], NormalInverseGamma()), (['sort'], Categorical(concentration=1.0))])"
    )


def test_columns_that_are_not_named_are_not_looked_at(pd):
    frame = table(pd).assign(empty=NAN, odd=[math.inf, "x", None, 3.0])
    component = cp.Columns([("height", NIG)])
    assert cp.Mixture(frame, component, DP).fingerprint == cp.Mixture(table(pd), component, DP).fingerprint


def test_numbers_that_are_names_of_columns_are_names(pd):
    """As in pandas: a frame whose columns are called 2, 0 and 1."""
    frame = pd.DataFrame({2: [1.0, 2.0, 4.0], 0: [5.0, 3.0, 1.0], 1: [0.0, 7.0, 3.0]})
    named = frame.rename(columns=str)
    assert (
        cp.Mixture(frame, cp.Columns([(0, NIG)]), DP).fingerprint
        == cp.Mixture(named, cp.Columns([("0", NIG)]), DP).fingerprint
    )


# --- what is refused -------------------------------------------------------------------------------------------------

FRAME = {"x": [1.0, 2.0, 4.0, 3.0], "y": [1.0, 0.0, 2.0, 1.0]}
WRONG = {
    "text": (
        lambda pd: ({**FRAME, "y": ["a", "b", "a", "b"]}, NIG),
        "must be an array of numbers, got 'a' in column 'y'",
    ),
    "numbers as text, one of them spoilt": (
        lambda pd: ({**FRAME, "y": ["1.5", "2", "?", "0"]}, NIG),
        r"got '\?' in column 'y', row 2, where 3 of 4 cells are numbers; mend it, or let it be missing: pandas.to_num",
    ),
    "numbers, one of them spoilt": (
        lambda pd: ({**FRAME, "y": [1.5, 2, "?", 0]}, cp.Poisson()),
        r"got '\?' in column 'y', row 2, where 3 of 4 cells are numbers",
    ),
    "numbers as text": (
        lambda pd: ({**FRAME, "y": ["1.5", "2", "0", "0"]}, NIG),
        r"got '1.5' in column 'y', row 0; pandas.to_numeric\(column\) makes numbers of such text",
    ),
    "spoilt numbers as categories": (
        lambda pd: ({"x": ["a", "b"] * 20, "y": [*[f"{i}.5" for i in range(39)], "?"]}, cp.Categorical()),
        r"data must hold categories in column 'y', got '\?' in row 39, where 39 of 40 cells are numbers; mend",
    ),
    "no component": (
        lambda pd: ({"x": [1.0, 2.0], "y": ["a", "b"]}, None),
        r"such as Columns\(\[\(\['x'\], NormalInverseGamma\(\)\), \(\['y'\], Categorical\(\)\)\]\), got None",
    ),
    "no component, cells missing": (
        lambda pd: ({"x": [1.0, NAN], "y": [1.0, 2.0]}, None),
        r"such as NormalInverseGamma\(\), got None",
    ),
    "a whole number beyond all others": (
        lambda pd: ([[1.0, 1], [2.0, 10**400]], NIG),
        "data must be finite, or NaN where not observed, got inf in row 1, column 1",
    ),
    "infinity": (
        lambda pd: ({**FRAME, "y": [1.0, math.inf, 2.0, 1.0]}, NIG),
        "data must be finite, or NaN where not observed, got inf in row 1, column 'y'",
    ),
    "infinity, known variances": (
        lambda pd: ({**FRAME, "y": [1.0, 2.0, -math.inf, 1.0]}, cp.Gaussian(1.0, 1.0)),
        "got -inf in row 2, column 'y'",
    ),
    "no cell in a row": (
        lambda pd: ({"x": [1.0, NAN, 4.0], "y": [NAN, NAN, 2.0]}, NIG),
        "data must have an observed cell in every row, got none in row 1; leave such rows out",
    ),
    "no cell in a column": (
        lambda pd: ({**FRAME, "y": [NAN] * 4}, cp.Poisson()),
        "data must have an observed cell in every column, got none in column 'y'",
    ),
    "no cell in the columns that are used": (
        lambda pd: ({**FRAME, "x": [1.0, 2.0, NAN, 3.0]}, cp.Columns([("x", NIG)])),
        "data must have an observed cell in every row, got none in row 2; leave such rows out",
    ),
    "unknown covariance, cells missing": (
        lambda pd: ({**FRAME, "y": [1.0, NAN, 2.0, NAN]}, NIW),
        "data of NormalInverseWishart must have every cell, but column 'y' lacks 2",
    ),
    "known covariance, cells missing": (
        lambda pd: ({**FRAME, "y": [1.0, NAN, 2.0, 3.0]}, cp.Gaussian(noise_cov=np.eye(2), mean_sd=1.0)),
        "data of a Gaussian with noise_cov or mean_cov must have every cell, but column 'y' lacks some",
    ),
    "constant": (
        lambda pd: ({**FRAME, "y": [2.0] * 4}, SET_BY_DATA[0]),
        "scale cannot be set from the data: column 'y' has the same value in every observed cell; .* or give a scale",
    ),
    "one row": (
        lambda pd: ({"x": [1.0], "y": [2.0]}, SET_BY_DATA[0]),
        "column 'x' has one observed cell, and a variance takes two; give a scale",
    ),
    "too large": (
        lambda pd: ({**FRAME, "y": [1e160, 2e160, 3e160, 0.0]}, SET_BY_DATA[0]),
        "column 'y' has values from 0 to 3e\\+160, whose variance is too large to be held; take other units",
    ),
    "too small": (
        lambda pd: ({**FRAME, "y": [1e-170, 2e-170, 3e-170, 0.0]}, SET_BY_DATA[1]),
        "column 'y' has values from 0 to 3e-170, whose variance is too small to be held; take other units",
    ),
    "constant where observed": (
        lambda pd: ({**FRAME, "y": [2.0, NAN, NAN, 2.0]}, SET_BY_DATA[0]),
        "scale cannot be set from the data: column 'y' has the same value",
    ),
    "constant, unknown covariance": (
        lambda pd: ({**FRAME, "y": [0.1 + 0.2] * 4}, SET_BY_DATA[1]),
        "scale cannot be set from the data: column 'y' has the same value",
    ),
    "collinear": (
        lambda pd: ({**FRAME, "y": [3.0, 5.0, 9.0, 7.0]}, SET_BY_DATA[1]),
        "the covariance of 2 columns and 4 rows is singular, of rank 1; .* or give a scale",
    ),
    "more columns than points": (
        lambda pd: ({"x": [1.0, 2.0, 5.0], "y": [2.0, 0.0, 1.0], "z": [5.0, 1.0, 0.0]}, SET_BY_DATA[1]),
        "the covariance of 3 columns and 3 rows is singular, of rank 2",
    ),
    "half a count": (
        lambda pd: ({**FRAME, "y": [1.0, 2.5, 2.0, 3.0]}, cp.Poisson()),
        r"data must be counts 0, 1, ... in column 'y' for Poisson, got 2.5 in row 1",
    ),
    "negative count": (
        lambda pd: ({**FRAME, "y": [1.0, 2.0, 2.0, -3.0]}, cp.Poisson()),
        r"data must be counts 0, 1, ... in column 'y' for Poisson, got -3 in row 3",
    ),
    "a count too large to be one": (
        lambda pd: ({**FRAME, "y": [1.0, 2.0, 2.0, 1e17]}, cp.Poisson()),
        r"data must be counts of at most 9.0072e\+15 in column 'y' for Poisson, got 1e\+17 in row 3",
    ),
    "neither yes nor no": (
        lambda pd: ({"x": [1, 0, 1], "y": [1, 2, 0]}, cp.Bernoulli()),
        "data must be 0 or 1 in column 'y' for Bernoulli, got 2 in row 1",
    ),
    "half a category": (
        lambda pd: ({"x": ["a", "b"], "y": [1.0, 2.5]}, cp.Categorical()),
        r"data must hold categories \(text, whole numbers, booleans\) in column 'y', got 2.5 in row 1",
    ),
    "too few degrees of freedom": (
        lambda pd: (FRAME, cp.NormalInverseWishart(degrees_of_freedom=1.0)),
        "degrees_of_freedom must be more than 1 for 2 columns, got 1",
    ),
    "scale not positive definite": (
        lambda pd: (FRAME, cp.NormalInverseWishart(scale=[[1.0, 2.0], [2.0, 1.0]])),
        "scale must be positive definite, got",
    ),
    "scale not symmetric": (
        lambda pd: (FRAME, cp.NormalInverseWishart(scale=[[1.0, 0.5], [0.4, 1.0]])),
        "scale must be symmetric, got",
    ),
    "scale of another size": (
        lambda pd: (FRAME, cp.NormalInverseWishart(scale=np.eye(3))),
        "scale must be a 2 x 2 matrix to fit the data",
    ),
    "numbers for other columns": (
        lambda pd: (FRAME, cp.NormalInverseGamma(shape=[1.0, 2.0, 3.0])),
        "shape must be a number or 2 numbers to fit the data, got 3 numbers",
    ),
    "column twice": (
        lambda pd: (FRAME, cp.Columns([("x", NIG), (["y", 0], NIG)])),
        "columns must be in one part each, got column 'x' twice",
    ),
    "unknown name": (
        lambda pd: (FRAME, cp.Columns([("z", NIG)])),
        r"columns must be of the data \(x, y\), got 'z'",
    ),
    "unknown hyperparameter": (
        lambda pd: (FRAME, cp.Columns([([0, 2], NIG)])),
        r"columns must be of the data \(x, y\), got 2",
    ),
    "counted from the end": (lambda pd: (FRAME, cp.Columns([(-1, NIG)])), r"columns must be of the data .*, got -1"),
    "name without a frame": (
        lambda pd: ([[1.0, 2.0]], cp.Columns([("x", NIG)])),
        r"columns must be of the data \(0 to 1\), got 'x'",
    ),
    "name of two columns": (
        lambda pd: (pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["x", "x"]), cp.Columns([("x", NIG)])),
        "data must have one column named 'x', got 2",
    ),
    "wrong in one part": (
        lambda pd: ({**FRAME, "y": [1.0, 2.5, 2.0, 3.0]}, cp.Columns([("x", NIG), ("y", cp.Poisson())])),
        r"data must be counts 0, 1, ... in column 'y' for Poisson, got 2.5 in row 1",
    ),
    "ragged": (lambda pd: ([[1.0, 2.0], [3.0]], NIG), "data must be an array of numbers, got"),
    "nothing": (lambda pd: (pd.DataFrame(), NIG), "data must have at least one point and one column"),
    "no number at all": (lambda pd: (None, NIG), "data must be an array of numbers, got None"),
    "dates": (
        lambda pd: ({"x": pd.to_datetime(["2020-01-01", "2020-02-01"])}, NIG),
        "data must be an array of numbers, got .* in column 'x', row 0",
    ),
    "dates without a frame": (
        lambda pd: (np.array(["2020-01-01", "2020-02-01"], dtype="datetime64[ns]"), NIG),
        "data must be an array of numbers, got",
    ),
    "masked text": (
        lambda pd: (np.ma.array(["a", "b", "c"], mask=[0, 1, 0]), NIG),
        "data must be an array of numbers, got",
    ),
    "no ratio of variances": (
        lambda pd: ([[1.0, NAN], [2.0, 3.0]], cp.Gaussian(1e-200, 1e200)),
        "noise and mean covariances must not differ by more than floating point numbers can hold",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_data_that_do_not_fit_are_refused_in_one_sentence(name, pd):
    make, message = WRONG[name]
    data, component = make(pd)
    data = pd.DataFrame(data) if isinstance(data, dict) else data
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        cp.Mixture(data, component, DP)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.plain
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cp.Columns({"x": NIG}), r"parts must be a list of \(columns, component\), got"),
        (lambda: cp.Columns([]), r"parts must be a list of \(columns, component\), got \[\]"),
        (lambda: cp.Columns([NIG]), r"parts must be a list of \(columns, component\), got NormalInverseGamma.* in it"),
        (lambda: cp.Columns([("x", cp.Poisson)]), "component of a part must be Gaussian, .* got <class"),
        (lambda: cp.Columns([(0, cp.Columns([(0, NIG)]))]), r"component of a part must be .* got Columns\("),
        (lambda: cp.Columns([([], NIG)]), "columns of a part must be one or more, got none for NormalInverseGamma"),
        (lambda: cp.NormalInverseGamma(scale=-1), "scale must be positive, got -1"),
        (lambda: cp.NormalInverseGamma(shape="a"), "shape must be an array of numbers, got 'a'"),
        (lambda: cp.NormalInverseGamma(mean_weight=[1.0, 0.0]), r"mean_weight must be positive, got \[1.0, 0.0\]"),
        (lambda: cp.NormalInverseGamma(mean=NAN), "mean must be finite"),
        (lambda: cp.NormalInverseWishart(mean_weight=0), "mean_weight must be positive and finite, got 0"),
        (lambda: cp.NormalInverseWishart(degrees_of_freedom=-1), "degrees_of_freedom must be positive and finite, got"),
        (lambda: cp.NormalInverseWishart(scale=[[NAN]]), "scale must be finite"),
        (lambda: cp.Bernoulli(a=0), "a must be positive, got 0"),
        (lambda: cp.Bernoulli(b=-1), "b must be positive, got -1"),
        (lambda: cp.Categorical(0.0), "concentration must be positive, got 0.0"),
        (lambda: cp.Poisson(shape=-1), "shape must be positive, got -1"),
        (lambda: cp.Poisson(rate=math.inf), "rate must be finite"),
        (lambda: cp.PitmanYor(1.0, 1.0), "discount must be a number from 0 to below 1, got 1.0"),
        (lambda: cp.PitmanYor(1.0, -0.1), "discount must be a number from 0 to below 1, got -0.1"),
        (
            lambda: cp.MixtureOfFiniteMixtures(1.0, scipy.stats.poisson(3)),
            "n_components must be a distribution on 1, 2, ..., got .* which may be 0 or less",
        ),
        (
            lambda: cp.sample(
                cp.Mixture([1.0, 2.0, 4.0], NIG, cp.FiniteMixture(2)), cp.n_clusters(), init="singletons"
            ),
            "the start 'singletons' must have at most 2 clusters, which is all that the prior allows, got 3",
        ),
        (
            lambda: density_of([["a"], ["b"]], cp.Categorical(), [["c"]]),
            "data and grid must have the categories 'a', 'b' in column 0, got 'c' in row 0",
        ),
        (lambda: density_of([[1.0, 2.0]], NIG, [[1.0, NAN]]), "grid must be"),
        (
            lambda: density_of([[1.0, None], [2.0, 3.0]], NIG, np.array([[1.0, None]], dtype=object)),
            "grid must be finite, got no",
        ),
        (
            lambda: density_of([[1.0, 2.0]], NIG, [[1.0, 2.0, 3.0]]),
            r"grid must be points with 2 column\(s\), got shape",
        ),
        (
            lambda: density_of([[0], [1]], cp.Bernoulli(), [[2]]),
            "must be 0 or 1 in column 0 for Bernoulli, got 2 in row 0",
        ),
        (
            lambda: density_of([[0], [3]], cp.Poisson(), [[1.5]]),
            "must be counts 0, 1, ... in column 0 for Poisson, got 1.5",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def density_of(data, component, grid):
    return cp.sample(cp.Mixture(data, component), cp.predictive_density(grid), sweeps=1, burn_in=0, chains=1)
