"""What is asked of a clustering, against enumeration: of all partitions, each with its exact probability, all follows.

Partitions that are weighted by their exact probabilities leave no chance in the answer, so these are compared to 1e-9.
With partitions from chains they are compared to 4 standard errors.
"""

import copy
import math
from functools import partial

import numpy as np
import pytest

import copartition as cp
import naive
import small
from copartition.clustering import around, describing, predicting
from copartition.results.kept import Partitions
from copartition.targets.cells import cells_of
from separations import explained, informed

NAN = float("nan")


def gaussian(data):
    clusters = naive.GaussianMixture(np.array(data), small.NOISE, small.SPREAD, np.array([0.5, 0.5]), 0.7)
    return naive.Mixture(clusters.log_cluster, lambda labels: naive.process(labels, 0.7))


def wishart(data):
    log_cluster = naive.wishart_cluster(np.array(data), np.array([0.3, -0.2]), 0.4, 3.7, small.SPREAD)
    return naive.Mixture(log_cluster, lambda labels: naive.process(labels, 0.9))


def gaps(data):
    columns = [partial(naive.gamma_column, mean=0.2, weight=w, shape=a, scale=0.7) for w, a in ((0.3, 1.4), (0.6, 2.0))]
    return naive.Mixture(naive.independent_columns(data, columns), partial(naive.process, alpha=0.6, discount=0.25))


def mixed(data):
    columns = [
        partial(naive.gamma_column, mean=0.0, weight=0.4, shape=1.2, scale=0.9),
        partial(naive.categorical_column, concentration=0.8, categories=3),
        partial(naive.poisson_column, shape=1.3, rate=0.6),
        partial(naive.bernoulli_column, a=0.7, b=0.9),
    ]
    log_cluster = naive.independent_parts(
        naive.wishart_cluster(np.array([row[:2] for row in data]), np.full(2, 0.1), 0.5, 2.6, small.NOISE),
        naive.independent_columns([row[2:] for row in data], columns),
    )
    return naive.Mixture(log_cluster, lambda labels: small.of_sizes(naive.sizes(labels)))


# A target, its data, the density of a partition of any such data, and new rows.
CASES = {
    "full": (small.full, small.DATA_2D.tolist(), gaussian, [[0.4, -1.0], [9.0, 3.0]]),
    "wishart": (small.wishart, small.DATA_2D.tolist(), wishart, [[0.4, -1.0], [30.0, 3.0]]),
    "gaps": (small.gaps, small.GAPS.tolist(), gaps, [[0.1, 0.7], [NAN, 2.0], [-40.0, NAN]]),
    "mixed": (small.mixed, small.TABLE, mixed, [[0.3, 0.1, None, "b", 3, True], [-0.1, 0.2, 0.5, None, None, None]]),
}


def weighted(d, labels, weights):
    """Return weighted partitions like others, with these labels and weights, all of one replicate."""
    kept = Partitions(
        labels=np.array(labels, dtype=np.uint8),
        counts=np.array(weights),
        replicate=np.zeros(len(labels), dtype=np.int64),
        hyperparameters=np.zeros((len(labels), 0)),
        averaged=len(labels),
        unit=1,
    )
    run, other = copy.copy(d.run), copy.copy(d)
    object.__setattr__(run, "partitions", kept)
    object.__setattr__(other, "run", run)
    return other


def exact(name):
    """All partitions of a small table with their probabilities: weighted partitions without chance, states, both."""
    make, data, density, _ = CASES[name]
    target, count = make()[0], len(data)
    states, distribution = naive.distribution(density(data), count)
    d = cp.draw(target, replicates=4, burn_in=1, min_sweeps=2, lag=1, settings=None, seed=1)
    d = weighted(d, states, distribution)
    return d, [np.array(state) for state in states], distribution


REFERENCE = np.array([0, 0, 1, 0, 2])


def new_row(name, row, reference):
    """Probabilities of each reference cluster and of none for a new row, and its predictive density, by enumeration."""
    _, data, density, _ = CASES[name]
    before, after = density(data), density([*data, row])
    states, distribution = naive.distribution(before, len(data))
    shares, total = np.zeros(reference.max() + 2), 0.0
    for state, probability in zip(states, distribution, strict=True):
        ways = naive.placements((*state, 0), len(data))
        logs = np.array([after.log_density(way) for way in ways])
        total += probability * np.exp(logs - before.log_density(state)).sum()
        weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
        for way, weight in zip(ways, weights, strict=True):
            companions = [m for m in range(len(data)) if way[m] == way[-1]]
            for m in companions:
                shares[reference[m]] += probability * weight / len(companions)
            shares[-1] += 0.0 if companions else probability * weight
    return shares, total


