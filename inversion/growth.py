"""A tree of branch and bound as it grows: what is solved, what waits, and what bounds it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from .minima import chance_of_lower, distinct, probability_missed
from .tree import HEURISTIC, PROBABLE, PROVED, Node, Tree, label

Limit = Callable[[Mapping[str, float]], float]

EXACT = 1e-4  # relative: two searches agree to so much of one minimum
ROUNDS = 32  # the most calls of the solver for one node: of too many minima no number of searches finds all


def no_limit(assignment: Mapping[str, float]) -> float:
    """The bound where none is known. **Arguments:** `assignment`. **Returns:** -infinity."""
    return -np.inf


class Waiting(NamedTuple):
    """A node that is not solved: `parent`, `assignment`, `rank` among its siblings (0 is first), a `proved` bound."""

    parent: int | None
    assignment: dict[str, float]
    rank: int
    proved: float


@dataclass
class Growth:
    """The solved nodes, and those that wait: none is thrown away, since a bound may fall.

    A solution is a point of all nodes above its own. Where it is lower than the misfit of one of them, the search of
    that node has missed a minimum: it bounds nothing from then on, and what is below it is judged by the nearest node
    above that does.

    `limit`: a proved bound by the values of a node; `tolerance` of the misfit.
    """

    limit: Limit = no_limit
    tolerance: float = 0.0
    nodes: list[Node] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=lambda: [Waiting(None, {}, 0, -np.inf)])

    @property
    def incumbent(self) -> Node | None:
        """The best leaf."""
        return min((n for n in self.nodes if n.status == "leaf"), key=lambda n: n.misfit, default=None)

    @property
    def best(self) -> float:
        """The misfit of the best leaf, infinite before the first."""
        return np.inf if self.incumbent is None else self.incumbent.misfit

    def holder(self, number: int | None) -> int | None:
        """The node whose misfit bounds what is below a node: itself, or the nearest above that bounds anything."""
        while number is not None and not self.nodes[number].is_bound:
            number = self.nodes[number].parent
        return number

    def bound(self, waits: Waiting) -> float:
        """The bound of a node that waits."""
        holder = self.holder(waits.parent)
        return max(-np.inf if holder is None else self.nodes[holder].misfit, waits.proved)

    def is_dropped(self, bound: float) -> bool:
        """Whether a bound allows no better leaf than the best one."""
        return self.incumbent is not None and bound >= self.best - self.tolerance

    def take(self) -> Waiting | None:
        """The node to be solved next, None where no bound allows a better leaf.

        Of equal bounds the deeper one is first, then the value nearest to the relaxed one of the parent: so the first
        leaf costs one solution a level.
        """
        bounds = list(map(self.bound, self.waiting))
        order = [(bound, -len(w.assignment), w.rank) for bound, w in zip(bounds, self.waiting, strict=True)]
        if not order or self.is_dropped(min(bounds)):
            return None
        return self.waiting.pop(order.index(min(order)))

    def choose_again(self, chance: float) -> int | None:
        """The node whose next search most probably changes the answer, None where none has a larger `chance`.

        The answer rests on the leaves that were solved, and on the bounds by which the others were not.
        """
        holders = {self.holder(w.parent) for w in self.waiting if not self.is_dropped(w.proved)}
        chances = {
            i: chance_of_lower(np.array(node.minima), self.best)
            for i, node in enumerate(self.nodes)
            if (node.status == "leaf" or i in holders) and node.rounds < ROUNDS
        }
        most = max(chances, key=chances.__getitem__, default=None)
        return None if most is None or chances[most] <= chance else most

    def add(self, node: Node) -> None:
        """Add a solved node."""
        self.nodes.append(node)
        self._compare(node)

    def improve(self, number: int, found: Node) -> Node:
        """Add the result of further searches of a node.

        **Arguments:** `number` of the node; `found`, the result. **Returns:** the node by all searches.
        """
        self.nodes[number] = self.nodes[number].join(found)
        self._compare(self.nodes[number])
        return self.nodes[number]

    def _compare(self, node: Node) -> None:
        """Disprove the nodes above whose searches have missed the minimum of this one."""
        number = node.parent
        while number is not None:
            above = self.nodes[number]
            if node.misfit < above.misfit - max(self.tolerance, EXACT * abs(above.misfit) + 1e-9):
                self.nodes[number] = replace(above, lowest=min(above.lowest, node.misfit))
            number = above.parent

    def branch(self, name: str, values: Sequence[float]) -> None:
        """Let the children of the last node wait. **Arguments:** `name` of a parameter; its `values`, in their rank."""
        parent = len(self.nodes) - 1
        above = self.nodes[parent].assignment
        for rank, value in enumerate(values):
            assignment = above | {name: value}
            self.waiting.append(Waiting(parent, assignment, rank, self.limit(assignment)))

    def conclude(self) -> Tree:
        """The tree, each of its nodes with the bound that holds in the end, and what the answer rests on."""
        branched, nodes = {node.parent for node in self.nodes}, []
        for i, node in enumerate(self.nodes):
            if (holder := self.holder(i)) is not None:
                judge = self.nodes[holder]
                node = replace(node, bound=judge.misfit, missed=_probability_missed(judge))
            if node.status == "open" and i in branched:
                node = replace(node, status="branched")
            elif node.status == "open" and self.is_dropped(node.bound):
                node = replace(node, status="pruned")
            nodes.append(node)
        # The solutions of leaves, and the bounds by which the others were not solved.
        missed = {i: node.missed for i, node in enumerate(nodes) if node.status in ("leaf", "failed")}
        dropped: dict[str, int] = dict.fromkeys((PROVED, PROBABLE, HEURISTIC), 0)
        for waits in self.waiting:
            if self.is_dropped(waits.proved):
                dropped[PROVED] += 1
            elif self.is_dropped(self.bound(waits)) and (holder := self.holder(waits.parent)) is not None:
                # Searches that missed a minimum say little of what the others missed.
                missed[holder] = 1.0 if any(node.is_disproved for node in nodes) else nodes[holder].missed
                dropped[label(missed[holder])] += 1
        lowest = min(map(self.bound, self.waiting), default=self.best)
        gap = np.inf if self.incumbent is None else max(0.0, self.best - lowest)
        total = 1.0 if self.incumbent is None else min(1.0, sum(missed.values()))
        return Tree(tuple(nodes), self.incumbent, gap, total, dropped, self.tolerance)


def _probability_missed(node: Node) -> float:
    """The probability, at most, that the searches of a node missed a lower minimum, 1 where they bound nothing."""
    minima = np.array(node.minima)
    return 1.0 if node.is_blend else probability_missed(minima.size, distinct(minima).size)
