"""Networks on the command line: files written by networkx, and the numbers that the package gives for them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn import metrics

import copartition as cp
import naive_networks
from copartition.cli import main

networkx = pytest.importorskip("networkx")

SHORT = {"replicates": 12, "lag": 5, "burn_in": 2, "min_sweeps": 8, "seed": 3}
AS_OPTIONS = [text for key, value in SHORT.items() for text in (f"--{key.replace('_', '-')}", value)]


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def karate(tmp_path):
    """Zachary's club: who went with whom is the attribute club, and the instructor's and president's is known."""
    path, graph = tmp_path / "karate.graphml", networkx.karate_club_graph()
    for node, leader in ((0, "Mr. Hi"), (1, ""), (33, "Officer"), (32, "Officer")):
        graph.nodes[node]["leader"] = leader
    for node in graph:
        graph.nodes[node]["half"] = 0.5
        graph.nodes[node]["number"] = {0: 4, 33: 1, 32: 1}.get(node, -1)
    for a, b in graph.edges:
        graph.edges[a, b]["share"] = 0.25
    graph.edges[0, 1]["some"] = 1
    networkx.write_graphml(graph, path)
    return path


@pytest.fixture
def miserables(tmp_path):
    path = tmp_path / "miserables.gml"
    networkx.write_gml(networkx.les_miserables_graph(), path)
    return path


@pytest.fixture
def women(tmp_path):
    path, graph = tmp_path / "women.graphml", networkx.davis_southern_women_graph()
    graph.graph.clear()  # lists, which GraphML does not know
    networkx.write_graphml(graph, path)
    return path


@pytest.fixture
def triangles(tmp_path):
    path = tmp_path / "triangles.edges"
    path.write_text("# two triangles and an edge\na b 1\nb c 2\nc a 1\nd e 1\ne f 1\nf d 3\nc d 1\n")
    return path


@pytest.fixture
def posterior(monkeypatch):
    """Return a function that gives the posterior of `copartition meet` without running any chain."""

    def of(*arguments):
        kept = []

        def keep(target, **_):
            kept.append(target)
            raise ValueError("kept")

        monkeypatch.setattr(cp, "meeting_times", keep)
        result = call("meet", *arguments)
        assert result.stderr == "Error: kept\n", result.output
        return kept[0]

    return of


# --- what is computed -------------------------------------------------------------------------------------------------


