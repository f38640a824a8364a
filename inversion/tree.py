"""The result of branch and bound: its nodes with their bounds, what each bound is worth, and what that proves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from difsim.checks import host_numbers, require_function

from .outcome import Calls

PROVED, PROBABLE, HEURISTIC = "proved", "probable", "heuristic"


def check_bound(
    name: str, function: Callable[[Mapping[str, float]], float]
) -> Callable[[Mapping[str, float]], float]:
    """A user's function of the discrete values to a bound of the misfit, whose result is checked.

    **Arguments:** `name` of the argument; `function`. **Returns:** the same function.
    **Raises:** ValueError for what is no function, and when it is called, for a result that is no misfit.
    """
    require_function(name, function)

    def wrapper(assignment):
        found = function(assignment)
        bound = host_numbers(f"{name} returned", found, is_finite=False)
        if bound.ndim or np.isnan(bound):
            raise ValueError(f"{name} returned {found}: return one misfit, or -infinity where none is known")
        return float(bound)

    return wrapper


def label(missed: float) -> str:
    """The label of a bound that is wrong with this probability at most."""
    return PROVED if missed == 0.0 else HEURISTIC if missed >= 1.0 else PROBABLE


@dataclass(frozen=True)
class Node:
    """One subproblem: its fixed discrete values (the others are relaxed), and its solution.

    `misfit`: infinite if no simulation was valid; `minima`: the misfits at which its searches ended; `is_blend`: named
    choices are relaxed; `status`: "open", "branched", "pruned", "leaf" (all values fixed), "failed" (a leaf without a
    valid simulation); `calls`; `parent`; `rounds`: the number of calls of the solver; `lowest`: the lowest misfit that
    a node below has; `bound` of the leaves below: the misfit, or that of the nearest node above if a lower one was
    found below it or no simulation was valid (-infinity if there is none); `missed`: the probability, at most, that
    the bound is wrong, since a lower minimum was missed: by the number of minima that its searches found, and 1 where
    nothing is known.
    """

    assignment: dict[str, float]
    values: dict[str, Any]
    misfit: float
    minima: tuple[float, ...]
    is_blend: bool
    status: str
    calls: Calls
    parent: int | None = None
    rounds: int = 1
    lowest: float = np.inf
    bound: float = -np.inf
    missed: float = 1.0

    def join(self, other: "Node") -> "Node":
        """The node after further searches. **Arguments:** `other`, their result. **Returns:** Node."""
        better = other if other.misfit < self.misfit else self
        return replace(
            self,
            values=better.values,
            misfit=better.misfit,
            minima=self.minima + other.minima,
            calls=self.calls + other.calls,
            rounds=self.rounds + other.rounds,
        )

    @property
    def is_disproved(self) -> bool:
        """Whether its search missed the minimum that a node below has found."""
        return self.lowest < self.misfit

    @property
    def is_bound(self) -> bool:
        """Whether its misfit bounds the leaves below it, as far as is known."""
        return bool(np.isfinite(self.misfit)) and not self.is_disproved

    @property
    def label(self) -> str:
        """The worth of the bound: "probable", or "heuristic" where nothing is known of what was missed."""
        return label(self.missed)


@dataclass(frozen=True)
class Tree:
    """All nodes in the order of their solution, and the best leaf.

    `bound_gap`: incumbent misfit minus the lowest bound of the unsolved nodes (0: closed), and infinite without an
    incumbent. `missed`: the probability, at most, that any leaf was dropped or solved by a wrong bound; `dropped`: the
    numbers of nodes that were never solved, by the label of the bound that says so; `tolerance`: the largest gap of a
    closed tree; `fault` of the posterior whose draws the searches began at, None for none.
    """

    nodes: tuple[Node, ...]
    incumbent: Node | None
    bound_gap: float
    missed: float
    dropped: dict[str, int]
    tolerance: float
    fault: str | None = None

    @property
    def violations(self) -> int:
        """The number of nodes whose bound was disproved by a lower misfit below, and not used from then on."""
        return sum(node.is_disproved for node in self.nodes)

    @property
    def worst_violation(self) -> float:
        """The largest difference of such a bound and such a misfit."""
        return max((node.misfit - node.lowest for node in self.nodes if node.is_disproved), default=0.0)

    @property
    def is_closed(self) -> bool:
        """True if the gap is within the tolerance. Bounds may be wrong, see `label`; `enumerate_leaves` needs none."""
        return self.bound_gap <= self.tolerance

    @property
    def label(self) -> str:
        """The worth of the answer: "proved", "probable" or "heuristic"."""
        return label(self.missed)

    @property
    def verdict(self) -> str:
        """The state of the proof in words."""
        if self.incumbent is None:
            return "not closed: no leaf with a valid simulation"
        if not self.is_closed:
            return f"not closed: a gap of {self.bound_gap:.2g} of misfit"
        doubt = {
            PROVED: "",
            PROBABLE: f": a lower minimum was missed with a probability of at most {self.missed:.2g}",
            HEURISTIC: ": what its searches missed is not known",
        }
        wrong = ""
        if self.violations:
            wrong = f"; {self.violations} other(s) were disproved, by up to {self.worst_violation:.2g} of misfit"
        faulty = f"; the posterior that it began at is in doubt: {self.fault}" if self.fault else ""
        return f"closed by {self.label} bounds{doubt[self.label]}{wrong}{faulty}"

    def bound(self, assignment: Mapping[str, float]) -> float:
        """The lowest misfit of a leaf, by the deepest node above it that was solved, for `sample`.

        **Arguments:** `assignment`, the values of all discrete unknowns. **Returns:** the bound.
        """
        above = [node for node in self.nodes if node.assignment.items() <= assignment.items()]
        return max(above, key=lambda node: len(node.assignment)).bound

    @property
    def leaves(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.status == "leaf")

    @property
    def nodes_visited(self) -> int:
        return len(self.nodes)

    @property
    def calls(self) -> Calls:
        return sum((node.calls for node in self.nodes), Calls())