@pytest.mark.parametrize("name", CASES)
def test_new_rows_against_enumeration(name):
    d, _, _ = exact(name)
    rows = cells_of(CASES[name][3])
    found, scores = predicting.probabilities(d, REFERENCE, rows), predicting.log_densities(d, rows)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    for i, row in enumerate(CASES[name][3]):
        shares, density = new_row(name, row, REFERENCE)
        np.testing.assert_allclose(found[i], shares, rtol=1e-9, atol=1e-12)
        assert scores[i] == pytest.approx(math.log(density), abs=1e-9)


def test_a_density_that_is_not_known_to_be_above_0_is_no_number():
    """Weights 1 and -0.99, as corrections have them: 1 for the partition that gives the new row the smaller density."""
    d, states, _ = exact("full")
    row = cells_of(CASES["full"][3][:1])
    logs = [predicting.log_densities(weighted(d, [state], [1.0]), row)[0] for state in states]
    low, high = states[int(np.argmin(logs))], states[int(np.argmax(logs))]
    assert min(logs) < max(logs) + math.log(0.99)
    assert np.isnan(predicting.log_densities(weighted(d, [low, high], [1.0, -0.99]), row)).all()
    expected = math.log((math.exp(max(logs)) - 0.99 * math.exp(min(logs))) / 0.01)
    assert predicting.log_densities(weighted(d, [high, low], [1.0, -0.99]), row) == pytest.approx(expected)


def member_moments(name, members, column):
    """Mean and second moment of the cell of a new member of a cluster, or probabilities of levels: closed forms."""
    _, data, _, _ = CASES[name]
    cells = [data[m][column] for m in members if data[m][column] is not None and data[m][column] == data[m][column]]
    if name == "gaps" or (name == "mixed" and column == 2):
        mean, weight, a, b = (
            (0.2, (0.3, 0.6)[column], (1.4, 2.0)[column], 0.7) if name == "gaps" else (0.0, 0.4, 1.2, 0.9)
        )
        for x in cells:
            b += 0.5 * weight / (weight + 1) * (x - mean) ** 2
            mean, weight, a = (weight * mean + x) / (weight + 1), weight + 1, a + 0.5
        # Student's t with 2 a degrees of freedom and the square of its scale b (weight + 1) / (a weight).
        return mean, mean**2 + b * (weight + 1) / (weight * (a - 1)) if a > 1 else math.inf
    if name == "mixed" and column == 3:
        return [(cells.count(level) + 0.8) / (len(cells) + 2.4) for level in "abc"]
    if name == "mixed" and column == 5:
        yes = (sum(cells) + 0.7) / (len(cells) + 1.6)
        return [1 - yes, yes]
    if name == "mixed" and column == 4:
        shape, rate = 1.3 + sum(cells), 0.6 + len(cells)
        return shape / rate, shape / rate + (shape + shape**2) / rate**2 - 0.0
    x = np.array([data[m][:2] for m in members])
    n, (mean, weight, degrees, scale) = (
        len(x),
        (
            (np.full(2, 0.1), 0.5, 2.6, small.NOISE)
            if name == "mixed"
            else (np.array([0.3, -0.2]), 0.4, 3.7, small.SPREAD)
        ),
    )
    if name == "full":
        precision = np.linalg.inv(small.SPREAD) + n * np.linalg.inv(small.NOISE)
        cov = np.linalg.inv(precision)
        centre = cov @ (np.linalg.solve(small.SPREAD, np.full(2, 0.5)) + np.linalg.solve(small.NOISE, x.sum(axis=0)))
        return centre[column], (cov + small.NOISE)[column, column] + centre[column] ** 2
    centre = x.mean(axis=0)
    psi = scale + (x - centre).T @ (x - centre) + weight * n / (weight + n) * np.outer(centre - mean, centre - mean)
    posterior, kappa, nu = (weight * mean + n * centre) / (weight + n), weight + n, degrees + n
    spread = psi[column, column] * (kappa + 1) / kappa / (nu - 3)
    return posterior[column], posterior[column] ** 2 + spread


