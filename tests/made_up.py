"""Estimates, consensus clusterings and replicates that are made up for tests, and what is compared of real ones."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np

from copartition.answers import Estimate
from copartition.chains.chain import advance_chain
from copartition.chains.start import advance_pair, start_chain, start_pair
from copartition.core.random import stream
from copartition.diagnostics.consensus import Consensus
from copartition.results import MeetingTimes

STEP = {"coupling": "Transport()", "split_merge": 0, "joint_updates": None}


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
        made_by={"settings": settings, "functionals": functionals, "step": STEP},
    )


def changed(e, **fields):
    return type(e)(**{**e.__dict__, **fields})


def truncated(e, count=3):
    """The same estimate with pairs that did not meet."""
    met = e.met.copy()
    met[:count] = False
    return changed(e, met=met, made_by=e.made_by | {"settings": e.made_by["settings"] | {"max_sweeps": 200}})


def interrupted(e, count=2):
    """The same estimate from a run of which some replicates are missing."""
    indices = np.delete(np.arange(len(e.values) + count), np.arange(count))
    return changed(e, indices=indices)


def late_pairs(count, share, sweeps=30):
    """How long pairs took, a share of them longer than the burn-in of 10."""
    return np.where(np.arange(count) < round(share * count), sweeps, 3)


def made_up():
    """Estimates of every kind that warnings are about, by name, with the titles of these."""
    values = np.random.default_rng(1).normal(2.0, 0.1, (500, 1))
    heavy = values.copy()
    heavy[:3] += 50.0
    good = estimate_from(values, sweeps=np.full(500, 105))
    ordinary = changed(good, made_by=good.made_by | {"ordinary": True})
    missed = changed(good, made_by=good.made_by | {"precision": {"reached": False}})
    return {
        "good": (good, []),
        "censored": (truncated(good), ["TRUNCATED AT 200 SWEEPS, BIASED"]),
        "unfinished": (interrupted(good), ["INTERRUPTED, BIASED"]),
        "ordinary": (ordinary, ["ORDINARY MCMC, BIASED"]),
        "few": (estimate_from(values[:99]), ["FEW REPLICATES"]),
        "not so few": (estimate_from(values[:100]), []),
        "short burn-in": (estimate_from(values, coupled=late_pairs(500, 0.22)), ["SHORT BURN-IN"]),
        "short enough": (estimate_from(values, coupled=late_pairs(500, 0.04)), []),
        "short average": (estimate_from(values, sweeps=np.full(500, 900)), ["SHORT AVERAGE"]),
        "heavy": (estimate_from(heavy), ["HEAVY TAIL"]),
        "missed": (missed, ["PRECISION NOT REACHED"]),
        "much": (
            interrupted(estimate_from(heavy[:29], coupled=late_pairs(29, 0.22))),
            ["INTERRUPTED, BIASED", "SHORT BURN-IN", "FEW REPLICATES"],
        ),
    }


def pairs(times, lag, met=None, traces=None):
    times = np.asarray(times)
    met = np.ones(len(times), dtype=bool) if met is None else np.asarray(met)
    return MeetingTimes(times, met, np.zeros(len(times)), traces, lag, 100, 0, "Transport()")


def random_pairs(rng, lag, count=40):
    lengths = rng.geometric(0.1, count) - 1
    traces = [np.append(rng.integers(2, 50, length), 0) for length in lengths]
    return pairs(lag + lengths, lag, traces=traces)


def of_draws(draws):
    """An estimate whose replicates are the co-clusterings of given partitions."""
    draws = np.asarray(draws)
    pairs = np.triu_indices(draws.shape[1], 1)
    values = (draws[:, pairs[0]] == draws[:, pairs[1]]).astype(float)
    about = {"name": "co_clustering", "size": values.shape[1], "points": list(range(draws.shape[1]))}
    about |= {"picture": "co_clustering", "range": [0, 1]}
    return estimate_from(values, functionals=[about])


def consensus_with(labels, belongs=None, points=None):
    """A consensus of given labels and certainties, of which pictures use no more."""
    labels, nothing = np.asarray(labels), np.zeros(0)
    return Consensus(
        labels=labels,
        points=np.arange(len(labels)) if points is None else np.asarray(points),
        loss="vi",
        expected_loss=0.0,
        expected_loss_stderr=0.0,
        belongs=np.ones(len(labels)) if belongs is None else np.asarray(belongs),
        belongs_stderr=np.zeros(len(labels)),
        cohesion=nothing,
        cohesion_stderr=nothing,
        between=nothing,
        disagreement=0.0,
        disagreement_stderr=0.0,
        spread=0.0,
        candidates=labels[None],
    )


NASTY = "</title><script>alert('<b>&\"$x$')</script>"


def described(e, **more):
    made_by = e.made_by | {
        "target": "Mixture(...)",
        "fingerprint": "0123",
        "functional": "h",
        "init": "one_cluster",
        "seed": 1,
        "version": "0",
    }
    return type(e)(**{**e.__dict__, "made_by": made_by | more})


def good_estimate():
    return described(estimate_from(np.random.default_rng(1).normal(2.0, 0.1, (500, 1)), sweeps=np.full(500, 105)))


class Text(HTMLParser):
    """Collects elements and text."""

    def __init__(self):
        super().__init__()
        self.tags, self.text, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [v for k, v in attributes if k in {"src", "href", "xlink:href"} and v]

    def handle_data(self, data):
        self.text.append(data)


def nasty_estimate():
    e = good_estimate()
    functionals = [{"name": NASTY, "size": 1}]
    made_by = e.made_by | {"functionals": functionals, "functional": NASTY, "target": NASTY, "init": NASTY}
    return type(e)(**{**e.__dict__, "components": [NASTY], "made_by": made_by})


def assert_same(e, expected):
    assert np.array_equal(e.values, expected.values)
    assert np.array_equal(e.meeting_times, expected.meeting_times)
    assert np.array_equal(e.sweeps, expected.sweeps)
    assert np.array_equal(e.met, expected.met)


def trajectory(target, step, start, lag, seed, index, horizon):
    """Numbers of clusters of x and y over time, and the meeting time, sweep by sweep from Python."""
    random = stream(seed, index)
    x, y = (start_chain(target, start, random) for _ in range(2))
    h_x, h_y = [count(x)], [count(y)]
    for _ in range(lag):
        x = advance_chain(target, step, x, random, 1)
        h_x.append(count(x))
    random = stream(seed, index)
    pair = start_pair(target, step, start, lag, random)
    t = lag
    while pair.distance[0] > 0:
        pair, _ = advance_pair(target, step, pair, random, 1)
        t += 1
        h_x.append(count(pair.x))
        h_y.append(count(pair.y))
    x = pair.x
    for _ in range(t, horizon):
        x = advance_chain(target, step, x, random, 1)
        h_x.append(count(x))
    return h_x, h_y, t


def count(chain):
    return len(set(chain.labels.tolist()))
