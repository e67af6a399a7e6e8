"""What is asked of a clustering by the models that `cluster` takes tables for, against enumeration of all partitions.

As `test_questions` does for targets whose numbers are known, but with a scale that is unknown (component "full"), a
covariance that is shared and unknown ("tied"), columns that are independent ("diagonal"), columns of other kinds beside
these, and the concentration or the discount of the prior unknown. `models_of_tables` has the enumeration.

Without chance, to 1e-9: partitions and values that are weighted by their exact probabilities. The scale has 8 of the 64
values of its grid here, the discount 2, and the covariance 3 values in place of all.

With partitions from chains, to 4 standard errors, where all values are possible. Of a shared covariance, expectations
are closed forms: densities of new rows (Student's t), moments of members (the mean of an inverse Wishart matrix); but
for the probabilities of clusters for new rows, which are ratios, and are summed over some thousand nodes.
"""

import copy
import math

import numpy as np
import pytest

import copartition as cp
import models_of_tables
import naive
from copartition.clustering import around, describing, predicting
from copartition.results.kept import Partitions
from copartition.targets.cells import cells_of
from models_of_tables import CASES, COUNT, LEVELS, REFERENCE, TABLE
from separations import explained, informed

ROWS = list("abcde")
FEW_SCALES, FEW_DISCOUNTS = models_of_tables.SCALES[3::8], (9, 40)
MANY = 5_000  # replicates
# Of chains: most pairs have met by then, some have not, so that there are corrections, but none that outweigh the rest.
BURN_IN = {"full": 400, "full and others": 500, "tied": 30, "tied and others": 25, "diagonal": 22}
METRICS = {"vi": naive.variation_of_information, "binder": lambda a, b: naive.hamming(a, b) / (COUNT * (COUNT - 1))}


def with_few_values(name):
    few = {"full": FEW_SCALES, "tied": models_of_tables.COVARIANCES, "diagonal": None}[CASES[name].component]
    return models_of_tables.Exact(name, few, FEW_DISCOUNTS)


@pytest.fixture(scope="module", params=CASES)
def enumerated(request):
    """An enumeration with few values, and the same partitions and values, weighted, as if a run had kept them."""
    exact = with_few_values(request.param)
    labels, numbers, probabilities = exact.states()
    d = copy.copy(cp.draw(exact.case.target(), replicates=4, burn_in=1, min_sweeps=2, lag=1, settings=None, seed=1))
    assert d.hyperparameters.shape[1] == numbers.shape[1]
    averaged = len(labels)
    run = copy.copy(d.run)
    kept = Partitions(labels, probabilities, np.zeros(averaged, dtype=np.int64), numbers, averaged, unit=1)
    object.__setattr__(run, "partitions", kept)
    object.__setattr__(d, "run", run)
    return exact, d


# --- what is expected, in the order of the package's answers ---------------------------------------------------------


def expected_profile(exact):
    """Means or shares, and standard deviations, of members of each reference cluster, line by line."""
    lines = []
    for r in range(REFERENCE.max() + 1):
        for column in exact.case.columns:
            found = exact.moments(column, np.flatnonzero(r == REFERENCE))
            if column in LEVELS:
                lines += [(share, math.nan) for share in found]
            else:
                lines.append((found[0], math.sqrt(found[1] - found[0] ** 2)))
    return np.array(lines)


def expected_separation(exact):
    """Of every column: of all clusters, then of each reference cluster."""
    lines = []
    for column in exact.case.columns:
        cells = [row[column] for row in TABLE]
        if column not in LEVELS:
            cells = np.array([math.nan if cell is None else cell for cell in cells], dtype=float)
            cells = np.log1p(cells) if column == models_of_tables.POISSON else cells
        ratio, total = informed if column in LEVELS else explained, np.zeros(REFERENCE.max() + 2)
        for labels, p in zip(models_of_tables.PARTITIONS, exact.distribution, strict=True):
            state = np.array(labels)
            every = [(state == k).astype(float) for k in np.unique(state)]
            soft = [np.array([np.mean(REFERENCE[state == k] == r) for k in state]) for r in range(REFERENCE.max() + 1)]
            total += p * np.array([ratio(cells, every), *[ratio(cells, [s, 1 - s]) for s in soft]])
        lines.append(total)
    return np.array(lines)


