"""Branch and bound against full enumeration, and differential evolution on the same problems."""

import functools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import inversion
from difsim import Status
from experiments.evolution import evolve
from inversion import Bounded, Checkpoint, Discrete, Log, Observation, Observations, Problem
from inversion.branch import enumerate_leaves
from inversion.minima import probability_missed
from tests import toys


@pytest.fixture(scope="module")
def solve():
    def run(problem, guesses):
        key = jax.random.PRNGKey(1)
        return inversion.fit(problem, key=key, starts=32, keep=4, candidates=guesses, throw=False)

    return run


@pytest.fixture(scope="module")
def leaves(solve):
    return enumerate_leaves(toys.mixed_problem()[0], solve)


def test_a_dive_solves_one_node_a_level():
    # Where every node reaches the target, no second child is solved, and the nearest value is taken.
    def solve(node, guesses):
        values = dict.fromkeys(node.parameters, 0.0) | {"E": 9e8, "c": 0.3, "s": 1.9}
        return SimpleNamespace(misfit=0.0, values=values, calls=inversion.outcome.Calls(1, 0, 0), minima=(0.0,))

    tree = inversion.branch_and_bound(toys.mixed_problem()[0], solve)
    assert tree.nodes_visited == 4 and tree.bound_gap == 0.0
    assert tree.incumbent.assignment == {"E": 1e9, "c": 0.2, "s": 2.0}
    assert [node.status for node in tree.nodes] == ["branched", "branched", "branched", "leaf"]


def solver_of(misfits, searches=1):
    """A solver that says these misfits of (E,) and (E, c), and 4 elsewhere, after so many searches."""

    def solve(node, guesses):
        held = dict(zip(node.names, np.asarray(node.held).tolist(), strict=True))
        found = misfits.get(tuple(held[k] for k in ("E", "c") if not np.isnan(held[k])), 4.0)
        values = dict.fromkeys(node.parameters, 1.0) | {"E": 1e8, "c": 0.2, "s": 1.0}
        calls = inversion.outcome.Calls(1, 0, 0)
        return SimpleNamespace(misfit=found, values=values, calls=calls, minima=(found,) * searches)

    return solve


def test_what_is_left_unsolved_is_a_gap():
    problem = toys.mixed_problem()[0].hold({"s": 1.0})
    solve = solver_of({(): 1.0, (1e8,): 1.0, (1e8, 0.2): 5.0})
    tree = inversion.branch_and_bound(problem, solve, order=("E", "c"), max_nodes=3)
    assert tree.incumbent.misfit == 5.0 and tree.bound_gap == 4.0
    assert not tree.is_closed and tree.verdict == "not closed: a gap of 4 of misfit"


def test_a_disproved_bound_drops_nothing():
    """Both bounds above the leaf of 2 are wrong: its siblings, of 1 and 4, and what is beside it are solved too."""
    solve = solver_of(
        {(): 2.5, (1e8,): 3.0, (1e7,): 3.5, (1e9,): 3.5, (1e8, 0.2): 2.0, (1e8, 0.6): 1.0}, searches=40
    )
    problem = toys.mixed_problem()[0].hold({"s": 1.0})
    tree = inversion.branch_and_bound(problem, solve, order=("E", "c"))
    assert tree.incumbent.misfit == 1.0 and tree.violations == 2 and tree.worst_violation == 2.0
    assert [node.bound for node in tree.nodes[:2]] == [-np.inf, -np.inf] and len(tree.leaves) == 3
    # The bounds of 3.5 were not disproved. But the searches that made them are those that failed elsewhere.
    assert tree.is_closed and tree.dropped == {"proved": 0, "probable": 0, "heuristic": 6}
    assert tree.verdict.startswith("closed by heuristic bounds")
    assert tree.verdict.endswith("2 other(s) were disproved, by up to 2 of misfit")


def test_the_last_bound_that_stands_counts():
    """The root's bound of 1 stands, and that of 3 below it does not."""
    solve = solver_of({(): 1.0, (1e8,): 3.0, (1e7,): 3.5, (1e9,): 1.5, (1e8, 0.2): 2.0, (1e8, 0.6): 1.8})
    tree = inversion.branch_and_bound(toys.mixed_problem()[0].hold({"s": 1.0}), solve, order=("E", "c"))
    assert tree.nodes[1].bound == 1.0 and tree.nodes[1].label == "heuristic" and tree.incumbent.misfit == 1.8
    assert tree.bound({"E": 1e8, "c": 1.0}) == 4.0 and tree.is_closed


TOLD = {(): 1.0, (1e8,): 1.0, (1e7,): 3.0, (1e9,): 2.5, (1e8, 0.2): 2.0, (1e8, 0.6): 3.0, (1e8, 1.0): 3.0}


def test_bounds_are_probable_by_the_number_of_searches():
    problem = toys.mixed_problem()[0].hold({"s": 1.0})
    tree = inversion.branch_and_bound(problem, solver_of(TOLD, searches=40), order=("E", "c"))
    one = 1.0 - 38 / 40  # 40 searches found one minimum
    assert all(node.label == "probable" and node.missed == pytest.approx(one) for node in tree.nodes)
    # It rests on its three leaves, and on the bounds of 1e7 and 1e9, whose six leaves were not solved.
    assert tree.dropped == {"proved": 0, "probable": 6, "heuristic": 0} and len(tree.leaves) == 3
    assert tree.missed == pytest.approx(5 * one) and "probable bounds: a lower minimum was missed" in tree.verdict
    few = inversion.branch_and_bound(problem, solver_of(TOLD, searches=2), order=("E", "c"))
    assert few.label == "heuristic" and "heuristic" in few.verdict and few.nodes[0].label == "heuristic"


