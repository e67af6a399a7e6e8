"""The paper reproduced: its claims at a small scale, the page, and going on after an interruption."""

from __future__ import annotations

import csv
import hashlib
import io
import shutil
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import copartition as cp
from browser import assert_quiet, needs_browser, opened
from reproduction import FIGURES, SCALES, Reproduction, figure2b, reproduce
from reproduction.command import main
from reproduction.complexity import complexity, timed
from reproduction.density import GRID, Line
from reproduction.fetch import FILE, fetch, fetched
from reproduction.figure1 import ARMS, COUPLINGS, coloring, figure1, mixture
from reproduction.figure3 import figure3
from reproduction.section import Section, plus_minus


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def reproduction(folder, **scale):
    made = Reproduction(out=folder, scale=replace(SCALES["tiny"], **scale), seed=1)
    made.prepare()
    return made


def rows(path):
    with path.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def holding(section):
    return {claim.where + ": " + claim.says: claim.holds for claim in section.claims}


# --- claims ----------------------------------------------------------------------------------------------------------


def test_transport_meets_in_fewer_sweeps_than_both_others(tmp_path):
    section = figure1(reproduction(tmp_path, pairs=60))
    claims = holding(section)
    for name in ("1A: mixture of Gaussians", "1B: graph colouring"):
        assert claims[f"Figure {name}: chains coupled by transport meet after fewer sweeps"]
    table = rows(tmp_path / "figure1a.csv")
    assert len(table) == 4 * 60
    assert len(rows(tmp_path / "figure1b.csv")) == 3 * 60
    assert claims["ours: mixture of Gaussians: what copartition does by itself meets sooner still"]
    means = {
        coupling: np.mean([int(row["sweeps to meet"]) for row in table if row["coupling"] == coupling])
        for coupling in ("copartition", "transport", "maximal", "common")
    }
    assert means["copartition"] < means["transport"] < min(means["maximal"], means["common"])


def test_a_claim_that_does_not_hold_is_shown_as_such(tmp_path, monkeypatch):
    """With the names of two couplings exchanged, transport is the slow one."""
    from reproduction import figure1 as module

    real = cp.meeting_times

    def exchanged(target, *, coupling, **arguments):
        other = {"transport": "maximal", "maximal": "transport"}.get(coupling, coupling)
        return real(target, coupling=other, **arguments)

    monkeypatch.setattr(module.cp, "meeting_times", exchanged)
    claims = holding(figure1(reproduction(tmp_path, pairs=40)))
    assert not claims["Figure 1A: mixture of Gaussians: chains coupled by transport meet after fewer sweeps"]


def test_error_of_single_chains_stops_falling_while_ours_goes_on(tmp_path, monkeypatch):
    """Cells of three well separated types, where chains that start in one cluster are slow to split it."""
    rng = np.random.default_rng(1)
    kinds = np.arange(60) % 3
    data = rng.normal(0, 0.55, (3, 30))[kinds] + rng.normal(0, 1.3, (60, 30))
    monkeypatch.setattr(figure2b, "load_cells", lambda reproduction: (data, ""))
    monkeypatch.setattr(figure2b, "BUDGET", 400)
    section = Section("", [])
    figure2b.add_largest_cluster(reproduction(tmp_path, processes=1000, reference=40_000), section)
    table = {(row["arm"], int(row["processes"])): float(row["error"]) for row in rows(tmp_path / "figure2b.csv")}
    single = table["single chains", 100] / table["single chains", 1000]
    ours = table["ours", 10] / table["ours", 300]
    assert single < 1.5  # the root of ten would be 3.2
    assert ours > 2.5  # the root of thirty is 5.5
    assert table["ours", 1000] < table["single chains", 1000]
    claims = holding(section)
    assert claims["Figure 2B: the true value is many standard errors from the single-chain estimate"]


def test_predictive_density_comes_closer_with_more_data(tmp_path):
    section = figure3(reproduction(tmp_path, sizes={50: 60, 800: 10}))
    assert section.claims[0].holds
    table = rows(tmp_path / "figure3.csv")
    assert len(table) == len(GRID)
    off = [sum(abs(float(row[f"mean, {n} points"]) - float(row["truth"])) for row in table) for n in (50, 800)]
    assert off[0] > 1.3 * off[1]


