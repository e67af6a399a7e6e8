"""From a table to one clustering and how sure it is, in bounded time: what the doors of other libraries have in common.

A person who calls ``fit`` expects an answer. So pairs of chains are capped, and where they do not meet the answer says
so. The cap, if none is given, is a number of updates of points that a chain may make, whatever their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import numpy as np

from copartition.answers import Estimate
from copartition.chains.step import Step
from copartition.diagnostics.consensus import Consensus
from copartition.diagnostics.findings import MISFIT, NO_ANSWER
from copartition.functionals import Functional, co_clustering, n_clusters, nearest_pairs
from copartition.runs.consensus import consensus
from copartition.runs.workers import Where
from copartition.targets.gaussian import Gaussian
from copartition.targets.mixture import Component, Mixture
from copartition.targets.normal import NormalInverseGamma, NormalInverseWishart
from copartition.targets.tied import TiedGaussian
from copartition.validation import finite_array, positive_number, shorten

COMPONENTS = ("full", "diagonal", "tied", "known")
UPDATES = 500_000  # of points, that a chain may make
LEAST_SWEEPS, MOST_SWEEPS = 200, 5_000
ALL_PAIRS = 2_000  # points of which all pairs are looked at; of more, each with its nearest
NEIGHBOURS = 15


class Clustered(NamedTuple):
    """A clustering of the rows of a table.

    Attributes
    ----------
    posterior : Mixture
    consensus : Consensus
    number : Estimate
        Of the number of clusters.
    similarity : float64 array, sparse array, or None
        Probability of being together, clipped to 0..1, 1 on the diagonal: of all pairs of up to 2,000 points, of more
        points that of each with its 15 nearest; None if it is not known which are near, because cells are missing.
    max_sweeps : int
        The cap.
    """

    posterior: Mixture
    consensus: Consensus
    number: Estimate
    similarity: Any
    max_sweeps: int

    @property
    def n_sweeps(self) -> int:
        """The most sweeps that a pair of chains made."""
        return max(int(e.meeting_times.max()) for e in self.consensus.runs)

    @property
    def shortfalls(self) -> list[str]:
        """What speaks against trusting it, a sentence each; nothing if pairs met and the precision was reached."""
        runs, unmet = self.consensus.runs, self.consensus.censored
        found = []
        if unmet:
            verdicts = [e.agreement for e in runs if isinstance(e, Estimate)]
            why = next((f" ({one.verdict})" for one in verdicts if one is not None), "")
            found.append(
                f"{unmet} of {sum(len(e.met) for e in runs)} pairs of chains did not meet within {self.max_sweeps:,} "
                f"sweeps{why}, so all numbers are biased, as those of ordinary chains are: raise max_sweeps, take a "
                "simpler component ('diagonal', 'tied') or fewer columns."
            )
        precision = runs[-1].made_by.get("precision")
        if not unmet and precision is not None and not precision["reached"]:
            error = runs[-1].select("memberships").stderr.max()
            found.append(
                f"standard errors of probabilities are up to {error:.2g} after {len(runs[-1].met)} pairs of chains, "
                f"and at most {precision['target_stderr']:g} was asked for: raise max_replicates."
            )
        if not self.consensus.has_answer:
            found.append(NO_ANSWER)
        return found

    @property
    def misfits(self) -> list[str]:
        """Where the model does not suit the data, a sentence or two each."""
        return [f"{one.text} {one.advice}" for one in self.consensus.findings if one.level == MISFIT]


def component_of(component: Any, data: Any, noise_sd: float | None = None) -> Component:
    """Return a component that is given, or by its name.

    Parameters
    ----------
    component : str or Component
        ``"full"``, `NormalInverseWishart`; ``"diagonal"``, `NormalInverseGamma`; ``"tied"``, `TiedGaussian`; or
        ``"known"``, `Gaussian` with `noise_sd`, whose cluster means lie around those of the columns as widely as the
        points do.
    data : array (points, columns)
    noise_sd : float, optional
        With ``"known"``: standard deviation of points around the mean of their cluster.

    Examples
    --------
    >>> component_of("known", [[0.0, 1.0], [2.0, 3.0]], noise_sd=0.5)
    Gaussian(noise_sd=0.5, mean_sd=1.0, mean=[1.0, 2.0])
    """
    named = {"full": NormalInverseWishart(), "diagonal": NormalInverseGamma(), "tied": TiedGaussian("full")}
    is_given = isinstance(component, Component)
    if not is_given and (not isinstance(component, str) or component not in COMPONENTS):
        raise ValueError(
            f"component must be {', '.join(map(repr, COMPONENTS))} or a Component, got {shorten(component)}."
        )
    if noise_sd is not None and (is_given or component in named):
        raise ValueError(f"noise_sd goes with component='known', got {shorten(noise_sd)} for {shorten(component)}.")
    if is_given:
        return component
    if component in named:
        return named[component]
    if noise_sd is None:
        raise ValueError("noise_sd must be given with component='known': how far points are from their cluster's mean.")
    table = finite_array("data", data, (2,))
    spread = float(np.sqrt(np.mean(table.var(axis=0))))
    return Gaussian(noise_sd=positive_number("noise_sd", noise_sd), mean_sd=spread or 1.0, mean=table.mean(axis=0))


def cap_for(n_points: int) -> int:
    """Return the cap on the sweeps of a pair if none is given."""
    return int(np.clip(UPDATES // n_points, LEAST_SWEEPS, MOST_SWEEPS))


class Asking(TypedDict, total=False):
    """Arguments of functions that cluster the rows of a table: what is asked of the clustering, see `Asked`."""

    loss: str
    target_stderr: float | None
    max_replicates: int
    max_sweeps: int | None
    step: Step | None


@dataclass(frozen=True)
class Asked:
    """What is asked of a clustering.

    Attributes
    ----------
    loss, target_stderr, step
        See `consensus`.
    max_replicates : int
        The most pairs of chains in each of two rounds, 200 at most in the first if a precision is asked for.
    max_sweeps : int, optional
        A cap on the sweeps of each pair; left out, as many as make half a million updates of points, 200 at least and
        5,000 at most.
    """

    loss: str = "vi"
    target_stderr: float | None = 0.05
    max_replicates: int = 1000
    max_sweeps: int | None = None
    step: Step | None = None


def cluster_rows(posterior: Mixture, data: Any, asked: Asked, where: Where) -> Clustered:
    """Return a clustering of the rows of a table, and how sure it is.

    Parameters
    ----------
    posterior : Mixture
        Of the rows.
    data : array (points, columns) or data frame
    asked : Asked
    where : Where
    """
    pairs = _pairs_of(posterior, data)
    also: list[Functional] = [n_clusters()] if pairs is None else [n_clusters(), pairs]
    cap = cap_for(posterior.n_points) if asked.max_sweeps is None else asked.max_sweeps
    found = consensus(
        posterior,
        asked.loss,
        replicates=asked.max_replicates,
        target_stderr=asked.target_stderr,
        also=also,
        step=asked.step,
        max_sweeps=cap,
        seed=where.seed,
        executor=where.executor,
        progress=where.progress,
    )
    chosen_by: Any = found.chosen_by
    similarity = None if pairs is None else _similarity(chosen_by.select("co_clustering"), posterior.n_points)
    return Clustered(posterior, found, chosen_by.select("n_clusters"), similarity, cap)


def _pairs_of(posterior: Mixture, data: Any) -> Functional | None:
    """Return the functional that tells which points are together, of as many pairs as there is room for."""
    if posterior.n_points < 2:
        return None
    if posterior.n_points <= ALL_PAIRS:
        return co_clustering()
    try:
        table = finite_array("data", data, (2,))
    except (TypeError, ValueError):  # text, or cells that are missing
        return None
    spread = table.std(axis=0)
    return co_clustering(pairs=nearest_pairs(table / np.where(spread > 0, spread, 1.0), NEIGHBOURS))


def _similarity(e: Estimate, n_points: int) -> Any:
    """Return estimated probabilities of being together as a symmetric table, dense if it is one of all pairs."""
    from scipy.sparse import coo_array, csr_array, eye_array
    from scipy.spatial.distance import squareform

    mean = np.clip(e.mean, 0.0, 1.0)
    if "points" in e.functionals[0]:
        table = squareform(mean)
        np.fill_diagonal(table, 1.0)
        return table
    a, b = np.array(e.functionals[0]["pairs"]).T
    half = coo_array((mean, (a, b)), shape=(n_points, n_points))
    return csr_array(half + half.T + eye_array(n_points))
