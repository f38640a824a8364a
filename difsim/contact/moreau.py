"""Hard contact at several points at once: Newton's restitution and Coulomb's friction at each."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.typing import Scalar

_SWEEPS = 200


def solve_simultaneous(
    response: Float[Array, "M 3 M 3"],
    normals: Float[Array, "M 3"],
    velocities: Float[Array, "M 3"],
    touching: Float[Array, " M"],
    restitution: Scalar,
    friction: Scalar,
) -> Float[Array, "M 3"]:
    """The impulses [M, 3] N s at M points that touch at one instant.

    At each point, with u = u₀ + Σ W P after the impact (Moreau's law),

        0 ≤ P_n ⟂ u_n - e max(0, -u_n₀) ≥ 0,    |P_t| ≤ μ P_n, and P_t = -μ P_n û_t where u_t does not end at 0.

    As it stands it gains energy in some impacts with friction, and in some without where a point separates. There
    P lies between that and the impulses for e = 0, which never gain: as near to the former as gains nothing. Where
    points are more than motion can tell apart (four corners of a face) the impulses are not unique, but the motion
    is. By Gauss-Seidel sweeps with projection.

    **Arguments:** `response` W, 1/kg, the velocity at the first index per impulse at the second; `normals` n̂;
    `velocities` u₀ m/s; `touching`, 1 for points that take part and 0 for others; `restitution`; `friction` μ.
    **Source:** Moreau, in Nonsmooth Mechanics and Applications (1988) 1-82; Jourdan, Alart & Jean, Comput. Methods
    Appl. Mech. Eng. 155 (1998) 31-47.
    """
    blocks = jnp.einsum("iaib->iab", response)
    stiff = jnp.einsum("ia,iab,ib->i", normals, blocks, normals)
    # No less than the greatest response along the tangent plane: each step stays short of the goal.
    loose = jnp.trace(blocks, axis1=1, axis2=2) - stiff
    rate = jnp.sum(normals * velocities, axis=1)
    goal = restitution * jnp.where(rate >= 0, 0.0, -rate)

    def point(i, impulses, goal):
        n, old = normals[i], impulses[i]
        u = velocities[i] + jnp.tensordot(response[i], impulses, axes=2)
        push = jnp.dot(n, old) + (goal[i] - jnp.dot(n, u)) / stiff[i]
        push = jnp.where(touching[i] > 0, safe.positive_part(push), 0.0)
        u = u + response[i, :, i] @ ((push - jnp.dot(n, old)) * n)
        side = old - jnp.dot(n, old) * n - (u - jnp.dot(n, u) * n) / loose[i]
        return impulses.at[i].set(push * n + safe.clip_norm(side, friction * push))

    def solve_for(goal):
        def sweep(_, impulses):
            return jax.lax.fori_loop(0, len(normals), lambda i, now: point(i, now, goal), impulses)

        return jax.lax.fori_loop(0, _SWEEPS, sweep, jnp.zeros_like(velocities))

    def gain(impulses):
        """Of kinetic energy, J."""
        return jnp.sum(impulses * (velocities + 0.5 * jnp.tensordot(response, impulses, axes=2)))

    dead, lively = jax.vmap(solve_for)(jnp.stack([jnp.zeros_like(goal), goal]))
    more = lively - dead
    # On the way from the one to the other the gain is a + b s + c s², a ≤ 0 and c ≥ 0: up to its root nothing is
    # gained. The bounds P_n ≥ 0, u_n ≥ 0 and |P_t| ≤ μ P_n are convex, and hold all the way.
    a, c = gain(dead), 0.5 * jnp.sum(more * jnp.tensordot(response, more, axes=2))
    excess = gain(lively)
    b = excess - a - c
    # Rounding of an elastic impact is no gain, and must not take its derivative by e away.
    gains = excess > -(jnp.finfo(a.dtype).eps ** 0.5) * a
    share = jnp.where(gains, safe.divide(safe.sqrt(b**2 - 4 * a * c) - b, 2 * c), 1.0)
    return dead + share * more