def expected_missing(exact):
    """The row and the column of each missing cell, and what it is expected to be."""
    found = {}
    for place, column in enumerate(exact.case.columns):
        for i, row in enumerate(TABLE):
            if row[column] is None:
                found[ROWS[i], str(place)] = column, exact.moments(column, [i])
    return found


def separation_of(frame, exact):
    """Estimates and standard errors in the order of the columns of the data."""
    frame = frame.loc[[str(place) for place in range(len(exact.case.columns))]]
    names = ["separation", *(f"cluster {r}" for r in range(REFERENCE.max() + 1))]
    errors = ["stderr", *(f"cluster {r} stderr" for r in range(REFERENCE.max() + 1))]
    return frame[names].to_numpy(), frame[errors].to_numpy()


# --- without chance --------------------------------------------------------------------------------------------------


def test_new_rows(enumerated):
    exact, d = enumerated
    rows = cells_of(exact.case.rows)
    found, scores = predicting.probabilities(d, REFERENCE, rows), predicting.log_densities(d, rows)
    for i, row in enumerate(exact.case.rows):
        shares, density = exact.new_row(row)
        np.testing.assert_allclose(found[i], shares, rtol=1e-9, atol=1e-12)
        assert scores[i] == pytest.approx(math.log(density), abs=1e-9)


def test_profile(enumerated):
    exact, d = enumerated
    found = describing.profile(d, REFERENCE)
    np.testing.assert_allclose(found[["estimate", "sd"]], expected_profile(exact), rtol=1e-9, atol=1e-12)


def test_separation(enumerated):
    exact, d = enumerated
    found, _ = separation_of(describing.separation(d, REFERENCE), exact)
    np.testing.assert_allclose(found, expected_separation(exact), rtol=1e-9, atol=1e-12)


def test_outliers(enumerated):
    exact, d = enumerated
    for most in (1, 2):
        frame = describing.outliers(d, ROWS, REFERENCE, most, 0.0).loc[ROWS]
        np.testing.assert_allclose(frame["probability"], exact.small(most), atol=1e-12)
        expected = [-math.log(exact.inverse_left_out(n)) for n in range(COUNT)]
        np.testing.assert_allclose(frame["log_density"], expected, atol=1e-9)


def test_missing_cells(enumerated):
    exact, d = enumerated
    frame, expected = describing.impute(d, ROWS), expected_missing(exact)
    assert sorted(frame.index.tolist()) == sorted(expected)
    for place, (column, found) in expected.items():
        line = frame.loc[place]
        if column in LEVELS:
            assert line["value"] == LEVELS[column][int(np.argmax(found))]
            assert line["probability"] == pytest.approx(max(found), rel=1e-9)
        else:
            assert line["value"] == pytest.approx(found[0], rel=1e-9)
            assert line["sd"] == pytest.approx(math.sqrt(found[1] - found[0] ** 2), rel=1e-9)


@pytest.mark.parametrize("loss", METRICS)
def test_credible_ball(enumerated, loss):
    exact, d = enumerated
    far = np.array([METRICS[loss](labels, tuple(REFERENCE)) for labels in models_of_tables.PARTITIONS])
    for level in (0.3, 0.8):
        ball = around.credible_ball(d, REFERENCE, loss, level)
        radii = np.unique(far.round(12))
        radius = next(r for r in radii if exact.within(METRICS[loss], r) >= level)
        assert ball.radius == pytest.approx(radius, abs=1e-9)
        assert ball.probability == pytest.approx(exact.within(METRICS[loss], radius), abs=1e-12)


@pytest.mark.parametrize("name", ["tied", "tied and others"])
def test_nodes_of_a_shared_covariance(name):
    """Sums over nodes are what closed forms say: the probabilities of partitions given 3 values and given all differ.

    With all values, the density of a new row is a mixture of t distributions, and the same sum over nodes.
    """
    exact, few = models_of_tables.Exact(name), with_few_values(name)
    assert np.abs(exact.distribution - few.distribution).max() > 0.01
    for labels, (values, mass) in list(zip(models_of_tables.PARTITIONS, exact.posterior, strict=True))[::7]:
        weights = mass.sum(axis=1) / mass.sum()
        for members in ([], *naive.clusters(labels)):
            for row in exact.case.rows[:2]:
                summed = weights @ np.exp(exact._new_in(members, values, row))
                assert math.log(summed) == pytest.approx(exact._student(labels, members, row), abs=1e-3)


