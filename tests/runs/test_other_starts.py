"""Answers that depend on where chains started: what a few chains from other starts say of them."""

import numpy as np
import pytest

import copartition as cp
import small
from copartition.chains.start import Beginning
from copartition.cli import main
from copartition.diagnostics.checks import BATCHES, Answer, finding_on_starts
from copartition.diagnostics.findings import Finding, findings_of
from copartition.runs.checks import dispersed_starts

SHORT = {"burn_in": 10, "min_sweeps": 60, "lag": 10}


def three_groups():
    """Three tight groups and at most two clusters: two groups are together, and no chain changes which."""
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.normal(centre, 0.3, 10) for centre in (-10.0, 0.0, 10.0)])
    return data, cp.Mixture(data, cp.Gaussian(noise_sd=1, mean_sd=10), cp.FiniteMixture(2))


def titles(e):
    return {finding.title: finding.level for finding in e.findings}


@pytest.mark.parametrize(
    "init",
    [
        "one_cluster",
        cp.Start("one_cluster", sweeps=5),
        cp.Start(np.repeat([0, 0, 1], 10), sweeps=1),
        cp.Start(np.repeat([0, 1, 1], 10), sweeps=1),
    ],
    ids=["plain", "short run", "one labelling", "its mirror image"],
)
def test_no_start_hides_that_chains_have_not_left_it(init):
    """Without the comparison all four say that two points are together with probability 0 or 1; it is 0.5."""
    _, target = three_groups()
    e = cp.estimate(target, cp.co_clustering([0, 15]), replicates=100, init=init, seed=1, **SHORT)
    assert titles(e)["Starts disagree"] == "doubt"
    assert titles(e)["No spread"] == "doubt"
    text = str(e)
    assert "from other starts and with other seeds, do not agree: together[0, 15] is" in text
    assert "another seed" in text
    assert "* the same in all 100 replicates" in text
    assert "total variation" not in " ".join(finding.text for finding in e.findings)


def test_the_command_line_says_it_too(tmp_path, capsys):
    data, _ = three_groups()
    file = tmp_path / "groups.csv"
    file.write_text("x\n" + "\n".join(f"{value:.6f}" for value in data))
    command = f"estimate {file} --noise-sd 1 --mean-sd 10 --prior finite --components 2 --functional together:0,15"
    settings = "--init one_cluster --burn-in 10 --min-sweeps 60 --lag 10 --replicates 100"
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), *settings.split()])
    assert not ended.value.code
    assert "STARTS DISAGREE" in capsys.readouterr().out


def test_chains_that_are_still_on_their_way_are_found_out():
    """Five sweeps from one cluster, without moves that split: the run says 1 cluster, all other chains end at 3."""
    rng = np.random.default_rng(5)
    data = rng.normal(size=(90, 13)) + 2.0 * rng.normal(size=(3, 13))[np.arange(90) % 3]
    target = cp.Mixture(data, cp.NormalInverseGamma())
    how = {"split_merge": 0, "burn_in": 0, "min_sweeps": 5, "lag": 1, "init": cp.Start("one_cluster", 1, 0)}
    e = cp.estimate(target, cp.n_clusters(), replicates=50, seed=1, **how)
    assert e.mean[0] == 1.0
    assert titles(e)["Starts disagree"] == "doubt"


@pytest.mark.parametrize("case", ["scalar", "diagonal", "bernoulli", "wishart", "coloring"])
def test_small_posteriors_are_not_doubted(case):
    """Ten seeds each: a rule that doubts 5 % of all runs would be found out with probability 0.92."""
    target, _ = getattr(small, case)()
    for seed in range(10):
        e = cp.estimate(target, [cp.n_clusters(), cp.co_clustering([0, 1])], replicates=100, seed=seed, **SHORT)
        assert "doubt" not in titles(e).values()


def test_the_comparison_changes_no_bit_and_is_the_same_everywhere(tmp_path):
    target, _ = small.scalar()
    how = {"replicates": 120, "seed": 3, **SHORT}
    here = cp.estimate(target, cp.n_clusters(), **how)
    there = cp.estimate(target, cp.n_clusters(), executor="processes", store=tmp_path / "run.db", **how)
    tuned = cp.tune(target, cp.n_clusters(), pairs=100, seed=1)
    other = cp.estimate(target, cp.n_clusters(), settings=tuned, **how)
    assert here.made_by["modes"] == there.made_by["modes"] == cp.Estimate.load(tmp_path / "run.db").made_by["modes"]
    assert here.made_by["modes"]["title"] == "Other starts"
    assert other.made_by["modes"]["title"] == "Modes"  # what tune looked at is not looked at again
    np.testing.assert_array_equal(here.values, there.values)
    again = cp.estimate(target, cp.n_clusters(), store=tmp_path / "run.db", **how)
    assert again.made_by["modes"] == here.made_by["modes"]


def test_a_deadline_and_a_consensus_have_the_comparison():
    target, _ = small.scalar()
    within = cp.estimate_within(target, cp.n_clusters(), workers=20, deadline=cp.Sweeps(200), seed=1, **SHORT)
    assert titles(within)["Other starts"] == "good"
    c = cp.consensus(target, seed=1, replicates=20)
    assert c.chosen_by.made_by["modes"]["title"] == "Other starts"


