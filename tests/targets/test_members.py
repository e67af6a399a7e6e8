"""Members of clusters: predictive densities against definitions, compiled functions, integrals, and data without a row.

Rows, components and densities of clusters are those of `test_components`, unknown hyperparameters those of
`small_hyperparameters`.
"""

from __future__ import annotations

import math
import pickle
from functools import cache, partial

import numpy as np
import pytest

import component_cases
import copartition as cp
import naive
import small
import small_hyperparameters
from bernoulli import Bernoulli
from component_cases import case_of, exact_gamma, exact_wishart, hard_data, places
from conftest import JIT_DISABLED
from copartition.chains.chain import chain_at, with_hyperparameters
from copartition.functionals.base import bind_all, evaluate_at

NAN = math.nan
ALPHA = small_hyperparameters.ALPHA
PRIOR = cp.DirichletProcess(ALPHA)
STATES = [(0, 1, 0, 2, 1), (0, 0, 0, 0, 0), (0, 1, 2, 3, 4), (0, 1, 1, 1, 1)]

# --- cases: rows, a target of these, new rows ------------------------------------------------------------------------

COMPLETE = {  # of these the compiled functions are others than where cells are missing
    "scalar": (small.DATA_1D, cp.Gaussian(noise_sd=0.8, mean_sd=1.7, mean=0.3)),
    "diagonal": (small.DATA_2D, cp.Gaussian(noise_sd=[0.8, 1.5], mean_sd=[1.7, 0.9], mean=[0.3, -0.2])),
    "full": (small.DATA_2D, cp.Gaussian(noise_cov=small.NOISE, mean_cov=small.SPREAD, mean=0.5)),
    "half full": (small.DATA_2D, cp.Gaussian(noise_cov=small.NOISE, mean_sd=[2.0, 0.7], mean=0.5)),
    "proportional": (small.DATA_2D, cp.Gaussian(noise_cov=small.NOISE, mean_cov=3.0 * small.NOISE)),
}
UNKNOWN = [f"unknown {name}" for name in small_hyperparameters.CASES if name != "discount"]
ROWS = {"mixed": [row[:4] for row in small.TABLE]}
ROWS |= dict.fromkeys(("spherical", "gamma_scale", "gaussian_mean"), small.DATA_1D)
ROWS |= dict.fromkeys(("diagonal_gaps", "gaussian_gaps", "gamma_all"), small.GAPS)
NEW = {1: [0.4, -3.0], 2: [[0.4, -3.0], [2.0, 1.0]], 4: [[0.1, 0.4, -0.7, "b"], [1.5, -2.0, 0.3, "c"]]}
EVERY = [*component_cases.CASES, *COMPLETE, *UNKNOWN]


@cache
def case(name):
    if name in component_cases.CASES:
        of, _ = case_of(name)
        return of.rows, cp.Mixture(of.rows, of.component, PRIOR), of.grid
    if name in COMPLETE:
        rows, component = COMPLETE[name]
        target = cp.Mixture(rows, component, PRIOR)
    else:
        name = name.removeprefix("unknown ")
        rows, target = ROWS.get(name, small.DATA_2D), small_hyperparameters.CASES[name]().target
    return rows, target, NEW[target.shape[1]]


def numbers_of(target, rng):
    """Values of what is unknown of the component."""
    return next(places(target, rng, 1)) if target.hyperparameters else None


def members_of(target, rows, labels, hyperparameters=None):
    """Members of the clusters of some of the rows that a component has met."""
    return target.component.members(rows)(labels, max(labels) + 1, [] if hyperparameters is None else hyperparameters)


def without(rows, n):
    return np.delete(rows, n, axis=0) if isinstance(rows, np.ndarray) else [*rows[:n], *rows[n + 1 :]]


