"""Scenes of flights about small bodies, in all kinds of fields, until they meet the surface or past it."""

from functools import cache

import jax
import jax.numpy as jnp

from difsim import AtContact, Reverse, safe
from difsim.dynamics import Flight, FlightState
from difsim.gravity import Ellipsoid as EllipsoidField
from difsim.gravity import Mascons, PointMass, Polyhedron, Uniform
from difsim.mesh.solids import ellipsoid_mesh
from difsim.shape import Ellipsoid, GridSDF, Plane, Sphere
from difsim.units import G
from experiments.scenes.draws import direction, magnitude, normal, uniform
from experiments.scenes.engines import Motion
from experiments.scenes.hard import fall_time, motion_of_point, vertical
from experiments.scenes.scene import Scene, until_time

SHAPE = (1000.0, 700.0, 500.0)  # m, of the meshed body

# A release above a body that turns in hours. In units of its size: semi_axes, height, offset; of a circular orbit at
# the surface of a sphere: velocity, omega, time.
ORBIT = {
    "size": magnitude(50, 5000),
    "density": uniform(300, 3000),
    "semi_axes": uniform([0.8, 0.5, 0.3], [1.0, 0.75, 0.45]),
    "place": direction(),
    "height": magnitude(0.02, 2),
    "velocity": normal(0.5, 3),
    "omega": normal(0.15, 3),
    "offset": uniform([-0.2] * 3, [0.2, 0.1, 0.15]),
    "shares": uniform([0.1] * 3, [1.0, 0.9, 0.8]),
    "time": uniform(0.1, 1.5),
    "inwards": uniform(0, 0),
}
# Thrown at the body, which most flights meet within two turns of a low orbit.
THROWN = ORBIT | {"velocity": normal(0.15, 3), "time": uniform(1.1, 1.2), "inwards": uniform(0.3, 0.5)}


def orbit_turn(n):
    """Return the rate of a circular orbit at the surface of a sphere, rad/s."""
    return jnp.sqrt(4 / 3 * jnp.pi * G * n["density"])


def GM(n):
    """Return GM, m³/s², of a sphere of half the size."""
    return G * n["density"] * 4 / 3 * jnp.pi * (0.5 * n["size"]) ** 3


def fly(n, field, surface, omega=None, **options):
    """Return a flight that starts outside of the sphere around the body."""
    turn, up = orbit_turn(n), safe.unit(n["place"])
    omega = turn * n["omega"] if omega is None else omega
    velocity = turn * n["size"] * (n["velocity"] - n["inwards"] * up)
    state = FlightState(n["size"] * (1 + n["height"]) * up, velocity)
    time = until_time(2 * jnp.pi / turn * n["time"])
    return Flight(field, omega, surface, **options), state, time


def fly_about_ellipsoid(n):
    """Return a flight in the field of an ellipsoid, until it is met."""
    semi_axes = n["size"] * n["semi_axes"]
    field = EllipsoidField(jnp.zeros(3), jnp.eye(3), semi_axes, n["density"])
    return fly(n, field, Ellipsoid(semi_axes), resolution=1.0)


def fly_about_mascons(n):
    """Return a flight in the field of three points and a uniform one, until a sphere around most of them is met."""
    offset = n["size"] * n["offset"]
    points = jnp.stack([offset, -offset, jnp.roll(offset, 1)])
    field = Mascons(GM(n) * n["shares"], points) + Uniform(vertical(1e-3 * GM(n) / n["size"] ** 2))
    return fly(n, field, Sphere(jnp.zeros(3), 0.8 * n["size"]), resolution=1.0)


def fly_about_point(n):
    """Return a flight past a point, in a frame that does not turn: the angular momentum stays."""
    return fly(n, PointMass(GM(n), jnp.zeros(3)), Sphere(jnp.zeros(3), 0.1 * n["size"]), jnp.zeros(3))


@cache
def make_mesh():
    """Return field of density 1 and distance of the meshed body: made once, also while a scene is traced."""
    mesh = ellipsoid_mesh(SHAPE, 1)
    with jax.ensure_compile_time_eval():
        return Polyhedron(mesh, 1.0), GridSDF.from_mesh(mesh, spacing=80.0)


def fly_about_mesh(n):
    """Return a flight in the field of a polyhedron, until its tabulated surface is met."""
    field, surface = make_mesh()
    n = n | {"size": SHAPE[0] * jnp.ones(())}
    return fly(n, n["density"] * field, surface, resolution=1.0)


# A throw over level ground. In units of the fall: velocity, omega, time.
THROW = {
    "gravity": magnitude(1e-5, 10),
    "height": magnitude(0.1, 100),
    "velocity": normal(1, 3),
    "omega": normal(0.2, 3),
    "time": uniform(0.5, 4),
}


def fly_over_plane(n):
    """Return a flight in a uniform field and a frame that turns, until the ground is met."""
    fall = fall_time(n)
    plane, time = Plane(jnp.zeros(3), jnp.array([0.0, 0.0, 1.0])), n["time"] * fall
    state = FlightState(vertical(n["height"]), n["velocity"] * n["gravity"] * fall)
    field = Uniform(vertical(-n["gravity"]))
    return Flight(field, n["omega"] / fall, plane, resolution=1e-3 * time), state, until_time(time)


def angular_momentum(model, solution):
    """Return the angular momentum about the point that attracts."""
    place, velocity = solution.states.position, solution.states.velocity
    return [(jnp.cross(place, velocity), jnp.max(safe.norm(place)) * jnp.max(safe.norm(velocity)))]


def scene(name, draws, build, **engine):
    """Return a scene of one flight, by steps of order 8."""
    engine = Motion(1e-10, **{"order": 8, "until": AtContact(), "reverse": Reverse()} | engine)
    return Scene(name, draws, build, engine, motion_of_point)


SCENES = (
    scene("flight over a plane", THROW, fly_over_plane, order=5),
    scene("flight, ellipsoid", THROWN, fly_about_ellipsoid, reverse=None),
    scene("flight, points and uniform", THROWN, fly_about_mascons),
    scene("flight, polyhedron", THROWN, fly_about_mesh, reverse=None),
    Scene(
        "flight past a point",
        ORBIT,
        fly_about_point,
        Motion(1e-10, 8, reverse=Reverse()),
        motion_of_point,
        conserved=angular_momentum,
    ),
)