def test_estimates_are_what_the_package_gives(karate):
    wanted = ["--functional", "n_clusters", "--functional", "together:33,0,2"]
    result = call("estimate", karate, *AS_OPTIONS, *wanted, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    target = cp.BlockModel(networkx.karate_club_graph())
    e = cp.estimate(target, [cp.n_clusters(), cp.co_clustering([33, 0, 2])], init="one_cluster", **SHORT)
    assert answer["mean"] == pytest.approx(e.mean.tolist(), rel=1e-14)
    assert answer["components"] == ["n_clusters", "together[33, 0]", "together[33, 2]", "together[0, 2]"]


def test_the_line_about_the_data_counts_vertices_and_edges(karate, triangles):
    result = call("estimate", karate, *AS_OPTIONS)
    assert result.exit_code == 0, result.output
    about = "34 vertices and 78 edges; every edge is one; --weight weight counts by weight"
    assert result.output.splitlines()[0] == f"data: {karate}, {about}"
    result = call("estimate", triangles, *AS_OPTIONS, "--weight", "weight")
    assert result.output.splitlines()[0] == f"data: {triangles}, 6 vertices and 10 edges, counted by weight"


def test_meetings_of_a_weighted_network(miserables):
    result = call("meet", miserables, "--weight", "value", "--replicates", 4, "--max-sweeps", 30, "--lag", 5)
    assert result.exit_code == 2
    assert "have no attribute 'value'; they have weight." in result.output
    fast = ["--replicates", 4, "--max-sweeps", 30, "--lag", 5, "--rate", 10, "--json"]
    result = call("meet", miserables, "--weight", "weight", *fast)
    assert result.exit_code == 0, result.output
    target = cp.BlockModel(networkx.les_miserables_graph(), weight="weight", rate=10.0)
    assert target.n_edges == 820  # published: Knuth 1993
    m = cp.meeting_times(target, replicates=4, max_sweeps=30, lag=5, seed=0, init="one_cluster")
    assert json.loads(result.stdout)["meeting_times"] == m.meeting_times.tolist()


def test_kinds_keep_women_and_events_apart(women):
    wanted = ["--functional", "together:Evelyn Jefferson,Laura Mandeville,E1"]
    result = call("estimate", women, "--kinds", "bipartite", *AS_OPTIONS, *wanted, "--json")
    assert result.exit_code == 0, result.output
    answer = dict(zip(*(json.loads(result.stdout)[key] for key in ("components", "mean")), strict=True))
    assert answer["together[Evelyn Jefferson, E1]"] == answer["together[Laura Mandeville, E1]"] == 0.0
    graph = networkx.davis_southern_women_graph()
    pairs = cp.co_clustering([list(graph).index(name) for name in ("Evelyn Jefferson", "Laura Mandeville", "E1")])
    e = cp.estimate(cp.BlockModel(graph, kinds="bipartite"), pairs, init="one_cluster", **SHORT)
    assert list(answer.values()) == e.mean.tolist()
    assert answer["together[Evelyn Jefferson, Laura Mandeville]"] != 0.0


def test_tune_takes_networks(triangles):
    options = ["--pairs", 100, "--functional", "together:a,f", "--seed", 3, "--json"]
    result = call("tune", triangles, "--rate", 2, *options)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    target = cp.BlockModel([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)], rate=2.0)
    t = cp.tune(target, cp.co_clustering([0, 5]), pairs=100, seed=3, init="one_cluster")
    assert (found["lag"], found["burn_in"], found["min_sweeps"]) == (t.lag, t.burn_in, t.min_sweeps)
    assert found["components"] == ["together[a, f]"]


# --- what the options mean --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "model"),
    [
        ([], {}),
        (["--no-degree-corrected"], {"degree_corrected": False}),
        (["--degree-corrected"], {"degree_corrected": True}),
        (["--edges", "bernoulli"], {"edges": "bernoulli"}),
        (["--edges", "poisson", "--rate", "2.5"], {"rate": 2.5}),
        (["--weight", "weight"], {"weight": "weight"}),
        (["--kinds", "club"], {"kinds": "club"}),
        (["--known", "leader"], {"known": {0: 0, 33: 1, 32: 1}}),
        (["--known", "number"], {"known": {0: 4, 33: 1, 32: 1}}),
        (["--undirected"], {}),
        (["--alpha", "2"], {"prior": cp.DirichletProcess(2.0)}),
        (["--alpha", "gamma:2,4"], {"prior": cp.DirichletProcess(cp.Gamma(2, 4))}),
        (["--prior", "py"], {"prior": cp.PitmanYor(1.0, 0.25)}),
        (["--prior", "finite", "--components", "3"], {"prior": cp.FiniteMixture(3, 1.0)}),
    ],
)
def test_each_option_is_the_argument_of_its_name(karate, posterior, options, model):
    graph = networkx.karate_club_graph()
    if isinstance(model.get("known"), dict):
        model = {"known": [model["known"].get(node, -1) for node in graph]}
    found = posterior(karate, *options)
    by_hand = cp.BlockModel(graph, **model)
    assert found.fingerprint == by_hand.fingerprint
    assert repr(found) == repr(by_hand)
    assert found.constraint.labels.tolist() == by_hand.constraint.labels.tolist()
    assert found.nodes == [str(node) for node in graph]
    if model:
        changes_nothing = options == ["--degree-corrected"]
        assert (found.fingerprint == cp.BlockModel(graph).fingerprint) == changes_nothing


