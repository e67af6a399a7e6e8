"""Targets of one's own with unknown hyperparameters, of a page and an example.

Their distributions, and that mistakes are seen.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import invgamma

import copartition as cp
import galaxies_unknown_scale
import naive
import pictures
from component_cases import blocks
from copartition.diagnostics.findings import HEADLINES

X = np.array([-1.3, -0.4, 0.2, 1.1, 2.6])
DISTRIBUTION_SD, NOISE = 2.0, 0.8
SETTINGS = {"burn_in": 2, "min_sweeps": 10, "lag": 2, "seed": 3}
REPLICATES = 20_000
MISTAKES = {
    "weights": ("grid[i] ** 2 + noise**2 / c.sizes[k]", "grid[i] ** 2 + noise**2", {}),
    "draws": ("1.0 / math.sqrt(precision)", "1.5 / math.sqrt(precision)", {}),
    # What is wrong in the coupling alone is seen best where little else is averaged.
    "constant": (" - math.log(sd) - 0.5 * math.log(2.0 * math.pi)", "", {"burn_in": 0, "min_sweeps": 1}),
}


def page_target(tmp_path, change=("", "")):
    """The target of the page, with a piece of the page's code replaced."""
    *_, model, use, _ = blocks("docs/own-target.md")
    assert change[0] in model
    file = tmp_path / "page.py"  # a compiled function of a page is compiled like that of any file
    file.write_text(model.replace(*change) + use.split("e = cp.estimate")[0])
    scope: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    return scope["target"]


def exact(grid):
    """The expected number of clusters, probability that the first two are together, centre and spread.

    Given the partition and the spread all measurements are jointly normal, the centre and the means integrated out.
    """
    values, logs = [], []
    for labels in naive.all_partitions(len(X)):
        same = naive.adjacency(labels)
        for spread in grid:
            covariance = NOISE**2 * np.eye(len(X)) + spread**2 * same + DISTRIBUTION_SD**2
            centre = DISTRIBUTION_SD**2 * np.linalg.solve(covariance, X).sum()
            values.append([max(labels) + 1, same[0, 1], centre, spread])
            logs.append(np.log(naive.process(labels, 1.0)) + naive.log_normal_density(X, np.zeros(len(X)), covariance))
    weights = np.exp(np.array(logs) - max(logs))
    return weights @ np.array(values) / weights.sum()


def deviation(target, replicates=REPLICATES, **settings):
    """By how many standard errors estimates are off, at most."""
    wanted = [cp.n_clusters(), cp.co_clustering([0, 1]), cp.hyperparameters()]
    e = cp.estimate(target, wanted, replicates=replicates, **(SETTINGS | settings))
    return np.abs((e.mean - exact(np.geomspace(0.5, 8.0, 32))) / e.stderr).max()


@pytest.mark.parametrize(("coupling", "moves"), [("path", 2), ("transport", 0), ("independent", 0)])
def test_estimates_with_numbers_of_ones_own_are_exact(tmp_path, coupling, moves):
    """20,000 replicates, four components, 4.5 standard errors: false alarm 3e-5 a case."""
    target = page_target(tmp_path)
    assert target.hyperparameters == ["centre", "spread"]
    assert deviation(target, coupling=coupling, split_merge=moves) < 4.5


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_functions_of_ones_own_are_seen(tmp_path, mistake):
    *change, settings = MISTAKES[mistake]
    assert deviation(page_target(tmp_path, change), **settings) > 7.0
    assert deviation(page_target(tmp_path), **settings) < 4.5


def test_the_density_given_numbers_is_that_of_the_definition(tmp_path):
    target = page_target(tmp_path)
    spread = np.geomspace(0.5, 8.0, 32)[11]
    logs = []
    for labels in ([0, 0, 0, 0, 0], [0, 0, 1, 1, 2], [0, 1, 2, 3, 4]):
        covariance = NOISE**2 * np.eye(len(X)) + spread**2 * naive.adjacency(labels)
        definition = np.log(naive.process(labels, 1.0)) + naive.log_normal_density(
            X - 0.7, np.zeros(len(X)), covariance
        )
        logs.append(cp.kernels.log_density(target, labels, hyperparameters=[0.7, spread]) - definition)
    np.testing.assert_allclose(logs, logs[0], atol=1e-10)


@pytest.mark.plain
def test_draws_of_a_plain_chain_are_on_the_grid(tmp_path):
    """Also as plain Python."""
    target = page_target(tmp_path)
    s = cp.sample(target, cp.hyperparameters(), sweeps=30, burn_in=2, chains=1, seed=1)
    centres, spreads = np.asarray(s.draws).reshape(-1, 2).T
    assert np.isin(spreads, np.geomspace(0.5, 8.0, 32)).all()
    assert len(np.unique(centres)) == len(centres)


# --- examples/galaxies_unknown_scale.py ------------------------------------------------------------------------------


@pytest.mark.plain
def test_the_example_integrates_means_and_variances():
    """Given the scale, against quadrature over the variance of each cluster; the example's sum is within 1e-5."""
    scale = galaxies_unknown_scale.SCALES[25]
    component = galaxies_unknown_scale.RichardsonGreen(0.5, 4.0, cp.Gamma(0.2, 0.1))
    target = cp.Mixture(X, component, cp.DirichletProcess(1.0))

    def log_cluster(members):
        def joint(log_variance):
            variance, size = np.exp(log_variance), len(members)
            covariance = variance * np.eye(size) + 16.0
            log_density = naive.log_normal_density(X[members], np.full(size, 0.5), covariance)
            return np.exp(log_density + invgamma(2.0, scale=scale).logpdf(variance) + log_variance)

        return np.log(quad(joint, -8.0, 8.0, epsabs=0.0)[0])

    found = []
    for labels in ([0, 0, 0, 0, 0], [0, 0, 1, 1, 2], [0, 1, 2, 3, 4], [0, 0, 0, 0, 1]):
        definition = np.log(naive.process(labels, 1.0)) + sum(map(log_cluster, naive.clusters(labels)))
        found.append(cp.kernels.log_density(target, labels, hyperparameters=[scale]) - definition)
    np.testing.assert_allclose(found, found[0], atol=1e-5)


def test_the_example_finds_what_was_published(tmp_path):
    """Twelve replicates: 4.5 standard errors of each of eight probabilities and 0.02 of theirs."""
    posterior = galaxies_unknown_scale.models()["theirs"]
    e = cp.estimate(
        posterior,
        cp.functionals.n_components(most=12),
        replicates=12,
        burn_in=20,
        min_sweeps=60,
        lag=30,
        seed=1,
        executor=1,
    )
    published = np.array(list(galaxies_unknown_scale.PUBLISHED.values()))
    assert (np.abs(e.mean[2:10] - published) < 4.5 * e.stderr[2:10] + 0.02).all()


def test_the_example_writes_its_picture_and_its_page(tmp_path, monkeypatch):
    monkeypatch.setattr(galaxies_unknown_scale, "SWEEPS", {"burn_in": 0, "min_sweeps": 10})
    galaxies_unknown_scale.main(tmp_path, replicates=3)
    theirs, ours = "Richardson and Green's model", "Means scattered by variance / mean_weight instead"
    assert pictures.drawn(tmp_path / "richardson-green.png") == [theirs, ours]
    page = (tmp_path / "richardson-green.html").read_text(encoding="utf-8")
    assert any(headline in page for headline in HEADLINES.values())
    assert "n_components" in page
