"""Branch and bound against full enumeration, and differential evolution on the same problems."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest

import inversion
from difsim import Status
from experiments.evolution import evolve
from inversion.branch import enumerate_leaves
from inversion.minima import distinct
from tests import toys

KEY = jax.random.PRNGKey(1)


@pytest.fixture(scope="module")
def leaves():
    return enumerate_leaves(toys.mixed_problem()[0], key=KEY)


def best_of(leaves):
    return pytest.approx(min(leaf.misfit for leaf in leaves), rel=1e-3, abs=1e-6)


def test_agrees_with_enumeration_and_visits_fewer(leaves):
    problem, truth = toys.mixed_problem()
    tree = inversion.branch_and_bound(problem, key=KEY)
    assert len(leaves) == 18 > tree.nodes_visited
    assert tree.incumbent.misfit == best_of(leaves)
    assert tree.bound_gap == 0.0 and tree.violations == 0 and tree.is_closed
    assert tree.verdict.startswith(f"closed by {tree.label} bounds")
    assert tree.incumbent.assignment == {k: truth[k] for k in ("E", "c", "s")}
    assert tree.calls.forward < sum(leaf.calls.forward for leaf in leaves)
    for node in tree.nodes[1:]:
        assert node.bound >= tree.nodes[node.parent].bound * (1 - 1e-6) - 1e-9
    # Everything that was not followed is no better than the incumbent.
    assert all(n.bound >= tree.incumbent.misfit for n in tree.nodes if n.status == "pruned")


def test_any_order_gives_the_same_answer(leaves):
    tree = inversion.branch_and_bound(toys.mixed_problem()[0], key=KEY, order=("s", "c", "E"))
    assert tree.incumbent.misfit == best_of(leaves) and list(tree.nodes[-1].assignment) == ["s", "c", "E"]


def test_stopped_early_leaves_a_gap():
    tree = inversion.branch_and_bound(toys.mixed_problem()[0], key=KEY, max_nodes=1)
    assert tree.incumbent is None and tree.bound_gap == np.inf
    assert not tree.is_closed and "no leaf" in tree.verdict


def solver_of(misfits, searches=1):
    """A solver that says these misfits of (E,) and (E, c), and 4 elsewhere, after so many searches."""

    def solve(node, *, key, candidates):
        held = dict(zip(node.names, np.asarray(node.held).tolist(), strict=True))
        found = misfits.get(tuple(held[k] for k in ("E", "c") if not np.isnan(held[k])), 4.0)
        values = dict.fromkeys(node.parameters, 1.0) | {"E": 1e8, "c": 0.2, "s": 1.0}
        calls = inversion.outcome.Calls(1, 0, 0)
        return SimpleNamespace(misfit=found, values=values, calls=calls, minima=(found,) * searches)

    return solve


TOLD = {(): 1.0, (1e8,): 1.0, (1e7,): 3.0, (1e9,): 2.5, (1e8, 0.2): 2.0, (1e8, 0.6): 3.0, (1e8, 1.0): 3.0}


def test_bounds_from_physics_are_proved_and_drop_nodes_unsolved():
    problem = toys.mixed_problem()[0].hold({"s": 1.0})

    def limit(assignment):
        return 5.0 if assignment["E"] != 1e8 or assignment.get("c") in (0.6, 1.0) else 0.0

    tree = inversion.branch_and_bound(
        problem, solver_of(TOLD, searches=40), key=KEY, order=("E", "c"), limit=limit
    )
    assert tree.nodes_visited == 3 and tree.dropped == {"proved": 4, "probable": 0, "heuristic": 0}
    assert tree.incumbent.misfit == 2.0 and tree.missed == pytest.approx(1.0 - 38 / 40)


def test_minima_of_one_misfit_are_one():
    assert distinct(np.array([2.0, 2.005, 2.0, np.inf])).tolist() == [2.0] and distinct(np.zeros(0)).size == 0
    assert distinct(np.array([9.0, 2.1, 2.0, 9.01])).tolist() == [2.0, 2.1, 9.0]


def test_a_problem_without_choices_is_one_leaf():
    tree, leaves = (
        inversion.branch_and_bound(toys.linear(), key=KEY),
        inversion.branch.enumerate_leaves(toys.linear(), key=KEY),
    )
    assert len(tree.nodes) == len(leaves) == 1 and tree.is_closed and tree.incumbent.misfit == best_of(leaves)
    assert tree.incumbent.assignment == {} and tree.incumbent.misfit == pytest.approx(toys.closed_form()[2])


def test_evolution_finds_the_global_minimum():
    for seed in range(2):
        found = evolve(toys.multimodal(), seed, population=24)
        assert found.status == Status.TARGET and found.misfit < 1e-4
        np.testing.assert_allclose(found.values["x"], 2.0, atol=0.01)
    assert (np.diff(found.history) <= 0).all()
    assert found.calls.forward == 24 * len(found.history)