@pytest.mark.parametrize("name", CASES)
def test_profile_against_enumeration(name):
    d, states, distribution = exact(name)
    frame = describing.profile(d, REFERENCE)
    columns = range(len(CASES[name][1][0]))
    for r in range(3):
        members = np.flatnonzero(r == REFERENCE)
        for column in columns:
            total = 0.0
            for state, probability in zip(states, distribution, strict=True):
                for m in members:
                    found = member_moments(name, np.flatnonzero(state == state[m]).tolist(), column)
                    total = total + probability / len(members) * np.array(found)
            here = frame.xs((r, str(column)), level=("cluster", "column"))
            if here.index.tolist() != [""]:
                np.testing.assert_allclose(here["estimate"], total, rtol=1e-9)
                assert here["sd"].isna().all()
                assert here["estimate"].sum() == pytest.approx(1.0, abs=1e-12)
                continue
            assert here["estimate"].item() == pytest.approx(total[0], rel=1e-9)
            assert here["sd"].item() == pytest.approx(math.sqrt(total[1] - total[0] ** 2), rel=1e-8)


@pytest.mark.parametrize("name", ["gaps", "mixed"])
def test_separation_against_enumeration(name):
    d, states, distribution = exact(name)
    frame, data = describing.separation(d, REFERENCE), CASES[name][1]
    assert frame["separation"].is_monotonic_decreasing
    for column in range(len(data[0])):
        cells = [row[column] for row in data]
        is_category = name == "mixed" and column in (3, 5)
        if not is_category:
            cells = np.array([NAN if cell is None else cell for cell in cells], dtype=float)
            cells = np.log1p(cells) if name == "mixed" and column == 4 else cells
        ratio = informed if is_category else explained
        total = np.zeros(4)
        for state, probability in zip(states, distribution, strict=True):
            every = [(state == k).astype(float) for k in np.unique(state)]
            soft = [np.array([np.mean(REFERENCE[state == state[i]] == r) for i in range(5)]) for r in range(3)]
            total += probability * np.array([ratio(cells, every), *[ratio(cells, [s, 1 - s]) for s in soft]])
        names = ["separation", "cluster 0", "cluster 1", "cluster 2"]
        np.testing.assert_allclose(frame.loc[str(column), names].astype(float), total, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_outliers_against_enumeration(name):
    d, states, distribution = exact(name)
    frame = describing.outliers(d, list("abcde"), REFERENCE, 2, 0.0).loc[list("abcde")]
    _, data, density, _ = CASES[name]
    whole = density(data)
    for n in range(5):
        small_ones = sum(p for state, p in zip(states, distribution, strict=True) if np.sum(state == state[n]) <= 2)
        assert frame["probability"].iloc[n] == pytest.approx(small_ones, abs=1e-12)
        inverse = 0.0
        for state, p in zip(states, distribution, strict=True):
            members = np.flatnonzero(state == state[n]).tolist()
            others = [m for m in members if m != n]
            log_density = whole.log_cluster(members) - (whole.log_cluster(others) if others else 0.0)
            inverse += p * math.exp(-log_density)
        assert frame["log_density"].iloc[n] == pytest.approx(-math.log(inverse), abs=1e-8)


@pytest.mark.parametrize("name", ["gaps", "mixed"])
def test_missing_cells_against_enumeration(name):
    d, states, distribution = exact(name)
    frame, data = describing.impute(d, list("abcde")), CASES[name][1]
    missing = [(i, j) for i, row in enumerate(data) for j, cell in enumerate(row) if cell is None or cell != cell]
    assert sorted(frame.index.tolist()) == sorted((("abcde"[i], str(j)) for i, j in missing))
    for i, j in missing:
        total = 0.0
        for state, p in zip(states, distribution, strict=True):
            total = total + p * np.array(member_moments(name, np.flatnonzero(state == state[i]).tolist(), j))
        line = frame.loc[("abcde"[i], str(j))]
        if name == "mixed" and j in (3, 5):
            levels = ["a", "b", "c"] if j == 3 else [0, 1]
            assert line["value"] == levels[int(np.argmax(total))]
            assert line["probability"] == pytest.approx(max(total), rel=1e-9)
        else:
            assert line["value"] == pytest.approx(total[0], rel=1e-9)
            assert line["sd"] == pytest.approx(math.sqrt(total[1] - total[0] ** 2), rel=1e-8)


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_credible_ball_against_enumeration(loss):
    d, states, distribution = exact("wishart")
    metric = naive.variation_of_information if loss == "vi" else lambda a, b: naive.hamming(a, b) / 20
    distances = np.array([metric(tuple(state), tuple(REFERENCE)) for state in states])
    for level in (0.3, 0.8, 0.95):
        ball = around.credible_ball(d, REFERENCE, loss, level)
        inside = [distribution[distances <= radius + 1e-12].sum() for radius in np.unique(distances.round(12))]
        first = next(i for i, p in enumerate(inside) if p >= level)
        assert ball.radius == pytest.approx(np.unique(distances.round(12))[first], abs=1e-9)
        assert ball.probability == pytest.approx(inside[first], abs=1e-12)
        near = distances <= ball.radius + 1e-12
        assert metric(tuple(ball.farthest), tuple(REFERENCE)) == pytest.approx(distances[near].max(), abs=1e-12)
        counts = np.array([state.max() for state in states])
        assert len(np.unique(ball.most)) - 1 == counts[near].max()
        assert len(np.unique(ball.fewest)) - 1 == counts[near].min()


def test_clusters_are_numbered_as_those_they_share_most_rows_with():
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    assert around.numbered_as(labels, np.array([1, 1, 1, 2, 0, 0, 0, 3, 3])).tolist() == [0, 0, 0, 3, 1, 1, 1, 2, 2]
    assert around.numbered_as(labels, np.zeros(9, dtype=np.int64)).tolist() == [0] * 9


def test_alternatives_stand_for_the_posterior():
    d, states, distribution = exact("wishart")
    found = around.alternatives(d, REFERENCE, 3, "vi", seed=1)
    assert 2 <= len(found) <= 3
    assert sum(one.probability for one in found) == pytest.approx(1.0, abs=1e-12)
    centres = [tuple(one.labels) for one in found]
    assert len(set(centres)) == len(centres)
    # Parts are those that are nearest, and no other clustering of a part has a smaller expected distance within it.
    apart = np.array([[naive.variation_of_information(tuple(s), c) for c in centres] for s in states])
    nearest = apart.argmin(axis=1)
    for r, one in enumerate(found):
        part = nearest == r
        assert one.probability == pytest.approx(distribution[part].sum(), abs=1e-12)
        within = [
            distribution[part] @ [naive.variation_of_information(tuple(s), tuple(c)) for s in np.array(states)[part]]
            for c in states
        ]
        assert distribution[part] @ apart[part, r] == pytest.approx(min(within), abs=1e-9)


@pytest.mark.parametrize("replicates", [200, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["gaps", "mixed"])
def test_with_partitions_from_chains(name, replicates):
    """Estimates from coupled chains agree with enumeration; by chance a case fails once in 500 seeds (16 of 4 s.e.)."""
    target = CASES[name][0]()[0]
    how = {"burn_in": 5, "min_sweeps": 10, "lag": 3, "settings": None, "seed": 7}
    d = cp.draw(target, replicates=replicates, per_replicate=1, **how)
    rows = cells_of(CASES[name][3])
    exactly, _, _ = exact(name)
    predictor = predicting.Predicting(target, rows)

    def shares(partition, values):
        both = predicting.overlaps_with(partition, REFERENCE)
        joins = predictor.join(partition, values).shares
        return np.column_stack([joins[:, :-1] @ (both / both.sum(axis=1, keepdims=True)), joins[:, -1]])

    each = predicting.by_replicate(d, shares)
    expected = predicting.probabilities(exactly, REFERENCE, rows).ravel()
    error = each.std(axis=0, ddof=1) / math.sqrt(replicates)
    assert np.all(np.abs(each.mean(axis=0) - expected) <= 4 * error + 1e-12)
    frame, known = describing.profile(d, REFERENCE), describing.profile(exactly, REFERENCE)
    assert np.all(np.abs(frame["estimate"] - known["estimate"]) <= 4.5 * frame["stderr"] + 1e-12)
    here, there = describing.separation(d, REFERENCE), describing.separation(exactly, REFERENCE)
    for which in ("separation", "cluster 0", "cluster 2"):
        error = here["stderr" if which == "separation" else f"{which} stderr"]
        assert np.all(np.abs(here[which] - there.loc[here.index, which]) <= 4 * error + 1e-12)
