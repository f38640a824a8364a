"""Points whose misfits are known, draws of a posterior or solutions of nodes: a search starts from the best of them."""

from collections.abc import Mapping
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
        decided = [self.problem.slices[name].start for name in assignment]
        node = np.array(self.problem.held)[None]
        node[:, decided] = list(assignment.values())
        distance = np.abs(
            self.s[:, decided] - np.asarray(_scale(self.problem, jnp.asarray(node)))[:, decided]
        ).sum(axis=1)
        order = np.lexsort((self.misfit, distance.round(6)))
        s = np.delete(self.s, decided, axis=1)[order]
        away, chosen = np.full(order.size, np.inf), []  # how far each is from those that are chosen
        while len(chosen) < count and (away >= APART).any():
            i = int(np.argmax(away >= APART))
            chosen.append(self.problem.split(self.p[order[i]]))
            away = np.minimum(away, np.abs(s - s[i]).max(axis=1, initial=0.0))
        return [{name: to_plain(value) for name, value in point.items()} | dict(assignment) for point in chosen]


@eqx.filter_jit
def _scale(problem: Problem, p: Float[Array, "rows n"]) -> Float[Array, "rows n"]:
    """The prior-scaled s of physical values."""
    return jax.vmap(lambda row: problem.to_prior_scale(problem.split(row)))(p)
