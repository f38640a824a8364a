"""Observables of a hopper's states: contact, slip at the effective point, the parts of its energy."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from difsim import Solution, safe
from difsim.contact.contact_points import effective_arm
from difsim.dynamics import Hopper
from difsim.dynamics.hopper import HopperState
from difsim.typing import Scalar

MECHANICAL = ("kinetic", "rotation", "potential", "centrifugal", "elastic")
LOST = ("damping", "friction", "rolling")


def slip(model: Hopper, t: Scalar | float, state: HopperState) -> Scalar:
    """Sliding speed m/s at the effective point r_p = Σ δ_j r_j/Σ δ_j (the hopper paper, Eq 4)."""
    arms, gaps = _points(model, state)
    arm = effective_arm(jax.vmap(model.contact.normal.regularisation.penetration)(-gaps), arms)
    velocity = model.free(t, state.body).velocity_at(arm)
    normal = model.surface.normal(state.body.position + arm)
    return safe.norm(velocity - velocity @ normal * normal)


def posture(model: Hopper, t: Scalar | float, state: HopperState) -> tuple[Scalar, Scalar]:
    """How a body lies: the angle rad of its z axis to the ground's normal, either end up (0 to π/2), and how far
    beside its centre of mass the ground pushes, m: the lever that rolling resistance holds."""
    arms, gaps = _points(model, state)
    pushes = jax.vmap(lambda gap: model.contact.normal.force(-gap, jnp.zeros_like(gap)))(gaps)
    arm = effective_arm(pushes, arms)
    down = safe.unit(model.free(t, state.body).acceleration)
    axis = state.body.rotation.as_matrix()[:, 2]
    normal = model.surface.normal(state.body.position + arm)
    tilt = safe.arctan2(safe.norm(jnp.cross(axis, normal)), jnp.abs(axis @ normal))
    return tilt, safe.norm(arm - arm @ down * down)


def _points(model: Hopper, state: HopperState) -> tuple[jax.Array, jax.Array]:
    """Arms m of the points that may touch [N, 3], and their gaps m [N]."""
    body = state.body
    arms = model.contact.outline.arms(model.surface, body.position, body.rotation.as_matrix())
    return arms, jax.vmap(model.surface.distance)(body.position[None] + arms)


@eqx.filter_jit
def observe(model: Hopper, solution: Solution) -> dict[str, jax.Array]:
    """Of a solution at its times [T]: `speed` m/s, `spin` rad/s, `slip` m/s, `push` N of the ground, and the
    parts of the `energy` J."""

    def one(t, state):
        return {
            "speed": safe.norm(state.body.velocity),
            "spin": safe.norm(state.body.spin),
            "slip": slip(model, t, state),
            "push": safe.norm(model.wrench(t, state).force),
        }

    return jax.vmap(one)(solution.times, solution.states) | {"energy": solution.energy}


def balance(energy: Mapping[str, Array]) -> dict[str, Any]:
    """The causes by which a motion lost its mechanical energy, from its parts J in time.

    **Returns:** the energy lost, J, and of it the shares by cause; as shares of it too, the largest rise from one time
    to the next, above round-off energy from nowhere, and the error of the balance.
    """
    parts = {k: np.asarray(v) for k, v in energy.items()}
    total, lost = (sum(parts[k] for k in names) for names in (MECHANICAL, LOST))
    given = total[0] - total[-1]
    return {
        "energy_lost_J": float(given),
        "lost_to": {k: float(parts[k][-1] / given) for k in LOST},
        "largest_rise_of_energy": float(np.diff(total).max() / given),
        "ledger_error": float(np.abs(total + lost - total[0]).max() / given),
    }