def assert_left_out_is_as_without(target, rows, labels, hyperparameters=None, rtol=1e-9):
    """Every row, by a table in which it is not there; where it was alone its cluster is now empty."""
    found = members_of(target, rows, labels, hyperparameters).left_out()
    for n in range(0, len(labels), 1 + len(labels) // 40):
        others = without(labels, n)
        numbering = {label: k for k, label in enumerate(dict.fromkeys(others))}
        members = members_of(target, without(rows, n), [numbering[label] for label in others], hyperparameters)
        exact = members.log_density(rows[n : n + 1])[0, numbering.get(labels[n], len(numbering))]
        assert found[n] == pytest.approx(exact, rel=rtol, abs=1e-9)


# --- densities of new rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", component_cases.CASES)
def test_log_density_is_a_ratio_of_densities_of_clusters(name):
    of, _ = case_of(name)
    rows, target, grid = case(name)
    every = [*list(rows), *list(grid)]
    log_cluster = cache(of.log_cluster(np.array(every) if isinstance(rows, np.ndarray) else every))
    for state in STATES:
        found = members_of(target, rows, state).log_density(grid)
        clusters = [*naive.clusters(state), []]
        for g in range(len(grid)):
            exact = [log_cluster((*c, 5 + g)) - (log_cluster(tuple(c)) if c else 0.0) for c in clusters]
            np.testing.assert_allclose(found[g], exact, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", UNKNOWN)
def test_densities_multiply_to_that_of_the_data_whatever_the_hyperparameters(name, rng):
    """Rows of a cluster one after another, each given those before."""
    of = small_hyperparameters.CASES[name.removeprefix("unknown ")]()
    rows, target, _ = case(name)
    for hyperparameters in places(target, rng, 3):
        for labels in STATES[:2]:
            order = sorted(range(5), key=lambda n: (labels[n], n))
            total = 0.0
            for size in range(5):
                before, n = order[:size], order[size]
                members = members_of(
                    target, [rows[m] for m in before] or [rows[0]], [labels[m] for m in before] or [0], hyperparameters
                )
                density = members.log_density(rows[n : n + 1])[0]
                total += density[labels[n]] if before and labels[n] < members.n_clusters else density[-1]
            assert total == pytest.approx(of.log_data(labels, hyperparameters), rel=1e-9, abs=1e-9)


@pytest.mark.plain
@pytest.mark.parametrize("name", EVERY)
def test_density_of_the_next_point_is_what_kernels_say(name, rng):
    """The clusters of a partition, and a new one, with their prior weights."""
    rows, target, grid = case(name)
    hyperparameters = numbers_of(target, rng)
    bound, functionals = bind_all(target, [cp.predictive_density(np.array(grid, dtype=object))])
    own = with_hyperparameters(bound, hyperparameters)
    for state in STATES[: 1 if JIT_DISABLED else 4]:
        exact = evaluate_at(own.model, own.hooks, functionals, chain_at(own, np.array(state)))
        density = np.exp(members_of(target, rows, state, hyperparameters).log_density(grid))
        weights = np.array([*np.bincount(state), ALPHA])
        np.testing.assert_allclose(density @ weights / weights.sum(), exact, rtol=1e-9)


@pytest.mark.plain
@pytest.mark.parametrize("name", EVERY)
def test_rows_of_the_data_choose_as_kernels_say(name, rng):
    """Among the clusters of all others; cells of the row may be missing."""
    rows, target, _ = case(name)
    hyperparameters = numbers_of(target, rng)
    for state in STATES[: 1 if JIT_DISABLED else 4]:
        for n in range(5):
            others = naive.canonical(without(state, n))
            log_density = members_of(target, without(rows, n), others, hyperparameters).log_density(rows[n : n + 1])[0]
            weights = np.exp(log_density - log_density.max()) * [*np.bincount(others), ALPHA]
            labels = [*others[:n], others[0], *others[n:]]
            # Clusters of the kernel are in the order of labels without the point, as here.
            exact = cp.kernels.conditional(target, labels, n, hyperparameters)
            np.testing.assert_allclose(weights / weights.sum(), exact, rtol=1e-9, atol=1e-12)


# --- rows of the data, given the others ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_rows_left_out_are_as_in_data_without_them(name, rng):
    rows, target, _ = case(name)
    hyperparameters = numbers_of(target, rng)
    for state in STATES:
        assert_left_out_is_as_without(target, rows, state, hyperparameters)


def table(rng, n):
    """Rows of numbers, counts and categories, in seven groups."""
    kind = rng.integers(0, 3, n)
    hyperparameters = rng.normal(0, 1, (n, 5)) + 3.0 * kind[:, None]
    hyperparameters[rng.random(n) < 0.2, 2] = NAN
    counts = rng.poisson(2 + 3 * kind).astype(object)
    large = rng.integers(0, 10**6, n)  # more different ones than there are rows for a table of them
    words = np.array(["a", "b", "c"], dtype=object)[(kind + (rng.random(n) < 0.3)) % 3]
    counts[rng.random(n) < 0.1] = words[rng.random(n) < 0.1] = None
    return [list(row) for row in np.column_stack([hyperparameters.astype(object), counts, large, words])]


def components_of_table():
    return cp.Columns(
        [
            ([1, 0], cp.NormalInverseWishart(mean_weight=cp.LogUniform(0.01, 1.0))),
            (2, cp.NormalInverseGamma(scale=cp.Gamma(2, 2))),
            ([3, 4], cp.TiedGaussian("full")),
            ([5, 6], cp.Poisson(1.5, 0.5)),
            (7, cp.Categorical(0.7)),
        ]
    )


def test_many_rows_left_out(rng):
    """Clusters of one row, of two and of many, and one without."""
    rows = table(rng, 90)
    target = cp.Mixture(rows, components_of_table(), PRIOR)
    labels = np.r_[0, 1, 1, rng.integers(2, 6, 87)].tolist()
    hyperparameters = np.array([0.2, 0.7, 1.3, 0.4, 0.9])
    assert_left_out_is_as_without(target, rows, labels, hyperparameters)
    more = target.component.members(rows)(labels, 8, hyperparameters)
    density = more.log_density(rows)
    np.testing.assert_array_equal(more.left_out(), members_of(target, rows, labels, hyperparameters).left_out())
    np.testing.assert_allclose(density[:, 6], density[:, 8], rtol=1e-14)


@pytest.mark.parametrize("kind", component_cases.HARD)
def test_hard_numbers(kind, rng):
    """Outliers 1e5 prior standard deviations away, where the closed form has lost its digits."""
    data, sds = hard_data(kind, rng), component_cases.SDS
    half = np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-0.3, 0.8, 1.0]]) * sds[:, None]
    wishart = cp.NormalInverseWishart(np.zeros(3), 0.125, 4.5, half @ half.T)
    gamma = cp.NormalInverseGamma(np.zeros(3), 0.125, 1.5, 0.5 * sds**2)
    exact = {
        wishart: exact_wishart(data, np.zeros(3), 0.125, 4.5, half @ half.T),
        gamma: exact_gamma(data, np.zeros(3), 0.125, 1.5, 0.5 * sds**2),
    }
    for component, log_cluster in exact.items():
        target = cp.Mixture(data, component, PRIOR)
        for labels in ([0] * 12, [0, 1, 0, 0, 1, 1, 2, 0, 0, 1, 1, 0]):
            found = members_of(target, data, labels).left_out()
            for n in range(12):
                others = tuple(m for m in range(12) if labels[m] == labels[n] and m != n)
                of_others = log_cluster(others) if others else 0.0
                assert found[n] == pytest.approx(log_cluster(tuple(sorted((*others, n)))) - of_others, abs=1e-7)


