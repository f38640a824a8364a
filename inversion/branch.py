"""Branch and bound over Discrete parameters: relax, branch, bound, prune, and verify by enumeration."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from difsim.checks import host_numbers, instance, integer, require_function
from difsim.saving.checkpoint import Checkpoint
from difsim.typing import as_tuple_of, describe

from .coordinates import to_plain
from .growth import Growth, Limit
from .minima import distinct, probability_missed
from .outcome import Calls
from .points import Points
from .posterior import Posterior
from .problem import Problem
from .progress import Bar
from .sweeps import load_or_compute
from .tree import Node, Tree, check_bound

SOLVED, DRAWN = 8, 16  # the most solutions of other nodes, and draws, that a search gets as guesses


class Solved(Protocol):
    """The result of a solver of one node, for example a Fit or an Evolution.

    `minima`: the misfits at which its repeated searches ended, those that failed left out.
    """

    misfit: float
    values: dict[str, Any]
    calls: Calls
    minima: Sequence[float]


Solve = Callable[[Problem, Sequence[Mapping[str, Any]]], Solved]


def branch_and_bound(
    problem: Problem,
    solve: Solve,
    *,
    posterior: Posterior | None = None,
    order: Sequence[str] | None = None,
    limit: Limit | None = None,
    tolerance: float = 0.0,
    max_nodes: int | None = None,
    checkpoint: Checkpoint | None = None,
    progress: bool = False,
) -> Tree:
    """The best leaf without solving all: best-first, pruned where the relaxed misfit is above the incumbent.

    Nodes are solved in the order of their parent's bound, deeper ones first for equal bounds. A relaxed minimum is
    a lower bound of all leaves below it: min over the hull <= min over the values. It depends on the solver: a
    local minimum is no bound, and every bound says how probable it is that a lower one was missed, by a formula for
    random starts: guesses that lead to the same minimum make it too small. A node below which
    a lower misfit is found bounds nothing from then on: its children, solved or not, are judged by the next node above.
    A blend of choices that have names in place of numbers is no relaxation of them: its bound is heuristic. So check
    `is_closed` and `label`; verify the result with `enumerate_leaves` where the number of leaves allows it.

    **Arguments:** `problem`; `solve`: (problem of the node, guesses) -> object with misfit, values, calls, minima; the
    guesses are the parent's solution, the best draws in the node or near it, and such solutions of other nodes, all
    with the node's values (`fit(..., candidates=guesses)`); it must not raise if every simulation fails (misfit
    infinite). `posterior` of the problem, whose draws have found what is good in each leaf before the first search;
    `order`: names of all Discrete parameters, first branched first; `limit`: a function
    of an assignment to a misfit that no values of the other unknowns can undercut, by physics: such a bound is
    proved; `tolerance` of a misfit: prune from incumbent - tolerance on, and ignore what undercuts a bound by less;
    `max_nodes`: stop branching after so many solved nodes; `checkpoint`: keeps solved nodes by assignment;
    `progress`: show a bar. **Returns:** Tree. Where no Discrete parameter is undecided it has one leaf, the problem.
    **Raises:** ValueError for an order that is not a permutation of the Discrete parameters, a tolerance below 0, the
    posterior of another problem, and a limit or a solution that is none.
    **Source:** Lawler and Wood (1966); Wu et al. (2019), App. B.
    """
    _check("branch_and_bound", problem, solve, checkpoint)
    known = (lambda assignment: -np.inf) if limit is None else check_bound("branch_and_bound: limit", limit)
    tolerance = float(host_numbers("branch_and_bound: tolerance", tolerance, ""))
    if tolerance < 0:
        raise ValueError(f"branch_and_bound: tolerance = {tolerance} must be 0 or more")
    if max_nodes is not None:
        integer("branch_and_bound: max_nodes", max_nodes)
    order = _discrete(problem) if order is None else as_tuple_of("branch_and_bound: order", order, str)
    if sorted(order) != sorted(_discrete(problem)):
        raise ValueError(f"order {order} must name each Discrete parameter once: {_discrete(problem)}")
    drawn, solved = Points(problem, posterior), Points(problem)
    growth = Growth(known, tolerance)
    with Bar("branch and bound", is_shown=progress) as bar:
        while (max_nodes is None or len(growth.nodes) < max_nodes) and (taken := growth.take()) is not None:
            parent = None if taken.parent is None else growth.nodes[taken.parent]
            guesses = []
            if parent is not None and np.isfinite(parent.misfit):
                guesses.append(parent.values | taken.assignment)
            guesses += drawn.choose_near(taken.assignment, DRAWN) + solved.choose_near(taken.assignment, SOLVED)
            node = replace(_solve_node(problem, solve, taken.assignment, guesses, checkpoint), parent=taken.parent)
            growth.add(node)
            solved.add(node.values, node.misfit)
            if node.status == "open":
                name = order[len(node.assignment)]
                growth.branch(name, problem.parameters[name].nearest_first(node.values[name]))
            best = "" if growth.incumbent is None else f", best {growth.best:.4g}"
            bar.reach(len(growth.nodes), f"{len(growth.nodes)} nodes{best}")
    return growth.conclude()


def enumerate_leaves(
    problem: Problem, solve: Solve, *, checkpoint: Checkpoint | None = None, progress: bool = False
) -> tuple[Node, ...]:
    """The solutions of all combinations of the discrete values, to verify a branch and bound, see `Tree.agrees`.

    **Arguments:** as `branch_and_bound`; there are no guesses. Do not share a checkpoint with it: a leaf taken from
    the tree would prove nothing. **Returns:** leaves. **Raises:** ValueError for other arguments.
    """
    _check("enumerate_leaves", problem, solve, checkpoint)
    names = _discrete(problem)
    choices = [np.asarray(problem.parameters[name].values).tolist() for name in names]
    combinations, leaves = list(itertools.product(*choices)), []
    with Bar("leaves", len(combinations), progress) as bar:
        for values in combinations:
            leaves.append(_solve_node(problem, solve, dict(zip(names, values, strict=True)), [], checkpoint))
            bar.reach(len(leaves))
    return tuple(leaves)


def _check(name: str, problem: Any, solve: Any, checkpoint: Any) -> None:
    instance(f"{name}: problem", problem, Problem, "a Problem of parameters, predict and data")
    require_function(f"{name}: solve", solve)
    if checkpoint is not None:
        instance(f"{name}: checkpoint", checkpoint, Checkpoint, "Checkpoint(folder, fingerprint)")


def _discrete(problem: Problem) -> tuple[str, ...]:
    """The names of Discrete parameters that are not held."""
    held = np.asarray(problem.held)
    return tuple(name for name in problem.discrete if np.isnan(held[problem.index(name)]))


def _solve_node(
    problem: Problem,
    solve: Solve,
    assignment: dict[str, float],
    guesses: Sequence[Mapping[str, Any]],
    checkpoint: Checkpoint | None,
) -> Node:
    def compute():
        found = solve(problem.hold(assignment).relax(), guesses)
        if lacks := [name for name in ("misfit", "values", "calls", "minima") if not hasattr(found, name)]:
            raise ValueError(
                f"branch_and_bound: solve returned {describe(found)} without {lacks}: return a Fit, or the like"
            )
        if lacks := [name for name in sorted(problem.parameters) if name not in found.values]:
            raise ValueError(
                f"branch_and_bound: solve returned no values of {lacks}: solve the problem that it was given"
            )
        values = [np.ravel(found.values[name]) for name in sorted(problem.parameters)]
        return {
            "misfit": np.asarray(found.misfit),
            "values": np.concatenate(values),
            "calls": np.asarray(found.calls),
            "minima": np.asarray(found.minima, float),
        }

    key = "node-" + ",".join(f"{name}={value:.12g}" for name, value in sorted(assignment.items()))
    stored = load_or_compute(checkpoint, key, compute)
    misfit = float(stored["misfit"])
    status = "open"
    if len(assignment) == len(_discrete(problem)):
        status = "leaf" if np.isfinite(misfit) else "failed"
    shapes = {name: problem.parameters[name].shape for name in sorted(problem.parameters)}
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()])[:-1]
    parts = zip(shapes.items(), np.split(stored["values"], ends), strict=True)
    values = {name: to_plain(part.reshape(shape)) for (name, shape), part in parts}
    minima = stored["minima"]
    relaxed = [problem.parameters[name] for name in _discrete(problem) if name not in assignment]
    blended = any(not q.is_ordered for q in relaxed)
    missed = 1.0 if blended else probability_missed(minima.size, distinct(minima))
    return Node(assignment, misfit, misfit, misfit, missed, values, None, status, Calls(*stored["calls"].tolist()))
