"""Random scenes of regularised contact: balls and cubes with several laws, on planes, ellipsoids and meshes."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from difsim import contact, rotation, safe
from difsim.body import RigidBody, RigidState
from difsim.contact import AtEachPoint, AtEffectivePoint, NormalForce, SpringAtEachPoint
from difsim.dynamics import Hopper
from difsim.gravity import Mascons, PointMass, Uniform
from difsim.mesh.solids import ellipsoid_mesh
from difsim.shape import Ellipsoid, GridSDF, Plane
from experiments.soak.draws import direction, magnitude, turn
from experiments.soak.hard import CORNERS, body, upwards
from experiments.soak.kinds import UNROLLED
from experiments.soak.motions import Motion, until_time

AXIS = np.array([0.6, 0.48, 0.64])  # any that no scene's vertical is parallel to
PIT = (1.0, 0.8, 0.7)  # m, the half axes of the meshed body


def hop_numbers(rng, least=0.02, most=5.0):
    """A body that meets the ground soon, sinks in by some per cent of its size, and is followed for some contacts."""
    size, speed = magnitude(rng, least, most), magnitude(rng, 1e-3, 3)
    mass, depth = magnitude(rng, 0.1, 100), size * magnitude(rng, 2e-3, 2e-2)
    gap = size * rng.uniform(0.05, 0.5)
    return {
        "size": size,
        "mass": mass,
        "inertia": rng.uniform(0.8, 1.2, 3),
        "depth": depth,
        "stiffness": mass * speed**2 / depth**2,
        "width": rng.uniform(0.04, 0.1) * depth,
        "restitution": rng.uniform(0.2, 0.95),
        "friction": rng.uniform(0.05, 1),
        "slip_speed": speed * rng.uniform(0.01, 0.1),
        "gap": gap,
        "speed": speed,
        "velocity": speed * np.array([*rng.normal(0, 0.5, 2), -rng.uniform(0.3, 1)]),
        "spin": rng.normal(size=3) * speed / size,
        "turn": turn(rng),
        "gravity": speed**2 / size * magnitude(rng, 0.02, 2),
        "rolling": rng.uniform(0, 0.02),
        "cohesion": rng.uniform(0, 0.04),
        "time": gap / speed + np.pi * depth / speed * magnitude(rng, 2, 60) + size / speed * rng.uniform(0, 1),
    }


def viscous(kind, elastic, n):
    """A viscous damper that returns the restitution for the whole mass."""
    return NormalForce.from_restitution(n["restitution"], elastic, n["width"], mass=n["mass"], damping=kind)


def power(n, exponent):
    """k δᵖ with the same energy at the greatest depth as the spring."""
    stiffness = 0.5 * (exponent + 1) * n["stiffness"] * n["depth"] ** (1 - exponent)
    return contact.PowerLaw(stiffness, exponent)


def coulomb(n):
    """Friction of each point by its own slip."""
    return AtEachPoint(contact.RegularisedCoulomb(n["friction"], n["slip_speed"]))


def tensile(n):
    """A linear spring with a damper that pulls as it parts."""
    return viscous(contact.TensileDamping, contact.Hooke(n["stiffness"]), n), coulomb(n), (), ()


def compressive(n):
    """A linear spring with a damper that acts in compression."""
    return viscous(contact.CompressionDamping, contact.Hooke(n["stiffness"]), n), coulomb(n), (), ()


def clipped(n):
    """Tsuji's law, clipped, with sticking at the effective point and rolling resistance."""
    friction = AtEffectivePoint(contact.StickSlip(n["friction"], 1.2 * n["friction"], n["slip_speed"]))
    rolling = (contact.RollingTorque(n["rolling"] * n["size"], n["slip_speed"] / n["size"]),)
    return viscous(contact.ClippedDamping, power(n, 1.5), n), friction, rolling, ()


def hunt_crossley(n):
    """The law of Hunt and Crossley, and springs along the surface."""
    normal = NormalForce.from_restitution(n["restitution"], power(n, 1.5), n["width"], speed=n["speed"])
    return normal, SpringAtEachPoint(contact.TangentialSpring(n["friction"], 0.5 * n["stiffness"])), (), ()


def hertz(n):
    """Elastic spheres after Mindlin, with resistance to rolling and spinning, and cohesion."""
    modulus = n["stiffness"] / jnp.sqrt(n["size"] * n["depth"])
    normal = NormalForce(contact.Hertz(modulus, n["size"]), contact.Undamped(), n["width"])
    friction = SpringAtEachPoint(contact.MindlinSpring(n["friction"], 2 * modulus, n["size"]))
    turning = n["slip_speed"] / n["size"]
    rolling = (
        contact.RollingForceAndTorque(n["rolling"] * n["size"], turning),
        contact.SpinningResistance(0.5 * n["rolling"] * n["size"], turning),
    )
    pull = n["cohesion"] * n["stiffness"] * n["depth"]
    return normal, friction, rolling, (contact.LinearCohesion(pull, 0.3 * n["depth"]),)


