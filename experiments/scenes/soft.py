"""Scenes of regularised contact: balls and cubes with several laws, on planes, ellipsoids and meshes."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Unrolled, contact, safe
from difsim.body import RigidBody, RigidState
from difsim.contact import AtEachPoint, AtEffectivePoint, NormalForce, SpringAtEachPoint
from difsim.dynamics import Hopper
from difsim.gravity import Mascons, PointMass, Uniform
from difsim.mesh.solids import ellipsoid_mesh
from difsim.rotation import Rotation
from difsim.shape import Ellipsoid, GridSDF, Plane
from experiments.scenes.draws import direction, magnitude, normal, turn, uniform
from experiments.scenes.engines import Motion
from experiments.scenes.hard import CORNERS, motion_of_body, vertical
from experiments.scenes.scene import Scene, until_time

AXIS = np.array([0.6, 0.48, 0.64])  # any that no scene's vertical is parallel to
PIT = (1.0, 0.8, 0.7)  # m, the half axes of the meshed body

# A body that meets the ground soon, sinks in by some per cent of its size, and is followed for some contacts. In units
# of its size: depth, gap, rolling; of its speed: slip_speed, along; of the depth: width; of a contact: contacts.
HOP = {
    "size": magnitude(0.02, 5),
    "mass": magnitude(0.1, 100),
    "inertia": uniform(0.8 * np.ones(3), 1.2),
    "depth": magnitude(2e-3, 2e-2),
    "width": uniform(0.04, 0.1),
    "restitution": uniform(0.2, 0.95, most=1.0),
    "friction": uniform(0.05, 1, least=0.0),
    "slip_speed": uniform(0.01, 0.1),
    "gap": uniform(0.05, 0.5),
    "speed": magnitude(1e-3, 3),
    "down": uniform(0.3, 1),
    "along": normal(0.5, 2),
    "spin": normal(1, 3),
    "turn": turn(),
    "gravity": magnitude(0.02, 2),
    "rolling": uniform(0, 0.02, least=0.0),
    "cohesion": uniform(0, 0.04, least=0.0),
    "contacts": magnitude(2, 60),
    "after": uniform(0, 1),
}


def sizes(n):
    """Return the numbers with units: depth m, stiffness N/m, smoothing width m, slip speed m/s, rate of turning."""
    depth, slip_speed = n["depth"] * n["size"], n["slip_speed"] * n["speed"]
    stiffness = n["mass"] * n["speed"] ** 2 / depth**2
    return n | {
        "depth": depth,
        "stiffness": stiffness,
        "width": n["width"] * depth,
        "slip_speed": slip_speed,
        "rolling": n["rolling"] * n["size"],
        "turning": slip_speed / n["size"],
    }


def viscous(damping, elastic, n):
    """Return a viscous damper that returns the restitution for the whole mass."""
    return NormalForce.from_restitution(n["restitution"], elastic, n["width"], mass=n["mass"], damping=damping)


def power_law(n, exponent):
    """Return k δᵖ with the same energy at the greatest depth as the spring."""
    stiffness = 0.5 * (exponent + 1) * n["stiffness"] * n["depth"] ** (1 - exponent)
    return contact.PowerLaw(stiffness, exponent)


def coulomb(n):
    """Return friction of each point by its own slip."""
    return AtEachPoint(contact.RegularisedCoulomb(n["friction"], n["slip_speed"]))


def tensile(n):
    """Return a linear spring with a damper that pulls as it parts."""
    return viscous(contact.TensileDamping, contact.Hooke(n["stiffness"]), n), coulomb(n)


def compressive(n):
    """Return a linear spring with a damper that acts in compression."""
    return viscous(contact.CompressionDamping, contact.Hooke(n["stiffness"]), n), coulomb(n)


def clipped_law(n):
    """Return Tsuji's law, clipped, with sticking at the effective point and rolling resistance."""
    friction = AtEffectivePoint(contact.StickSlip(n["friction"], 1.2 * n["friction"], n["slip_speed"]))
    rolling = (contact.RollingTorque(n["rolling"], n["turning"]),)
    return viscous(contact.ClippedDamping, power_law(n, 1.5), n), friction, rolling


def hunt_crossley(n):
    """Return the law of Hunt and Crossley, and springs along the surface."""
    force = NormalForce.from_restitution(n["restitution"], power_law(n, 1.5), n["width"], speed=n["speed"])
    return force, SpringAtEachPoint(contact.TangentialSpring(n["friction"], 0.5 * n["stiffness"]))


def hertz(n):
    """Return elastic spheres after Mindlin, with resistance to rolling and spinning, and cohesion."""
    modulus = n["stiffness"] / jnp.sqrt(n["size"] * n["depth"])
    force = NormalForce(contact.Hertz(modulus, n["size"]), contact.Undamped(), n["width"])
    friction = SpringAtEachPoint(contact.MindlinSpring(n["friction"], 2 * modulus, n["size"]))
    rolling = (
        contact.RollingForceAndTorque(n["rolling"], n["turning"]),
        contact.SpinningResistance(0.5 * n["rolling"], n["turning"]),
    )
    pull = n["cohesion"] * n["stiffness"] * n["depth"]
    return force, friction, rolling, (contact.LinearCohesion(pull, 0.3 * n["depth"]),)


