"""Branch and bound over Discrete parameters: relax, branch, bound, prune, and verify by enumeration."""

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from difsim.checks import host_numbers, instance, integer, require_function
from difsim.saving.checkpoint import Checkpoint
from difsim.typing import as_tuple_of, describe

from .coordinates import to_plain
from .minima import distinct, probability_missed
from .outcome import Calls
from .problem import Problem
from .progress import Bar
from .tree import HEURISTIC, PROBABLE, PROVED, Node, Tree, check_bound, label


class Solved(Protocol):
    """The result of a solver of one node, for example a Fit or an Evolution.

    `minima`: the misfits at which its repeated searches ended, those that failed left out.
    """

    misfit: float
    values: dict[str, Any]
    calls: Calls
    minima: Sequence[float]


Solve = Callable[[Problem, Mapping[str, Any] | None], Solved]
Limit = Callable[[Mapping[str, float]], float]


def branch_and_bound(
    problem: Problem,
    solve: Solve,
    *,
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
    local minimum is no bound, and every bound says how probable it is that a lower one was missed. A node whose misfit
    is below a bound above it disproves that bound: what was to be dropped by it is judged by the last one that stands.
    A blend of choices that have names in place of numbers is no relaxation of them: its bound is heuristic. So check
    `is_closed` and `label`; verify the result with `enumerate_leaves` where the number of leaves allows it.

    **Arguments:** `problem`; `solve`: (problem of the node, guess) -> object with misfit, values, calls; the guess
    is the parent's solution moved to the node's values, None at the root; it must not raise if every simulation
    fails (misfit infinite). `order`: names of all Discrete parameters, first branched first; `limit`: a function
    of an assignment to a misfit that no values of the other unknowns can undercut, by physics: such a bound is
    proved; `tolerance` of a misfit: prune from incumbent - tolerance on, and count larger violations alone;
    `max_nodes`: stop branching after so many solved nodes; `checkpoint`: keeps solved nodes by assignment;
    `progress`: show a bar. **Returns:** Tree. Where no Discrete parameter is undecided it has one leaf, the problem.
    **Raises:** ValueError for an order that is not a permutation of the Discrete parameters, a tolerance below 0, and a
    limit or a solution that is none.
    **Source:** Lawler and Wood (1966); Cui et al. (paper 000), App. B.
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
    nodes: list[Node] = []
    incumbent: Node | None = None
    violations, worst = 0, 0.0
    fallen: set[int] = set()  # nodes whose misfit is no bound
    # Unsolved nodes, by the bound above them, then the deeper first, then the value nearest to the
    # parent's relaxed one. So the first leaf costs one solution per level, and pruned nodes are never solved.
    heap: list[tuple[float, int, int, int, int | None, dict[str, float]]] = [(-np.inf, 0, 0, 0, None, {})]

    def stands(above: int | None) -> int | None:
        """The node whose misfit bounds what is below: this one, or the nearest above it that is not disproved."""
        # Without a valid simulation nothing is proved about the leaves below.
        while above is not None and (above in fallen or not np.isfinite(nodes[above].misfit)):
            above = nodes[above].parent
        return above

    def bound_of(above: int | None, assignment: Mapping[str, float]) -> float:
        holder = stands(above)
        return max(-np.inf if holder is None else nodes[holder].misfit, known(assignment))

    with Bar("branch and bound", is_shown=progress) as bar:
        while heap and (max_nodes is None or len(nodes) < max_nodes):
            if incumbent is not None and heap[0][0] >= incumbent.misfit - tolerance:
                break
            bound, _, _, _, above, assignment = heapq.heappop(heap)
            parent = None if above is None else nodes[above]
            guess = None
            if parent is not None and np.isfinite(parent.misfit):
                guess = parent.values | assignment
            node = replace(_solve_node(problem, solve, assignment, guess, checkpoint), parent=above)
            nodes.append(node)
            # The tolerance of the solver, unless a larger one is given: two searches agree to about 1e-6 of a minimum.
            if node.misfit < bound - max(tolerance, 1e-6 * abs(bound) + 1e-9):
                violations, worst = violations + 1, max(worst, bound - node.misfit)
                fallen.update(i for i in _path(nodes, above) if nodes[i].misfit > node.misfit)
                heap = [(bound_of(entry[4], entry[5]), *entry[1:]) for entry in heap]
                heapq.heapify(heap)
            if node.status == "leaf" and (incumbent is None or node.misfit < incumbent.misfit):
                incumbent = node
            elif node.status == "open":
                name = order[len(assignment)]
                for rank, value in enumerate(problem.parameters[name].nearest_first(node.values[name])):
                    here, below = len(nodes) - 1, assignment | {name: value}
                    bound = bound_of(here, below)
                    heapq.heappush(heap, (bound, -len(assignment), rank, len(heap) + len(nodes), here, below))
            best = np.inf if incumbent is None else incumbent.misfit
            bar.reach(len(nodes), f"{len(nodes)} nodes, best {best:.4g}")

    best = np.inf if incumbent is None else incumbent.misfit
    branched = {node.parent for node in nodes}
    for i, node in enumerate(nodes):
        if (holder := stands(i)) != i:
            bound, missed = (-np.inf, 1.0) if holder is None else (nodes[holder].misfit, nodes[holder].missed)
            nodes[i] = node = replace(node, bound=bound, missed=1.0 if i in fallen else missed)
        if node.status == "open" and i in branched:
            nodes[i] = replace(node, status="branched")
        elif node.status == "open" and node.bound >= best - tolerance:
            nodes[i] = replace(node, status="pruned")
    gap = np.inf if incumbent is None else max(0.0, best - heap[0][0]) if heap else 0.0
    # What the answer rests on: the solutions of leaves, and the bounds by which the others were not solved.
    missed = {i: node.missed for i, node in enumerate(nodes) if node.status in ("leaf", "failed")}
    dropped: dict[str, int] = dict.fromkeys((PROVED, PROBABLE, HEURISTIC), 0)
    for bound, *_, above, assignment in heap:
        if known(assignment) >= best - tolerance:
            dropped[PROVED] += 1
        elif bound >= best - tolerance and (holder := stands(above)) is not None:
            # The searches that missed a minimum say little of what the others missed.
            missed[holder] = 1.0 if violations else nodes[holder].missed
            dropped[label(missed[holder])] += 1
    total = 1.0 if incumbent is None else min(1.0, sum(missed.values()))
    return Tree(tuple(nodes), incumbent, gap, violations, worst, total, dropped, tolerance)


def enumerate_leaves(
    problem: Problem, solve: Solve, *, checkpoint: Checkpoint | None = None, progress: bool = False
) -> tuple[Node, ...]:
    """The solutions of all combinations of the discrete values, to verify a branch and bound, see `Tree.agrees`.

    **Arguments:** as `branch_and_bound`; the guess is None. Do not share a checkpoint with it: a leaf taken from
    the tree would prove nothing. **Returns:** leaves. **Raises:** ValueError for other arguments.
    """
    _check("enumerate_leaves", problem, solve, checkpoint)
    names = _discrete(problem)
    choices = [np.asarray(problem.parameters[name].values).tolist() for name in names]
    combinations, leaves = list(itertools.product(*choices)), []
    with Bar("leaves", len(combinations), progress) as bar:
        for values in combinations:
            leaves.append(_solve_node(problem, solve, dict(zip(names, values, strict=True)), None, checkpoint))
            bar.reach(len(leaves))
    return tuple(leaves)


def _check(name: str, problem: Any, solve: Any, checkpoint: Any) -> None:
    instance(f"{name}: problem", problem, Problem, "a Problem of parameters, predict and data")
    require_function(f"{name}: solve", solve)
    if checkpoint is not None:
        instance(f"{name}: checkpoint", checkpoint, Checkpoint, "Checkpoint(folder, fingerprint)")


def _path(nodes: list[Node], above: int | None) -> Iterator[int]:
    """The numbers of a node and of all above it."""
    while above is not None:
        yield above
        above = nodes[above].parent


def _discrete(problem: Problem) -> tuple[str, ...]:
    """The names of Discrete parameters that are not held."""
    held = np.asarray(problem.held)
    return tuple(name for name in problem.discrete if np.isnan(held[problem.index(name)]))


def _solve_node(
    problem: Problem,
    solve: Solve,
    assignment: dict[str, float],
    guess: Mapping[str, Any] | None,
    checkpoint: Checkpoint | None,
) -> Node:
    def compute():
        found = solve(problem.hold(assignment).relax(), guess)
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
            "misfit": found.misfit,
            "values": np.concatenate(values),
            "calls": np.asarray(found.calls),
            "minima": np.asarray(found.minima, float),
        }

    key = "node-" + ",".join(f"{name}={value:.12g}" for name, value in sorted(assignment.items()))
    stored = compute() if checkpoint is None else checkpoint.get_or(key, compute)
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
    return Node(assignment, misfit, misfit, missed, values, None, status, Calls(*stored["calls"].tolist()))
