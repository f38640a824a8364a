"""Hard contact of a pair: the impulse of an impact, at one point or at several at once."""

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim import safe
from difsim.conditional import compute_if
from difsim.contact.impact import AbstractImpact
from difsim.contact.moreau import solve_simultaneous
from difsim.declarations import part, quantity
from difsim.dynamics.pair import AbstractPairLaw, ContactEpisode
from difsim.typing import Scalar

_TOGETHER = 12  # features that one impact may have: two faces on each other have four corners each


class HardPair(AbstractPairLaw):
    """Rigid stones: an impulse at the instant of touch.

    One point follows `law` along Routh's path. Features within `together` of the nearest one touch at once: they
    share the impulse, with Newton's restitution at each (`difsim.contact.moreau`) whatever the law.
    """

    law: AbstractImpact = part("law of impact, such as `Newton(e, mu)` or `Stronge(e, mu)`")
    together: Scalar = quantity("m", "distance within which features touch at once", ge=0, default=1e-6)

    def episode(self, pair, state, nearby, found, record):
        gap, index = jax.lax.top_k(-found.gap, min(_TOGETHER, found.gap.shape[0]))
        normals, points = found.normal[index], found.point[index]
        velocities = jax.vmap(lambda x: pair.relative_velocity(state, x))(points)
        rates = jnp.sum(normals * velocities, axis=1)
        touching = gap >= gap[0] - self.together
        meeting = touching & (rates < 0)
        # The one that is alone, if it is: the nearest of those that approach.
        one = jnp.argmax(meeting)

        def single_impulse():
            n, u = normals[one], velocities[one]
            # A feature that does not approach gets nothing; the law needs one that does.
            hit = self.law.impulse(pair.response(state, points[one]), n, jnp.where(rates[one] < 0, u, -n))
            total = jnp.where(rates[one] < 0, hit.total, 0.0)
            return jnp.zeros_like(points).at[one].set(total)

        def joint_impulses():
            response = delassus(pair, state, points)
            return solve_simultaneous(
                response, normals, velocities, touching.astype(float), self.law.restitution, self.law.friction
            )

        impulses = compute_if(jnp.sum(touching) > 1, joint_impulses, single_impulse())
        after = state
        push = jnp.sum(normals * impulses, axis=1)

        def strike(state, pointed):
            return pair.apply_impulse(state, *pointed), None

        after, _ = jax.lax.scan(strike, after, (points, impulses))
        share = jnp.where(jnp.sum(push) > 0, push, jnp.zeros_like(push).at[one].set(1.0))
        share = share / jnp.sum(share)
        episode = ContactEpisode(
            state=after,
            duration=jnp.zeros_like(self.together),
            impulse=jnp.sum(impulses, axis=0),
            point=share @ points,
            normal=safe.unit(share @ normals),
            unfinished=jnp.asarray(False),
            coarse=jnp.asarray(False),
        )
        return episode, record


def delassus(pair, state, points):
    """W [M, 3, M, 3] 1/kg: the relative velocity at each point per impulse at each."""
    at_rest = jax.tree.map(jnp.zeros_like, (state.first.velocity, state.first.spin) * 2)
    still = eqx.tree_at(
        lambda s: (s.first.velocity, s.first.spin, s.second.velocity, s.second.spin), state, at_rest
    )

    def velocity_change(point, impulse):
        after = pair.apply_impulse(still, point, impulse)
        return jax.vmap(lambda x: pair.relative_velocity(after, x))(points)

    units = jnp.eye(3)
    columns = jax.vmap(lambda point: jax.vmap(lambda unit: velocity_change(point, unit))(units))(points)
    return jnp.transpose(columns, (2, 3, 0, 1))
