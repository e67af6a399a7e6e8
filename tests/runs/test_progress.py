"""What a run says while it goes on: lines without a terminal, slow pairs, notebooks without widgets."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import copartition as cp
from copartition.chains.start import check_start
from copartition.chains.step import BoundStep
from copartition.results import Outcomes
from copartition.runs import pieces, progress
from copartition.runs.meeting import pair_job
from copartition.runs.progress import Interrupted, Pause
from copartition.runs.replicates import Runner


@pytest.fixture
def hasty(monkeypatch):
    """Let the package lose patience at once."""
    monkeypatch.setattr(pieces, "SECONDS_BETWEEN_LOOKS", 0.02)
    monkeypatch.setattr(progress, "PATIENCE", 0.02)
    monkeypatch.setattr(progress, "FIRST_LINE", 0.02)


def apart():
    """A posterior so spread over partitions of 60 points that chains that are run independently never meet."""
    data = [float(i % 7) for i in range(60)]
    return cp.Mixture(data, cp.Gaussian(noise_sd=3.0, mean_sd=3.0), cp.DirichletProcess(5.0))


@pytest.mark.parametrize("run", ["estimate", "meeting_times"])
def test_pairs_that_do_not_meet_are_talked_about_where_there_is_no_terminal(hasty, capfd, run):
    arguments = {"coupling": "independent", "replicates": 2, "lag": 1, "max_sweeps": 100_000, "executor": 2}
    if run == "estimate":
        e = cp.estimate(apart(), cp.n_clusters(), burn_in=1, min_sweeps=2, progress=True, **arguments)
        assert e.censored == 2
    else:
        assert cp.meeting_times(apart(), progress=True, **arguments).censored == 2
    lines = [line for line in capfd.readouterr().err.splitlines() if "no pair of chains has met" in line]
    assert lines
    (sweeps,) = re.search(r"after up to ([\d,]+) coupled sweeps", lines[-1]).groups()
    assert 0 < int(sweeps.replace(",", "")) <= 100_000
    assert "max_sweeps" in lines[0]
    assert "0 of 2" in lines[0]


def test_nothing_is_said_of_pairs_that_meet_soon_or_where_nobody_asked(hasty, monkeypatch, capfd):
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    cp.estimate(apart(), cp.n_clusters(), replicates=40, burn_in=5, min_sweeps=20, lag=5, progress=True)
    assert "no pair" not in capfd.readouterr().err
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    cp.meeting_times(apart(), coupling="independent", replicates=2, lag=1, max_sweeps=3_000)
    assert capfd.readouterr().err == ""


def test_lines_come_more_and_more_seldom(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = progress._Lines("pairs")
    said = []
    for second in range(2000):
        now[0] = float(second)
        bar.show(1, 10, "")
        if capsys.readouterr().err:
            said.append(second)
    gaps = [b - a for a, b in pairwise(said)]
    assert said[0] == 5
    assert gaps[:5] == [10, 20, 40, 80, 160]
    assert set(gaps[5:]) == {300}


def test_a_share_of_work_is_shown_with_the_time_that_is_left(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.bar_for("clustering", is_share=True) as bar:
        for seconds, done in [(3.0, 5), (6.0, 100), (20.0, 500)]:
            now[0] = seconds
            bar.show(done, 1000, "chains")
    assert capsys.readouterr().err.splitlines() == [
        "clustering: 10 %, 6 s, up to 54 s left; chains",
        "clustering: 50 %, 20 s, up to 20 s left; chains",
    ]


def test_what_has_no_room_beside_a_bar_is_said_above_it(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = progress._TerminalBar("replicates")
    hint = progress.slow_pairs([500], 6.0)
    for second in range(60):
        now[0] = float(second)
        bar.show(3, 9, hint)
    bar.show(4, 9, "1.5 +- 0.1")
    bar.close()
    shown = " ".join(capsys.readouterr().err.split())
    assert shown.count("no pair of chains has met for 6 s") == 3  # at 0, 10 and 30 seconds
    assert "1.5 +- 0.1" in shown


def test_monitor_talks_of_slow_pairs_only_after_a_while(monkeypatch):
    now, shown = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    class Bar:
        def show(self, done, total, note):
            shown.append((done, note))

        def close(self):
            raise AssertionError

    pause = Pause()
    pause.tell(120)
    monitor = progress.Monitor(Bar(), 9)
    monitor.add(2, "1.5 +- 0.1")
    now[0] = 4.0
    monitor.watch(pause)
    assert shown[-1] == (2, "1.5 +- 0.1")
    now[0] = 8.0
    monitor.watch(pause)
    assert "no pair of chains has met for 8 s; 1 under way, after up to 120 coupled sweeps" in shown[-1][1]
    pause.tell(None)
    monitor.watch(pause)
    assert shown[-1] == (2, "1.5 +- 0.1")


def test_pause_stops_work_that_was_given_up():
    pause = Pause()
    pause()
    pause.give_up()
    with pytest.raises(Interrupted):
        pause()


NOTEBOOK = """
import nbformat, nbclient
cell = nbformat.v4.new_code_cell('''
import copartition as cp
posterior = cp.Mixture([float(i % 7) for i in range(60)], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
e = cp.estimate(posterior, cp.n_clusters(), replicates=300, burn_in=20, min_sweeps=200, lag=20, progress=True)
''')
book = nbformat.v4.new_notebook(cells=[cell])
nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
outputs = book.cells[0].outputs
print([o.output_type + ":" + (o.get("name") or "") for o in outputs])
print(outputs[-1]["data"]["text/plain"])
"""


def test_a_notebook_without_widgets_shows_one_line_and_no_warning():
    done = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    kinds, line = done.stdout.strip().splitlines()[-2:]
    assert [kind for kind in eval(kinds) if kind != "stream:stderr"] == ["display_data:"]
    assert kinds.count("stream:stderr") <= 1  # that it compiles, once
    assert line.startswith("replicates: 300 of 300")


@pytest.mark.parametrize("functional", [cp.n_clusters(), cp.functional(lambda labels: labels.max(), 1)])
def test_a_pair_that_is_written_down_can_be_interrupted(monkeypatch, functional):
    """The kernel stops whenever its diary is full or it asks Python; work must come up for air all the same."""
    monkeypatch.setattr("copartition.runs.replicates.LINES", 4)
    target = apart()
    job = pair_job(
        target,
        (functional,),
        BoundStep(cp.Step(cp.couplings.Independent(), 0)),
        check_start(target, None),
        1,
        10_000,
        1,
    )
    runner = Runner(job, [0], keeps_diary=True)
    for _ in range(3):
        runner.advance(30)
    assert runner.ended == 0
    assert 60 <= runner.coupled_so_far() <= 130
    lines = sum(len(distances) for distances, _ in runner.diary)
    assert lines - runner.coupled_so_far() in (0, 1)  # the last one waits for Python's answer


def test_what_still_moves_is_shown_with_its_name():
    def outcomes(values):
        return Outcomes.none(2)._replace(indices=np.arange(len(values)), values=np.array(values))

    running = progress.Running(["P(1 cluster)", "P(2 clusters)"], 2)
    running.add(outcomes([[0.0, 0.5], [0.0, 0.7]]))
    assert str(running) == "P(2 clusters) 0.60 +- 0.1"
    still = progress.Running(["P(1 cluster)", "P(2 clusters)"], 2)
    still.add(outcomes([[0.0, 1.0], [0.0, 1.0]]))
    assert str(still) == "P(1 cluster) 0 in all replicates so far"
    one = progress.Running(["n_clusters", "P(1 cluster)"], 1)
    one.add(outcomes([[2.0, 0.5], [4.0, 9.0]]))
    assert str(one) == "3.0 +- 1"