def test_starts_are_those_that_a_target_allows():
    _, target = three_groups()
    starts = dispersed_starts(target)
    assert list(starts) == ["one_cluster", "singletons", "sequential"]
    assert starts["singletons"].labels.max() == 1  # as many clusters as there may be
    coloring, _ = small.coloring()
    assert "one_cluster" not in dispersed_starts(coloring)
    assert all(isinstance(start, Beginning) for start in starts.values())


def test_a_function_that_fails_elsewhere_does_not_spoil_the_run(monkeypatch):
    """It is asked as often as the replicates ask, and fails from then on: only the comparison is missing."""
    target, _ = small.scalar()
    calls, limit = [], [np.inf]

    def picky(labels):
        calls.append(labels)
        if len(calls) > limit[0]:
            raise RuntimeError("never seen before")
        return float(labels[0] == labels[1])

    how = {"replicates": 5, "seed": 1, "executor": 1, **SHORT}
    monkeypatch.setattr("copartition.runs.estimating.compare_starts", lambda *run: None)
    expected = cp.estimate(target, cp.functional(picky), **how)
    limit[0] = len(calls)
    calls.clear()
    monkeypatch.undo()
    e = cp.estimate(target, cp.functional(picky), **how)
    assert len(calls) > limit[0]
    assert "modes" not in e.made_by
    np.testing.assert_array_equal(e.values, expected.values)


def test_quick_meetings_show_nothing_unless_other_starts_agree():
    target, _ = small.scalar()
    e = cp.estimate(target, cp.n_clusters(), replicates=100, seed=1, **SHORT)
    quick = e.__class__(**{**e.__dict__, "meeting_times": np.full(100, 11)})
    assert titles(quick)["Quick meetings"] == "good"
    nobody_looked = quick.__class__(**{**quick.__dict__, "made_by": {**quick.made_by, "modes": None}})
    found = {finding.title: finding for finding in findings_of(nobody_looked)}
    assert found["Quick meetings"].level == "doubt"
    assert "within 2 sweeps of being coupled" in found["Quick meetings"].text
    slow = nobody_looked.__class__(**{**nobody_looked.__dict__, "meeting_times": np.full(100, 14)})
    assert "Quick meetings" not in {finding.title for finding in findings_of(slow)}


# --- the rule --------------------------------------------------------------------------------------------------------


def judged(chains, mean, stderr=0.01, chance=1e-4, together=None, **more):
    """What the rule says of six chains whose batches of some components are these."""
    batches = np.asarray(chains, dtype=float).reshape(6, BATCHES, -1)
    along = np.array([-0.1, 0.1])[:, None]  # within a batch
    answer = Answer(["x", "y"], *(np.atleast_1d(one) for one in (mean, stderr, np.sqrt(chance), chance)), **more)
    pairs = np.zeros((6, BATCHES, 0)) if together is None else together
    found = finding_on_starts(["a", "a", "b", "b", "c", "c"], 100, [answer], [batches[:, :, None] + along], pairs)
    assert isinstance(found, Finding)
    return found.title


def test_the_rule_on_made_up_chains():
    rng = np.random.default_rng(1)
    noise = rng.normal(0.0, 0.1, (6, BATCHES))
    agree = 2.0 + noise
    assert judged(agree, 2.0) == "Other starts"
    assert judged(agree, 3.0) == "Starts disagree"  # with the estimate
    assert judged(agree, 3.0, stderr=1.0) == "Other starts"  # which does not know better
    apart = agree + np.array([0, 0, 0, 0, 1, 1.0])[:, None]
    assert judged(apart, 2.3) == "Starts disagree"  # with each other
    assert judged(apart, 2.3, chance=1.0) == "Other starts"  # replicates vary as much
    assert judged(2.0 + 20 * noise, 2.0) == "Other starts"  # long waves, seen within chains
    assert judged(np.full((6, BATCHES), 2.04), 2.0, stderr=1e-5, chance=0.0) == "Other starts"  # too small to matter
    together = np.zeros((6, BATCHES, 10))
    together[:2] = 1.0
    assert judged(agree, 2.0, together=together) == "Starts disagree"


def test_the_rule_does_not_depend_on_units_or_on_where_zero_is():
    rng = np.random.default_rng(2)
    small, large = 0.5 + rng.normal(0, 0.02, (6, BATCHES)), 1000 + rng.normal(0, 10, (6, BATCHES))
    both = {"stderr": [0.01, 1.0], "chance": [1e-4, 1.0]}
    assert judged(np.stack([small, large], axis=2), [0.5, 1000.0], **both) == "Other starts"
    small[2:] += 4.5  # beside a component that is much larger
    assert judged(np.stack([small, large], axis=2), [0.5, 1000.0], **both) == "Starts disagree"
    years = 1950 + rng.normal(0, 0.1, (6, BATCHES))
    assert judged(years, 1950.0) == "Other starts"
    years[2:] += 40.0
    assert judged(years, 1950.0) == "Starts disagree"
    shares = np.full((6, BATCHES), 0.5)
    assert judged(shares, 0.52, stderr=1e-5, chance=0.0, are_shares=True) == "Other starts"
    assert judged(shares, 0.55, stderr=1e-5, chance=0.0, are_shares=True) == "Starts disagree"