@pytest.mark.parametrize(
    ("in_n", "in_k", "slower"), [(1.0, 2.0, 3.0), (1.5, 2.0, 3.0), (1.0, 3.5, 3.0), (1.0, 2.0, 300.0)]
)
def test_times_are_held_against_the_theorem(tmp_path, monkeypatch, in_n, in_k, slower):
    """Times that follow a known distribution: its exponents are found, and a claim holds if they are small enough."""

    def timed(reproduction, n_points, n_clusters):
        coupled = 7.0 * n_points**in_n * n_clusters**in_k
        return {"points": n_points, "clusters": n_clusters, "coupled": coupled, "two single": coupled / slower}

    monkeypatch.setattr("reproduction.complexity.timed", timed)
    section = complexity(reproduction(tmp_path, complexity=((500, 1000, 4000), (2, 8, 16))))
    assert [claim.where for claim in section.claims] == ["Theorem 1"] * 3
    assert [claim.holds for claim in section.claims] == [in_n <= 1.2, in_k <= 3.0, slower <= 4.0]
    assert f"N^{in_n:.2f}" in section.claims[0].measured
    assert f"K^{in_k:.2f}" in section.claims[1].measured
    first = rows(tmp_path / "complexity.csv")[0]
    assert float(first["coupled"]) == pytest.approx(7.0 * 500**in_n * 8**in_k, rel=1e-4)


def test_what_is_timed_are_sweeps_of_the_size_asked_for(tmp_path):
    found = timed(reproduction(tmp_path), 300, 4)
    assert found["points"] == 300
    assert 2 <= found["clusters"] <= 8
    assert min(found["coupled"], found["two single"]) > 0.0


# --- the experiments are those of the paper --------------------------------------------------------------------------


def test_data_are_as_described(tmp_path):
    code, text = reproduction(tmp_path), replace(reproduction(tmp_path), as_in_text=True)
    assert repr(mixture(code, 0)) == (
        "Mixture(150 points x 2, Gaussian(noise_sd=2.0, mean_sd=2.5), DirichletProcess(alpha=0.2))"
    )
    assert coloring(text, 3).colors == coloring(code, 3).colors + 1
    assert coloring(code, 3).n_points == 25
    line = Line(1, 400)
    assert np.array_equal(Line(1, 100).points, line.points[:100])
    assert np.trapezoid(line.density(np.linspace(-80, 80, 4000)), np.linspace(-80, 80, 4000)) == pytest.approx(1.0)
    counts, edges = np.histogram(Line(2, 200_000).points, 40, density=True)
    centres = (edges[1:] + edges[:-1]) / 2
    np.testing.assert_allclose(counts, Line(2, 1).density(centres), atol=0.004)


def test_colourings_are_not_compared_with_what_the_package_does_by_itself(tmp_path):
    """It couples them by transport, so that would be a comparison of transport with itself."""
    made = reproduction(tmp_path)
    found = cp.meeting_times(coloring(made, 0), replicates=2, lag=3, max_sweeps=20)
    assert found.coupling == "Transport()"
    assert ARMS[1:] == COUPLINGS


def test_single_chains_with_a_limit_in_seconds_make_fewer_sweeps_in_less_time(tmp_path, monkeypatch):
    monkeypatch.setattr(figure2b, "PIECE", 2)
    asked, sample = [], cp.sample
    monkeypatch.setattr(
        cp, "sample", lambda *arguments, **how: asked.append(how["sweeps"]) or sample(*arguments, **how)
    )
    posterior = mixture(reproduction(tmp_path), 0)
    for seconds in (0.1, 0.001):
        arm = figure2b._single(replace(reproduction(tmp_path, processes=2), seconds=seconds), posterior)
        assert len(arm.values) == 2
    assert asked[0] == asked[2] == figure2b.BUDGET
    assert asked[1] > 10 * asked[3] > 0


def test_groups_of_processes_leave_out_those_that_did_not_finish():
    arm = figure2b.Arm("", np.array([1.0, np.nan, 3.0, 5.0, 5.0, 5.0, 9.0]))
    mean, stderr = arm.groups(3)
    assert mean.tolist() == [2.0, 5.0]
    assert stderr.tolist() == [pytest.approx(1.0), 0.0]


def test_numbers_with_errors_have_the_right_digits():
    assert plus_minus(12.3456, 0.123) == "12.35 ± 0.12"
    assert plus_minus(1234.5, 67.0) == "1234 ± 67"
    assert plus_minus(3.0, 0.0) == "3"


# --- keeping and going on --------------------------------------------------------------------------------------------