def test_data_far_from_the_origin_lose_no_digits(rng):
    """The same data 1e8 further on, where sums over clusters have too few digits for the means of 30,000 rows."""
    data = np.round(rng.normal(0, 1, (30_000, 2)) * 2**24) / 2**24  # the sums with 1e8 are exact
    for of in (partial(cp.NormalInverseWishart, scale=small.SPREAD), partial(cp.NormalInverseGamma, scale=0.7)):
        near, far = (
            members_of(cp.Mixture(data + offset, of([offset, offset]), PRIOR), data + offset, np.zeros(30_000, int))
            for offset in (0.0, 1e8)
        )
        np.testing.assert_allclose(far.log_density(data[:50] + 1e8), near.log_density(data[:50]), rtol=0, atol=1e-7)
        np.testing.assert_allclose(far.left_out(), near.left_out(), rtol=0, atol=1e-7)
        last = near.log_density(data[4990:5000])  # many rows, some at a time, are as each by itself
        np.testing.assert_allclose(near.log_density(data[:5000])[4990:], last, rtol=1e-13)


def test_wide_priors_lose_no_digits():
    """Cells alone in their clusters, 1e9 prior means of noise away: their distance is from the prior mean."""
    members = cp.Gaussian(1.0, 1e9, -1.0).members([3e8, 5.0, 5.1])([0, 1, 1], 2)
    exact = naive.log_normal_density(np.array([3e8]), np.array([-1.0]), np.array([[1.0 + 1e18]]))
    assert members.left_out()[0] == pytest.approx(exact, rel=1e-14)


