"""A lander like Philae at Agilkia, built from ten numbers: what the touchdown tests share."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim.body import CentralDamper, Flywheel, Hull, Lander, MaxwellLegs, RigidBody, RigidState
from difsim.contact import Boulder, Regolith
from difsim.dynamics import Touchdown
from difsim.gravity import Uniform
from difsim.rotation import Rotation
from experiments.agilkia.catalogue import phases

NAMES = ("h_c", "log D_p", "density", "log E_p", "c_f", "scenario", "edge offset", "tilt x", "tilt y", "heading")
P0 = jnp.array([0.27, np.log10(1.4e-4), 1443.0, 8.0, 0.6, 0.0, 0.0, 0.02, -0.03, 0.1])
HALF = P0.at[5].set(0.5)
TOP = P0.at[5].set(1.0)
ON_TOP = 0.19

_AZIMUTH = np.radians([0, 120, 240])
FEET = np.stack([1.2 * np.cos(_AZIMUTH), 1.2 * np.sin(_AZIMUTH), np.full(3, -0.75)], 1)
HIPS = np.stack([0.2 * np.cos(_AZIMUTH), 0.2 * np.sin(_AZIMUTH), np.full(3, -0.40)], 1)
OUT, ALONG = np.array([-0.5, np.sqrt(0.75), 0.0]), np.array([-np.sqrt(0.75), -0.5, 0.0])
CENTRAL, MAXWELL = CentralDamper(567.0, 0.0426), MaxwellLegs(567.0)
BOX = Hull([1.0, 1.0, 0.7])


def build(p, gear=CENTRAL, clearance=0.02, velocity=(0.35, 0.0, -0.95), gravity=1.69e-4, hull=None):
    """Model and initial state: the soles `clearance` m above the regolith (ON_TOP clears the boulder)."""
    h_c, log_d, density, log_e, c_f, scenario, offset, tilt_x, tilt_y, heading = p
    lander = Lander(
        RigidBody(96.3, jnp.diag(jnp.array([21.6, 21.6, 31.7]))),
        FEET,
        HIPS,
        0.1,
        13.3e3,
        gear,
        Flywheel(5.17, 1920.0),
        hull,
    )
    regolith = Regolith(h_c, 10**log_d, density, 10**log_e, c_f)
    turn = Rotation.from_rotation_vector(heading * jnp.array([0.0, 0.0, 1.0]))
    tilt = Rotation.from_rotation_vector(jnp.stack([tilt_x, tilt_y, 0.0 * tilt_x]))
    # Relative to the strut of leg 1, whose height falls by 0.35 m on 1 m: the edge lies where the strut has
    # fallen to 0.2 m with the soles just above the ground.
    edge = turn @ ((0.69 + offset) * jnp.asarray(OUT)) + jnp.array([0.0, 0.0, 0.2])
    boulder = Boulder(edge, turn @ jnp.asarray(ALONG), 0.5, 1e7, 0.2, c_f)
    model = Touchdown(lander, regolith, boulder, Uniform(jnp.array([0.0, 0.0, -1.0]) * gravity), scenario)
    height = 0.75 + 0.04 + jnp.asarray(clearance)
    body = RigidState(
        jnp.stack([0.0 * height, 0.0 * height, height]),
        velocity,
        turn @ tilt,
        (0.0, 0.0, 0.004),
    )
    return model, model.start(body)


def integrands(model, t, state):
    """What instruments integrate, and what changes the momenta."""
    force, moment = model.wrench(t, state)
    return phases(model, t, state) | {"impulse": force, "angular_impulse": moment}


def observe(solution):
    """What an instrument could report at the end: velocity, spin, gear, penetration, energies, phase times."""
    end = jax.tree.map(lambda x: x[-1], solution.states)
    energy = {name: part[-1] - part[0] for name, part in solution.energy.items()}
    during = {name: part[-1] for name, part in solution.integrals.items()}
    parts = [
        energy[name] for name in ("kinetic", "potential", "elastic", "ground", "damper", "friction", "flywheel")
    ]
    return jnp.concatenate(
        [
            end.body.velocity,
            end.body.spin,
            end.body.attitude,
            end.gear,
            end.penetration,
            jnp.stack(parts),
            jnp.stack([during["boulder_impulse"], during["boulder_time"], during["regolith_time"]]),
        ]
    )