def test_pieces_that_are_kept_are_not_done_again(tmp_path):
    made, done = reproduction(tmp_path), []

    def work(number):
        if number == 3 and len(done) < 8:
            raise KeyboardInterrupt
        done.append(number)
        return {"square": number**2}

    with pytest.raises(KeyboardInterrupt):
        made.each("squares", work, 6, "settings")
    first = len(done)
    assert first == 5  # those beside the interrupted one are finished and kept
    done += [None] * 10
    assert [piece["square"] for piece in made.each("squares", work, 6, "settings")] == [0, 1, 4, 9, 16, 25]
    assert 3 in done
    assert len([n for n in done if n is not None]) == 6  # none twice
    assert made.each("squares", lambda number: 1 / 0, 6, "settings")[5] == {"square": 25}
    with pytest.raises(ZeroDivisionError):
        made.each("squares", lambda number: 1 / 0, 6, "other settings")


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """The whole of the paper at a tiny scale, by the command."""
    out = tmp_path_factory.mktemp("paper")
    result = call("all", "--tiny", "--seed", "1", "--out", out)
    assert result.exit_code == 0, result.output
    return out, result.output


def test_the_command_writes_pictures_numbers_and_a_page(reproduced):
    out, said = reproduced
    for name in ("figure1a-traces", "figure1a-histogram", "figure1b-traces", "figure1b-histogram", "figure2a-authors",
                 "figure2a-tuned", "figure2b-estimates", "figure2b-errors", "figure3-densities", "figure3-distances",
                 "complexity-points", "complexity-clusters"):  # fmt: skip
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "</svg>" in (out / f"{name}.svg").read_text()
    for name in ("figure1a", "figure1b", "figure2a", "figure2b", "figure3", "complexity"):
        assert len(rows(out / f"{name}.csv")) > 1
    table = rows(out / "figure2a.csv")
    truth = Line(1, 100).density(GRID)
    np.testing.assert_allclose([float(row["truth"]) for row in table], truth)
    page = (out / "index.html").read_text(encoding="utf-8")
    assert page.count("<figure") == 12
    assert "SIMULATED cells" in page
    assert "SIMULATED cells" in said
    held, total = (int(said.split(" of ")[i].split()[j]) for i, j in ((-2, -1), (-1, 0)))
    assert page.count('class="yes"') == held
    assert page.count('class="no"') == total - held


def test_the_same_command_goes_on_and_gives_the_same_numbers(reproduced, tmp_path):
    out, _ = reproduced
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    (copy / "figure2b.csv").unlink()
    made = Reproduction(out=copy, scale=SCALES["tiny"], seed=1)
    reproduce(made, ["figure1", "figure2", "figure3"])
    for name in ("figure1a", "figure2a", "figure2b", "figure3"):
        assert (copy / f"{name}.csv").read_text() == (out / f"{name}.csv").read_text()


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(1100, "light"), (360, "dark")])
def test_the_page_in_a_browser(reproduced, width, scheme):
    path = reproduced[0] / "index.html"
    with opened(path, width, scheme) as (page, seen):
        assert_quiet(seen, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("[...document.images].filter(one => one.naturalWidth > 0).length") == 12
        assert page.locator(".claims tbody tr").count() >= 15
        size = page.eval_on_selector(".warning", "e => parseFloat(getComputedStyle(e).fontSize)")
        assert size >= 20  # in large letters


# --- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["all", "--full", "--tiny"], "Give --full or --tiny, not both"),
        (["figure9"], "No such command 'figure9'"),
        (["figure2", "--seconds", "0"], "--seconds must be positive, got 0"),
        (["figure2", "--cells", "nowhere.csv"], "There is no file 'nowhere.csv'"),
        (["figure1", "--out", "/proc/nowhere"], "The folder '/proc/nowhere' cannot be written"),
    ],
)
def test_bad_input_is_told_before_anything_is_computed(arguments, message, monkeypatch):
    monkeypatch.setitem(FIGURES, "figure1", lambda reproduction: 1 / 0)
    monkeypatch.setitem(FIGURES, "figure2", lambda reproduction: 1 / 0)
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_fetch_checks_what_it_gets_and_says_if_it_cannot(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked = []

    def answer(url, timeout):
        asked.append(url)
        return io.BytesIO(b"cells")

    def offline(url, timeout):
        raise ConnectionError("no route\nto host")

    assert fetched() is None
    for urlopen, message in ((answer, "are not the data of Figure 2B"), (offline, "could not be downloaded")):
        monkeypatch.setattr("reproduction.fetch.urlopen", urlopen)
        result = call("fetch")
        assert result.exit_code == 2
        assert message in result.output
        assert len(result.output.splitlines()) == 1
        assert fetched() is None
    monkeypatch.setattr("reproduction.fetch.urlopen", answer)
    monkeypatch.setattr("reproduction.fetch.SHA256", hashlib.sha256(b"cells").hexdigest())
    assert fetch().read_text() == "cells"
    assert asked[-1].endswith(FILE.replace("=", "%3D"))
    assert fetched() == tmp_path / "copartition" / "data" / "zeisel_200x50.csv"
