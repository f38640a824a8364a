"""Branch and bound on problems whose best leaf is known: it finds it for every seed, and by how many simulations."""

from functools import partial

import jax
import pytest

from inversion import fit
from inversion.branch import enumerate_leaves
from tests import choices

SEEDS = {"exact relaxation": 50, "many minima": 50, "four choices": 50, "10 000 leaves": 10}


@pytest.mark.parametrize("family", SEEDS)
def test_a_tree_finds_the_best_leaf_for_every_seed(family):
    found, visited = [], 0
    for seed in range(SEEDS[family]):
        problem, least = choices.FAMILIES[family].draw(seed)
        # With 400 particles the posterior of one of 50 problems is too bad for its tree, and says so.
        tree, _ = choices.find_best_leaf(problem, seed, particles=1600)
        visited += tree.nodes_visited
        found.append(abs(tree.incumbent.misfit - least) <= 2 * choices.TOLERANCE)
    assert [seed for seed, is_found in enumerate(found) if not is_found] == []
    assert 2 * visited < SEEDS[family] * choices.FAMILIES[family].leaves


def test_enumeration_needs_more():
    problem, least = choices.FAMILIES["four choices"].draw(0)
    tree, _ = choices.find_best_leaf(problem, 0)
    # As one would without a tree: the usual fit of each leaf. By the rule of the tree it needs 3.9 times as many.
    leaves = enumerate_leaves(problem, partial(fit, throw=False), key=jax.random.PRNGKey(0), chance=1.0)
    assert tree.incumbent.misfit == pytest.approx(least, abs=2 * choices.TOLERANCE)
    assert tree.incumbent.misfit <= min(leaf.misfit for leaf in leaves) + choices.TOLERANCE
    assert 5 * tree.calls.forward < sum(leaf.calls.forward for leaf in leaves)
