"""The bounce: from the rebound at the first touchdown to the next contact, differentiable end to end."""

from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool, Int

from difsim import AtContact, Status, simulate
from difsim.dynamics import Flight, FlightState
from difsim.gravity import AbstractField
from difsim.rotation import solve3
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, Vec3
from experiments.agilkia.descent import AGILKIA, AXES, FINE, SPIN, stack
from experiments.agilkia.worlds import World
from inversion import Observation

# Wu et al. (2019), sec. 4.2: what its rebound led to.
PAPER_VELOCITY = (0.22668, 0.10559, -0.17703)  # m/s, comet-fixed
PAPER_TIME = 45 * 60 + 54.0  # s
PAPER_DISTANCE = 718.5  # m, straight from the first touchdown
PAPER_SITE = (2359.32, -403.18, 108.00)  # m
HORIZON = 4 * 3600.0  # s: what has not come down by then is not this bounce
INSTANTS = 121  # of a drawn path


class Contact(eqx.Module):
    """The next contact: `time` s after the rebound, `position` m and `velocity` m/s (comet-fixed), straight
    `distance` m from the start, and the flight's `status`."""

    time: Scalar
    position: Vec3
    velocity: Vec3
    distance: Scalar
    status: Int[Array, ""]

    @property
    def ok(self) -> Bool[Array, ""]:
        return self.status == Status.OK


def next_contact(
    velocity: Vec3, gravity: AbstractField, surface: AbstractSDF, *, position: Vec3 | None = None
) -> Contact:
    """Fly with the rebound `velocity` m/s until the next contact.

    `jax.jacfwd` of its numbers by the velocity is right, also through a touchdown that gave the velocity.

    **Arguments:** `velocity` [3], comet-fixed; `gravity` without the centrifugal term; `surface`; `position`
    [3] m, unless given the first touchdown, put on the surface by `project_to_surface`. A rebound into the ground has
    the status INSIDE, one that escapes NO_CONTACT.
    """
    start = project_to_surface(surface, AGILKIA.touchdown.position) if position is None else position
    model, times = Flight(gravity, SPIN, surface), jnp.asarray([0.0, HORIZON])
    flight = simulate(model, FlightState(start, velocity), times, solver=FINE, until=AtContact(), throw=False)
    end = flight.last
    return Contact(
        time=flight.times[-1],
        position=end.position,
        velocity=end.velocity,
        distance=jnp.linalg.norm(end.position - start),
        status=flight.status,
    )


def project_to_surface(surface: AbstractSDF, position: Vec3) -> Vec3:
    """The point of the surface beside `position`: four Newton steps along ∇d.

    A site that is known to a metre lies above or below the surface of a mesh.
    """

    def step(x, _):
        distance, slope = jax.value_and_grad(surface.distance)(x)
        return x - distance * slope / (slope @ slope), None

    return jax.lax.scan(step, position, length=4)[0]


def shoot(
    start: Vec3, target: Vec3, duration: Scalar, guess: Vec3, gravity: AbstractField, surface: AbstractSDF
) -> Vec3:
    """The velocity m/s that leads from `start` to `target` in `duration` s, whatever ground lies between.

    Six Newton steps with the state-transition matrix: what the rebound must have been, had the paper's flight
    time and second site been those of this world.
    """
    model, times = Flight(gravity, SPIN, surface), jnp.stack([jnp.zeros_like(duration), duration])

    @jax.jit
    def step(velocity, _):
        def miss(velocity):
            flown = simulate(model, FlightState(start, velocity), times, solver=FINE, throw=False)
            return flown.states.position[-1] - target

        return velocity - solve3(jax.jacfwd(miss)(velocity), miss(velocity)), None

    return jax.lax.scan(step, guess, length=6)[0]


