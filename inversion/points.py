"""Points whose misfits are known, draws of a posterior or solutions of nodes: a search starts from the best of them."""

from collections.abc import Iterable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .coordinates import to_plain
from .posterior import Posterior
from .problem import Problem

APART = 0.1  # of the prior, in one unknown at least: nearer points lead searches to one minimum


class Points:
    """Values of all unknowns with their misfits.

    **Arguments:** `problem`; `posterior` of it, whose draws are the first points, None for no points.
    **Raises:** ValueError for the posterior of another problem.
    """

    def __init__(self, problem: Problem, posterior: Posterior | None = None):
        self.problem, self.misfit = problem, np.empty(0)
        self.p = self.s = np.empty((0, problem.size))  # physical, and scaled by the prior
        if posterior is None:
            return
        if posterior.problem.names != problem.names:
            raise ValueError(
                f"branch_and_bound: the posterior is of {list(posterior.problem.names)}, the problem of "
                f"{list(problem.names)}: sample this problem"
            )
        p = np.repeat(np.asarray(posterior.problem.held)[None], posterior.log_likelihood.size, axis=0)
        for label, values in posterior.draws.items():
            p[:, problem.index(label)] = values
        prior = np.asarray(jax.vmap(problem.prior_residual)(jnp.asarray(p)))
        self._append(p, -2.0 * posterior.log_likelihood + np.sum(prior**2, axis=1))

    def add(self, values: Mapping[str, Any], misfit: float) -> None:
        """Add a point. **Arguments:** `values` of all unknowns; its `misfit`."""
        p = np.concatenate([np.ravel(values[name]) for name in self.problem.names])
        self._append(p[None], np.array([misfit]))

    def _append(self, p: Float[np.ndarray, "rows n"], misfit: Float[np.ndarray, " rows"]) -> None:
        p, misfit = p[np.isfinite(misfit)], misfit[np.isfinite(misfit)]
        self.p, self.s = (
            np.vstack([self.p, p]),
            np.vstack([self.s, np.asarray(_scale(self.problem, jnp.asarray(p)))]),
        )
        self.misfit = np.concatenate([self.misfit, misfit])

    def choose_near(self, assignment: Mapping[str, float], count: int) -> list[dict[str, Any]]:
        """The best points of a node, and where it has few, the best of those nearest to it, all of them apart.

        **Arguments:** `assignment`, the values of its decided unknowns; `count`, the most points.
        **Returns:** values by name, the decided ones moved to those of the node.
        """
        distance = self._distance(assignment)
        order = np.lexsort((self.misfit, distance.round(6)))
        s = np.delete(self.s, self._columns(assignment), axis=1)[order]
        away, chosen = np.full(order.size, np.inf), []  # how far each is from those that are chosen
        while len(chosen) < count and (away >= APART).any():
            i = int(np.argmax(away >= APART))
            chosen.append(order[i])
            away = np.minimum(away, np.abs(s - s[i]).max(axis=1, initial=0.0))
        return self._move(chosen, assignment)

    def choose_randomly(self, assignment: Mapping[str, float], count: int, key: Array) -> list[dict[str, Any]]:
        """Points of a node, or where it has none of those nearest to it, each as probable as any other.

        **Arguments:** as of `choose_near`; `key`. **Returns:** as `choose_near`.
        """
        if not self.misfit.size:
            return []
        distance = self._distance(assignment).round(6)
        nearest = np.flatnonzero(distance == distance.min())
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        return self._move(rng.permutation(nearest)[:count], assignment)

    def _columns(self, assignment: Mapping[str, float]) -> list[int]:
        return [self.problem.slices[name].start for name in assignment]

    def _distance(self, assignment: Mapping[str, float]) -> Float[np.ndarray, " rows"]:
        """The distances of the points from a node."""
        decided = self._columns(assignment)
        node = np.array(self.problem.held)[None]
        node[:, decided] = list(assignment.values())
        return np.abs(self.s[:, decided] - np.asarray(_scale(self.problem, jnp.asarray(node)))[:, decided]).sum(
            axis=1
        )

    def _move(self, rows: Iterable[np.integer], assignment: Mapping[str, float]) -> list[dict[str, Any]]:
        """Points by name, their decided values moved to those of a node."""
        chosen = (self.problem.split(self.p[i]) for i in rows)
        return [{name: to_plain(value) for name, value in point.items()} | dict(assignment) for point in chosen]


@eqx.filter_jit
def _scale(problem: Problem, p: Float[Array, "rows n"]) -> Float[Array, "rows n"]:
    """The prior-scaled s of physical values."""
    return jax.vmap(lambda row: problem.to_prior_scale(problem.split(row)))(p)
