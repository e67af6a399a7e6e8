"""A model of your own
===================

Clusters of yes/no answers.

Every cluster has its own probability of a yes for each question, with a Beta(a, b) prior, integrated out. The package
does not ship this model; this file is all that is needed to use it, and it runs as fast as the built-in ones.

Run it with ``python examples/bernoulli.py``; it writes ``out/bernoulli.png``.
"""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import copartition as cp


@cp.kernels.log_predictive
def log_predictive(model, chain, n_choices, n):
    """Log probability of the answers of person n in each cluster, given the answers of those who are in it.

    With ``yes`` of ``size`` members who said yes, the next one does with probability (a + yes) / (a + b + size). The
    last choice is an empty cluster, for which the same formula gives a / (a + b).
    """
    answers, parameters = model.points, model.parameters
    sizes, sums, weights = chain.sizes, chain.sums, chain.weights
    a, b = parameters[0], parameters[1]
    for k in range(n_choices):
        log_probability = 0.0
        for question in range(answers.shape[1]):
            yes = sums[k, question]
            favourable = a + yes if answers[n, question] == 1.0 else b + sizes[k] - yes
            log_probability += math.log(favourable / (a + b + sizes[k]))
        weights[k] = log_probability


class Bernoulli(cp.kernels.Component):
    """Yes/no answers, each question with its own Beta(a, b) prior in every cluster."""

    def __init__(self, a: float = 1.0, b: float = 1.0) -> None:
        if not (a > 0 and b > 0):
            raise ValueError(f"a and b must be positive, got {a} and {b}.")
        self.a = a
        self.b = b

    def prepare(self, data: np.ndarray) -> cp.kernels.Prepared:
        """Hand over the answers, whose sums over a cluster count its yeses, and the two numbers of the prior."""
        if not np.isin(data, (0.0, 1.0)).all():
            raise ValueError("data must be zeros and ones.")
        return cp.kernels.Prepared(log_predictive, points=data, parameters=np.array([self.a, self.b]))

    def transform(self, data: np.ndarray) -> np.ndarray:
        """Take new answers as they are (for `copartition.predictive_density`)."""
        return data

    def __repr__(self) -> str:
        return f"Bernoulli(a={self.a}, b={self.b})"


def main(folder: Path = Path("out")) -> None:
    """Cluster 60 people of three kinds by their answers to 12 questions, and draw who is together."""
    rng = np.random.default_rng(1)
    kinds = rng.beta(0.3, 0.3, size=(3, 12))
    answers = rng.random((60, 12)) < kinds[rng.integers(3, size=60)]
    posterior = cp.Mixture(answers, Bernoulli(a=0.5, b=0.5), cp.DirichletProcess(alpha=1.0))
    print(posterior)
    print(cp.meeting_times(posterior, replicates=200, lag=20, seed=1))
    print(cp.sample(posterior, cp.largest_clusters(4), seed=1))

    e = cp.estimate(posterior, cp.co_clustering(), replicates=100, burn_in=20, min_sweeps=200, lag=20, seed=1)
    people = cp.consensus(e)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.9), layout="constrained", width_ratios=[0.6, 1])
    left.imshow(answers[np.argsort(people.labels, kind="stable")], cmap="Greys", aspect="auto", interpolation="none")
    left.set(xlabel="question", ylabel="people, by consensus cluster", title="Who said yes (black)?")
    cp.plots.co_clustering(e, ax=right, consensus=people)
    right.set_title("Who is of a kind?")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "bernoulli.png", dpi=110)
    print(f"Wrote {folder / 'bernoulli.png'}.")


if __name__ == "__main__":
    main()
