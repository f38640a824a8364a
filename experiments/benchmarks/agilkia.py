"""The headline figure: branch and bound with gradients against branch and bound with differential evolution.

Same simulator, objective (the paper's w), bounds, tree and stop (w < 1e-4) on both sides; every screened point,
failed start and node of the tree is counted, and a Jacobian at its measured cost in forward simulations. A node of
the gradient search starts from its parent's solution; evolution starts every node afresh, as in the paper.
"""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.agilkia.baseline import STOP, descend, jacobian_cost, paper_objective, paper_problem
from experiments.agilkia.files import DATA, read_lander
from experiments.agilkia.solve import ORDER
from experiments.benchmarks.timing import row
from experiments.evolution import Evolution, evolve
from inversion import Checkpoint, Problem, branch_and_bound
from inversion.outcome import Calls
from inversion.progress import show_progress
from inversion.tree import Tree

GENERATIONS, STALL = 60, 30


def rows(seeds: int, folder: Path) -> list[dict[str, Any]]:
    """Medians over seeds of calls and times of a tree, and success rates; finished trees are kept in `folder`."""
    lander = read_lander(DATA / "philae.toml")
    problem = paper_problem(lander)
    cost = jacobian_cost(problem.relax())
    evolution = partial(evolve, objective=paper_objective, stop=STOP, stall=STALL)
    searches = {"gradients": descend, "evolution": lambda p, seed, _: evolution(p, seed, generations=GENERATIONS)}
    store = Checkpoint(folder / "checkpoint_agilkia", (GENERATIONS, STALL, lander))
    found: dict[str, list[dict[str, np.ndarray]]] = {name: [] for name in searches}
    descend(problem.relax(), 0), evolution(problem.relax(), 0, generations=1)  # compiled
    for seed in show_progress(range(seeds), "seeds"):
        for name, search in searches.items():
            found[name].append(store.get_or(f"{name}-{seed}", lambda: _search_tree(problem, search, seed)))  # noqa: B023
    total = {name: {k: np.asarray([run[k] for run in runs]) for k in runs[0]} for name, runs in found.items()}
    ours, peer = total["gradients"], total["evolution"]
    equivalents = ours["forward"] + cost * ours["jacobian"]
    return [
        row("cost of a Jacobian, forward simulations", cost, "forward", 1.0),
        row(
            "forward equivalents of a tree, median", np.median(equivalents), "forward", np.median(peer["forward"])
        ),
        row("the same at most", np.max(equivalents), "forward", np.max(peer["forward"])),
        row("wall time of one tree, median", np.median(ours["seconds"]), "s", np.median(peer["seconds"])),
        row("CPU time of one tree, median", np.median(ours["cpu"]), "s", np.median(peer["cpu"])),
        row("simulations, median", np.median(ours["forward"]), "calls", np.median(peer["forward"])),
        row("Jacobians, median", np.median(ours["jacobian"]), "calls"),
        row("nodes visited, median", np.median(ours["nodes"]), "nodes", np.median(peer["nodes"])),
        row("objective w of the best leaf, median", np.median(ours["w"]), "1", np.median(peer["w"])),
        row("success rate, w < 1e-4", np.mean(ours["w"] < STOP), "share", np.mean(peer["w"] < STOP)),
    ]


def _search_tree(problem: Problem, search, seed: int) -> dict[str, np.ndarray]:
    """One tree by one search from one seed."""

    def solve(node: Problem, guess) -> Evolution:
        found = search(node, seed, guess)
        # Below the stop all are equal: a bound of 0 lets the tree close on the first leaf that reaches it.
        return replace(found, misfit=0.0 if found.misfit < STOP else found.misfit)

    started, cpu = time.perf_counter(), time.process_time()
    tree: Tree = branch_and_bound(problem, solve, order=ORDER)
    calls: Calls = tree.calls
    return {
        "w": np.asarray(np.inf if tree.incumbent is None else tree.incumbent.misfit),
        "forward": np.asarray(calls.forward),
        "jacobian": np.asarray(calls.jacobian),
        "nodes": np.asarray(tree.nodes_visited),
        "seconds": np.asarray(time.perf_counter() - started),
        "cpu": np.asarray(time.process_time() - cpu),
    }
