"""Bars of progress: what a terminal shows, and that other output has none."""

import io
import sys

import pytest
import rich
from rich.console import Console

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
    assert list(show_progress(range(3), "parts", is_shown=False)) == [0, 1, 2]
    assert not terminal.getvalue()


def test_output_into_a_file_has_no_bar(capsys):
    assert list(show_progress(iter("ab"), "parts")) == ["a", "b"]
    assert capsys.readouterr() == ("", "")
