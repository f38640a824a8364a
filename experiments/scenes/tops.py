"""Scenes of bodies that turn freely, as is known in closed form."""

import jax
import jax.numpy as jnp

from difsim.body import RigidBody, RigidState
from difsim.dynamics import AbstractModel, Approach
from difsim.rotation import Rotation
from experiments.scenes.draws import uniform
from experiments.scenes.engines import Motion
from experiments.scenes.parts import IDENTITY, ZERO, until_time
from experiments.scenes.scene import Exact, Scene


class FreeBody(AbstractModel):
    """A rigid body without forces."""

    body: RigidBody

    def vector_field(self, t, state):
        return self.body.derivative(state, jnp.zeros(3), jnp.zeros(3), jnp.zeros(3))

    def approach(self, t, state):
        return Approach(gap=jnp.array(jnp.inf), speed=jnp.array(1.0), resolution=jnp.array(1.0))

    def energy(self, t, state):
        return {"kinetic": self.body.kinetic_energy(state)}


def spin_freely(inertia, spin, end):
    state = RigidState(ZERO, ZERO, IDENTITY, spin)
    return FreeBody(RigidBody(1.0, jnp.diag(inertia))), state, until_time(end, 61)


def spin_symmetric(n):
    return spin_freely(jnp.stack([n["equator"], n["equator"], n["pole"]]), n["spin"], 30.0)


def spin_asymmetric(n):
    return spin_freely(n["inertia"], n["spin"], half_period(n))


def momentum(model, solution):
    """Return the angular momentum about the centre, in the frame that does not turn."""
    states = solution.states
    momentum = jax.vmap(lambda q, spin: Rotation(q) @ (model.body.inertia @ spin))(states.attitude, states.spin)
    return [(momentum, jnp.max(jnp.abs(momentum)))]


def precession(solution, n):
    """Return the rate at which the spin turned in the body, rad/s."""
    spin = solution.states.spin
    return [jnp.sum(jnp.diff(jnp.unwrap(jnp.arctan2(spin[:, 1], spin[:, 0])))) / solution.times[-1]]


def half_period(n):
    """Return 2 K(m)/p, the time in which the spin about the middle axis changes its sign, s.

    K by the mean of Gauss; the body turns about the axis of its least moment of inertia or of its greatest.
    """
    least, middle, greatest = n["inertia"]
    energy, momentum = jnp.sum(n["inertia"] * n["spin"] ** 2), jnp.sum((n["inertia"] * n["spin"]) ** 2)
    turns_about_greatest = momentum > energy * middle
    low, high = momentum - energy * least, energy * greatest - momentum
    up, down = greatest - middle, middle - least
    rate = jnp.where(turns_about_greatest, up * low, down * high) / (least * middle * greatest)
    m = jnp.where(turns_about_greatest, down * high / (up * low), up * low / (down * high))
    a, b = jnp.ones_like(m), jnp.sqrt(1 - m)
    for _ in range(6):
        a, b = 0.5 * (a + b), jnp.sqrt(a * b)
    return jnp.pi / (a * jnp.sqrt(rate))


def half_period_and_drifts(solution, n):
    """Return when the spin about the middle axis changed its sign, by one step of Newton's method, and two drifts.

    They are the largest changes of |L| and of the kinetic energy, as shares.
    """
    first, last, inertia = solution.states.spin[0], solution.last.spin, n["inertia"]
    rate = (inertia[2] - inertia[0]) * last[2] * last[0] / inertia[1]
    momentum = jnp.linalg.norm(solution.states.spin @ jnp.diag(inertia), axis=1)
    drifts = (jnp.max(jnp.abs(x / x[0] - 1)) for x in (momentum, solution.energy["kinetic"]))
    return solution.times[-1] - (last[1] + first[1]) / rate, *drifts


def scene(name, draws, build, exact):
    return Scene(f"free top, {name}", draws, build, Motion(1e-12, 8), conserved=momentum, exact=exact)


SPINS = (0.5, 1.0, 0.9), (0.02, 1.0, 0.01), (0.01, 2.0, 0.012)  # rad/s
SCENES = (
    scene(
        "symmetric",
        uniform(spin=([0.2, 0.0, 0.9], [0.4, 0.0, 1.3]), equator=(1.9, 2.1), pole=(2.9, 3.1)),
        spin_symmetric,
        Exact(
            "Rigid body",
            {"symmetric top: body precession": ("rad/s", 1e-9)},
            precession,
            lambda n: [(n["pole"] - n["equator"]) * n["spin"][2] / n["equator"]],
        ),
    ),
    scene(
        "asymmetric",
        uniform(spin=([0.4, 0.9, 0.8], [0.6, 1.1, 1.0]), inertia=([0.9, 1.9, 2.5], [1.1, 2.1, 2.7])),
        spin_asymmetric,
        Exact(
            "Rigid body",
            {
                "asymmetric top: half-period of the middle axis": ("s", 2e-9),
                "asymmetric top: drift of |L|": ("1", 1e-10),
                "asymmetric top: drift of the kinetic energy": ("1", 1e-10),
            },
            half_period_and_drifts,
            lambda n: [half_period(n), 0.0, 0.0],
            tuple({"spin": spin, "inertia": (1.0, 2.0, 3.0)} for spin in SPINS),
        ),
    ),
)