def list_conflicts(observed: Mapping[str, Observation], world: World) -> dict[str, dict[str, float]]:
    """Published numbers that exclude each other: what each says of the same quantity, in the sigma of the first.

    Wu et al.'s rebound, flown in this `world`, against the paper's own next contact; and the rebound that the paper's
    time and site need, by `shoot`, against the published speed.

    **Arguments:** `observed`: rebound_speed and the numbers of the next contact; `world`. **Returns:** rows by name.
    """
    start, site = project_to_surface(world[1], AGILKIA.touchdown.position), jnp.asarray(PAPER_SITE)
    rebound = jnp.asarray(PAPER_VELOCITY)
    flown = eqx.filter_jit(next_contact)(rebound, *world)
    needed = shoot(start, site, jnp.asarray(PAPER_TIME), rebound, *world)
    rows = {}
    for what, key, other in (
        ("speed, m/s: that of the paper's rebound", "rebound_speed", jnp.linalg.norm(rebound)),
        ("speed, m/s: needed for the paper's time and site", "rebound_speed", jnp.linalg.norm(needed)),
        ("time, s: of the paper's rebound, flown here", "second_contact_time", flown.time),
        ("distance, m: of the paper's rebound, flown here", "second_contact_distance", flown.distance),
    ):
        value, sigma = float(observed[key].value), float(observed[key].sigma)
        rows[what] = {"published": value, "sigma": sigma, "other": float(other)}
    off = {"published": 0.0, "sigma": float(jnp.ravel(observed["second_contact_position"].sigma)[0])}
    rows["place, m from the paper's: of its rebound, flown here"] = off | {
        "other": float(jnp.linalg.norm(flown.position - site))
    }
    return {k: row | {"apart_sigma": (row["other"] - row["published"]) / row["sigma"]} for k, row in rows.items()}


def bounce(worlds: Mapping[str, World], velocity: tuple[float, float, float] = PAPER_VELOCITY) -> xr.Dataset:
    """The rebound `velocity` m/s from the first touchdown in each world, beside what Wu et al. (2019) say of it.

    **Returns:** a Dataset over `world`: `time` s, `place` m, `velocity` m/s of the next contact and straight
    `distance` m from the start; `time_off`, `distance_off` and `place_off` m, against the paper's; `by_rebound`
    [5, 3], the derivatives of time, distance and place by the rebound; `needed` m/s, the rebound that reaches
    the paper's site in the paper's time, and `needed_off` m/s, how far it is from the one given; `start_off` m,
    how far the start was moved to lie on the surface, and `paper_gap` m, how far the paper's site is off it;
    `status`. As everywhere, a flight that does not come down has the numbers of the horizon; the table leaves them
    out.
    """
    flown = {name: _bounce(*world, jnp.asarray(velocity)) for name, world in worlds.items()}
    coords = {"output": ["time", "distance", *AXES], "share": np.linspace(0.0, 1.0, INSTANTS)}
    return stack(flown, coords, {"rebound": np.asarray(velocity), "paper_site": np.asarray(PAPER_SITE)})


def _bounce(gravity: AbstractField, surface: AbstractSDF, velocity: Vec3) -> dict[str, tuple]:
    def outputs(velocity):
        contact = next_contact(velocity, gravity, surface)
        return jnp.concatenate([contact.time[None], contact.distance[None], contact.position]), contact

    by_rebound, contact = jax.jacfwd(outputs, has_aux=True)(velocity)
    site, start = jnp.asarray(PAPER_SITE), project_to_surface(surface, AGILKIA.touchdown.position)
    needed = shoot(start, site, jnp.asarray(PAPER_TIME), velocity, gravity, surface)
    times = jnp.linspace(0.0, 1.0, INSTANTS) * contact.time
    model = Flight(gravity, SPIN, surface)
    path = simulate(model, FlightState(start, velocity), times, solver=FINE, throw=False)
    return {
        "time": ((), contact.time, "s"),
        "distance": ((), contact.distance, "m"),
        "place": (("axis",), contact.position, "m"),
        "velocity": (("axis",), contact.velocity, "m/s"),
        "time_off": ((), contact.time - PAPER_TIME, "s"),
        "distance_off": ((), contact.distance - PAPER_DISTANCE, "m"),
        "place_off": ((), jnp.linalg.norm(contact.position - site), "m"),
        "by_rebound": (("output", "axis"), by_rebound, "s/(m/s), m/(m/s)"),
        "needed": (("axis",), needed, "m/s"),
        "needed_off": ((), jnp.linalg.norm(needed - velocity), "m/s"),
        "start_off": ((), jnp.linalg.norm(start - AGILKIA.touchdown.position), "m"),
        "paper_gap": ((), surface.distance(site), "m"),
        "path": (("share", "axis"), path.states.position, "m"),
        "status": ((), Status(int(contact.status)).name, ""),
    }