# --- missing cells of new rows ---------------------------------------------------------------------------------------

U = np.linspace(-17.0, 17.0, 1201)
LINE, WIDTHS = np.sinh(U), np.cosh(U) * (U[1] - U[0])  # by which a sum is an integral, far tails included
PAIRS = {
    "wishart": cp.NormalInverseWishart([0.3, -0.2], 0.4, 3.7, small.SPREAD),
    "tied full": cp.TiedGaussian("full", [0.3, -0.2], 0.4, degrees_of_freedom=3.7),
    "full": cp.Gaussian(noise_cov=small.NOISE, mean_cov=small.SPREAD, mean=0.5),
    "gamma": cp.NormalInverseGamma(0.2, [0.3, 0.6], [1.4, 2.0], 0.7),
    "tied diagonal": cp.TiedGaussian("diagonal"),
    "known": cp.Gaussian([0.8, 1.5], 1.7, 0.3),
}


def pair_of_columns(name):
    target = cp.Mixture(small.DATA_2D, PAIRS[name], PRIOR)
    hyperparameters = {"tied full": [1.3, -0.4, 0.8], "tied diagonal": [0.7, 1.9]}.get(name)
    return members_of(target, small.DATA_2D, STATES[0], hyperparameters)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("missing", [0, 1])
def test_missing_cells_are_integrated_out(name, missing):
    members = pair_of_columns(name)
    for value in (-0.7, 2.3):
        rows = np.full((len(LINE), 2), value)
        rows[:, missing] = LINE
        integral = WIDTHS @ np.exp(members.log_density(rows))
        row = np.full((1, 2), value)
        row[0, missing] = NAN
        np.testing.assert_allclose(np.exp(members.log_density(row))[0], integral, rtol=1e-7)


def test_missing_cells_of_mixed_rows():
    """Patterns of missing cells together are as each by itself, rows without any cell have density 1."""
    rows, target, _ = case("unknown mixed")
    members = members_of(target, rows, STATES[0], [0.7, 0.1, 0.5, 1.2])
    full = [0.3, -0.4, 0.8, "b"]
    patterns = [[cell if bits >> j & 1 else None for j, cell in enumerate(full)] for bits in range(16)]
    together = members.log_density([*patterns, *patterns])
    alone = [members.log_density([pattern])[0] for pattern in patterns]
    np.testing.assert_allclose(together, [*alone, *alone], rtol=1e-13, atol=1e-13)
    assert not together[0].any()
    np.testing.assert_allclose(together[15], together[3] + together[4] + together[8], rtol=1e-13)
    levels = [members.log_density([[*full[:3], word]])[0] for word in "abc"]
    np.testing.assert_allclose(np.exp(levels).sum(axis=0), np.exp(together[7]), rtol=1e-12)


