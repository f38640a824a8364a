"""Scenes of free motion that is known in closed form: tops, and an orbit in a frame that turns."""

import jax
import jax.numpy as jnp

from difsim.body import RigidBody, RigidState
from difsim.dynamics import AbstractModel, Approach, Flight, FlightState
from difsim.gravity import PointMass
from difsim.rotation import Rotation
from difsim.shape import Sphere
from experiments.scenes.closed import zero
from experiments.scenes.draws import uniform
from experiments.scenes.engines import Motion
from experiments.scenes.hard import IDENTITY, ZERO, vertical
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
    """Return a body that turns freely."""
    state = RigidState(ZERO, ZERO, IDENTITY, spin)
    return FreeBody(RigidBody(1.0, jnp.diag(inertia))), state, end * jnp.linspace(0.0, 1.0, 61)


def spin_symmetric(n):
    """Return a symmetric top that turns for 30 s."""
    return spin_freely(jnp.stack([n["equator"], n["equator"], n["pole"]]), n["spin"], 30.0)


def spin_asymmetric(n):
    """Return an asymmetric top that turns for half a period."""
    return spin_freely(n["inertia"], n["spin"], half_period(n))


def top_momentum(model, solution):
    """Return the angular momentum about the centre, in the frame that does not turn."""
    states = solution.states
    momentum = jax.vmap(lambda q, spin: Rotation(q) @ (model.body.inertia @ spin))(states.attitude, states.spin)
    return [(momentum, jnp.max(jnp.abs(momentum)))]


def precession(n):
    """Return the rate at which the spin of a symmetric top turns in the body, rad/s: (I₃ - I₁) ω₃/I₁."""
    return (n["pole"] - n["equator"]) * n["spin"][2] / n["equator"]


def turned_spin(model, solution, n):
    """Return the rate at which the spin turned in the body."""
    spin = solution.states.spin
    return jnp.sum(jnp.diff(jnp.unwrap(jnp.arctan2(spin[:, 1], spin[:, 0])))) / solution.times[-1]


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


def measured_half_period(model, solution, n):
    """Return the time in which the spin about the middle axis changed its sign, by one step of Newton's method."""
    first, last, inertia = solution.states.spin[0], solution.last.spin, n["inertia"]
    rate = (inertia[2] - inertia[0]) * last[2] * last[0] / inertia[1]
    return solution.times[-1] - (last[1] + first[1]) / rate


def drift_of_momentum(model, solution, n):
    """Return the largest change of |L| as a share of it."""
    size = jnp.linalg.norm(solution.states.spin @ model.body.inertia, axis=1)
    return jnp.max(jnp.abs(size / size[0] - 1))


def drift_of_energy(model, solution, n):
    """Return the largest change of the kinetic energy as a share of it."""
    energy = jnp.sum((solution.states.spin @ model.body.inertia) * solution.states.spin, axis=1)
    return jnp.max(jnp.abs(energy / energy[0] - 1))


STRICT = Motion(1e-12, 8)
PRECESSION = Exact(
    "Rigid body", "symmetric top: body precession", turned_spin, precession, 1e-9, "rad/s", slope=1e-7
)
HALF_PERIOD = Exact(
    "Rigid body",
    "asymmetric top: half-period of the middle axis",
    measured_half_period,
    half_period,
    2e-9,
    "s",
    True,
)
MOMENTUM = Exact("Rigid body", "asymmetric top: drift of |L|", drift_of_momentum, zero, 1e-10)
ENERGY = Exact("Rigid body", "asymmetric top: drift of the kinetic energy", drift_of_energy, zero, 1e-10)
TOPS = (
    Scene(
        "free top, symmetric",
        {
            "spin": uniform([0.2, 0.0, 0.9], [0.4, 0.0, 1.3]),
            "equator": uniform(1.9, 2.1),
            "pole": uniform(2.9, 3.1),
        },
        spin_symmetric,
        STRICT,
        conserved=top_momentum,
        exact=(PRECESSION,),
    ),
    Scene(
        "free top, asymmetric",
        {"spin": uniform([0.4, 0.9, 0.8], [0.6, 1.1, 1.0]), "inertia": uniform([0.9, 1.9, 2.5], [1.1, 2.1, 2.7])},
        spin_asymmetric,
        STRICT,
        conserved=top_momentum,
        exact=(HALF_PERIOD, MOMENTUM, ENERGY),
        cases=tuple(
            {"spin": spin, "inertia": (1.0, 2.0, 3.0)}
            for spin in ((0.5, 1.0, 0.9), (0.02, 1.0, 0.01), (0.01, 2.0, 0.012))
        ),
    ),
)


def orbit(n):
    """Return an orbit about a point in a frame that turns."""
    model = Flight(PointMass(n["GM"], ZERO), vertical(n["omega"]), Sphere(ZERO, 2000.0))
    return model, FlightState(n["place"], n["velocity"]), jnp.linspace(0.0, 20_000.0, 21)


def jacobi_drift(model, solution, n):
    """Return the largest change of ½v² - ½|ω×r|² - U as a share of ½v²."""
    r, v = solution.states.position, solution.states.velocity
    swept = jnp.cross(model.frame.omega, r)
    potential = n["GM"] / jnp.linalg.norm(r, axis=1)
    constant = 0.5 * jnp.sum(v**2 - swept**2, axis=1) - potential
    return jnp.max(jnp.abs(constant - constant[0])) / (0.5 * jnp.sum(v[0] ** 2))


JACOBI = Exact("Gravity", "flight: drift of the Jacobi constant", jacobi_drift, zero, 1e-10)
ORBIT = Scene(
    "orbit in a frame that turns",
    {
        "GM": uniform(600, 732.4),
        "omega": uniform(1e-4, 1.8e-4),
        "place": uniform([5900, -50, 450], [6100, 50, 550]),
        "velocity": uniform([0.0, -0.52, 0.09], [0.04, -0.48, 0.11]),
    },
    orbit,
    STRICT,
    exact=(JACOBI,),
)

SCENES = (*TOPS, ORBIT)
