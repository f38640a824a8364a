"""Observables of a hopper's states: contact, slip at the effective point, the parts of its energy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

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


def mechanical(energy: dict[str, np.ndarray]) -> np.ndarray:
    """All but what is lost, J."""
    return sum(np.asarray(energy[name]) for name in MECHANICAL)


def lost_energy(energy: dict[str, np.ndarray]) -> np.ndarray:
    """The energy that damping, friction and rolling have taken, J."""
    return sum(np.asarray(energy[name]) for name in LOST)