def hop(n, outline, laws, surface, gravity, place, up, omega=0.0):
    """Return the model and its start, `gap` above the ground, and times of some contacts and a flight."""
    n = sizes(n)
    size, speed = n["size"], n["speed"]
    contact_time = jnp.pi * n["depth"] / speed
    model = Hopper(
        RigidBody(n["mass"], n["mass"] * size**2 / 6 * jnp.diag(n["inertia"])),
        contact.SurfaceContact(outline(size), *laws(n)),
        surface,
        gravity,
        omega * speed / size * jnp.ones(3),
        0.05 * contact_time,
    )
    east = safe.unit(jnp.cross(AXIS, up))
    frame = jnp.stack([east, jnp.cross(up, east), up], axis=1)
    velocity = speed * frame @ jnp.append(n["along"], -n["down"])
    attitude = Rotation.from_rotation_vector(n["turn"])
    above = 0.5 * jnp.sqrt(3.0) * size + n["gap"] * size
    state = RigidState(place + above * up, velocity, attitude, speed / size * n["spin"])
    time = n["contacts"] * contact_time + (n["gap"] + n["after"]) * size / speed
    return model, model.start(state), until_time(time)


def cube(size):
    """Return the eight corners."""
    return contact.Vertices(CORNERS * size)


def ball(size):
    """Return a ball that fits into the cube."""
    return contact.Ball(0.5 * size)


def build_on_plane(outline, laws, n):
    """Return a body above level ground."""
    up, gravity = jnp.array([0.0, 0.0, 1.0]), n["gravity"] * n["speed"] ** 2 / n["size"]
    return hop(n, outline, laws, Plane(jnp.zeros(3), up), Uniform(vertical(-gravity)), jnp.zeros(3), up)


def build_above_ellipsoid(n, surface, gravity, semi_axes):
    """Return a cube above an ellipsoid that turns."""
    up = safe.unit(n["place"])
    reach = 1 / safe.norm(up / semi_axes)
    return hop(n, cube, compressive, surface, gravity, reach * up, safe.unit(up / semi_axes**2), n["omega"])


def build_on_ellipsoid(n):
    """Return a cube above an ellipsoid of some of its sizes."""
    semi_axes = n["size"] * n["semi_axes"]
    pull = n["gravity"] * n["speed"] ** 2 / n["size"] * jnp.max(semi_axes) ** 2
    return build_above_ellipsoid(n, Ellipsoid(semi_axes), PointMass(pull, jnp.zeros(3)), semi_axes)


@cache
def make_mesh():
    """Return the distance of the meshed body: made when the first scene needs it, also while that is traced."""
    with jax.ensure_compile_time_eval():
        return GridSDF.from_mesh(ellipsoid_mesh(PIT, 3), spacing=0.1)


def build_on_mesh(n):
    """Return a cube above a mesh whose distance is tabulated, in the field of two points."""
    pull = 0.5 * n["gravity"] * n["speed"] ** 2 / n["size"] * jnp.ones(2)
    gravity = Mascons(pull, jnp.array([[0.3, 0.0, 0.0], [-0.3, 0.0, 0.0]]))
    return build_above_ellipsoid(n, make_mesh(), gravity, jnp.array(PIT))


def scene(name, build, draws=HOP, drives=(), reverse=None):
    """Return a scene of one body that hops."""
    return Scene(name, draws, build, Motion(reverse=reverse), motion_of_body, drives=drives)


ROUND = HOP | {"semi_axes": uniform(3 * np.ones(3), 8), "place": direction(), "omega": normal(0.05, 3)}
PITTED = HOP | {"size": magnitude(0.05, 0.3), "place": direction(), "omega": normal(0.05, 3)}
# Two laws of the hopper paper can give energy: the force that keeps a slow slip as it is, and rolling resistance.
SCENES = (
    scene("ball, linear, tensile damper", partial(build_on_plane, ball, tensile)),
    scene("cube, linear, compressive damper", partial(build_on_plane, cube, compressive), reverse=Unrolled()),
    scene("cube, Tsuji clipped, stick and slip", partial(build_on_plane, cube, clipped_law), drives=("friction",)),
    scene("cube, Hunt and Crossley, springs", partial(build_on_plane, cube, hunt_crossley)),
    scene(
        "cube, Hertz and Mindlin, cohesion", partial(build_on_plane, cube, hertz), HOP, ("rolling",), Unrolled()
    ),
    scene("cube on a turning ellipsoid", build_on_ellipsoid, ROUND),
    scene("cube on a mesh", build_on_mesh, PITTED),
)