def test_arrows(tmp_path, posterior):
    path = tmp_path / "arrows.gml"
    networkx.write_gml(networkx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")]), path)
    result = call("meet", path)
    assert result.exit_code == 2
    assert "must be undirected, got a directed network; undirected=True (--undirected) forgets" in result.output
    assert posterior(path, "--undirected").graph.multiplicities.tolist() == [2, 1]


def test_models_of_a_network_are_compared(triangles):
    """Each model has its own options, and its log evidence is that of all its partitions: four standard errors."""
    plain, corrected = "plain=--no-degree-corrected --alpha 2", "corrected=--rate 3"
    common = ["--weight", "weight", "--model", plain, "--model", corrected]
    result = call("compare", triangles, *common, "--stderr", 0.2, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    graph = networkx.read_weighted_edgelist(triangles)
    by_hand = {
        "plain": cp.BlockModel(graph, degree_corrected=False, prior=cp.DirichletProcess(2.0), weight="weight"),
        "corrected": cp.BlockModel(graph, rate=3.0, weight="weight"),
    }
    for row in answer["models"]:
        assert abs(row["log_evidence"] - naive_networks.log_evidence(by_hand[row["model"]])) < 4 * row["stderr"]
    for option in ("--weight weight", "--undirected"):
        result = call("compare", triangles, "--model", plain, "--model", f"other={option}")
        assert result.exit_code == 2
        assert f"--model other: {option.split()[0]} must be the same for all." in result.output


@pytest.mark.parametrize("command", ["estimate", "meet", "tune", "compare"])
def test_help_says_what_networks_need(command):
    words = " ".join(call(command, "--help").output.split())
    assert "or a network: a GraphML or GML file, or a list of edges (.edges, .edgelist, .el)" in words
    for option in ("--degree-corrected / --no-degree-corrected", "--edges [poisson|bernoulli]", "--rate FLOAT"):
        assert option in words
    for option in ("--weight ATTRIBUTE", "--kinds ATTRIBUTE", "--known ATTRIBUTE", "--undirected"):
        assert option in words


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--columns", "x"], "--columns goes with tables, and 'FILE' is a network."),
        (["--standardize"], "--standardize goes with tables, and 'FILE' is a network."),
        (["--as", "x=number"], "--as goes with tables, and 'FILE' is a network."),
        (["--component", "nig"], "--component goes with tables, and 'FILE' is a network."),
        (["--mean-weight", "1"], "--mean-weight goes with tables, and 'FILE' is a network."),
        (["--scale", "1"], "--scale goes with tables, and 'FILE' is a network."),
        (["--noise-sd", "1"], "--noise-sd goes with tables, and 'FILE' is a network."),
        (["--mean-sd", "1"], "--mean-sd goes with tables, and 'FILE' is a network."),
        (["--mean", "0"], "--mean goes with tables, and 'FILE' is a network."),
        (["--example", "galaxies"], "Give either DATA or --example, not both."),
        (["--edges", "many"], "'many' is not one of 'poisson', 'bernoulli'."),
        (["--edges", "bernoulli", "--rate", "0"], "--rate goes with --edges poisson, not with bernoulli."),
        (
            ["--edges", "bernoulli", "--degree-corrected"],
            "--degree-corrected goes with --edges poisson, not with bernoulli.",
        ),
        (["--edges", "bernoulli", "--weight", "weight"], "at most one edge between two vertices"),
        (["--rate", "-1"], "rate must be positive and finite, got -1.0."),
        (["--weight", "size"], "The edges in 'FILE' have no attribute 'size'; they have weight, share, some."),
        (["--weight", "share"], "expected 0, 1, 2, ... for every edge in 'FILE', got 0.25 between '0' and '1'."),
        (["--weight", "some"], "expected 0, 1, 2, ... for every edge in 'FILE', got nothing between '0' and '2'."),
        (["--kinds", "team"], "The vertices in 'FILE' have no attribute 'team'; they have club, "),
        # Of node 1, where networkx 3.2 reads an empty text as none; of node 2, where it is read as written.
        (["--kinds", "leader"], "--kinds must say something of every node, got nothing of '"),
        (["--known", "team"], "The vertices in 'FILE' have no attribute 'team'; they have club, "),
        (["--known", "half"], "--known half: expected a name for every vertex in 'FILE', or a whole number for every"),
        (["--prior", "best"], "--prior must be dp, py, mfm, finite, got 'best'."),
        (["--functional", "together:0,x"], "such as 0, 1, 2, 3, 4, ..., and none is called 'x'."),
        (["--functional", "density:0:1:5"], "predictive_density needs a Mixture, got BlockModel(34 vertices"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(karate, options, message):
    result = call("estimate", karate, *options)
    assert result.exit_code == 2
    assert message.replace("FILE", str(karate)) in result.output
    assert result.output.splitlines()[-1].startswith("Error: ")
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.edges", "", "Error: 'FILE' is empty.\n"),
        ("x.edges", "a b\nc\n", "Error: 'FILE', line 2: expected two names and perhaps a number, got 'c'.\n"),
        ("x.graphml", "<graphml>", "Error: 'FILE' cannot be read as GraphML: no element found: line 1, column 9.\n"),
        ("x.gml", "graph [ ]", "Error: 'FILE' has no vertices.\n"),
    ],
)
def test_files_that_cannot_be_read_are_one_line(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    result = call("estimate", path)
    assert result.exit_code == 2
    assert result.output == message.replace("FILE", str(path))
    gone = call("estimate", tmp_path / "gone.el")
    assert (gone.exit_code, gone.output) == (2, f"Error: There is no file '{tmp_path / 'gone.el'}'.\n")


@pytest.mark.parametrize(
    ("options", "written"),
    [
        (["--degree-corrected"], "--[no-]degree-corrected"),
        (["--no-degree-corrected"], "--[no-]degree-corrected"),
        (["--edges", "poisson"], "--edges"),
        (["--rate", "0"], "--rate"),
        (["--weight", "w"], "--weight"),
        (["--kinds", "k"], "--kinds"),
        (["--known", "k"], "--known"),
        (["--undirected"], "--undirected"),
    ],
)
def test_options_of_networks_are_refused_for_tables(tmp_path, options, written):
    path = tmp_path / "points.csv"
    path.write_text("x,y\n1,2\n2,1\n")
    for data in ([path], ["--example", "faithful"]):
        result = call("estimate", *data, *options)
        assert result.exit_code == 2
        endings = ".graphml, .gml, .edges, .edgelist, .el"
        assert f"Error: {written} goes with networks ({endings}), and '{data[-1]}' is a table.\n" in result.output


def test_two_vertices_of_one_name(tmp_path):
    """A number and its text are two nodes to networkx, and one name to a person."""
    path = tmp_path / "twins.gml"
    path.write_text('graph [ node [ id 0 label 1 ] node [ id 1 label "1" ] edge [ source 0 target 1 ] ]')
    result = call("estimate", path, "--functional", "together:1,1")
    assert result.exit_code == 2
    assert "expected the name of a point, such as 1, 1, and 2 are called '1'." in result.output


def test_exports_have_the_names_of_vertices(tmp_path):
    """Names are whole numbers in another order: taken for row numbers they would give other communities."""
    graph = networkx.planted_partition_graph(3, 8, 0.9, 0.03, seed=1)
    called = np.random.default_rng(1).permutation(24).tolist()
    (tmp_path / "net.edges").write_text("".join(f"{called[a]} {called[b]}\n" for a, b in graph.edges))
    run = ["--functional", "together", *AS_OPTIONS, "--store", tmp_path / "run.db"]
    assert call("estimate", tmp_path / "net.edges", *run).exit_code == 0
    for what in ("clusters", "pairs"):
        assert call("export", tmp_path / "run.db", "-o", tmp_path / f"{what}.csv", f"--{what}").exit_code == 0
    clusters = pd.read_csv(tmp_path / "clusters.csv").set_index("point")["cluster"]
    planted = pd.Series({called[vertex]: vertex // 8 for vertex in graph})
    assert metrics.adjusted_mutual_info_score(planted, clusters.loc[planted.index]) == pytest.approx(1.0)
    pairs = pd.read_csv(tmp_path / "pairs.csv")
    joined = planted.loc[pairs["i"]].to_numpy() == planted.loc[pairs["j"]].to_numpy()
    assert pairs["mean"][joined].min() > 0.5 > pairs["mean"][~joined].max()
