"""Bars of progress: what a terminal shows, and that other output has none."""

import io
import sys
from functools import partial

import jax
import pytest
import rich
from rich.console import Console

from experiments.log import keep_log
from inversion import Bounded, Observation, Observations, Problem, fit
from inversion.progress import Bar, show_progress


@pytest.fixture
def terminal(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(rich, "_console", console)
    return console.file


def test_nested_bars_show_their_share_and_times(terminal):
    with Bar("the command"), Bar("a search", 4.0) as bar:
        bar.reach(1.0)
        bar.advance(2.0)
        bar.note("misfit 3")
        sys.stdout.write("a table\n")
    shown = terminal.getvalue()
    for each in ("the command", "a search", "75%", "0:00:00", "misfit 3", "a table"):
        assert each in shown, each
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor can be seen


def test_items_pass_and_a_hidden_bar_writes_nothing(terminal):
    assert list(show_progress(range(3), "parts", progress=False)) == [0, 1, 2]
    assert not terminal.getvalue()


def test_a_function_in_place_of_a_bar_is_called(terminal):
    seen = []
    problem = Problem(
        {"x": Bounded(0.0, 1.0)}, lambda p: ({"y": p["x"]}, True), Observations({"y": Observation(0.5, 0.1)})
    )
    found = fit(problem, key=jax.random.key(0), starts=4, keep=2, progress=lambda *row: seen.append(row))
    assert found.ok and seen[-1] == ("fit", 6, 6) and len(seen) == 7
    assert not terminal.getvalue()


def test_output_into_a_file_has_no_bar(capsys):
    assert list(show_progress(iter("ab"), "parts")) == ["a", "b"]
    assert capsys.readouterr() == ("", "")


def test_output_into_a_file_has_a_line_each_minute(capsys, monkeypatch):
    with Bar("a search", 4.0) as bar:
        start = bar._line._progress.tasks[0].start_time
        for seconds in (59, 61, 119, 122):
            monkeypatch.setattr(bar._line._progress.tasks[0], "_get_time", partial(float, start + seconds))
            bar.advance()
        bar.note("misfit 3")
    assert capsys.readouterr() == (
        "",
        "a search: 2 of 4, 61 s, about 61 s left\na search: 4 of 4, 122 s, about 0 s left\n",
    )


def test_a_log_has_what_is_said_and_no_bar(terminal, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(rich, "_console", Console(force_terminal=True, width=100))
    with Bar("the command"), keep_log(tmp_path / "log.txt"), Bar("a search"):
        sys.stdout.write("a table\n")
    with pytest.raises(ValueError), keep_log(tmp_path / "log.txt", is_quiet=True):
        sys.stdout.write("not on the screen\n")
        raise ValueError("wrong")
    first, second, *error = (tmp_path / "log.txt").read_text().splitlines()
    assert (first, second, error[-1]) == ("a table", "not on the screen", "ValueError: wrong")
    shown = terminal.getvalue()
    assert "a table" in shown and "a search" in shown and "not on the screen" not in shown
