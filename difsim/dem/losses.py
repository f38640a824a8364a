"""Energies that contacts lose in a step of velocity Verlet, to the second order of its steps.

A step from time n-1 to n drifts with the velocity v₋ = v(n-½). The forces at n take this velocity, and act half of dt
before and half of dt after n: with v₊ = v(n+½) they do the work F·(v₋ + v₊)/2 dt. Where F = -c v₋, v₋ v₊ is the mean
of v₋² and v₊², so that the loss is (¾ v₋² + ¼ v₊²) c dt. What belongs to v₊ is known one step later: each step counts ¾
of its own c and ¼ of the c before it. At its end a quarter is still to come, which is `LATE`. A force that does not
change with v has halves in place of these quarters.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim import safe
from difsim.contact.friction import TangentialHistory
from difsim.dem.laws import AbstractGrainLaw
from difsim.particles.vectors import dot
from difsim.typing import Scalar, Vec3

LATE = "late"  # W of linear dampers, of which a time step more is counted by the next step


class ContactLosses(eqx.Module):
    """An account of what contacts lose, by name: "damping" across, "friction" along, and "rolling".

    With it a step of grains takes a fifth longer on a CPU: each further number of a pair costs as much as part of its
    force. Damping is that of the normal force. Friction is all that spring and damper along the contact take and do
    not store, also as the spring is let out, softens, or ends with its contact.
    """

    tag = "contact-losses"

    def contact_losses(
        self,
        law: AbstractGrainLaw,
        radius: Scalar,
        mass: Scalar,
        depth: Scalar,
        rate: Scalar,
        slip: Vec3,
        memories: tuple[TangentialHistory, TangentialHistory],
        rolling: Scalar,
        dt: Scalar,
    ) -> dict[str, Scalar]:
        """The energies that one contact loses in a step, without derivatives.

        **Arguments:** `law`; `radius` m and `mass` kg, both effective; `depth`, m, and its `rate`, m/s; `slip` [3],
        m/s; `memories` of the contact before the step and after it; `rolling`, the power against rolling, W; `dt`, s.
        **Returns:** J by name, and `LATE`, W.
        """
        given = law, radius, mass, depth, rate, slip, memories, rolling, dt
        law, radius, mass, depth, rate, slip, memories, rolling, dt = jax.lax.stop_gradient(given)
        damping, late = _damping(law, radius, mass, depth, rate, dt)
        friction, later = _friction(law, radius, mass, slip, memories, dt)
        return {"damping": damping, "friction": friction, "rolling": dt * rolling, LATE: late + later}


def _damping(law, radius, mass, depth, rate, dt) -> tuple[Scalar, Scalar]:
    """The energy J that the normal force takes beyond the elastic one, and what is late of it, W."""
    normal = law.normal(radius, mass)

    def power(depth):
        force = normal.force(depth, rate)
        late = jnp.where(force > 0, 0.25, 0.0)  # a force that is cut off to 0 takes the elastic one, whatever v is
        return (force - normal.elastic.force(safe.positive_part(depth))) * rate, late

    (now, late), (before, later) = power(depth), power(depth - rate * dt)
    return dt * ((0.5 + late) * now + (0.5 - later) * before), late * now


def _friction(law, radius, mass, slip, memories, dt) -> tuple[Scalar, Scalar]:
    """The energy J that friction takes and its spring does not store, and what is late of it, W."""
    before, after = memories
    square = dot(slip, slip)
    was, now = (law.shear_damping(radius, mass, m.stiffness) * square for m in memories)
    held, stored = (safe.divide(0.5 * dot(m.force, m.force), m.stiffness) for m in memories)
    power = 0.75 * now + 0.25 * was - 0.5 * dot(before.force + after.force, slip)
    return dt * power + held - stored, 0.25 * now
