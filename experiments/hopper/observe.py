"""What is read off a hopper's states: contact, slip at the effective point, the parts of its energy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import rotation, safe
from difsim.contact import effective_arm
from difsim.dynamics import Hopper, HopperState
from difsim.typing import Scalar

MECHANICAL = ("kinetic", "rotation", "potential", "centrifugal", "elastic")
LOST = ("damping", "friction", "rolling")


def slip(model: Hopper, state: HopperState) -> Scalar:
    """Sliding speed m/s at the effective point r_p = Σ δ_j r_j/Σ δ_j (paper 003 Eq 4)."""
    body, turn = state.body, rotation.to_matrix(state.body.attitude)
    arms = model.contact.outline.arms(model.surface, body.position, turn)
    gaps = jax.vmap(model.surface.distance)(body.position[None] + arms)
    depths = jax.vmap(model.contact.normal.onset.penetration)(-gaps)
    arm = effective_arm(depths, arms)
    velocity = body.velocity + jnp.cross(turn @ body.spin, arm)
    normal = model.surface.normal(body.position + arm)
    return safe.norm(velocity - velocity @ normal * normal)


@eqx.filter_jit
def observe(model: Hopper, states: HopperState) -> dict[str, jax.Array]:
    """Of states with a leading axis [T]: `speed` m/s, `spin` rad/s, `slip` m/s, `push` N of the ground, and the
    parts of the `energy` J."""

    def one(state):
        return {
            "speed": safe.norm(state.body.velocity),
            "spin": safe.norm(state.body.spin),
            "slip": slip(model, state),
            "push": safe.norm(model.wrench(state).force),
            "energy": model.ledger(0.0, state)["energy"],
        }

    return jax.vmap(one)(states)


def mechanical(energy: dict[str, np.ndarray]) -> np.ndarray:
    """All but what is lost, J."""
    return sum(np.asarray(energy[name]) for name in MECHANICAL)


def lost(energy: dict[str, np.ndarray]) -> np.ndarray:
    """What damping, friction and rolling have taken, J."""
    return sum(np.asarray(energy[name]) for name in LOST)
