"""The solver of Agilkia's nodes goes on, after an interruption, with what it had learnt."""

from dataclasses import dataclass

import numpy as np

from experiments.agilkia import solve
from inversion import Bounded, Checkpoint, Discrete, Observation, Observations, Problem
from inversion.outcome import Calls

ROOT = Problem(
    {"a": Bounded(0.0, 1.0), "c": Discrete([1.0, 2.0, 3.0])},
    lambda p: ({"y": p["a"] + p["c"]}, True),
    Observations({"y": Observation(1.0, 0.1)}),
)
NODES = [ROOT.relax(), *(ROOT.hold({"c": c}).relax() for c in (1.0, 2.0, 3.0))]
NONE = Calls()


@dataclass
class Found:
    """As much of a `Fit` as the solver reads."""

    values: dict
    misfit: float
    calls: Calls = NONE
    starts: tuple = ()


def test_an_interrupted_tree_screens_what_it_would_have(tmp_path, monkeypatch):
    screened = []

    def fit(node, *, candidates, **_):
        screened.append(list(candidates))
        c = float(np.nan_to_num(np.asarray(node.held)).sum())
        return Found({"a": 0.1 * c / 3, "c": c}, np.inf if c == 1.0 else c)  # one node has no valid simulation

    monkeypatch.setattr(solve, "fit", fit)
    whole = solve.NodeSolver(0, 4, 1, repeats=2)
    for node in NODES:
        whole(node, None)
    due, screened = screened[:], []
    assert [len(each) for each in due] == [0, 0, 2, 2, 3]

    kept = Checkpoint(tmp_path, "a tree")
    for first in range(len(NODES)):  # killed after each node, when its solutions were kept and the node was not
        screened.clear()
        resumed = whole.keep_in(kept)
        resumed(NODES[first], None)
        assert screened == (due[:2] if first == 0 else due[first + 1 : first + 2])
    screened.clear()
    whole.keep_in(kept)(NODES[2], None)
    assert len(screened[0]) == 3, "all but its own"
