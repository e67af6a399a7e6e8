"""The posterior of the blocks of a network, where DATA is one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

import copartition as cp
from copartition import datasets

ENDINGS = ", ".join(datasets.NETWORKS)
OPTIONS = {  # what goes with networks only: keys of options, and how a person writes them
    "degree_corrected": "--[no-]degree-corrected",
    "edges": "--edges",
    "rate": "--rate",
    "weight": "--weight",
    "vertex_kinds": "--kinds",
    "known": "--known",
    "undirected": "--undirected",
}


def network_options() -> list[Callable[..., Any]]:
    """Return the options that say what the block model of a network is."""
    return [
        click.option(
            "--degree-corrected/--no-degree-corrected",
            default=None,
            help="Of networks: vertices of a block may have any degrees, or degrees are part of what a block is.  "
            "[default: they may; bernoulli edges: part of it]",
        ),
        click.option(
            "--edges",
            type=click.Choice(["poisson", "bernoulli"]),
            help="Of networks: any number of edges between two vertices, or at most one.  [default: poisson]",
        ),
        click.option(
            "--rate",
            type=float,
            help="Of networks with poisson edges: prior mean of the number of edges between two blocks.  [default: as "
            "many as there are edges for each pair of the expected blocks]",
        ),
        click.option(
            "--weight",
            metavar="ATTRIBUTE",
            help="Of networks: attribute of edges that says how many parallel edges each stands for; weight is the "
            "third column of a list of edges.  [default: every edge is one]",
        ),
        click.option(
            "--kinds",
            "vertex_kinds",
            metavar="ATTRIBUTE",
            help="Of networks: attribute of vertices; those with different ones never share a block, as in a "
            "bipartite network.",
        ),
        click.option(
            "--known",
            metavar="ATTRIBUTE",
            help="Of networks: attribute of vertices whose blocks are known, a name or a number for each block; "
            "nothing, or a negative number, where a block is not known.",
        ),
        click.option(
            "--undirected",
            is_flag=True,
            help="Take a directed network as undirected; arrows in both directions count as two edges.",
        ),
    ]


def block_model_of(options: dict[str, Any], prior: Any) -> cp.BlockModel:
    """Return the posterior of the network in the file DATA; how it was read is left in the options."""
    source = options["data"]
    graph, notes = datasets.read_network(source, options["undirected"])
    options["notes"] = notes
    given: dict[str, Any] = {key: options[key] for key in ("degree_corrected", "edges") if options[key] is not None}
    if options["edges"] == "bernoulli":
        for written, is_given in (
            ("--rate", options["rate"] is not None),
            ("--degree-corrected", options["degree_corrected"]),
        ):
            if is_given:
                raise click.UsageError(f"{written} goes with --edges poisson, not with bernoulli.")
    if options["weight"] is not None:
        _check_weights(graph, options["weight"], source)
    elif any("weight" in edge for *_, edge in graph.edges(data=True)):
        notes.append("every edge is one; --weight weight counts by weight")
    for key in ("vertex_kinds", "known"):
        if options[key] is not None:
            _check_attribute("vertices", options[key], (node for _, node in graph.nodes(data=True)), source)
    return cp.BlockModel(
        graph,
        rate=options["rate"],
        prior=prior,
        weight=options["weight"],
        kinds=options["vertex_kinds"],
        known=None if options["known"] is None else _known_of(graph, options["known"], source),
        **given,
    )


def network_line(options: dict[str, Any], target: cp.BlockModel) -> str:
    """Return a line that says which network was read."""
    weighted = "" if options["weight"] is None else f", counted by {options['weight']}"
    notes = "".join(f"; {note}" for note in options["notes"])
    return f"data: {options['data']}, {target.n_points} vertices and {target.n_edges} edges{weighted}{notes}"


def _check_attribute(what: str, name: str, elements: Iterable[dict[str, Any]], source: str) -> None:
    """Refuse an attribute that no vertex or edge has; say which there are."""
    found = list(dict.fromkeys(key for element in elements for key in element))
    if name not in found:
        there_are = f"they have {', '.join(found[:10])}" if found else "they have none"
        raise ValueError(f"The {what} in {source!r} have no attribute {name!r}; {there_are}.")


def _check_weights(graph: Any, name: str, source: str) -> None:
    """Refuse weights that are no numbers of parallel edges; say of which edge."""
    _check_attribute("edges", name, (edge for *_, edge in graph.edges(data=True)), source)
    for a, b, value in graph.edges(data=name):
        if not (_is_whole(value) and value >= 0):
            got = "nothing" if value is None else repr(value)
            raise ValueError(
                f"--weight {name}: expected 0, 1, 2, ... for every edge in {source!r}, got {got} between {a!r} and "
                f"{b!r}."
            )


def _known_of(graph: Any, name: str, source: str) -> dict[Any, int]:
    """Return the numbers of known blocks by node; names of blocks are numbered in the order of the file."""
    values = {node: value for node, value in graph.nodes(data=name) if value not in (None, "")}
    if all(isinstance(value, str) for value in values.values()):
        number = {value: i for i, value in enumerate(dict.fromkeys(values.values()))}
        return {node: number[value] for node, value in values.items()}
    for node, value in values.items():
        if not _is_whole(value):
            raise ValueError(
                f"--known {name}: expected a name for every vertex in {source!r}, or a whole number for every one, got "
                f"{value!r} for {node!r}."
            )
    return {node: int(value) for node, value in values.items()}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
