"""The release of the two cobbles, and their contact laws: the paper's three models."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim.body import RigidState
from difsim.contact import Hooke, Newton, TangentialSpring
from difsim.dynamics import CalibratedNormal, CompliantPair, HardPair, PairState, SmoothPair
from difsim.dynamics.pair import AbstractPairLaw
from experiments.cobbles.paper import ATTITUDES, COMPLIANCE, MASS, POSITIONS, SPEED

Law = Callable[..., AbstractPairLaw]  # of restitution, friction and the step in contact

CONTACT = 2e-3  # s, that a frontal contact of two cobbles lasts
STIFFNESS = np.pi**2 * (MASS / 2) / CONTACT**2  # N/m, of each point that touches: 1.4e6
ACROSS, LAG = 2 / 7, 0.1  # stiffness across over that along; the damper's time across, of the contact's


def release(inclination: float) -> PairState:
    """Table 4: both with SPEED m/s at `inclination` α deg to the line of centres (x), towards each other along
    it, across it together, along -y (the paper does not say which way; it changes the place only); no spin.

    Without spin, and with equal parts across, α changes nothing in the frame of the common centre of mass but the
    speed, by cos α: which points meet, and how, is the same for all.
    """
    along, across = SPEED * np.cos(np.radians(inclination)), SPEED * np.sin(np.radians(inclination))
    velocities = [[along, -across, 0.0], [-along, -across, 0.0]]
    first, second = (
        RigidState(r, v, q, np.zeros(3)) for r, v, q in zip(POSITIONS, velocities, ATTITUDES, strict=True)
    )
    return PairState(first, second)


def release_tumbled(count: int, seed: int) -> PairState:
    """`count` frontal releases (α = 0) of stones that are turned at random: a batch."""
    turns = np.random.default_rng(seed).standard_normal((2, count, 4))
    attitudes = turns / np.linalg.norm(turns, axis=2, keepdims=True)
    batch = jax.tree.map(lambda x: jnp.tile(x, (count, 1)), release(0.0))
    return eqx.tree_at(lambda s: (s.first.attitude, s.second.attitude), batch, tuple(jnp.asarray(attitudes)))


def hard(restitution, friction, step) -> HardPair:
    """Rigid: Newton's restitution, Coulomb's friction. It has no step: touch is a root, the impact an impulse."""
    del step
    return HardPair(Newton(restitution, friction))


def smooth(restitution, friction, step) -> SmoothPair:
    """Eq 1 of the paper with Hooke's law: a spring and a damper along the normal and across it, the latter slips.

    The paper gives no stiffness. Its smooth model is "non-physical" in steps above 2 ms and converged below 0.1 ms
    (Fig. 4), which fits a contact of some 2 ms; its own estimate, 0.3 ms, is for far stiffer rock.
    """
    across = TangentialSpring(friction, ACROSS * STIFFNESS)
    return SmoothPair(CalibratedNormal(restitution, Hooke(STIFFNESS)), across, LAG * CONTACT, step)


def compliant(restitution, friction, step) -> CompliantPair:
    """Rigid friction, compliance along the normal as of the smooth model; no cohesion."""
    return CompliantPair(1 / STIFFNESS, restitution, friction, 0.0, step)


def soft(restitution, friction, step) -> CompliantPair:
    """The same with the compliance of Table 3: a contact of some 24 ms, 2 mm deep, of many points at once."""
    return CompliantPair(COMPLIANCE, restitution, friction, 0.0, step)


LAWS: dict[str, Law] = {"hard": hard, "smooth": smooth, "compliant": compliant, "soft": soft}