# --- single columns --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAIRS)
def test_moments_are_integrals(name):
    """Of degrees of freedom there are enough: in empty clusters two more than the second moment needs."""
    component = {
        "wishart": cp.NormalInverseWishart([0.3, -0.2], 0.4, 6.5, small.SPREAD),
        "gamma": cp.NormalInverseGamma(0.2, [0.3, 0.6], [2.9, 3.0], 0.7),
    }.get(name, PAIRS[name])
    target = cp.Mixture(small.DATA_2D, component, PRIOR)
    hyperparameters = {"tied full": [1.3, -0.4, 0.8], "tied diagonal": [0.7, 1.9]}.get(name)
    members = members_of(target, small.DATA_2D, STATES[0], hyperparameters)
    for j, column in enumerate(members.columns()):
        rows = np.full((len(LINE), 2), NAN)
        rows[:, j] = LINE
        density = np.exp(members.log_density(rows))
        assert (column.position, column.name, column.kind, column.levels) == (j, str(j), "number", None)
        np.testing.assert_allclose(WIDTHS @ density, 1.0, rtol=1e-9)
        np.testing.assert_allclose(WIDTHS * LINE @ density, column.mean, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(WIDTHS * LINE**2 @ density, column.variance + column.mean**2, rtol=1e-6)


def test_moments_that_there_are_not():
    """A t distribution with two degrees of freedom or less has no variance, with one or less no mean."""
    for component in (cp.NormalInverseGamma(0.2, 1.0, 0.4, 0.7), cp.NormalInverseWishart(0.2, 1.0, 0.8, 0.7)):
        target = cp.Mixture([1.0, 2.0, 3.0, 4.0], component, PRIOR)
        (column,) = members_of(target, [1.0, 2.0, 3.0, 4.0], [0, 1, 1, 1]).columns()
        assert column.mean[:2] == pytest.approx([0.6, 9.2 / 4.0])
        assert math.isnan(column.mean[2])
        assert np.isinf(column.variance).tolist() == [True, False, True]


def test_shares_and_rates():
    rows = [["a", 1, 3], ["b", 0, 0], [None, 1, 7], ["a", None, 2]]
    component = cp.Columns([(2, cp.Poisson(1.5, 0.5)), (1, cp.Bernoulli(0.4, 0.9)), (0, cp.Categorical(0.7))])
    members = members_of(cp.Mixture(rows, component, PRIOR), rows, [0, 0, 1, 1])
    word, answer, count = members.columns()
    assert [one.kind for one in (word, answer, count)] == ["category", "category", "count"]
    assert (word.levels, answer.levels, count.levels) == (["a", "b"], [0, 1], None)
    for column, cells in ((word, ["a", "b"]), (answer, [0, 1])):
        asked = [[None] * column.position + [cell] + [None] * (2 - column.position) for cell in cells]
        np.testing.assert_allclose(column.shares.T, np.exp(members.log_density(asked)), rtol=1e-13)
        np.testing.assert_allclose(column.shares.sum(axis=1), 1.0, rtol=1e-14)
    assert np.isnan(word.mean).all()
    np.testing.assert_array_equal(answer.mean, answer.shares[:, 1])
    np.testing.assert_allclose(answer.variance + answer.mean**2, answer.mean, rtol=1e-15)
    counts = np.arange(700)
    probabilities = np.exp(members.log_density([[None, None, y] for y in counts]))
    np.testing.assert_allclose(probabilities.sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(counts @ probabilities, count.mean, rtol=1e-11)
    np.testing.assert_allclose(counts**2 @ probabilities, count.variance + count.mean**2, rtol=1e-11)


def test_columns_say_where_they_stand():
    """Parts in any order, columns in any order within them, one that is not used: by the columns of the data."""
    rows, target, _ = case("mixed")
    members = members_of(target, rows, STATES[0])
    columns = members.columns()
    assert [column.position for column in columns] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11]
    for column in columns:
        if column.kind != "number":
            continue
        cells = [[None] * 12, [None] * 12]
        cells[0][column.position], cells[1][column.position] = column.mean[0] - 0.3, column.mean[0] + 0.3
        low, high = members.log_density(cells)[:, 0]
        assert low == pytest.approx(high, abs=1e-12), column  # all are symmetric around their means


# --- rows as people have them ----------------------------------------------------------------------------------------


def test_columns_of_data_frames_go_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [1.5, 0.5, 2.5], "y": ["a", "b", None], "z": [True, False, False]})
    component = cp.Columns([("x", cp.NormalInverseGamma(0.0, 1.0, 1.0, 1.0)), (["y", "z"], cp.Categorical())])
    of = cp.Mixture(frame, component, PRIOR).component.members(frame)
    members = of([0, 1, 0], 2)
    exact = members.log_density(frame)
    other = frame.assign(more=["no", "use", None])[["z", "more", "y", "x"]]
    np.testing.assert_array_equal(members.log_density(other), exact)
    np.testing.assert_array_equal(members.log_density(frame.to_numpy(dtype=object)), exact)
    np.testing.assert_array_equal(members.log_density(of.read(other)), exact)
    again = pickle.loads(pickle.dumps(of))
    np.testing.assert_array_equal(again([0, 1, 0], 2).left_out(), members.left_out())


