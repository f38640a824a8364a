"""Scenes of regularised contact: balls and cubes with several laws, on planes, ellipsoids and meshes."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Unrolled, contact, safe
from difsim.body import RigidBody, RigidState
from difsim.contact import NormalForce
from difsim.dynamics import Hopper
from difsim.gravity import Mascons, Uniform
from difsim.mesh.solids import ellipsoid_mesh
from difsim.rotation import Rotation
from difsim.shape import GridSDF
from experiments.scenes.draws import direction, magnitude, normal, turn, uniform
from experiments.scenes.engines import Motion
from experiments.scenes.parts import CORNERS, LEVEL, motion_of_body, until_time, vector
from experiments.scenes.scene import Scene

AXIS = np.array([0.6, 0.48, 0.64])  # any that no scene's vertical is parallel to
PIT = (1.0, 0.8, 0.7)  # m, the half axes of the ellipsoid whose mesh is hopped on

# A body that meets the ground soon, sinks in by some per cent of its size, and is followed for some contacts. In units
# of its size: depth, gap, rolling; of its speed: slip_speed, along; of the depth: width; of a contact: contacts.
HOP = (
    magnitude(size=(0.02, 5), mass=(0.1, 100), speed=(1e-3, 3), gravity=(0.02, 2))
    | magnitude(depth=(2e-3, 2e-2), contacts=(2, 60))
    | uniform(inertia=(0.8 * np.ones(3), 1.2), gap=(0.05, 0.5), down=(0.3, 1), after=(0, 1))
    | uniform(width=(0.04, 0.1), slip_speed=(0.01, 0.1), restitution=(0.2, 0.95, None, 1.0))
    | uniform(friction=(0.05, 1, 0.0), rolling=(0, 0.02, 0.0), cohesion=(0, 0.04, 0.0))
    | normal(along=(0.5, 2), spin=(1, 3))
    | turn(turn=())
)


def sizes(n):
    """Return the numbers with units: depth m, stiffness N/m, smoothing width m, slip speed m/s, rate of turning."""
    depth, slip_speed = n["depth"] * n["size"], n["slip_speed"] * n["speed"]
    return n | {
        "depth": depth,
        "stiffness": n["mass"] * n["speed"] ** 2 / depth**2,
        "width": n["width"] * depth,
        "slip_speed": slip_speed,
        "rolling": n["rolling"] * n["size"],
        "turning": slip_speed / n["size"],
    }


def viscous(n, damping, elastic):
    """Return a viscous damper that returns the restitution for the whole mass."""
    return NormalForce.from_restitution(n["restitution"], elastic, n["width"], mass=n["mass"], damping=damping)


def power_law(n):
    """Return k δ^1.5 with the same energy at the greatest depth as the spring."""
    return contact.PowerLaw(1.25 * n["stiffness"] * n["depth"] ** -0.5, 1.5)


def coulomb(n):
    """Return friction of each point by its own slip."""
    return contact.AtEachPoint(contact.RegularisedCoulomb(n["friction"], n["slip_speed"]))


def tensile(n):
    """Return a linear spring with a damper that pulls as it parts."""
    return viscous(n, contact.TensileDamping, contact.Hooke(n["stiffness"])), coulomb(n)


def compressive(n):
    """Return a linear spring with a damper that acts in compression."""
    return viscous(n, contact.CompressionDamping, contact.Hooke(n["stiffness"])), coulomb(n)


def tsuji(n):
    """Return Tsuji's law, clipped, with sticking at the effective point and rolling resistance."""
    law = contact.StickSlip(n["friction"], 1.2 * n["friction"], n["slip_speed"])
    rolling = (contact.RollingTorque(n["rolling"], n["turning"]),)
    return viscous(n, contact.ClippedDamping, power_law(n)), contact.AtEffectivePoint(law), rolling


