"""Hard contact of a pair with compliance and cohesion: an elastic gap, rigid friction."""

import jax
import jax.numpy as jnp

from difsim import safe
from difsim.contact import Hooke, NormalForce, NoSmoothing
from difsim.declarations import count, quantity
from difsim.dynamics.pair import AbstractPairLaw
from difsim.dynamics.pair_hard import delassus
from difsim.dynamics.pair_steps import effective_mass, measure_features, step_until_parted
from difsim.typing import Scalar

_POINTS, _SWEEPS = 8, 10  # features that hold by friction in one step, and rounds over them


class CompliantPair(AbstractPairLaw):
    """Stones whose contact gives way along the normal, and holds or slips across it.

    At each feature, from the time when it touched first until it parts,

        F_n = δ/C + c δ' ≥ -F_c,    |F_t| ≤ μ (F_n + F_c),    no slip where that holds it.

    It parts where the stretch -δ goes beyond C F_c: to break it costs ½ C F_c², and stones that are slower than
    that stay together. The damper c gives `restitution` without cohesion. Leapfrog steps, with the mean of the
    force in each, so that derivatives hardly see how the steps fall on touch and parting; friction, a set-valued
    force, is found as an impulse in each step, by Gauss-Seidel sweeps over the features. No tangential compliance.

    **Source:** Tasora et al., in Vaghi et al.'s ref. 20, in the limit of small steps; Gilabert, Roux & Castellanos,
    Phys. Rev. E 75 (2007) 011303, for the elastic pull-off.
    """

    compliance: Scalar = quantity("m/N", "compliance C of a feature", gt=0, usual=(1e-10, 1), slip="mm/N")
    restitution: Scalar = quantity(
        "",
        "coefficient e of restitution without cohesion",
        gt=0,
        le=1,
        slip="percent",
        hint="for a dead stop give a small e",
    )
    friction: Scalar = quantity("", "friction coefficient μ", ge=0, usual=(0, 2), slip="degrees")
    cohesion: Scalar = quantity("N", "cohesion F_c of a feature", ge=0, usual=(0, 1e4))
    step: Scalar = quantity(
        "s", "time step, below a twentieth of the contact's duration", gt=0, usual=(1e-9, 1e-2), slip="ms"
    )
    max_steps: int = count("largest number of steps of one contact", default=20_000)

    def episode(self, pair, state, nearby, found, record):
        h, stretch = self.step, self.compliance * self.cohesion
        mass, spring = effective_mass(pair, state, found), Hooke(1 / self.compliance)
        law = NormalForce.from_restitution(self.restitution, spring, NoSmoothing(), mass=mass)

        def advance(state, bonded):
            middle = pair.free_flight(state, h / 2)
            here = measure_features(pair, middle, nearby)
            mean = jax.vmap(_mean_force, in_axes=(None, None, None, 0, 0, 0))
            force, share, bonded = mean(law, stretch, h, here.depth, here.rate, bonded)
            force = force - share * self.cohesion
            pushed = _apply_impulses(pair, middle, here.touches.point, h * force[:, None] * here.touches.slope)
            bound = self.friction * h * (force + share * self.cohesion)
            _, most = jax.lax.top_k(bound, min(_POINTS, bound.shape[0]))
            points, normals = here.touches.point[most], here.touches.normal[most]
            held = _hold(pair, pushed, points, normals, bound[most])
            after = pair.free_flight(_apply_impulses(pair, pushed, points, held), h / 2)
            return after, bonded, here, force

        bonded = jnp.zeros_like(found.gap)
        return step_until_parted(pair, state, found, record, advance, bonded, h, self.max_steps, stretch)


def _mean_force(law, stretch, h, depth, rate, bonded):
    """The mean normal force over a step in which the depth grows evenly, with the share of the step in contact.

    The force has a kink where it lets go, and jumps where a damper meets the surface. Taken at the middle of the
    step instead, how the steps fall on these would make the outcome a sawtooth, and its derivatives noise. While it
    pushes it is linear in the depth, so its mean is its value at the mean depth, times the share of the step in which
    it pushes.

    **Arguments:** `law`, a spring with a clipped damper; `stretch` m, by which a bond is longer than the gap at
    touch where it breaks: depths count from there; `h`, the step, s; `depth` m, in the middle of the step, and its
    `rate` m/s; `bonded`, 1 where there is a bond, else 0. **Returns:** the force N, without what a bond pulls; the
    share; and whether there is a bond after the step.
    """
    # At a speed of 1e-9 m/s no depth changes, and a quotient by less would be rounding.
    half = 0.5 * h * jnp.maximum(jnp.abs(rate), 1e-9)
    least = jnp.where(bonded > 0, -stretch, 0.0)
    low, high = jnp.maximum(depth - half, least), jnp.maximum(depth + half, least)
    # The depth at which spring and damper cancel: the force pushes beyond it.
    lets_go = -stretch - law.damping.coefficient * rate / law.elastic.stiffness
    start, end = jnp.maximum(low, lets_go), jnp.maximum(high, lets_go)
    force = law.force(0.5 * (start + end) + stretch, rate) * (end - start) / (2 * half)
    after = depth + 0.5 * h * rate
    still_bonded = jnp.where(after > 0, 1.0, jnp.where(after < -stretch, 0.0, bonded))
    return force, (high - low) / (2 * half), still_bonded


def _apply_impulses(pair, state, points, impulses):
    return jax.lax.scan(lambda s, at: (pair.apply_impulse(s, *at), None), state, (points, impulses))[0]


def _hold(pair, state, points, normals, bounds):
    """Friction impulses [M, 3] N s that stop the slip of points, as far as the bounds [M] N s let them."""
    response = delassus(pair, state, points)
    blocks = jnp.einsum("iaib->iab", response)
    # No less than the greatest response in the tangent plane.
    loose = jnp.trace(blocks, axis1=1, axis2=2) - jnp.einsum("ia,iab,ib->i", normals, blocks, normals)
    velocities = jax.vmap(lambda x: pair.relative_velocity(state, x))(points)

    def point(i, impulses):
        n, j = normals[i], i
        u = velocities[j] + jnp.tensordot(response[j], impulses, axes=2)
        side = impulses[j] - (u - jnp.dot(n, u) * n) / loose[j]
        return impulses.at[j].set(safe.clip_norm(side, bounds[j]))

    def sweep(_, impulses):
        return jax.lax.fori_loop(0, len(normals), point, impulses)

    return jax.lax.fori_loop(0, _SWEEPS, sweep, jnp.zeros_like(points))
