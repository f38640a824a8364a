"""The inversion of the main job: branch and bound, proof by enumeration, strict fit, identifiability."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np

from difsim import Forward
from difsim.saving.marks import digest
from difsim.stepping.solvers import AbstractSolver
from experiments.agilkia.limits import lowest_misfit
from experiments.agilkia.scenario import STRICT
from inversion import Checkpoint, Importance, Problem, Stops, Tempered, branch_and_bound, fit, identify, sample
from inversion.branch import enumerate_leaves
from inversion.coordinates import to_plain
from inversion.identifiability import Identifiability
from inversion.leastsq import Fit
from inversion.outcome import Calls
from inversion.posterior import Posterior
from inversion.tree import Node, Tree

ORDER = ("scenario", "friction", "grain_modulus")  # by how much each moves the misfit
BEFORE = "solutions before"  # how many there were
QUICK = 100  # effective draws of a smoke test
# The search's simulator is good to 1e-4 of a misfit; asking for more only spends calls on its noise.
SEARCH_STOPS = Stops(misfit=1e-3, step=1e-3, iterations=40)
TOLERANCE = 0.02  # of a misfit near 10: two searches that stop there differ by as much at one minimum
STRICT_STOPS = Stops(misfit=1e-4, step=1e-4, iterations=60)


@dataclass(frozen=True)
class Answer:
    """What the inversion found.

    `tree` and `leaves` (all of them, solved on their own), the best leaf's strict `fit`, `identifiability` with
    friction and grain modulus relaxed, the `posterior`, calls and seconds of branch and bound alone.
    """

    problem: Problem
    tree: Tree
    leaves: tuple[Node, ...]
    fit: Fit
    identifiability: Identifiability
    posterior: Posterior
    calls: Calls
    seconds: float


class NodeSolver:
    """Solves a node by screened multi-start least squares, and the widest relaxations `repeats` times.

    These are the nodes where every choice with a name is made and every number is free: most bounds rest on them.
    Solutions of earlier nodes are screened with the random starts: their continuous unknowns are often good
    elsewhere in the tree, and a forward simulation is cheap beside a search. They are kept beside the nodes, so that an
    interrupted run solves the next node as it would have.
    """

    def __init__(
        self,
        seed: int,
        starts: int,
        keep: int,
        repeats: int = 4,
        stops: Stops = SEARCH_STOPS,
        kept: Checkpoint | None = None,
    ):
        self.seed, self.starts, self.keep = seed, starts, keep
        self.repeats, self.stops, self.checkpoint = repeats, stops, kept
        self.solutions: list[dict[str, Any]] | None = None  # until the first node

    def keep_in(self, kept: Checkpoint) -> "NodeSolver":
        """A new solver with these settings that keeps its solutions."""
        return NodeSolver(self.seed, self.starts, self.keep, self.repeats, self.stops, kept)

    def __call__(self, node: Problem, guess: Mapping[str, float] | None) -> Fit:
        key = f"solutions-{digest((np.asarray(node.held), np.asarray(node.free_mask)))[:16]}"
        if self.solutions is None:
            self.solutions = self._load_solutions(key)
        is_widest = all(node.parameters[name].is_ordered == (name in node.free) for name in node.discrete)
        found = [
            fit(
                node,
                key=jax.random.PRNGKey(self.seed + 1000 * i),
                starts=self.starts,
                keep=self.keep,
                guesses=[] if guess is None or i else [guess],
                candidates=self.solutions,
                stops=self.stops,
                throw=False,
            )
            for i in range(self.repeats if is_widest else 1)
        ]
        good = [f.values for f in found if np.isfinite(f.misfit)]
        if self.checkpoint is not None:
            columns = {name: np.stack([np.asarray(values[name]) for values in good]) for name in (good or [{}])[0]}
            self.checkpoint.get_or(key, lambda: {BEFORE: len(self.solutions)} | columns)
        self.solutions += good
        best = min(found, key=lambda f: f.misfit)
        starts = tuple(start for f in found for start in f.starts)
        return replace(best, calls=sum((f.calls for f in found), Calls()), starts=starts)

    def _load_solutions(self, key: str) -> list[dict[str, Any]]:
        """The solutions of the nodes that an interrupted run solved, in its order, but for those of this node."""
        if self.checkpoint is None:
            return []
        others = {path.stem for path in self.checkpoint.folder.glob("solutions-*.arrays")} - {key}
        found = []
        for piece in sorted(
            (self.checkpoint.get_or(other, dict) for other in others), key=lambda piece: piece[BEFORE]
        ):
            columns = {name: column for name, column in piece.items() if name != BEFORE}
            found += [
                dict(zip(columns, map(to_plain, row), strict=True)) for row in zip(*columns.values(), strict=True)
            ]
        return found


def with_solver(problem: Problem, solver: AbstractSolver, derivative: Forward | None = None) -> Problem:
    """The same inversion, nothing held, with its touchdowns solved and differentiated in another way."""
    # In the problem's own order: a dict that went through a tree operation of JAX is sorted.
    ordered = {name: problem.parameters[name] for name in problem.names} | problem.parameters
    return Problem(ordered, replace(problem.predict, solver=solver, derivative=derivative), problem.data)


def invert(
    problem: Problem,
    solver: NodeSolver,
    checkpoint: Checkpoint,
    progress: bool,
    size: int = 1000,
    evidence: float = np.inf,
    executor: Executor | None = None,
) -> Answer:
    """Branch and bound with its proof, the strict fit of the best leaf, and the posterior of all unknowns.

    The posterior is over all leaves: `size` is the number of independent draws that it is worth, and `evidence` the
    largest error of its log evidence. `executor` simulates its draws.

    **Raises** `RuntimeError` when no leaf has a valid simulation.
    """
    started = time.perf_counter()
    tree = branch_and_bound(
        problem,
        solver.keep_in(_sibling(checkpoint, "solutions")),
        order=_order(problem),
        limit=partial(lowest_misfit, problem),
        tolerance=TOLERANCE,
        checkpoint=checkpoint,
        progress=progress,
    )
    seconds = time.perf_counter() - started
    if tree.incumbent is None:
        raise RuntimeError("no combination of the discrete unknowns gave a valid touchdown: widen the priors")
    # A solver that has seen nothing of the tree, and a store of its own: else it would prove nothing.
    proof = _sibling(checkpoint, "enumeration")
    kept = _sibling(proof, "solutions")
    fresh = NodeSolver(solver.seed + 1, solver.starts, solver.keep, stops=solver.stops, kept=kept)
    leaves = enumerate_leaves(problem, fresh, checkpoint=proof, progress=progress)
    best = min((tree.incumbent, *leaves), key=lambda node: node.misfit)

    exact = with_solver(problem, STRICT, Forward())
    answer = fit(
        exact.hold(best.assignment),
        key=jax.random.PRNGKey(0),
        starts=0,
        keep=1,
        guesses=[best.values],
        stops=STRICT_STOPS,
    )
    found = []
    for held in _scenarios(problem):
        relaxed = problem.hold(held).relax()
        near = [n for n in (*tree.nodes, *leaves) if held.items() <= n.assignment.items()]
        guesses = [n.values for n in sorted(near, key=lambda n: n.misfit)[:2]]
        middle = fit(relaxed, key=jax.random.PRNGKey(0), starts=0, keep=2, guesses=guesses, stops=SEARCH_STOPS)
        found.append((relaxed, middle))
    relaxed, middle = min(found, key=lambda pair: pair[1].misfit)
    return Answer(
        problem=exact.hold(best.assignment),
        tree=tree,
        leaves=leaves,
        fit=answer,
        identifiability=identify(relaxed, middle, threshold=1e-4),
        posterior=draw_posterior(
            problem,
            solver.seed,
            size,
            evidence,
            _sibling(checkpoint, "posterior"),
            progress,
            guesses=[leaf.values for leaf in leaves if np.isfinite(leaf.misfit)],
            executor=executor,
        ),
        calls=tree.calls,
        seconds=seconds,
    )


def draw_posterior(
    problem: Problem,
    seed: int,
    size: int,
    evidence: float,
    checkpoint: Checkpoint,
    progress: bool,
    guesses: Sequence[Mapping[str, Any]] = (),
    executor: Executor | None = None,
) -> Posterior:
    """The posterior of a size, and of larger ones until its log evidence is as good as asked for.

    Each goes on from the draws before. The evidence of chains is that of the tempering, which no further draw betters.

    **Arguments:** as of `invert`; `seed`; `guesses`: where it may have narrow peaks. **Returns:** the posterior.
    """
    method = Importance() if size > QUICK else Importance(Tempered(320), generation=400)
    key = jax.random.PRNGKey(seed)
    while True:
        limit = 100 * size if size > QUICK else 3000
        kept = {"checkpoint": checkpoint, "progress": progress, "guesses": guesses, "executor": executor}
        found = sample(problem, key=key, method=method, effective_size=size, limit=limit, **kept)
        if not found.log_evidence_error > evidence or found.k_hat is None:
            return found
        size *= 2


def _order(problem: Problem) -> tuple[str, ...]:
    """ORDER, as far as the problem has its unknowns, and then its other discrete ones."""
    known = [name for name in ORDER if name in problem.discrete]
    return (*known, *(name for name in problem.discrete if name not in known))


def _scenarios(problem: Problem) -> list[dict[str, float]]:
    """What is held in turn: each scenario, or nothing where there is no boulder."""
    if "scenario" not in problem.names:  # no boulder, or a known scenario
        return [{}]
    return [{"scenario": value} for value in problem.parameters["scenario"].values.tolist()]


def _sibling(checkpoint: Checkpoint, name: str) -> Checkpoint:
    return Checkpoint(checkpoint.folder, name)
