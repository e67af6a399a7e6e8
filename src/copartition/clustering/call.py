"""The answer that a person comes for: which clusters, and how sure, from a table, a target or a network, in one call.

The work is counted beforehand. A fifth of it may go into the choice of a model. Ordinary chains from different starts
then give an answer within seconds, and pairs of coupled chains its certificate. Whatever stops first, there is an
answer, and a grade that says what it is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from copartition.clustering.answer import Clustering
from copartition.clustering.chains import OrdinaryChains
from copartition.clustering.model import (
    NAMED,
    Score,
    choose_component,
    component_for,
    posterior_of,
    table_of,
    why_singular,
)
from copartition.clustering.pairs import Certificate, Pairs
from copartition.clustering.reading import answer_of
from copartition.clustering.work import FULL_EFFORT, Budget
from copartition.datasets.kinds import Kinds, recognise
from copartition.diagnostics.consensus import check_loss
from copartition.runs.defaults import bind, read_step
from copartition.runs.progress import bar_for
from copartition.runs.workers import Where, lasting
from copartition.targets.base import Target
from copartition.targets.mixture import Component, Mixture
from copartition.targets.network import BlockModel
from copartition.validation import flag, integer, positive_number, shorten

CHAINS_SHARE = 0.35  # of all work, for chains before pairs
LENGTHS = 4  # chains are as many times as long as the slowest of the first pairs took to meet
SHOWN = 1000  # parts of the work that a bar tells apart
LEAST_EFFORT, MOST_EFFORT = 1e-3, 1e6


class Question(NamedTuple):
    """What is clustered, read and resolved.

    Attributes
    ----------
    posterior : Target
    kinds : Kinds or None
        What the columns were taken for, if that was recognised here.
    scores : list of Score
        Of the components that competed.
    given : object
        The data as they were given.
    component : str
        What was asked for, where components go by names.
    """

    posterior: Target
    kinds: Kinds | None
    scores: list[Score]
    given: Any
    component: str = ""


def cluster(
    data: Any,
    component: str | Component = "auto",
    prior: Any = None,
    *,
    effort: float = 1.0,
    loss: str = "vi",
    known: Any = None,
    seed: int = 0,
    executor: Any = None,
    progress: bool = False,
) -> Clustering:
    """Cluster the rows of a table, or the vertices of a network, and say how sure that is.

    The number of clusters is found along with them. There is always an answer, and it has a grade: "unbiased",
    "approximate" or "unsettled".

    Parameters
    ----------
    data : data frame, array, Target or graph
        A table, a row a point: kinds of columns (numbers, counts, yes and no, categories) are recognised, and cells may
        be missing; ``datasets.recognise(table, kinds=...)`` takes the kinds from you. Or a target, such as `Mixture` or
        `BlockModel`. Or a network: a graph of networkx, or a sparse adjacency matrix.
    component : str or Component, default "auto"
        What clusters of columns of numbers are like: ``"full"``, each with a covariance of its own; ``"tied"``, with
        one that all share; ``"diagonal"``, columns independent. ``"auto"`` takes the one that predicts rows best that
        it has not seen. A component of the package takes the table as it is.
    prior : Prior, optional
        The distribution of clusterings before any data; left out, a Dirichlet process with an unknown concentration.
    effort : float, default 1.0
        How much work: 1 is at most a minute of one processor, for tables of up to 20,000 rows, and 10 is ten times
        that. Raise it by as many times as you have processors.
    loss : str, default "vi"
        What makes a clustering stand for the posterior: least expected variation of information, or ``"binder"``, the
        least expected number of pairs in dispute.
    known : array of int, optional
        Clusters of rows that are known, -1 for all others.
    seed : int
        The same seed gives the same answer on any machine and executor.
    executor : None, int, "processes", concurrent.futures.Executor or dask.distributed.Client
        Where chains run, see `estimate`.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Clustering

    Examples
    --------
    >>> import copartition as cp
    >>> import numpy as np
    >>> data = np.random.default_rng(1).normal(np.repeat([[-5.0], [5.0]], 15, axis=0), 1.0, (30, 2))
    >>> c = cp.cluster(data, component="diagonal", seed=1)
    >>> c.labels
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1,
           1, 1, 1, 1, 1, 1, 1, 1])
    >>> c.grade
    'unbiased'
    """
    effort, seed = check_arguments(component, effort, loss, seed)
    flag("progress", progress)
    with lasting(executor) as place, _meter(progress) as tell:
        where = Where(place, False, seed)
        budget = Budget(effort * FULL_EFFORT, tell=tell)
        asked = _read(data, component, prior, known, budget, where)
        return _cluster(asked, loss, effort, budget, where)


def check_arguments(component: Any, effort: Any, loss: Any, seed: Any) -> tuple[float, int]:
    """Refuse what can be refused before data are looked at; return effort and seed as numbers."""
    if not (isinstance(component, Component) or (isinstance(component, str) and component in ("auto", *NAMED))):
        names = ", ".join(map(repr, ("auto", *NAMED)))
        raise ValueError(f"component must be {names} or a Component, got {shorten(component)}.")
    check_loss(loss)
    effort = positive_number("effort", effort)
    if not LEAST_EFFORT <= effort <= MOST_EFFORT:
        raise ValueError(f"effort must be {LEAST_EFFORT:g} to {MOST_EFFORT:g}, got {effort:g}.")
    return effort, integer("seed", seed, 0)


@contextmanager
def _meter(progress: bool) -> Iterator[Callable[[float, float, str], None]]:
    """Show how much of the work is done, which never goes back; what stops early needs less, and ends at the whole."""
    if not progress:
        yield lambda spent, total, what: None
        return
    done = 0

    def tell(spent: float, total: float, what: str) -> None:
        nonlocal done
        done = max(done, min(int(SHOWN * spent / total), SHOWN - 1))
        bar.show(done, SHOWN, what)

    with bar_for("clustering", is_share=True) as bar:
        yield tell
        bar.show(SHOWN, SHOWN, "done")


def _cluster(asked: Question, loss: str, effort: float, budget: Budget, where: Where) -> Clustering:
    """Run ordinary chains, then pairs; after an interruption, what there is by then is the answer."""
    target = asked.posterior
    step = read_step(target)
    chains = OrdinaryChains(target, bind(target, step), where)
    was_interrupted, certificate = False, Certificate(None, None, "the run was interrupted")
    try:
        chains.follow(budget, CHAINS_SHARE * budget.total)
        reading = answer_of(asked, chains, loss, where.seed)
    except KeyboardInterrupt:
        if chains.seen is None:
            raise
        was_interrupted = True
        reading = answer_of(asked, chains, loss, where.seed)
    if not was_interrupted:
        try:
            certificate = Certificate(None, None, "they agreed late, with no work left for pairs of coupled chains")
            if chains.agree:
                init = "sequential" if isinstance(target, Mixture) else target.default_start
                pairs = Pairs(target, step, init, chains.mean_n_clusters, budget, where)
                if chains.follow_as_long_as(LENGTHS * pairs.slowest, budget):
                    reading = answer_of(asked, chains, loss, where.seed)
                certificate = pairs.certify(reading.to_certify, effort)
            if certificate.why:
                chains.follow(budget, budget.left, to_the_end=True)
                reading = answer_of(asked, chains, loss, where.seed)
        except KeyboardInterrupt:
            was_interrupted = True
    return reading.graded(certificate, budget, effort, was_interrupted)


# --- what is clustered -----------------------------------------------------------------------------------------------


def _read(data: Any, component: Any, prior: Any, known: Any, budget: Budget, where: Where) -> Question:
    """Return the posterior of what was given, and how it was found."""
    is_named = isinstance(component, str)
    if isinstance(data, Target) or _is_graph(data):
        given = {"component": None if component == "auto" else component, "prior": prior, "known": known}
        if isinstance(data, Target) and (extra := [name for name, value in given.items() if value is not None]):
            raise ValueError(f"{extra[0]} must be left out for a target, which has its own, got {shorten(data)}.")
        if not isinstance(data, Target):
            if given["component"] is not None:
                raise ValueError(f"component goes with tables, got {shorten(component)} for a network.")
            data = BlockModel(data, known=known) if prior is None else BlockModel(data, prior=prior, known=known)
        return Question(data, None, [], data)
    _check_index(known, data)
    if not is_named:
        posterior = Mixture(_cells(data, component), component, prior, known=known)
        if isinstance(data, Kinds):
            posterior.names = data.names
        return Question(posterior, None, [], data)
    kinds = data if isinstance(data, Kinds) else recognise(data)
    if len(kinds.columns[0].cells) < 2:
        raise ValueError("data must have at least two rows, a row a point, got 1.")
    titles = [column.name for column in kinds.columns]
    if twice := [title for title in titles if titles.count(title) > 1]:
        raise ValueError(f"data must have columns of different names, got {shorten(twice[0])} twice: rename one.")
    name: str = component
    scores: list[Score] = []
    if component == "auto":
        name, scores = choose_component(kinds.columns, prior, budget, where)
        if name == "diagonal" and not scores and (why := why_singular(kinds.columns)):
            kinds = kinds._replace(notes=[*kinds.notes, f"{why}, so that columns are taken for independent"])
    elif name != "diagonal" and (why := why_singular(kinds.columns)):
        raise ValueError(f"component must be 'diagonal' for these data, got {name!r}: {why}; or leave columns out.")
    return Question(
        posterior_of(kinds, component_for(kinds.columns, name), prior, known), kinds, scores, data, component
    )


def _check_index(known: Any, data: Any) -> None:
    """Refuse clusters that are known of a table of pandas with other rows: they go by place."""
    if hasattr(known, "iloc") and hasattr(data, "iloc") and not known.index.equals(data.index):
        if len(known) != len(data):
            raise ValueError(f"known must have an entry for each of the {len(data)} rows, got {len(known)} entries.")
        raise ValueError(
            "known must have the index of data, in the same order, got another; known.to_numpy() goes by place."
        )


def _cells(data: Any, component: Component) -> Any:
    """Return a table as a component takes it, which somebody has recognised the columns of."""
    if not isinstance(data, Kinds):
        return data
    cells = table_of(data.columns, titles=data.titles)
    return cells if component.takes_cells else cells.numbers()


def _is_graph(data: Any) -> bool:
    """Tell whether data are a graph of networkx, or a sparse matrix."""
    return hasattr(data, "adj") or (hasattr(data, "tocoo") and hasattr(data, "nnz"))
