"""The inversion of the main job: posterior, branch and bound from its draws, strict fit, identifiability."""

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax

from difsim import Forward
from difsim.stepping.solvers import AbstractSolver
from experiments.agilkia.limits import lowest_misfit
from experiments.agilkia.scenario import STRICT
from inversion import (
    Checkpoint,
    Importance,
    Problem,
    Stops,
    Tempered,
    branch,
    branch_and_bound,
    fit,
    identify,
    sample,
)
from inversion.identifiability import Identifiability
from inversion.leastsq import Fit
from inversion.posterior import Posterior
from inversion.tree import Node, Tree

ORDER = ("scenario", "friction", "grain_modulus")  # by how much each moves the misfit
QUICK = 100  # effective draws of a smoke test
PARTICLES = 3200  # worth 17 to 24 independent ones; of 1600, 5 to 11, where importance sampling asks for 8
# The search's simulator is good to 1e-4 of a misfit; asking for more only spends calls on its noise.
SEARCH_STOPS = Stops(misfit=1e-3, step=1e-3, iterations=40)
CHANCE = 0.2  # that one more search changes the tree: where all end in one minimum, four are enough
TOLERANCE = 0.02  # of a misfit near 10: two searches that stop there differ by as much at one minimum
SEARCH = partial(branch.search_node, stops=SEARCH_STOPS)
STRICT_STOPS = Stops(misfit=1e-4, step=1e-4, iterations=60)


@dataclass(frozen=True)
class Answer:
    """The result of the inversion: the `posterior`, the `tree` that began at its draws, the best leaf's strict `fit`,
    `identifiability` with friction and grain modulus relaxed, and the `seconds` of branch and bound alone."""

    problem: Problem
    posterior: Posterior
    tree: Tree
    fit: Fit
    identifiability: Identifiability
    seconds: float


def with_solver(problem: Problem, solver: AbstractSolver, derivative: Forward | None = None) -> Problem:
    """The same inversion, nothing held, with its touchdowns solved and differentiated in another way."""
    return Problem(
        order_parameters(problem), replace(problem.predict, solver=solver, derivative=derivative), problem.data
    )


def order_parameters(problem: Problem) -> dict[str, Any]:
    """All parameters in the problem's own order: a dict that went through a tree operation of JAX is sorted."""
    return {name: problem.parameters[name] for name in problem.names} | problem.parameters


def invert(
    problem: Problem,
    seed: int,
    checkpoint: Checkpoint,
    size: int,
    evidence: float,
    executor: Executor | None = None,
) -> Answer:
    """The posterior of all unknowns, branch and bound from its draws, and the strict fit of the best leaf.

    The posterior is over all leaves: `size` is the number of independent draws that it is worth, and `evidence` the
    largest error of its log evidence. `executor` simulates its draws.

    **Raises** `RuntimeError` when no leaf has a valid simulation.
    """
    kept = Checkpoint(checkpoint.folder, "posterior")
    posterior = draw_posterior(problem, seed, size, evidence, kept, True, executor)
    started = time.perf_counter()
    tree = search_tree(problem, seed, posterior, checkpoint, progress=True)
    seconds = time.perf_counter() - started
    if (best := tree.incumbent) is None:
        raise RuntimeError("no combination of the discrete unknowns gave a valid touchdown: widen the priors")
    exact = with_solver(problem, STRICT, Forward()).hold(best.assignment)
    answer = _polish(exact, [best], STRICT_STOPS)
    held = {name: best.assignment[name] for name in ("scenario",) if name in best.assignment}
    relaxed, inside = problem.hold(held).relax(), [n for n in tree.nodes if held.items() <= n.assignment.items()]
    middle = _polish(relaxed, sorted(inside, key=lambda node: node.misfit)[:2], SEARCH_STOPS)
    identified = identify(relaxed, middle, threshold=1e-4)
    return Answer(exact, posterior, tree, answer, identified, seconds)


def search_tree(
    problem: Problem,
    seed: int,
    posterior: Posterior,
    checkpoint: Checkpoint | None = None,
    progress: bool = False,
) -> Tree:
    """Branch and bound from the draws of a posterior, with the bounds of physics.

    **Arguments:** as of `invert`. **Returns:** Tree.
    """
    order = tuple(name for name in dict.fromkeys((*ORDER, *problem.discrete)) if name in problem.discrete)
    return branch_and_bound(
        problem,
        SEARCH,
        key=jax.random.PRNGKey(seed),
        posterior=posterior,
        order=order,
        limit=partial(lowest_misfit, problem),
        tolerance=TOLERANCE,
        chance=CHANCE,
        checkpoint=checkpoint,
        progress=progress,
    )


def _polish(problem: Problem, nodes: Sequence[Node], stops: Stops) -> Fit:
    """A search from the solution of each node, without any other start."""
    guesses = [node.values for node in nodes]
    return fit(problem, key=jax.random.PRNGKey(0), starts=0, keep=len(guesses), guesses=guesses, stops=stops)


def draw_posterior(
    problem: Problem,
    seed: int,
    size: int,
    evidence: float,
    checkpoint: Checkpoint,
    progress: bool,
    executor: Executor | None = None,
) -> Posterior:
    """The posterior of a size, and of larger ones until its log evidence is as good as asked for.

    Each goes on from the draws before. The evidence of chains is that of the tempering, which no further draw betters.

    **Arguments:** as of `invert`; `seed`. **Returns:** the posterior.
    """
    method = Importance(Tempered(PARTICLES)) if size > QUICK else Importance(Tempered(320), generation=400)
    key = jax.random.PRNGKey(seed)
    while True:
        limit = 100 * size if size > QUICK else 3000
        kept = {"checkpoint": checkpoint, "progress": progress, "executor": executor}
        found = sample(problem, key=key, method=method, effective_size=size, limit=limit, **kept)
        if not found.log_evidence_error > evidence or found.k_hat is None:
            return found
        size *= 2