DATA = [[0.5, 1], [0.1, 0], [2.0, 1]]
COMPONENT = cp.Columns([(0, cp.NormalInverseGamma(scale=cp.Gamma(2, 2))), (1, cp.Categorical())])


def resolved():
    return cp.Mixture(DATA, COMPONENT, PRIOR).component


def given():
    return resolved().members(DATA)([0, 0, 1], 2, [0.5])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Bernoulli().members(DATA), TypeError, "Bernoulli must have a method members"),
        (lambda: COMPONENT.members(DATA), TypeError, "a component that has met data, such as posterior.component"),
        (lambda: cp.NormalInverseGamma().members(DATA), TypeError, "a component that has met data"),
        (lambda: cp.NormalInverseWishart().members(DATA), TypeError, "a component that has met data"),
        (lambda: cp.TiedGaussian().members(DATA), TypeError, "a component that has met data"),
        (lambda: cp.Gaussian(cp.Gamma(2, 2), 1.0).members(DATA), TypeError, "a component that has met data"),
        (lambda: cp.Poisson().members(DATA), TypeError, "a component that has met data"),
        (lambda: given().log_density([[0.3, 7]]), ValueError, "must have the categories 0, 1 in column 1, got 7"),
        (lambda: given().log_density([[0.3]]), ValueError, "rows must have the 2 column(s) of the data, got 1"),
        (lambda: given().log_density([[np.inf, 1]]), ValueError, "must be finite, or NaN where not observed, got inf"),
        (lambda: given().log_density(resolved().members(DATA).read(DATA)), ValueError, "read by the members of these"),
        (lambda: resolved().members(DATA)([0, 0, 2], 2, [0.5]), ValueError, "labels must be 0 to 1"),
        (lambda: resolved().members(DATA)([0, -1, 1], 2, [0.5]), ValueError, "labels must be 0 to 1"),
        (lambda: resolved().members(DATA)([0, 0], 2, [0.5]), ValueError, "labels must hold 3 labels"),
        (
            lambda: resolved().members(DATA)([0, 0, 1], 2),
            ValueError,
            "hyperparameters must be the 1 unknown hyperparameter(s)",
        ),
        (
            lambda: cp.Gaussian(noise_cov=small.NOISE, mean_sd=1.0).members([[0.1, NAN], [0.3, 0.2]]),
            ValueError,
            "data must have every cell in columns that vary together, but column 1 lacks some",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(make, error, message):
    with pytest.raises(error) as caught:
        make()
    text = str(caught.value)
    assert message in text
    assert text.endswith(".")
    assert "\n" not in text
