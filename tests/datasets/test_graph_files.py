"""Networks in files: each way of writing one down comes to the same graph, and what is no network is refused."""

from __future__ import annotations

import gzip

import pytest

import copartition as cp
from copartition import datasets

networkx = pytest.importorskip("networkx")


def edges_of(graph):
    """Return all edges, ends in order, so that graphs may be compared whatever way they are stored."""
    return sorted(tuple(sorted(map(str, edge))) for edge in graph.edges())


@pytest.fixture
def karate():
    return networkx.karate_club_graph()


@pytest.mark.parametrize("name", ["k.graphml", "k.graphml.gz", "k.GML", "k.gml.gz", "k.edges", "k.edgelist", "k.el.gz"])
def test_all_ways_of_writing_a_network_come_to_the_same(tmp_path, karate, name):
    path, kind = tmp_path / name, name.lower().removesuffix(".gz").rpartition(".")[2]
    write = {"graphml": networkx.write_graphml, "gml": networkx.write_gml}.get(kind, networkx.write_weighted_edgelist)
    write(karate, path)
    assert datasets.is_network(path)
    network = datasets.read_network(path)
    assert network.notes == []
    assert edges_of(network.graph) == edges_of(karate)
    assert sum(weight for _, _, weight in network.graph.edges(data="weight")) == 231  # published: Zachary 1977
    if kind in ("graphml", "gml"):
        assert [name for _, name in network.graph.nodes(data="club")] == [name for _, name in karate.nodes(data="club")]
        assert list(network.graph.nodes) == [str(node) for node in karate.nodes]


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\n% another\n\nb a 2\na c 1\n c  c 3\na b 1\n",
        "b\ta\t2\n# a comment\na\tc\t1\nc\tc\t3\na\tb\t1",
        "b,a,2\r\na, c,1\r\nc,c ,3\r\n  # a comment\r\na,b,1.0\r\n",
        "\ufeffb a 2\na c 1\nc c 3e0\na b 1\n",
    ],
)
def test_a_list_of_edges(tmp_path, text):
    """By hand: names in the order in which they appear; a loop, and an edge that is there twice."""
    path = tmp_path / "some.edges"
    path.write_bytes(text.encode())
    graph = datasets.read_network(path).graph
    assert list(graph.nodes) == ["b", "a", "c"]
    assert edges_of(graph) == [("a", "b"), ("a", "b"), ("a", "c"), ("c", "c")]
    posterior = cp.BlockModel(graph, weight="weight")
    assert posterior.graph.edges.tolist() == [[0, 1], [1, 2], [2, 2]]
    assert posterior.graph.multiplicities.tolist() == [3, 1, 3]
    assert cp.BlockModel(graph).graph.multiplicities.tolist() == [2, 1, 1]


def test_names_may_have_spaces_where_tabs_or_commas_are_used(tmp_path):
    path = tmp_path / "people.edges"
    path.write_text("Jean Valjean,Inspector Javert\nInspector Javert,Marius\n")
    assert list(datasets.read_network(path).graph.nodes) == ["Jean Valjean", "Inspector Javert", "Marius"]
    path.write_text("Valjean, Jean\tJavert\nJavert\tMarius\n")
    assert list(datasets.read_network(path).graph.nodes) == ["Valjean, Jean", "Javert", "Marius"]


def test_large_weights_keep_all_their_digits(tmp_path):
    path = tmp_path / "large.edges"
    path.write_text("a b 9007199254740993\n")
    assert [weight for *_, weight in datasets.read_network(path).graph.edges(data="weight")] == [2**53 + 1]


def test_gml_without_labels_is_named_by_ids(tmp_path):
    path = tmp_path / "old.gml"
    path.write_text(
        'Creator "somebody"\ngraph [ node [ id 3 ] node [ id 1 ] node [ id 7 ] edge [ source 3 target 7 ] ]\n'
    )
    network = datasets.read_network(path)
    assert list(network.graph.nodes) == [3, 1, 7]
    assert network.notes == ["vertices named by their ids, because labels are missing"]


def test_gml_may_have_letters_that_are_not_ascii(tmp_path):
    path = tmp_path / "names.gml"
    text = 'graph [ node [ id 0 label "Zoë" ] node [ id 1 label "b" ] edge [ source 0 target 1 ] ]'
    path.write_text(text, encoding="utf-8")
    assert list(datasets.read_network(path).graph.nodes) == ["Zoë", "b"]


GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="k" for="node" attr.name="group" attr.type="int"><default>5</default></key>
<key id="w" for="edge" attr.name="strength" attr.type="double"><default>1.0</default></key>
<graph edgedefault="undirected"><node id="a"><data key="k">2</data></node><node id="b"/><node id="c"/>
<edge source="a" target="b"><data key="w">3.0</data></edge><edge source="b" target="c"/><edge source="c" target="b"/>
</graph></graphml>"""


def test_what_a_graphml_file_states_once_for_all_holds_for_each(tmp_path):
    """The defaults of attributes, which networkx leaves to whoever reads the file; and edges that are there twice."""
    path = tmp_path / "defaults.graphml"
    path.write_text(GRAPHML)
    graph = datasets.read_network(path).graph
    assert dict(graph.nodes(data="group")) == {"a": 2, "b": 5, "c": 5}
    assert sorted(weight for *_, weight in graph.edges(data="strength")) == [1.0, 1.0, 3.0]
    assert cp.BlockModel(graph).graph.multiplicities.tolist() == [1, 2]


@pytest.mark.parametrize("ending", ["graphml", "gml"])
def test_directions_are_refused_or_forgotten(tmp_path, ending):
    """Every arrow becomes an edge: networkx' to_undirected would make one edge of weight 7 or 2 of the first two."""
    path = tmp_path / f"arrows.{ending}"
    arrows = networkx.DiGraph()
    arrows.add_node("c", group=1)
    arrows.add_weighted_edges_from([("a", "b", 2), ("b", "a", 7), ("b", "c", 1), ("c", "c", 4)])
    {"graphml": networkx.write_graphml, "gml": networkx.write_gml}[ending](arrows, path)
    message = "arrows.*' must be undirected, got a directed network; undirected=True .--undirected. forgets"
    with pytest.raises(ValueError, match=message):
        datasets.read_network(path)
    network = datasets.read_network(path, undirected=True)
    assert network.notes == ["directions forgotten"]
    assert list(network.graph.nodes(data="group")) == [("c", 1), ("a", None), ("b", None)]
    posterior = cp.BlockModel(network.graph, weight="weight")
    assert posterior.graph.edges.tolist() == [[0, 0], [0, 2], [1, 2]]
    assert posterior.graph.multiplicities.tolist() == [4, 1, 9]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.edges", b"", r"'.*x\.edges' is empty\.$"),
        ("x.graphml", b" \n", r"'.*x\.graphml' is empty\.$"),
        ("x.edges", b"# only\n%words\n", r"x\.edges' has no edges, only comments\.$"),
        ("x.edges", b"# head\na b\n\na\n", r"x\.edges', line 4: expected two names and perhaps a number, got 'a'\.$"),
        ("x.edges", b"a b 1 2\n", r"line 1: expected two names and perhaps a number, got 'a b 1 2'\.$"),
        ("x.edges", b"a b\na\tb\nc,d\n", r"line 3: expected two names and perhaps a number, got 'c,d'\.$"),
        ("x.edges", b"a,b\n,c\n", r"line 2: expected two names, got nothing for one of them\.$"),
        ("x.edges", b"a b {}\n", r"line 1: expected a number as the weight of an edge, got '\{\}'\.$"),
        ("x.edges", b"a b 1\nb c nan\n", r"line 2: expected a number as the weight of an edge, got 'nan'\.$"),
        ("x.edges", b"a b 1\nb c\n", r"line 2: .*, got no weight where the first edge has one\.$"),
        ("x.edges", b"a b\nb c 1\n", r"line 2: .*, got a weight where the first edge has none\.$"),
        (
            "x.edges",
            b"Source,Target\na,b\n",
            r"line 1: expected an edge, got the head of a table; put a # before it\.$",
        ),
        ("x.edges", b"a \xff\n", r"x\.edges' cannot be read as text in UTF-8: invalid start byte\.$"),
        ("x.edges.gz", b"a b\n", r"x\.edges\.gz' cannot be read: Not a gzipped file"),
        (
            "x.edges.gz",
            gzip.compress(b"a b\n" * 99, mtime=0)[:-9],
            r"x\.edges\.gz' cannot be read: Compressed file ended",
        ),
        ("x.graphml", b"<graphml>", r"x\.graphml' cannot be read as GraphML: no element found: line 1"),
        ("x.graphml", b"<html></html>", r"x\.graphml' cannot be read as GraphML: file not successfully read"),
        ("x.graphml", GRAPHML.replace(">2<", ">two<").encode(), r"cannot be read as GraphML: .*'two'\.$"),
        ("x.gml", b"graph [ node [ id 0 ", r"x\.gml' cannot be read as GML: "),
        ("x.gml", b"graph [ ]", r"x\.gml' has no vertices\.$"),
        ("x.csv", b"a,b\n", r"x\.csv' must end in \.graphml, \.gml, \.edges, \.edgelist, \.el, or in one of these"),
    ],
)
def test_what_is_no_network_is_refused_in_one_sentence(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.read_network(path)
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"There is no file '.*nothing\.gml'\."):
        datasets.read_network(tmp_path / "nothing.gml")
    (tmp_path / "folder.gml").mkdir()
    with pytest.raises(ValueError, match=r"folder\.gml' cannot be read: "):
        datasets.read_network(tmp_path / "folder.gml")
