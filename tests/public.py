"""Right arguments for each public class of `difsim`, by which tests try wrong ones: a new class is one line here."""

import functools
import importlib
import inspect
import re
import traceback
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

import difsim
from difsim import beds, body, camera, contact, dem, dynamics, gravity, shape, sph
from difsim.body.stone import Edges
from difsim.contact.regularisation import Smoothing
from difsim.gravity.field import Scaled, Sum
from difsim.mesh import box
from difsim.sph.material import Murnaghan
from difsim.sph.tools import Sliding, Stopping, Turning
from difsim.spline import GridSpline

PACKAGES = [
    "difsim",
    *(
        f"difsim.{name}"
        for name in ["beds", "body", "camera", "contact", "dem", "dynamics", "gravity", "shape", "sph"]
    ),
]


@functools.cache
def right_arguments() -> dict[type, dict]:
    """Right arguments by the names of fields (of `__init__`, where a class has its own)."""
    UP, ZERO, UNIT = (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
    AROUND = np.radians([0, 120, 240])
    FEET = np.stack([1.2 * np.cos(AROUND), 1.2 * np.sin(AROUND), np.full(3, -0.75)], 1)
    HIPS = np.stack([0.2 * np.cos(AROUND), 0.2 * np.sin(AROUND), np.full(3, -0.40)], 1)
    DOWN, GROUND, RIGID = gravity.Uniform((0.0, 0.0, -1.0)), shape.Plane(ZERO, UP), body.RigidBody(1.0, np.eye(3))
    NORMAL = contact.NormalForce(contact.Hooke(1e4), contact.ClippedDamping(10.0), 1e-3)
    COULOMB, STICK = contact.RegularisedCoulomb(0.5, 1e-3), contact.StickSlip(0.5, 0.7, 1e-3)
    SPRING, NEWTON, VERTICES = (
        contact.TangentialSpring(0.5, 1e3),
        contact.Newton(0.5),
        contact.Vertices.box((0.1, 0.1, 0.1)),
    )
    TOUCH = contact.SurfaceContact(VERTICES, NORMAL, contact.AtEachPoint(COULOMB))
    HOPPER, FLIGHT = dynamics.Hopper(RIGID, TOUCH, GROUND, DOWN), dynamics.Flight(DOWN, ZERO, GROUND)
    AT, LAW = body.RigidState(UP, ZERO, UNIT, ZERO), dem.HertzMindlin(1e7, 0.25, 0.6, 0.5)
    CLUMP = dem.Clump(RIGID, np.zeros((1, 3)), [0.05])
    GEAR, WHEEL = body.CentralDamper(567.0, 0.04), body.Flywheel(5.17, 1920.0)
    REGOLITH = contact.Regolith(1.0, 1e-3, 2000.0, 1e8, 0.5)
    BOULDER = contact.Boulder((0.7, 0.0, 0.2), (0.0, 1.0, 0.0), 0.5, 1e7, 0.2, 0.5)
    LANDER = body.Lander(RIGID, FEET, HIPS, 0.1, 13.3e3, GEAR, WHEEL)
    STONE = body.Stone(RIGID, VERTICES.points, shape.Box((0.05, 0.05, 0.05)))
    TABLE = GridSpline((-2.0, -2.0, -2.0), 1.0, np.zeros((5, 5, 5)))
    SIZES, DRUM, SOIL = (
        beds.GaussianSizes(0.01, 0.001),
        beds.CylindricalContainer(0.1),
        sph.DruckerPrager(1e6, 0.3, 0.5),
    )
    VISCOSITY, KERNEL = sph.Viscosity(0.1, 0.0, 30.0), sph.CubicSpline(0.3)
    TOOL = sph.Tool(np.array([0]), np.zeros((3, 1)))

    return {
        difsim.Forward: {"weight": 1.0},
        difsim.Reverse: {"checkpoints": None},
        difsim.Unrolled: {},
        difsim.Ignore: {},
        difsim.Adaptive: {"rtol": 1e-8, "atol": 1e-9, "order": 5, "max_steps": 100, "resolve": 10.0},
        difsim.Courant: {"fraction": 0.5, "max_steps": 100},
        difsim.FixedSteps: {"steps": 3, "resolve": 10.0},
        difsim.AtContact: {"slack": 1e-6},
        difsim.AtRest: {"speed": 1e-4, "spin": 1e-3, "hold": 1.0},
        difsim.MaxImpacts: {"count": 2},
        difsim.Outside: {"region": GROUND},
        beds.BoxContainer: {"width": (0.1, 0.2)},
        beds.CylindricalContainer: {"diameter": 0.1},
        beds.GaussianSizes: {"mean": 0.01, "deviation": 0.001, "cut": 2.0},
        beds.BedSpecification: {
            "law": LAW,
            "sizes": SIZES,
            "density": 2e3,
            "container": DRUM,
            "depth": 0.1,
            "gravity": 9.81,
            "pour": 9.81,
        },
        body.Hull: {"size": (1.0, 1.0, 0.5), "normal": NORMAL},
        body.CentralDamper: {"damping": 567.0, "stroke": 0.04, "stop_stiffness": 1e7},
        body.MaxwellLegs: {"damping": 567.0, "stop_stiffness": 1e7},
        body.Flywheel: {"momentum": 5.17, "rundown": 1920.0},
        body.RigidBody: {"mass": 1.0, "inertia": np.eye(3)},
        body.RigidState: {"position": UP, "velocity": ZERO, "attitude": UNIT, "spin": ZERO},
        body.Lander: {
            "body": RIGID,
            "feet": FEET,
            "hips": HIPS,
            "footpad_radius": 0.1,
            "leg_stiffness": 1e4,
            "gear": GEAR,
            "flywheel": WHEEL,
            "hull": None,
        },
        body.Stone: {"body": RIGID, "points": np.eye(3), "shape": GROUND},
        Edges: {"nodes": np.zeros((1, 2), int), "wings": np.ones((1, 2, 3)), "lengths": np.ones(1)},
        camera.Camera: {
            "fx": 100.0,
            "fy": 100.0,
            "cx": 50.0,
            "cy": 50.0,
            "radial": ZERO,
            "rotation": ZERO,
            "translation": ZERO,
        },
        contact.Boulder: {
            "edge_point": UP,
            "edge_direction": (0.0, 1.0, 0.0),
            "half_length": 0.5,
            "modulus": 1e7,
            "radius": 0.2,
            "friction": 0.5,
            "slip_speed": 5e-3,
            "end_width": 0.04,
        },
        contact.ConstantCohesion: {"pull_off": 1.0, "range": 1e-3},
        contact.LinearCohesion: {"pull_off": 1.0, "range": 1e-3},
        contact.ClippedDamping: {"coefficient": 1.0},
        contact.CompressionDamping: {"coefficient": 1.0},
        contact.HuntCrossley: {"coefficient": 1.0},
        contact.TensileDamping: {"coefficient": 1.0},
        contact.Undamped: {},
        contact.Hertz: {"effective_modulus": 1e6, "effective_radius": 0.1},
        contact.Hooke: {"stiffness": 1e4},
        contact.PowerLaw: {"stiffness": 1e4, "exponent": 1.5},
        contact.MindlinSpring: {"coefficient": 0.5, "effective_modulus": 1e6, "effective_radius": 0.1},
        contact.RegularisedCoulomb: {"coefficient": 0.5, "speed": 1e-3},
        contact.StickSlip: {"coefficient": 0.5, "static_coefficient": 0.7, "speed": 1e-3},
        contact.TangentialSpring: {"coefficient": 0.5, "constant": 1e3},
        contact.AtEachPoint: {"law": COULOMB},
        contact.AtEffectivePoint: {"law": STICK},
        contact.SpringAtEachPoint: {"law": SPRING},
        contact.Newton: {"restitution": 0.5, "friction": 0.1, "turns": 256},
        contact.Stronge: {"restitution": 0.5, "friction": 0.1, "turns": 256},
        contact.NormalForce: {
            "elastic": contact.Hooke(1e4),
            "damping": contact.Undamped(),
            "regularisation": 1e-3,
        },
        contact.Ball: {"radius": 0.1},
        contact.Vertices: {"points": np.eye(3)},
        contact.Regolith: {
            "thickness": 1.0,
            "grain_diameter": 1e-3,
            "grain_density": 2e3,
            "grain_modulus": 1e8,
            "friction": 0.5,
            "porosity": 0.75,
            "gravity": 1e-4,
            "poisson": 0.25,
            "surface_energy": 0.02,
            "slip_speed": 5e-3,
            "yield_width": 2.0,
            "viscosity": 10.0,
            "bearing_factor": 1.0,
            "inertia_factor": 1.0,
        },
        contact.NoSmoothing: {},
        Smoothing: {"width": 1e-3},
        contact.RollingForceAndTorque: {"length": 0.01, "speed": 1e-3},
        contact.RollingTorque: {"length": 0.01, "speed": 1e-3},
        contact.SpinningResistance: {"length": 0.01, "speed": 1e-3},
        contact.SurfaceContact: {"outline": VERTICES, "normal": NORMAL, "friction": contact.AtEachPoint(COULOMB)},
        dem.Clump: {"body": RIGID, "centre": np.zeros((1, 3)), "radius": [0.05], "wheels": ZERO},
        dem.Grains: {"law": LAW, "radius": [0.1, 0.1], "density": 2e3, "gravity": ZERO, "walls": (), "clumps": ()},
        dem.HertzMindlin: {"modulus": 1e7, "poisson": 0.25, "restitution": 0.6, "friction": 0.5},
        dem.LinearSprings: {"stiffness": 1e4, "ratio": 0.8, "restitution": 0.6, "friction": 0.5},
        dem.LeggedClump: {
            "body": CLUMP,
            "legs": (CLUMP,) * 3,
            "seat": FEET,
            "held": np.zeros((3, 3)),
            "gear": GEAR,
            "stiffness": 1e4,
            "across": 1e5,
            "turning": 2e3,
            "damping": 0.1,
        },
        dem.GrainWall: {"sdf": GROUND},
        dynamics.Bouncer: {
            "gravity": DOWN,
            "surface": GROUND,
            "restitution": 0.5,
            "friction": 0.1,
            "rest_height": 1e-6,
        },
        dynamics.HardBody: {
            "body": RIGID,
            "outline": VERTICES,
            "law": NEWTON,
            "surface": GROUND,
            "gravity": DOWN,
            "rest_height": 1e-6,
        },
        dynamics.HardState: {"body": AT, "phase": 0.0, "heading": ZERO},
        dynamics.PointState: {"position": UP, "velocity": ZERO, "phase": 0.0, "heading": ZERO},
        dynamics.TwoBalls: {"law": NEWTON, "mass": (1.0, 1.0), "radius": (0.1, 0.1)},
        dynamics.TwoBallState: {"position": np.eye(3)[:2], "velocity": np.eye(3)[:2], "spin": np.zeros((2, 3))},
        dynamics.Backward: {"model": FLIGHT},
        dynamics.Flight: {"gravity": DOWN, "omega": ZERO, "surface": GROUND, "resolution": 0.1},
        dynamics.FlightState: {"position": UP, "velocity": ZERO},
        dynamics.InertialFlight: {"body": FLIGHT},
        dynamics.Hopper: {
            "body": RIGID,
            "contact": TOUCH,
            "surface": GROUND,
            "gravity": DOWN,
            "omega": ZERO,
            "resolution": 1e-3,
        },
        dynamics.Approach: {
            "gap": jnp.ones(()),
            "speed": jnp.ones(()),
            "resolution": jnp.ones(()),
            "acceleration": 0.0,
        },
        dynamics.Pair: {"first": STONE, "second": STONE, "law": dynamics.HardPair(NEWTON), "gravity": ZERO},
        dynamics.PairState: {"first": AT, "second": AT},
        dynamics.CompliantPair: {
            "compliance": 1e-6,
            "restitution": 0.5,
            "friction": 0.1,
            "cohesion": 0.0,
            "step": 1e-5,
        },
        dynamics.HardPair: {"law": NEWTON, "together": 1e-6},
        dynamics.Calibrated: {"restitution": 0.5, "elastic": contact.Hooke(1e4)},
        dynamics.SmoothPair: {
            "normal": dynamics.Calibrated(0.5, contact.Hooke(1e4)),
            "tangential": SPRING,
            "lag": 0.0,
            "step": 1e-5,
        },
        dynamics.Touchdown: {
            "lander": LANDER,
            "regolith": REGOLITH,
            "boulder": BOULDER,
            "gravity": DOWN,
            "scenario": 0.0,
            "smoothing": 1e-3,
        },
        dynamics.TorqueProfile: {"momentum": UP, "spin_up": 1.0, "brake": 0.1},
        dynamics.Wheeled: {
            "hopper": HOPPER,
            "torque_profile": dynamics.TorqueProfile(UP, 1.0, 0.1),
            "wheel_inertia": 1e-4,
        },
        gravity.Ellipsoid: {"centre": ZERO, "axes": np.eye(3), "semi_axes": (3.0, 2.0, 1.0), "density": 2e3},
        gravity.PointMass: {"GM": 1.0, "position": ZERO},
        gravity.Rotating: {"field": DOWN, "omega": UP},
        gravity.Uniform: {"vector": UP},
        gravity.Gridded: {"near": TABLE, "far": TABLE, "centre": ZERO, "inner": 0.5, "outer": 0.9},
        gravity.Mascons: {"GM": [1.0, 2.0], "position": np.eye(3)[:2], "radius": 0.1},
        gravity.Polyhedron: {"mesh": box((1.0, 1.0, 1.0)), "density": 2e3},
        Sum: {"fields": (DOWN, DOWN)},
        Scaled: {"field": DOWN, "factor": 2.0},
        shape.Ellipsoid: {"semi_axes": (3.0, 2.0, 1.0)},
        shape.GridSDF: {"spline": TABLE},
        shape.Patch: {"centre": ZERO, "radius": 1.0, "inside": 0.1, "outside": 0.2},
        shape.Rough: {
            "sdf": GROUND,
            "amplitude": 0.1,
            "wavelength": 1.0,
            "seed": 0,
            "octaves": 4,
            "lacunarity": 2.0,
            "gain": 0.5,
        },
        shape.Box: {"half_size": (1.0, 1.0, 1.0)},
        shape.Complement: {"sdf": GROUND},
        shape.Cylinder: {"radius": 1.0},
        shape.Offset: {"sdf": GROUND, "margin": 0.1},
        shape.Plane: {"point": ZERO, "direction": UP},
        shape.Posed: {"sdf": GROUND, "position": ZERO, "rotation": np.eye(3)},
        shape.Prism: {"edge": 1.0, "height": 0.2},
        shape.Sphere: {"centre": ZERO, "radius": 1.0},
        shape.Union: {"solids": (GROUND, GROUND)},
        sph.Continuum: {
            "material": SOIL,
            "kernel": KERNEL,
            "viscosity": VISCOSITY,
            "gravity": ZERO,
            "mass": [1.0, 1.0],
            "tools": (TOOL,),
            "damping": 0.0,
        },
        sph.Viscosity: {"alpha": 0.1, "beta": 0.0, "sound": 30.0},
        sph.CubicSpline: {"h": 0.3},
        Murnaghan: {"young": 1e6, "poisson": 0.3, "density": 2e3, "exponent": 4.0},
        sph.DruckerPrager: {
            "young": 1e6,
            "poisson": 0.3,
            "friction": 0.5,
            "cohesion": 1.0,
            "dilatancy": 0.1,
            "density": 2e3,
        },
        sph.Tool: {"members": np.array([0]), "reference": np.zeros((3, 1)), "path": Sliding(UP)},
        Sliding: {"velocity": UP},
        Turning: {"centre": (0.0, 0.0), "rate": 1.0},
        Stopping: {"velocity": UP, "until": 1.0},
        GridSpline: {"origin": ZERO, "spacing": 1.0, "coefficients": np.zeros((5, 5, 5))},
    }


RESULTS = {difsim.Solution}  # which the library alone makes


def public_classes() -> set[type]:
    """All Modules that a user can make, of the public names."""
    named = {
        x for package in PACKAGES for x in vars(importlib.import_module(package)).values() if inspect.isclass(x)
    }
    return {x for x in named if issubclass(x, eqx.Module) and not x.__name__.startswith("Abstract")} - RESULTS


REMEDY = re.compile(r"give|must|return|write|use|look|swap|correct|make|made of|divide|leave|widen|need", re.I)
OURS = re.compile(r"/(difsim|inversion)/")


def refused(call: Callable, word: str) -> str:
    """The message of a call that our own code refuses, with the word that says what is wrong, and with a remedy.

    Types are not checked meanwhile, as they are in other tests, and not for users.
    """
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    where = traceback.extract_tb(caught.value.__traceback__)[-1].filename
    message = str(caught.value)
    assert OURS.search(where), f"raised by {where}: {message}"
    assert word in message and REMEDY.search(message), message
    return message