# --- with partitions from chains -------------------------------------------------------------------------------------


def standard_errors(name, replicates, seed=7):
    """Of each question, how far answers from coupled chains are from what is expected, in standard errors.

    The density of a row given the others of its cluster (`outliers`) is not among them. Its inverse is averaged, which
    has no variance where the covariance is shared, and elsewhere is what very few partitions have it be: there is no
    standard error to compare with. Standard deviations (`profile`) want many replicates for a similar reason: they are
    those of clusters of one row, which are rare. So does the separation of full clusters beside other columns: where
    every row is a cluster it is 1, and of the few clusters of two rows some are rare.
    """
    exact = models_of_tables.Exact(name, many=20 if replicates >= MANY else 14)
    how = {"burn_in": BURN_IN[name], "min_sweeps": BURN_IN[name] + 5, "lag": 20, "settings": None, "seed": seed}
    d = cp.draw(exact.case.target(), replicates=replicates, per_replicate=1, **how)
    rows = cells_of(exact.case.rows)
    predictor = predicting.Predicting(d.target, rows)

    def of_new_rows(partition, values):
        both, joins = predicting.overlaps_with(partition, REFERENCE), predictor.join(partition, values)
        belongs = joins.shares[:, :-1] @ (both / both.sum(axis=1, keepdims=True))
        return np.concatenate([belongs.ravel(), joins.shares[:, -1], np.exp(joins.log_density)])

    each = predicting.by_replicate(d, of_new_rows)
    mean, error = each.mean(axis=0), predicting.stderr_of(each)
    expected = [exact.new_row(row) for row in exact.case.rows]
    shares = np.array([one for one, _ in expected])
    wanted = np.concatenate([shares[:, :-1].ravel(), shares[:, -1]])
    away = {
        "predict_proba": in_errors(mean[: len(wanted)], wanted, error[: len(wanted)]),
        "score_samples": in_errors(mean[len(wanted) :], [one for _, one in expected], error[len(wanted) :]),
    }

    frame, lines = describing.profile(d, REFERENCE), expected_profile(exact)
    away["profile"] = in_errors(frame["estimate"], lines[:, 0], frame["stderr"])
    if replicates >= MANY:
        is_number = ~np.isnan(lines[:, 1])
        away["profile, sd"] = in_errors(frame["sd"][is_number], lines[is_number, 1], frame["sd_stderr"][is_number])
    if replicates >= MANY or name != "full and others":
        share, error = separation_of(describing.separation(d, REFERENCE), exact)
        away["separation"] = in_errors(share, expected_separation(exact), error)
    frame = describing.outliers(d, ROWS, REFERENCE, 2, -1.0).loc[ROWS]
    away["outliers"] = in_errors(frame["probability"], exact.small(2), frame["stderr"])
    if missing := expected_missing(exact):
        frame = describing.impute(d, ROWS).loc[list(missing)]
        names = ["probability" if column in LEVELS else "value" for column, _ in missing.values()]
        expected = [max(found) if column in LEVELS else found[0] for column, found in missing.values()]
        found = [frame[which].iloc[i] for i, which in enumerate(names)]
        away["impute"] = in_errors(found, expected, frame["stderr"])
    balls = [
        (METRICS[loss], around.credible_ball(d, REFERENCE, loss, level)) for loss in METRICS for level in (0.3, 0.8)
    ]
    inside = [exact.within(metric, ball.radius) for metric, ball in balls]
    away["credible_ball"] = in_errors(
        [ball.probability for _, ball in balls], inside, [ball.stderr for _, ball in balls]
    )
    return away


def in_errors(found, expected, errors):
    """Differences in standard errors; where these are 0, there must be none."""
    difference, errors = np.abs(np.ravel(found) - np.ravel(expected)), np.ravel(errors)
    return np.where(difference <= 1e-9, 0.0, difference / np.maximum(errors, 1e-300))


@pytest.mark.parametrize("replicates", [300, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", CASES)
def test_with_partitions_from_chains(name, replicates):
    """Estimates from coupled chains agree with enumeration.

    By chance a case fails once in 300 seeds (50 comparisons with 4 standard errors); of 60 runs with a few hundred
    replicates (5 cases, 12 seeds) none did.
    """
    away = standard_errors(name, replicates)
    assert max(one.max() for one in away.values()) <= 4.0, {which: one.round(1) for which, one in away.items()}
