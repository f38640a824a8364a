"""Branch and bound against full enumeration, and differential evolution on the same problems."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import t as student

import inversion
from difsim import Status
from experiments.evolution import evolve
from inversion import Bounded, Checkpoint, Discrete, Log, Observation, Observations, Problem
from inversion.branch import enumerate_leaves, search_node
from inversion.minima import chance_of_lower, probability_missed
from tests import choices, toys
from tests.core.test_branch import (
    KEY,
    TOLD,
    leaves,  # noqa: F401  # a fixture
    solver_of,
)


def test_a_disproved_bound_drops_nothing():
    """Both bounds above the leaf of 2 are wrong: its siblings, of 1 and 4, and what is beside it are solved too."""
    solve = solver_of(
        {(): 2.5, (1e8,): 3.0, (1e7,): 3.5, (1e9,): 3.5, (1e8, 0.2): 2.0, (1e8, 0.6): 1.0}, searches=40
    )
    problem = toys.mixed_problem()[0].hold({"s": 1.0})
    tree = inversion.branch_and_bound(problem, solve, key=KEY, order=("E", "c"))
    assert tree.incumbent.misfit == 1.0 and tree.violations == 2 and tree.worst_violation == 2.0
    assert [node.bound for node in tree.nodes[:2]] == [-np.inf, -np.inf] and len(tree.leaves) == 3
    # The bounds of 3.5 were not disproved. But the searches that made them are those that failed elsewhere.
    assert tree.is_closed and tree.dropped == {"proved": 0, "probable": 0, "heuristic": 6}
    assert tree.verdict.startswith("closed by heuristic bounds")
    assert tree.verdict.endswith("2 other(s) were disproved, by up to 2 of misfit")


def test_a_wrong_bound_is_searched_again():
    """The first searches of 1e7 and of its best leaf end in wrong minima: that drops it, and then hides 1.5."""
    wrong = {(1e7,): 3.5, (1e7, 0.6): 2.5}
    right = {(): 1.0, (1e8,): 1.0, (1e8, 0.2): 2.0, (1e7,): 1.2, (1e7, 0.6): 1.5}
    problem, first = toys.mixed_problem()[0].hold({"s": 1.0}), jax.random.fold_in(KEY, 0)

    def solve(node, *, key, candidates):
        is_first = np.array_equal(key, first)
        return solver_of(right | wrong if is_first else right)(node, key=key, candidates=candidates)

    once = inversion.branch_and_bound(problem, solve, key=KEY, order=("E", "c"), chance=1.0)
    assert once.incumbent.misfit == 2.0 and once.is_closed
    tree = inversion.branch_and_bound(problem, solve, key=KEY, order=("E", "c"))
    assert tree.incumbent.misfit == 1.5 and tree.is_closed and tree.violations == 0
    assert min(leaf.misfit for leaf in enumerate_leaves(problem, solve, key=KEY)) == 1.5
    # Nodes that have been branched, and bound nothing that was dropped, are not searched again.
    assert [node.rounds for node in tree.nodes if node.assignment in ({}, {"E": 1e8})] == [1, 1]


def test_bounds_are_probable_by_the_number_of_searches():
    problem = toys.mixed_problem()[0].hold({"s": 1.0})
    tree = inversion.branch_and_bound(problem, solver_of(TOLD, searches=40), key=KEY, order=("E", "c"))
    one = 1.0 - 38 / 40  # 40 searches found one minimum
    assert all(node.label == "probable" and node.missed == pytest.approx(one) for node in tree.nodes)
    # It rests on its three leaves, and on the bounds of 1e7 and 1e9, whose six leaves were not solved.
    assert tree.dropped == {"proved": 0, "probable": 6, "heuristic": 0} and len(tree.leaves) == 3
    assert tree.missed == pytest.approx(5 * one) and "probable bounds: a lower minimum was missed" in tree.verdict
    few = inversion.branch_and_bound(problem, solver_of(TOLD, searches=2), key=KEY, order=("E", "c"), chance=1.0)
    assert few.label == "heuristic" and "heuristic" in few.verdict and few.nodes[0].label == "heuristic"


def test_a_blend_of_named_choices_is_heuristic():
    problem = toys.mixed_problem()[0].hold({"s": 1.0})
    named = Discrete((1e7, 1e8, 1e9), relaxed=Log, labels=("dust", "sand", "ice"))
    problem = Problem(problem.parameters | {"E": named}, problem.predict, problem.data).hold({"s": 1.0})
    tree = inversion.branch_and_bound(problem, solver_of(TOLD, searches=40), key=KEY, order=("E", "c"))
    assert [node.label for node in tree.nodes[:2]] == ["heuristic", "probable"]


def test_finished_nodes_are_not_solved_again(tmp_path):
    solved = []

    def counting(problem, **given):
        solved.append(problem.free)
        return search_node(problem, **given)

    problem, _ = toys.mixed_problem()
    run = functools.partial(inversion.branch_and_bound, problem, counting, key=KEY)
    first = run(checkpoint=Checkpoint(tmp_path, "model 1"))
    count = len(solved)
    assert count == sum(node.rounds for node in first.nodes) > first.nodes_visited
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
    tree = inversion.branch_and_bound(problem, key=key)
    assert tree.nodes[0].misfit == np.inf
    assert tree.incumbent.assignment == {"c": truth["c"]}


def test_branch_and_bound_refuses():
    with pytest.raises(ValueError, match="order"):
        inversion.branch_and_bound(toys.mixed_problem()[0], key=KEY, order=("E",))


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


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_further_searches_find_lower_as_often_as_stated(share):
    """Minima of any shares, whose misfits are normal: a misfit that a new one of them undercuts with a probability."""
    rng, searches, seen, stated = np.random.default_rng(0), 8, [], []
    for _ in range(20_000):
        shares = rng.dirichlet(np.ones(rng.integers(1, 61)))
        ends, misfit = rng.choice(shares.size, size=searches + 1, p=shares), 20.0 + rng.normal(size=shares.size)
        found = np.unique(ends[:-1])
        if found.size == 3:
            known = misfit[found]
            width = known.std(ddof=1) * np.sqrt(4 / 3)
            least = known.mean() + width * student.ppf(share, 2)
            seen.append(ends[-1] not in found and misfit[ends[-1]] < least)
            stated.append(chance_of_lower(misfit[ends[:-1]], least))
    # Minima of nearly one misfit count as one, and then there are fewer than three.
    assert np.median(stated) == pytest.approx(share * 3 * 4 / (8 * 7))
    assert abs(np.mean(seen) - np.mean(stated)) < 4 * np.sqrt(np.mean(stated) / len(seen)) + 0.005


def test_a_tree_fed_by_a_posterior_finds_the_best_leaf():
    """The grid of all leaves knows it. A tree without a posterior misses it in this draw."""
    family, seed = "many minima", 4
    problem, least = choices.FAMILIES[family].draw(seed)
    tree, _ = choices.find_best_leaf(problem, seed)
    assert tree.incumbent.misfit == pytest.approx(least, abs=2 * choices.TOLERANCE)
    assert tree.is_closed and 2 * tree.nodes_visited < choices.FAMILIES[family].leaves
    # A node starts from the best that is known in its leaves: none of them undercuts it.
    assert tree.violations == 0
