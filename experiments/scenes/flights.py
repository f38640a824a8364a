"""Scenes of flights about small bodies, in several fields, until they meet the surface or past it."""

from functools import cache

import jax
import jax.numpy as jnp

from difsim import AtContact, Reverse, Rotation, safe
from difsim.dynamics import Flight, FlightState
from difsim.gravity import Ellipsoid as EllipsoidField
from difsim.gravity import Mascons, PointMass, Polyhedron, Uniform
from difsim.mesh.solids import ellipsoid_mesh
from difsim.shape import Ellipsoid, GridSDF, Sphere
from difsim.units import G
from experiments.scenes.draws import direction, magnitude, normal, uniform
from experiments.scenes.engines import Motion
from experiments.scenes.parts import ZERO, motion_of_point, until_time, vector
from experiments.scenes.scene import Exact, Scene

SHAPE = (1000.0, 700.0, 500.0)  # m, of the meshed body

# A release above a body that turns in hours. In units of its size: semi_axes, height, offset; of a circular orbit at
# the surface of a sphere: velocity, omega, time.
ORBIT = (
    magnitude(size=(50, 5000), height=(0.02, 2))
    | uniform(density=(300, 3000), time=(0.1, 1.5))
    | direction("place")
    | normal(velocity=(0.5, 3), omega=(0.15, 3))
)
# Thrown at the body, which most flights meet within two turns of a low orbit.
THROWN = ORBIT | normal(velocity=(0.15, 3)) | uniform(time=(1.1, 1.2), inwards=(0.3, 0.5))


def GM(n):
    """Return GM, m³/s², of a sphere of half the size."""
    return G * n["density"] * 4 / 3 * jnp.pi * (0.5 * n["size"]) ** 3


def fly(n, field, surface, **options):
    """Return a flight that starts outside of the sphere around the body."""
    turn, up = jnp.sqrt(4 / 3 * jnp.pi * G * n["density"]), safe.unit(n["place"])
    velocity = turn * n["size"] * (n["velocity"] - n.get("inwards", 0.0) * up)
    state = FlightState(n["size"] * (1 + n["height"]) * up, velocity)
    time = until_time(2 * jnp.pi / turn * n["time"])
    return Flight(field, turn * n["omega"], surface, **options), state, time


def fly_about_ellipsoid(n):
    """Return a flight in the field of an ellipsoid, until it is met."""
    semi_axes = n["size"] * n["semi_axes"]
    field = EllipsoidField(jnp.zeros(3), jnp.eye(3), semi_axes, n["density"])
    return fly(n, field, Ellipsoid(semi_axes), resolution=1.0)


def fly_about_mascons(n):
    """Return a flight in the field of three points and a uniform one, until a sphere around most of them is met."""
    offset = n["size"] * n["offset"]
    points = jnp.stack([offset, -offset, jnp.roll(offset, 1)])
    field = Mascons(GM(n) * n["shares"], points) + Uniform(vector(z=1e-3 * GM(n) / n["size"] ** 2))
    return fly(n, field, Sphere(ZERO, 0.8 * n["size"]), resolution=1.0)


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


def fly_past_point(n):
    return fly(n, PointMass(GM(n), ZERO), Sphere(ZERO, 0.1 * n["size"]))


def angular_momentum(model, solution):
    """Return the angular momentum about the point that attracts, in the frame that does not turn."""
    place, omega = solution.states.position, model.frame.omega
    velocity = solution.states.velocity + jnp.cross(omega, place)
    turned = jax.vmap(lambda t, x: Rotation.from_rotation_vector(t * omega) @ x)
    return [
        (
            turned(solution.times, jnp.cross(place, velocity)),
            jnp.max(safe.norm(place)) * jnp.max(safe.norm(velocity)),
        )
    ]


def drift_of_jacobi(solution):
    """Return the largest change of ½v² - ½|ω×r|² - U as a share of the largest ½v²."""
    energy = solution.energy
    constant = energy["kinetic"] + energy["potential"] + energy["centrifugal"]
    return jnp.max(jnp.abs(constant - constant[0])) / jnp.max(energy["kinetic"])


def scene(name, draws, build, reverse=None):
    return Scene(name, draws, build, Motion(1e-10, 8, AtContact(), reverse), motion_of_point)


ABOUT_ELLIPSOID = THROWN | uniform(semi_axes=([0.8, 0.5, 0.3], [1.0, 0.75, 0.45]))
ABOUT_MASCONS = THROWN | uniform(offset=([-0.2] * 3, [0.2, 0.1, 0.15]), shares=([0.1] * 3, [1.0, 0.9, 0.8]))
SCENES = (
    scene("flight, ellipsoid", ABOUT_ELLIPSOID, fly_about_ellipsoid),
    scene("flight, points and uniform", ABOUT_MASCONS, fly_about_mascons, Reverse()),
    scene("flight, polyhedron", THROWN, fly_about_mesh),
    Scene(
        "flight past a point",
        ORBIT,
        fly_past_point,
        Motion(1e-12, 8, reverse=Reverse()),
        motion_of_point,
        conserved=angular_momentum,
        exact=Exact(
            "Gravity",
            {"flight: drift of the Jacobi constant": ("1", 1e-10)},
            lambda s, n: [drift_of_jacobi(s)],
            lambda n: [0.0],
        ),
    ),
)
