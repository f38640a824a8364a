"""Branch and bound over Discrete parameters: relax, branch, bound, prune, and verify by enumeration."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from difsim.checks import host_numbers, instance, integer, random_key, require_function
from difsim.saving.checkpoint import Checkpoint
from difsim.typing import as_tuple_of, describe

from .coordinates import to_plain
from .growth import Growth, Limit, no_limit
from .leastsq import Fit, fit
from .marquardt import Stops
from .outcome import Calls
from .points import Points
from .posterior import Posterior
from .problem import Problem
from .progress import Bar, Progress
from .sweeps import load_or_compute
from .tree import Node, Tree, check_bound

CHANCE = 0.02  # that one more search of a node changes the answer
SOLVED, DRAWN = 8, 16  # the most solutions of other nodes, and draws, that a search gets as guesses


class Solved(Protocol):
    """The result of a solver of one node, for example a Fit.

    `minima`: the misfits at which its repeated searches ended, those that failed left out.
    """

    @property
    def misfit(self) -> float: ...
    @property
    def values(self) -> dict[str, Any]: ...
    @property
    def calls(self) -> Calls: ...
    @property
    def minima(self) -> Sequence[float]: ...


# A solver of one node: (problem, key=, candidates=) -> Solved. It searches from points that the key draws and from the
# best of the candidates, dicts of values. If every simulation fails it returns an infinite misfit and does not raise.
Solve = Callable[..., Solved]


def search_node(
    problem: Problem, *, key: Array, candidates: Sequence[Mapping[str, Any]], stops: Stops | None = None
) -> Fit:
    """Two searches by `fit` from the best of 12 points: those of the nodes that matter are repeated.

    **Arguments:** as of `fit`. **Returns:** Fit. It stops at changes of 1e-5: the values of the best leaf are those
    of a solution, to be polished by a fit of the leaf.
    """
    usual = Stops(misfit=jnp.array(1e-5), step=jnp.array(1e-5))
    return fit(problem, key=key, starts=12, keep=2, candidates=candidates, stops=stops or usual, throw=False)


def branch_and_bound(
    problem: Problem,
    solve: Solve = search_node,
    *,
    key: Array,
    posterior: Posterior | None = None,
    order: Sequence[str] | None = None,
    limit: Limit | None = None,
    tolerance: float = 0.0,
    chance: float = CHANCE,
    max_nodes: int | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress = False,
) -> Tree:
    """The best leaf without solving all: best-first, pruned where the relaxed misfit is above the incumbent.

    Nodes are solved in the order of their parent's bound, deeper ones first for equal bounds. A relaxed minimum is
    a lower bound of all leaves below it: min over the hull <= min over the values. It depends on the searches: a
    local minimum is no bound. So when no bound allows a better leaf, the nodes on which that rests are searched again
    from random points and draws: the leaves that were solved, and the nodes whose bounds dropped the others. The next
    is where it most probably ends below the best leaf (`chance_of_lower`), until no node has a larger `chance`.
    Every bound says how probable it is that any lower minimum was missed. A node below which a lower misfit is found
    bounds nothing from then on: its children, solved or not, are judged by the next node above.
    A blend of choices that have names in place of numbers is no relaxation of them: its bound is heuristic. So check
    `is_closed` and `label`; verify the result with `enumerate_leaves` where the number of leaves allows it.

    **Arguments:** `problem`; `solve`: a solver of one node, by default `fit` with 2 searches, see `Solve`; its
    `candidates` are the parent's solution, the best draws in the node or near it, and such solutions of other nodes,
    all with the node's values; `key`: seed of all random points; `posterior` of the problem, whose draws have found
    what is good in each leaf before the first search; `order`: names of all Discrete parameters, first branched first;
    `limit`: a function of an assignment to a misfit that no values of the other unknowns can undercut, by physics: such
    a bound is proved; `tolerance` of a misfit: prune from incumbent - tolerance on, and ignore what undercuts a bound
    by less; `chance`: the probability that one more search of a node changes the answer, with 1 for no second search;
    `max_nodes`: stop after so many solved nodes; `checkpoint`: keeps solved nodes by assignment; `progress`: as of
    `fit`. **Returns:** Tree. Where no Discrete parameter is undecided it has one leaf, the problem.
    **Raises:** ValueError for an order that is not a permutation of the Discrete parameters, a tolerance below 0, a
    chance that is no probability, the posterior of another problem, and a limit or a solution that is none.
    **Source:** Lawler and Wood (1966); Wu et al. (2019), App. B; Boender and Rinnooy Kan (1987) for the searches.

    **Example:**

    ```python
    import jax

    from inversion import Bounded, Discrete, Observation, Observations, Problem, branch_and_bound

    data = Observations({"fall": Observation(4.9, 0.1, "m")})
    unknowns = {"g": Bounded(9.0, 11.0, "m/s2"), "time": Discrete((1.0, 1.5, 2.0), "s")}
    problem = Problem(unknowns, lambda p: ({"fall": 0.5 * p["g"] * p["time"] ** 2}, True), data)
    tree = branch_and_bound(problem, key=jax.random.PRNGKey(0))
    print(tree.incumbent.assignment, tree.verdict)
    ```
    """
    _check("branch_and_bound", problem, solve, key, checkpoint)
    known = no_limit if limit is None else check_bound("branch_and_bound: limit", limit)
    tolerance = float(host_numbers("branch_and_bound: tolerance", tolerance, ""))
    if tolerance < 0:
        raise ValueError(f"branch_and_bound: tolerance = {tolerance} must be 0 or more")
    _check_chance("branch_and_bound", chance)
    if max_nodes is not None:
        integer("branch_and_bound: max_nodes", max_nodes)
    order = _discrete(problem) if order is None else as_tuple_of("branch_and_bound: order", order, str)
    if sorted(order) != sorted(_discrete(problem)):
        raise ValueError(f"order {order} must name each Discrete parameter once: {_discrete(problem)}")
    drawn, solved = Points(problem, posterior), Points(problem)
    growth = Growth(known, tolerance)
    solve_node = partial(_solve_node, problem, solve, key, checkpoint)
    with Bar("branch and bound", progress=progress) as bar:
        while max_nodes is None or len(growth.nodes) < max_nodes:
            if (taken := growth.take()) is not None:
                parent = None if taken.parent is None else growth.nodes[taken.parent]
                guesses = []
                if parent is not None and np.isfinite(parent.misfit):
                    guesses.append(parent.values | taken.assignment)
                guesses += drawn.choose_near(taken.assignment, DRAWN) + solved.choose_near(
                    taken.assignment, SOLVED
                )
                node = replace(solve_node(taken.assignment, guesses), parent=taken.parent)
                growth.add(node)
                if node.status == "open":
                    name = order[len(node.assignment)]
                    growth.branch(name, problem.parameters[name].nearest_first(node.values[name]))
            elif (number := growth.choose_again(chance)) is not None:
                node = _search_again(growth, number, solve_node, drawn, key)
            else:
                break
            solved.add(node.values, node.misfit)
            best = "" if growth.incumbent is None else f", best {growth.best:.4g}"
            bar.reach(len(growth.nodes), f"{len(growth.nodes)} nodes{best}")
    return replace(growth.conclude(), fault=None if posterior is None else posterior.fault)


def enumerate_leaves(
    problem: Problem,
    solve: Solve = search_node,
    *,
    key: Array,
    chance: float = CHANCE,
    checkpoint: Checkpoint | None = None,
    progress: Progress = False,
) -> tuple[Node, ...]:
    """The solutions of all combinations of the discrete values, to verify the incumbent of a branch and bound.

    Leaves are searched again as by `branch_and_bound`, to the same `chance` that one more search finds a better one.

    **Arguments:** as `branch_and_bound`; there are no guesses. Do not share a checkpoint with it: a leaf taken from
    the tree would prove nothing. **Returns:** leaves. **Raises:** ValueError for other arguments.
    """
    _check("enumerate_leaves", problem, solve, key, checkpoint)
    _check_chance("enumerate_leaves", chance)
    names = _discrete(problem)
    choices = [np.asarray(problem.parameters[name].values).tolist() for name in names]
    combinations, growth = list(itertools.product(*choices)), Growth(waiting=[])
    solve_node = partial(_solve_node, problem, solve, key, checkpoint)
    with Bar("leaves", len(combinations), progress) as bar:
        for values in combinations:
            growth.add(solve_node(dict(zip(names, values, strict=True))))
            bar.reach(len(growth.nodes))
        while (number := growth.choose_again(chance)) is not None:
            _search_again(growth, number, solve_node, Points(problem), key)
    return growth.conclude().nodes


def _search_again(growth: Growth, number: int, solve_node: Callable[..., Node], drawn: Points, key: Array) -> Node:
    """Search a node once more, from random points and draws alone, as the chances of further minima take it."""
    node = growth.nodes[number]
    draws = drawn.choose_randomly(node.assignment, DRAWN, jax.random.fold_in(key, node.rounds))
    return growth.improve(number, solve_node(node.assignment, draws, rounds=node.rounds))


def _check_chance(name: str, chance: Any) -> None:
    if not 0.0 < host_numbers(f"{name}: chance", chance, "") <= 1.0:
        raise ValueError(f"{name}: chance = {chance} must be above 0 and at most 1")


def _check(name: str, problem: Any, solve: Any, key: Any, checkpoint: Any) -> None:
    instance(f"{name}: problem", problem, Problem, "a Problem of parameters, predict and data")
    require_function(f"{name}: solve", solve)
    random_key(f"{name}: key", key)
    if checkpoint is not None:
        instance(f"{name}: checkpoint", checkpoint, Checkpoint, "Checkpoint(folder, fingerprint)")


def _discrete(problem: Problem) -> tuple[str, ...]:
    """The names of Discrete parameters that are not held."""
    held = np.asarray(problem.held)
    return tuple(name for name in problem.discrete if np.isnan(held[problem.index(name)]))


def _solve_node(
    problem: Problem,
    solve: Solve,
    key: Array,
    checkpoint: Checkpoint | None,
    assignment: dict[str, float],
    guesses: Sequence[Mapping[str, Any]] = (),
    rounds: int = 0,
) -> Node:
    """The node by one call of the solver, after so many `rounds` of it."""

    def compute():
        found = solve(problem.hold(assignment).relax(), key=jax.random.fold_in(key, rounds), candidates=guesses)
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

    names = ",".join(f"{name}={value:.12g}" for name, value in sorted(assignment.items()))
    stored = load_or_compute(checkpoint, f"node-{names}-{rounds}", compute)
    misfit = float(stored["misfit"])
    status = "open"
    if len(assignment) == len(_discrete(problem)):
        status = "leaf" if np.isfinite(misfit) else "failed"
    shapes = {name: problem.parameters[name].shape for name in sorted(problem.parameters)}
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()])[:-1]
    parts = zip(shapes.items(), np.split(stored["values"], ends), strict=True)
    values = {name: to_plain(part.reshape(shape)) for (name, shape), part in parts}
    relaxed = [problem.parameters[name] for name in _discrete(problem) if name not in assignment]
    return Node(
        assignment,
        values=values,
        misfit=misfit,
        minima=tuple(stored["minima"].tolist()),
        is_blend=any(not q.is_ordered for q in relaxed),
        status=status,
        calls=Calls(*stored["calls"].tolist()),
    )
