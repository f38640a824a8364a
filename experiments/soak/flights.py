"""Random flights about small bodies, in all kinds of fields, until they meet the surface or past it."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from difsim import AtContact, safe
from difsim.dynamics import Flight, FlightState
from difsim.gravity import Ellipsoid as EllipsoidField
from difsim.gravity import Mascons, PointMass, Polyhedron, Uniform
from difsim.mesh.solids import ellipsoid_mesh
from difsim.shape import Ellipsoid, GridSDF, Plane, Sphere
from difsim.units import G
from experiments.soak.draws import direction, magnitude
from experiments.soak.hard import moved, upwards
from experiments.soak.kinds import REVERSE
from experiments.soak.motions import Motion, until_time

SHAPE = (1000.0, 700.0, 500.0)  # m, of the meshed body


def orbit_numbers(rng, size=None):
    """A release above a body, slower than its escape, with the body's turn of hours."""
    size = magnitude(rng, 50, 5000) if size is None else size
    density = rng.uniform(300, 3000)
    period = np.sqrt(3 * np.pi / (G * density))  # of a circular orbit at the surface
    return {
        "size": size,
        "density": density,
        "semi_axes": size * np.sort(rng.uniform([0.3, 0.5, 0.8], [0.45, 0.75, 1.0]))[::-1],
        "place": direction(rng),
        "height": size * magnitude(rng, 0.02, 2),
        "velocity": rng.normal(0, 0.5, 3) * 2 * np.pi * size / period,
        "omega": direction(rng) * 2 * np.pi / period * rng.uniform(0, 0.5),
        "offset": rng.uniform(-0.2, 0.2, 3) * size,
        "shares": rng.uniform(0.1, 1, 3),
        "time": period * rng.uniform(0.1, 1.5),
    }


def fall_numbers(rng, size=None):
    """The same, but thrown at the body, which most flights meet within two turns of a low orbit."""
    n = orbit_numbers(rng, size)
    turn = np.sqrt(4 / 3 * np.pi * G * n["density"])  # rad/s
    inwards = 0.5 * turn * n["size"] * n["place"] / np.linalg.norm(n["place"])
    return n | {"velocity": 0.3 * n["velocity"] - inwards, "time": 4 * np.pi / turn}


def away(n):
    """A place outside of the sphere around the body."""
    return FlightState((n["size"] + n["height"]) * safe.unit(n["place"]), n["velocity"])


def GM(n):
    """GM, m³/s², of a sphere of half the size."""
    return G * n["density"] * 4 / 3 * jnp.pi * (0.5 * n["size"]) ** 3


def about_ellipsoid(n):
    """In the field of an ellipsoid, until it is met."""
    field = EllipsoidField(jnp.zeros(3), jnp.eye(3), n["semi_axes"], n["density"])
    return Flight(field, n["omega"], Ellipsoid(n["semi_axes"]), resolution=1.0), away(n), until_time(n["time"])


def about_mascons(n):
    """In the field of three points and a uniform one, until a sphere around most of them is met."""
    points = jnp.stack([n["offset"], -n["offset"], jnp.roll(n["offset"], 1)])
    field = Mascons(GM(n) * n["shares"], points) + Uniform(upwards(1e-3 * GM(n) / n["size"] ** 2))
    surface = Sphere(jnp.zeros(3), 0.8 * n["size"])
    return Flight(field, n["omega"], surface, resolution=1.0), away(n), until_time(n["time"])


def about_point(n):
    """Past a point, in a frame that does not turn: the angular momentum stays."""
    field = PointMass(GM(n), jnp.zeros(3))
    surface = Sphere(jnp.zeros(3), 0.1 * n["size"])
    return Flight(field, jnp.zeros(3), surface), away(n), until_time(n["time"])


def mesh_numbers(rng):
    """About the one meshed body."""
    return fall_numbers(rng, SHAPE[0])


@cache
def meshed():
    """Field of density 1 and distance of the meshed body: made once, also while a scene is traced."""
    mesh = ellipsoid_mesh(SHAPE, 1)
    with jax.ensure_compile_time_eval():
        return Polyhedron(mesh, 1.0), GridSDF.from_mesh(mesh, spacing=80.0)


def about_mesh(n):
    """In the field of a polyhedron, until its tabulated surface is met."""
    field, surface = meshed()
    return Flight(n["density"] * field, n["omega"], surface, resolution=1.0), away(n), until_time(n["time"])


def throw_numbers(rng):
    """A throw over level ground."""
    gravity, height = magnitude(rng, 1e-5, 10), magnitude(rng, 0.1, 100)
    fall = np.sqrt(2 * height / gravity)
    return {
        "gravity": gravity,
        "height": height,
        "velocity": rng.normal(0, 1, 3) * gravity * fall,
        "omega": rng.normal(0, 0.2, 3) / fall,
        "time": fall * rng.uniform(0.5, 4),
    }


def over_plane(n):
    """In a uniform field and a frame that turns, until the ground is met."""
    plane = Plane(jnp.zeros(3), jnp.array([0.0, 0.0, 1.0]))
    state = FlightState(upwards(n["height"]), n["velocity"])
    field = Uniform(upwards(-n["gravity"]))
    return Flight(field, n["omega"], plane, resolution=1e-3 * n["time"]), state, until_time(n["time"])


def angular_momentum(model, solution):
    """About the point that attracts."""
    place, velocity = solution.states.position, solution.states.velocity
    return [(jnp.cross(place, velocity), jnp.max(safe.norm(place)) * jnp.max(safe.norm(velocity)))]


ZEROS = "velocity", "omega"


def flight(name, draw, build, **options):
    """A kind of flight, by steps of order 8."""
    options = {"until": AtContact, "order": 8, "reverse": REVERSE, "backward": 1e-4, "zeros": ZEROS} | options
    return Motion(name, draw, 1e-10, build=build, watch=moved, **options)


KINDS = (
    flight("flight over a plane", throw_numbers, over_plane, order=5),
    flight("flight, ellipsoid", fall_numbers, about_ellipsoid, reverse=None),
    flight("flight, points and uniform", fall_numbers, about_mascons),
    flight("flight, polyhedron", mesh_numbers, about_mesh, reverse=None),
    flight("flight past a point", orbit_numbers, about_point, until=None, conserved=angular_momentum),
)