def test_violated_bounds_are_not_called_probable():
    problem = toys.mixed_problem()[0].hold({"s": 1.0})
    told_wrong = solver_of(TOLD | {(1e8, 0.2): 0.5}, searches=40)
    tree = inversion.branch_and_bound(problem, told_wrong, order=("E", "c"))
    assert [node.label for node in tree.nodes[:3]] == ["heuristic", "heuristic", "probable"]
    assert tree.violations == 2 and tree.label == "heuristic"


def test_a_blend_of_named_choices_is_heuristic():
    problem = toys.mixed_problem()[0].hold({"s": 1.0})
    named = Discrete((1e7, 1e8, 1e9), relaxed=Log, labels=("dust", "sand", "ice"))
    problem = Problem(problem.parameters | {"E": named}, problem.predict, problem.data).hold({"s": 1.0})
    tree = inversion.branch_and_bound(problem, solver_of(TOLD, searches=40), order=("E", "c"))
    assert [node.label for node in tree.nodes[:2]] == ["heuristic", "probable"]


def test_a_tree_is_closed_within_its_tolerance(solve):
    tree = inversion.branch_and_bound(toys.mixed_problem()[0], solve, tolerance=1e3)
    assert tree.is_closed and tree.bound_gap <= 1e3


def test_a_tree_without_a_valid_leaf_is_not_closed():
    def solve(node, guesses):
        values = dict.fromkeys(node.parameters, 1.0) | {"E": 1e8, "c": 0.2, "s": 1.0}
        return SimpleNamespace(misfit=np.inf, values=values, calls=inversion.outcome.Calls(1, 0, 1), minima=())

    tree = inversion.branch_and_bound(toys.mixed_problem()[0].hold({"E": 1e8, "s": 1.0}), solve)
    assert tree.incumbent is None and tree.bound_gap == np.inf and not tree.is_closed


def test_finished_nodes_are_not_solved_again(solve, tmp_path):
    solved = []

    def counting(problem, guesses):
        solved.append(problem.free)
        return solve(problem, guesses)

    problem, _ = toys.mixed_problem()
    run = functools.partial(inversion.branch_and_bound, problem, counting)
    first = run(checkpoint=Checkpoint(tmp_path, "model 1"))
    count = len(solved)
    assert count == first.nodes_visited
    again = run(checkpoint=Checkpoint(tmp_path, "model 1"))
    assert len(solved) == count and again == first
    run(checkpoint=Checkpoint(tmp_path, "model 2"))
    assert len(solved) == 2 * count


def test_a_relaxed_node_without_a_valid_simulation_hides_no_leaf(key):
    # Only the listed values of c can be simulated: every relaxed node fails, the leaves do not.
    def predict(p):
        listed = jnp.min(jnp.abs(p["c"] - jnp.array([0.2, 0.6, 1.0]))) < 1e-12
        return toys.mixture(p)[0], listed

    problem, truth = toys.mixed_problem(predict)
    problem = problem.hold({"E": 1e8, "s": 2.0})

    def solve(node, guesses):
        return inversion.fit(node, key=key, starts=8, keep=2, throw=False)

    tree = inversion.branch_and_bound(problem, solve)
    assert tree.nodes[0].misfit == np.inf
    assert tree.incumbent.assignment == {"c": truth["c"]}


def test_evolution_solves_the_nodes_as_in_the_paper(leaves):
    def solve(node, guesses):
        return evolve(node, 0, population=20, stall=15)

    problem, truth = toys.mixed_problem()
    tree = inversion.branch_and_bound(problem.hold({"E": 1e8, "s": 2.0}), solve)
    assert tree.incumbent.assignment == {"c": truth["c"]}
    assert tree.agrees(
        [leaf for leaf in leaves if leaf.assignment | {"E": 1e8, "s": 2.0} == leaf.assignment], relative=1e-2
    )
    assert tree.calls.jacobian == 0


def test_branch_and_bound_refuses(solve):
    with pytest.raises(ValueError, match="order"):
        inversion.branch_and_bound(toys.mixed_problem()[0], solve, order=("E",))


def test_evolution_with_its_own_objective_and_failures():
    def relative(problem, predictions):
        measured = problem.data["y"].value
        return jnp.abs(predictions["y"] - measured) / measured

    problem = Problem({"p": Bounded(0.0, 4.0)}, toys.cliff, Observations({"y": Observation(0.8, 0.1)}))
    found = evolve(problem, 0, relative, population=20, generations=10, stop=0.0)
    assert found.status == Status.LIMIT and found.calls.forward == 20 * 11
    assert 0 < found.calls.failed < found.calls.forward  # beyond the cliff
    np.testing.assert_allclose(found.misfit, abs(found.values["p"] - 0.8) / 0.8, rtol=1e-9)


@pytest.mark.parametrize("searches", [8, 20])
def test_minima_are_missed_as_often_as_stated(searches):
    """Any number of minima up to 60 with any shares of their basins: more are too rarely hidden to be seen."""
    rng = np.random.default_rng(searches)
    missed = {}
    for _ in range(20_000):
        shares = rng.dirichlet(np.ones(rng.integers(1, 61)))
        found = np.unique(rng.choice(shares.size, size=searches, p=shares)).size
        missed.setdefault(found, []).append(found < shares.size)
    for found in (1, 2, 3):
        share, count = np.mean(missed[found]), len(missed[found])
        stated = probability_missed(searches, found)
        assert abs(share - stated) < 4 * np.sqrt(stated * (1 - stated) / count) + 0.01, (found, count)
    assert probability_missed(searches, searches - 1) == 1.0 == probability_missed(0, 0)