def hopper(n, outline, laws, surface, gravity, place, up, omega=None):
    """The model and its start, `gap` above the ground."""
    reach = 0.5 * jnp.sqrt(3.0) * n["size"]
    model = Hopper(
        RigidBody(n["mass"], n["mass"] * n["size"] ** 2 / 6 * jnp.diag(n["inertia"])),
        contact.SurfaceContact(outline, *laws(n)),
        surface,
        gravity,
        jnp.zeros(3) if omega is None else omega,
        0.05 * jnp.pi * n["depth"] / n["speed"],
    )
    east = safe.unit(jnp.cross(AXIS, up))
    frame = jnp.stack([east, jnp.cross(up, east), up], axis=1)
    state = RigidState(
        place + (reach + n["gap"]) * up,
        frame @ n["velocity"],
        rotation.from_rotation_vector(n["turn"]),
        n["spin"],
    )
    return model, model.start(state), until_time(n["time"])


def cube(n):
    """The eight corners."""
    return contact.Vertices(CORNERS * n["size"])


def ball(n):
    """A ball that fits into the cube."""
    return contact.Ball(0.5 * n["size"])


def on_plane(outline, laws, n):
    """On level ground."""
    up = jnp.array([0.0, 0.0, 1.0])
    return hopper(n, outline(n), laws, Plane(jnp.zeros(3), up), Uniform(upwards(-n["gravity"])), jnp.zeros(3), up)


def round_numbers(rng):
    """The same on a body of some sizes of the hopper, which turns."""
    n = hop_numbers(rng)
    return n | {
        "semi_axes": n["size"] * rng.uniform(3, 8, 3),
        "place": direction(rng),
        "omega": rng.normal(0, 0.05, 3) * n["speed"] / n["size"],
    }


def on_ellipsoid(n):
    """On an ellipsoid that turns."""
    up = safe.unit(n["place"])
    reach = 1 / safe.norm(up / n["semi_axes"])
    surface = Ellipsoid(n["semi_axes"])
    normal = safe.unit(up / n["semi_axes"] ** 2)
    gravity = PointMass(n["gravity"] * jnp.max(n["semi_axes"]) ** 2, jnp.zeros(3))
    return hopper(n, cube(n), compressive, surface, gravity, reach * up, normal, n["omega"])


def mesh_numbers(rng):
    """A small hopper on the one meshed body."""
    n = hop_numbers(rng, 0.05, 0.3)
    return n | {"place": direction(rng), "omega": rng.normal(0, 0.05, 3) * n["speed"] / n["size"]}


@cache
def meshed():
    """The meshed body: made when the first scene needs it, also while that is traced."""
    with jax.ensure_compile_time_eval():
        return GridSDF.from_mesh(ellipsoid_mesh(PIT, 3), spacing=0.1)


def on_mesh(n):
    """On a mesh whose distance is tabulated, in the field of two points."""
    up = safe.unit(n["place"])
    mass = 0.5 * n["gravity"] * jnp.ones(2)
    gravity = Mascons(mass, jnp.array([[0.3, 0.0, 0.0], [-0.3, 0.0, 0.0]]))
    reach = 1 / safe.norm(up / jnp.array(PIT))
    normal = safe.unit(up / jnp.array(PIT) ** 2)
    return hopper(n, cube(n), compressive, meshed(), gravity, reach * up, normal, n["omega"])


def soft(name, draw, build, reverse=None, drives=()):
    """A kind of regularised contact; a reverse derivative takes the longest to compile, and some have it."""
    return Motion(name, draw, build=build, watch=body, reverse=reverse, drives=drives, zeros=ZEROS, **ENDS)


ENDS = {"least": {"friction": 0.0, "rolling": 0.0, "cohesion": 0.0}, "most": {"restitution": 1.0}}
ZEROS = "velocity", "spin", "turn"
# Two laws of paper 003 can give energy: the force that keeps a slow slip as it is, and that of rolling resistance.
STICKING, ROLLING = ("friction",), ("rolling",)
KINDS = (
    soft("ball, linear, tensile damper", hop_numbers, partial(on_plane, ball, tensile)),
    soft("cube, linear, compressive damper", hop_numbers, partial(on_plane, cube, compressive), UNROLLED),
    soft("cube, Tsuji clipped, stick and slip", hop_numbers, partial(on_plane, cube, clipped), drives=STICKING),
    soft("cube, Hunt and Crossley, springs", hop_numbers, partial(on_plane, cube, hunt_crossley)),
    soft("cube, Hertz and Mindlin, cohesion", hop_numbers, partial(on_plane, cube, hertz), UNROLLED, ROLLING),
    soft("cube on a turning ellipsoid", round_numbers, on_ellipsoid),
    soft("cube on a mesh", mesh_numbers, on_mesh),
)
