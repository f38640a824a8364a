"""The works of `difsim benchmark gradients`, with the errors that it promises."""

import json
import sys

import pytest

from experiments.benchmark import gradients
from experiments.benchmark.gradients import error, reference

WORKS = {work.name: work for work in gradients.suite()}


def check_convergence(work, errors):
    """Errors at the default and the strict tolerance, and a tenfold fall between them (or to 1e-9); the solution at
    the default."""
    exact = reference(work)
    loose, solution = error(work, gradients.forward(1e-8), exact)
    strict, _ = error(work, gradients.forward(1e-10), exact)
    assert loose < errors[0] and strict < errors[1] and strict < max(0.1 * loose, 1e-9), (loose, strict)
    assert solution.ok and not solution.validity.is_past
    return solution


def test_one_soft_bounce():
    """1e-4 at the default, 1e-6 at 1e-10.

    The force is clipped as the ball leaves, so its tangents jump by some 1e7 /s²: a least step of 1e-9 s would
    leave them wrong by 2e-3.
    """
    check_convergence(WORKS["clipped force, 1 bounces"], (1e-4, 1e-6))


def test_rows_of_other_engines(monkeypatch, tmp_path, capsys):
    """They come from another interpreter, and their absence is said."""
    monkeypatch.delenv(gradients.PEERS, raising=False)
    assert gradients.peer_rows() == [] and gradients.PEERS in capsys.readouterr().out
    engine = {
        "engine": "Toy 1.0",
        "parameter": "damping",
        "dt": 1e-3,
        "closed": 1.0,
        "slopes": [1.1, -2.0],
        "derivative": [-3.0, -2.0],
    }
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!{sys.executable}\nprint('loading')\nprint('''{json.dumps([engine])}''')\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv(gradients.PEERS, str(stand_in))
    height, damping = gradients.peer_rows()
    assert height["ratio"] == pytest.approx(-1 / 3) and damping["ratio"] == 1.0
    assert "Toy 1.0, dt 0.001" in height["work"]
