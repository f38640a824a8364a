"""The headline figure: branch and bound with gradients against branch and bound with differential evolution.

Same simulator, objective (the paper's w), bounds, tree and stop (w < 1e-4) on both sides; every screened point,
failed start and node of the tree is counted, and a Jacobian at its measured cost in forward simulations. A node of
the gradient search starts from its parent's solution; evolution starts every node afresh, as in the paper.

The last rows check the tree of the study, which starts from draws of the posterior, by all leaves solved on their own.
"""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from experiments.agilkia import scenario
from experiments.agilkia.baseline import STOP, descend, jacobian_cost, paper_objective, paper_problem
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.solve import ORDER, SEARCH, draw_posterior, search_tree
from experiments.benchmark.timing import row
from experiments.evolution import Evolution, evolve
from inversion import Checkpoint, Problem, branch_and_bound
from inversion.branch import enumerate_leaves
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
        *compare_with_enumeration(lander, cost, folder),
    ]


def compare_with_enumeration(lander: dict[str, Any], cost: float, folder: Path) -> list[dict[str, Any]]:
    """The best leaf of the published set by the study's tree, and as the peer by enumeration of all leaves."""
    problem = scenario.problem(lander, read_observations(DATA / "philae_published.toml"))
    kept = Checkpoint(folder / "checkpoint_agilkia", ("enumeration", lander))
    posterior = draw_posterior(problem, 0, 1000, np.inf, kept, progress=True)
    tree = search_tree(problem, 0, posterior, progress=True)
    # Another seed, and no draw: the leaves would prove nothing if they began where the tree did.
    leaves = enumerate_leaves(problem, SEARCH, key=jax.random.PRNGKey(1), checkpoint=kept, progress=True)
    all_calls = sum((leaf.calls for leaf in leaves), Calls())
    ours, peer = (calls.forward + cost * calls.jacobian for calls in (tree.calls, all_calls))
    best = min(leaf.misfit for leaf in leaves)
    return [
        row("misfit of the study's best leaf, by the tree and by all leaves", tree.incumbent.misfit, "1", best),
        row("forward equivalents of these", ours, "forward", peer),
        row("nodes of these", tree.nodes_visited, "nodes", len(leaves)),
        row("simulations of the posterior from which that tree starts", posterior.calls.forward, "forward"),
    ]


def _search_tree(problem: Problem, search, seed: int) -> dict[str, np.ndarray]:
    """One tree by one search from one seed."""

    def solve(node: Problem, *, key, candidates) -> Evolution:
        found = search(node, seed, candidates[0] if candidates else None)
        # Below the stop all are equal: a bound of 0 lets the tree close on the first leaf that reaches it.
        return replace(found, misfit=0.0 if found.misfit < STOP else found.misfit)

    started, cpu = time.perf_counter(), time.process_time()
    tree: Tree = branch_and_bound(problem, solve, key=jax.random.PRNGKey(seed), order=ORDER, chance=1.0)
    calls: Calls = tree.calls
    return {
        "w": np.asarray(np.inf if tree.incumbent is None else tree.incumbent.misfit),
        "forward": np.asarray(calls.forward),
        "jacobian": np.asarray(calls.jacobian),
        "nodes": np.asarray(tree.nodes_visited),
        "seconds": np.asarray(time.perf_counter() - started),
        "cpu": np.asarray(time.process_time() - cpu),
    }