def hunt_crossley(n):
    """Return the law of Hunt and Crossley, and springs along the surface."""
    force = NormalForce.from_restitution(n["restitution"], power_law(n), n["width"], speed=n["speed"])
    return force, contact.SpringAtEachPoint(contact.TangentialSpring(n["friction"], 0.5 * n["stiffness"]))


def hertz(n):
    """Return elastic spheres after Mindlin, with resistance to rolling and spinning, and cohesion."""
    modulus = n["stiffness"] / jnp.sqrt(n["size"] * n["depth"])
    force = NormalForce(contact.Hertz(modulus, n["size"]), contact.Undamped(), n["width"])
    friction = contact.SpringAtEachPoint(contact.MindlinSpring(n["friction"], 2 * modulus, n["size"]))
    rolling = contact.RollingForceAndTorque(n["rolling"], n["turning"])
    spinning = contact.SpinningResistance(0.5 * n["rolling"], n["turning"])
    pull = contact.LinearCohesion(n["cohesion"] * n["stiffness"] * n["depth"], 0.3 * n["depth"])
    return force, friction, (rolling, spinning), (pull,)


def cube(size):
    return contact.Vertices(CORNERS * size)


def ball(size):
    """Return a ball that fits into the cube."""
    return contact.Ball(0.5 * size)


def hop(n, outline, laws, surface, gravity, place, up):
    """Return the model and its start, `gap` above the ground, and times of some contacts and a flight."""
    size, speed = n["size"], n["speed"]
    contact_time = jnp.pi * n["depth"] * size / speed
    model = Hopper(
        RigidBody(n["mass"], n["mass"] * size**2 / 6 * jnp.diag(n["inertia"])),
        contact.SurfaceContact(outline(size), *laws(sizes(n))),
        surface,
        gravity,
        n.get("omega", jnp.zeros(3)) * speed / size,
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


def pull(n):
    """Return the acceleration at the ground, m/s²."""
    return n["gravity"] * n["speed"] ** 2 / n["size"]


def hop_on_plane(n, outline, laws):
    return hop(n, outline, laws, LEVEL, Uniform(vector(z=-pull(n))), jnp.zeros(3), vector(z=1.0))


@cache
def make_mesh():
    """Return the distance of an ellipsoid's mesh: made when the first scene needs it, also while that is traced."""
    with jax.ensure_compile_time_eval():
        return GridSDF.from_mesh(ellipsoid_mesh(PIT, 3), spacing=0.1)


def hop_on_mesh(n):
    """Return a cube above a mesh that turns, whose distance is tabulated, in the field of two points."""
    up, semi_axes = safe.unit(n["place"]), jnp.array(PIT)
    place, normal = up / safe.norm(up / semi_axes), safe.unit(up / semi_axes**2)
    gravity = Mascons(0.5 * pull(n) * jnp.ones(2), jnp.array([[0.3, 0.0, 0.0], [-0.3, 0.0, 0.0]]))
    return hop(n, cube, compressive, make_mesh(), gravity, place, normal)


def scene(name, build, draws=HOP, drives=(), reverse=None):
    return Scene(name, draws, build, Motion(reverse=reverse), motion_of_body, drives=drives)


def on_plane(name, outline, laws, **options):
    return scene(name, lambda n: hop_on_plane(n, outline, laws), **options)


ON_MESH = HOP | magnitude(size=(0.05, 0.3)) | direction("place") | normal(omega=(0.05, 3))
# Two laws of the hopper paper can give energy: the force that keeps a slow slip as it is, and rolling resistance.
SCENES = (
    on_plane("ball, linear, tensile damper", ball, tensile),
    on_plane("cube, linear, compressive damper", cube, compressive, reverse=Unrolled()),
    on_plane("cube, Tsuji clipped, stick and slip", cube, tsuji, drives=("friction",)),
    on_plane("cube, Hunt and Crossley, springs", cube, hunt_crossley),
    on_plane("cube, Hertz and Mindlin, cohesion", cube, hertz, drives=("rolling",), reverse=Unrolled()),
    scene("cube on a mesh", hop_on_mesh, ON_MESH),
)
