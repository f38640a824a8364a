"""A hop: wheels that stop throw a cube off its edge to a target; the torque that does it is found by gradient."""

import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool, Float

from difsim.body import RigidState
from difsim.dynamics import Burst, Wheeled, WheeledState
from difsim.stepping import AbstractMethod, Sensitivities, Solution, ToContact, simulate
from difsim.typing import Scalar, Vec2, number
from experiments.hopper import track_pictures
from experiments.hopper.scenes import EDGE, GRAVITY, MASS, Ground, cube
from inversion import Bounded, Evolution, Fit, Observation, Observations, Problem, Stops, differential_evolution, fit, map_batched

HERE = GRAVITY["67p"]  # m/s²
FRICTION = 0.5
INERTIA = MASS * EDGE**2 / 6  # kg m²
SPIN_UP, BRAKE = 600.0, 1.0  # s
CLEAR = 6.0  # s after the stop, when a cube that leaves has left
TARGET = (3.0, 1.0)  # m from where it rests
SIGMA = 0.01  # m
GREATEST = 6e-3  # N m s that each wheel can hold
SEARCH = Sensitivities(1e-7, 1e-7, resolve=0.0)


class Hop(eqx.Module):
    """From the wheels' momentum H to where the centre of mass is at the first touch, m from where it rested."""

    start: RigidState
    friction: Scalar = number(default=FRICTION)
    method: AbstractMethod = SEARCH

    def follow(self, momentum: Float[Array, "3"]) -> tuple[Wheeled, Solution, Solution]:
        """On the ground until CLEAR after the stop, and the flight from there to the first touch."""
        hopper = cube(HERE, Ground(friction=self.friction))
        model = Wheeled(hopper, Burst(momentum, SPIN_UP, BRAKE))
        times = jnp.array([0.0, SPIN_UP, SPIN_UP + 0.5 * BRAKE, SPIN_UP + BRAKE, SPIN_UP + BRAKE + CLEAR])
        thrown = simulate(model, model.start(hopper.start(self.start)), times, method=self.method, throw=False)
        flight = simulate(
            hopper, thrown.last.hopper, jnp.array([0.0, 5000.0]), method=ToContact(), throw=False
        )
        return model, thrown, flight

    def __call__(self, values: dict[str, Array]) -> tuple[dict[str, Array], Bool[Array, ""]]:
        x, y = values["momentum_x"], values["momentum_y"]
        _, thrown, flight = self.follow(jnp.stack([x, y, jnp.zeros_like(x)]))
        landed = flight.last.body.position[:2]
        return {"landing": landed, "time": flight.times[-1]}, thrown.ok & flight.ok


def at_rest() -> RigidState:
    """Flat on the ground, where the onset of four corners carries the weight (found by bisection)."""
    contact = cube(HERE).contact.normal
    low, high = -0.01, 0.01
    for _ in range(200):
        middle = 0.5 * (low + high)
        push = 4 * contact.force(jnp.asarray(middle), jnp.zeros(()))
        low, high = (middle, high) if push < MASS * HERE else (low, middle)
    return RigidState((0.0, 0.0, 0.5 * EDGE - low), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def rigid(momentum: float, friction: float = FRICTION) -> dict[str, float]:
    """A hop over an edge in closed form: H at once on a rigid cube, the edge neither rebounds nor sinks.

    The edge pushes with P and drags with at most μP until it no longer sinks: with k = min(μ, 1), P = H a/(2 I)
    /(1/m + a² (1 + k)/(4 I)), v = (k P, P)/m, ω = 2 v_z/a. The edge leaves the ground if ω² a/2 > g; the cube
    tips over its edge if ½ I_edge ω² > m g a (√2 - 1)/2. The first touch is that of the turning square.
    """
    k = min(friction, 1.0)
    push = momentum * EDGE / (2 * INERTIA) / (1 / MASS + EDGE**2 * (1 + k) / (4 * INERTIA))
    up, along = push / MASS, k * push / MASS
    spin = 2 * up / EDGE
    t = np.linspace(0.0, 4 * up / HERE + 1, 200_001)
    angle = spin * t
    reach = 0.5 * EDGE * (np.abs(np.cos(angle)) + np.abs(np.sin(angle)))
    below = 0.5 * EDGE + up * t - 0.5 * HERE * t**2 < reach - 1e-9
    first = t[np.argmax(below & (t > 1.0))] if below.any() else 0.0
    return {"spin": spin, "up": up, "along": along, "time": float(first), "distance": float(along * first)}


LIFT_OFF = {  # closed form thresholds of the spin about the edge, rad/s
    "tips over its edge": float(np.sqrt(3 * (np.sqrt(2) - 1) / 2 * HERE / EDGE)),
    "leaves the ground": float(np.sqrt(2 * HERE / EDGE)),
}
