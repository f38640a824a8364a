"""Bad calls of the functions of `difsim`: each is refused by our own code, by the name of what is wrong."""

import functools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import (
    Adaptive,
    AtContact,
    FixedSteps,
    MaxImpacts,
    Reverse,
    allocate,
    body,
    camera,
    configure,
    contact,
    dem,
    dynamics,
    gravity,
    mesh,
    run,
    shape,
    simulate,
    sph,
    transition,
)
from difsim.rotation import axis_from_projections
from difsim.sph.tools import AbstractPath, Carried, Sliding, Stopping
from difsim.stepping.marching import initialise
from difsim.stepping.running import resume
from tests.declared import arguments, example
from tests.refusals import refuse

TIMES = [0.0, 1.0]


def change_field(kind: type, **change):
    return kind(**arguments(kind) | change)


def flight():
    return example(dynamics.Flight)


def hopper():
    return example(dynamics.Hopper)


def make_state():
    return example(dynamics.FlightState)


def rigid():
    return example(body.RigidState)


def turn(attitude):
    return eqx.tree_at(lambda s: s.body.attitude, hopper().start(rigid()), jnp.asarray(attitude))


def grains():
    return example(dem.Grains)


def rest_state():
    return grains().at_rest(np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))


def three():
    return dem.Grains(law(), [0.1] * 3, 2e3)


def build_walls():
    return change_field(dem.Grains, walls=(shape.Plane((0, 0, 0), (0, 0, 1)),))


@functools.cache
def begin():
    return initialise(grains(), rest_state())


def save_to(save):
    return run(grains(), rest_state(), TIMES, save=save)


AT = np.zeros((2, 1))  # the reference of a tool of one particle in the plane


class Doubled(AbstractPath):
    """A user's path, that makes two places of each."""

    def place(self, reference, time):
        return jnp.concatenate([reference, reference], axis=1)


def law():
    return example(dem.HertzMindlin)


def soil_with(*tool, **change):
    flat = {"gravity": (0.0, 0.0), "tools": (sph.Tool(*tool),) if tool else ()}
    return change_field(sph.Continuum, **flat | change)


def pinhole():
    return example(camera.Camera)


def ball():
    return example(shape.Sphere)


@functools.cache
def cube():
    return mesh.box((1.0, 1.0, 1.0))


def crossed_prism():
    """A prism over a polygon of 24 corners that goes around its middle twice."""
    turn = 4 * np.pi * np.arange(24) / 24 + 1e-3 * np.arange(24)
    ring = np.stack([np.cos(turn), np.sin(turn)], 1) * (1 + 0.02 * np.arange(24))[:, None]
    vertices = np.concatenate([np.insert(ring, 2, z, axis=1) for z in (0.0, 1.0)] + [[[0, 0, 0.0], [0, 0, 1.0]]])
    i, j = np.arange(24), (np.arange(24) + 1) % 24
    low, high = np.full(24, 48), np.full(24, 49)
    faces = [(i, j, j + 24), (i, j + 24, i + 24), (j, i, low), (i + 24, j + 24, high)]
    return mesh.TriMesh(vertices, np.concatenate([np.stack(face, 1) for face in faces]))


FUNCTIONS = {
    "simulate: no model": (lambda: simulate(3.0, make_state(), TIMES), "model"),
    "simulate: a class for a model": (lambda: simulate(dynamics.Bouncer, make_state(), TIMES), "model"),
    "simulate: a dict for a model": (lambda: simulate({}, make_state(), TIMES), "model"),
    "simulate: a state of another model": (lambda: simulate(flight(), rigid(), TIMES), "state"),
    "simulate: a list for a state": (lambda: simulate(flight(), [0.0, 1.0], TIMES), "state"),
    "simulate: a body's state for a hopper's": (lambda: simulate(hopper(), rigid(), TIMES), "start"),
    "simulate: one time": (lambda: simulate(flight(), make_state(), 1.0), "times"),
    "simulate: times back": (lambda: simulate(flight(), make_state(), [1.0, 0.0]), "times"),
    "simulate: NaN times": (lambda: simulate(flight(), make_state(), [0.0, np.nan]), "times"),
    "simulate: a class for a solver": (
        lambda: simulate(flight(), make_state(), TIMES, solver=FixedSteps),
        "Adaptive",
    ),
    "simulate: a rule for particles": (
        lambda: simulate(grains(), rest_state(), TIMES, until=AtContact()),
        "until",
    ),
    "simulate: integrals return a number": (
        lambda: simulate(flight(), make_state(), TIMES, integrals=lambda *_: 1.0),
        "integrals",
    ),
    "simulate: integrals raise": (
        lambda: simulate(flight(), make_state(), TIMES, integrals=lambda m, t, s: s.x),
        "integrals",
    ),
    "run: no particles": (lambda: run(flight(), make_state(), TIMES), "model"),
    "run: other grains": (lambda: run(three(), rest_state(), TIMES), "position of these grains"),
    "run: until": (lambda: run(grains(), rest_state(), TIMES, until=AtContact()), "until"),
    "run: save raises": (lambda: save_to(lambda state: state.speed), "save"),
    "resume: no progress": (lambda: resume(grains(), rest_state(), TIMES), "progress"),
    "resume: other grains": (lambda: resume(three(), begin(), TIMES), "position of these grains"),
    "resume: times": (lambda: resume(grains(), begin(), [1.0, 2.0]), "times"),
    "simulate: a zero quaternion": (lambda: simulate(hopper(), turn((0.0, 0.0, 0.0, 0.0)), TIMES), "attitude"),
    "simulate: a quaternion of length 2": (
        lambda: simulate(hopper(), turn((2.0, 0.0, 0.0, 0.0)), TIMES),
        "attitude",
    ),
    "allocate: no model": (lambda: allocate(flight(), make_state()), "model"),
    "allocate: other grains": (lambda: allocate(three(), rest_state()), "position of these grains"),
    "allocate: no wall": (lambda: allocate(build_walls(), rest_state()), "0 walls"),
    "transition: no model": (lambda: transition(grains(), rest_state(), TIMES), "model"),
    "transition: no state": (lambda: transition(flight(), 3.0, TIMES), "state"),
    "Adaptive: rtol above 1": (lambda: Adaptive(5.0, 1.0), "rtol"),
    "Adaptive: rtol infinite": (lambda: Adaptive(np.inf, 1.0), "rtol"),
    "Adaptive: resolve negative": (lambda: Adaptive(resolve=-1.0), "resolve"),
    "run: until of several": (
        lambda: run(grains(), rest_state(), TIMES, until=lambda s: s.position[0] > 0),
        "one truth",
    ),
    "run: until is a number": (lambda: run(grains(), rest_state(), TIMES, until=lambda s: 0.5), "one truth"),
    "run: until raises": (lambda: run(grains(), rest_state(), TIMES, until=lambda s: s.speed > 0), "until"),
    "Reverse: not whole": (lambda: Reverse(checkpoints=2.5), "checkpoints"),
    "configure: a Boolean": (lambda: configure(cores=True), "cores"),
    "configure: negative": (lambda: configure(cores=-1), "cores"),
    "configure: no GPU": (lambda: configure(device="gpu"), "difsim[cuda13]"),
    "gradient: NaN": (lambda: gravity.PointMass(1.0, (0, 0, 0)).gradient([np.nan, 0.0, 0.0]), "finite"),
    "potential: infinite": (lambda: gravity.PointMass(1.0, (0, 0, 0)).potential([np.inf, 0.0, 0.0]), "finite"),
    "distance: NaN": (lambda: shape.Sphere((0, 0, 0), 1.0).distance([np.nan, 0, 0]), "finite"),
    "a field plus a number": (lambda: gravity.Uniform((0, 0, -1)) + 3.0, "fields"),
    "a field times two": (lambda: gravity.Uniform((0, 0, -1)) * np.ones(2), "factor"),
    "Gridded.evaluate: NaN": (lambda: example(gravity.Gridded).evaluate([[np.nan, 0.0, 0.0]]), "points"),
    "axis_from_projections: NaN": (lambda: axis_from_projections(np.nan, 1.0), "alpha"),
    "swapped arguments": (lambda: gravity.PointMass((0.0, 0.0, 0.0), 5.0), "GM"),
    "a negative point mass": (lambda: gravity.PointMass(-1.0, (0.0, 0.0, 0.0)), "GM"),
    "static friction below dynamic": (lambda: contact.StickSlip(0.7, 0.5, 1e-3), "static_coefficient"),
    "a number of impacts": (lambda: MaxImpacts(2.5), "count"),
    "a reflection": (lambda: shape.Posed(ball(), (0, 0, 0), np.diag([1, 1, -1])), "rotation"),
    "from_restitution: elastic": (
        lambda: contact.NormalForce.from_restitution(0.5, 3.0, 1e-3, mass=1.0),
        "elastic",
    ),
    "Vertices.box: negative": (lambda: contact.Vertices.box((-1.0, 1.0, 1.0)), "edges"),
    "Vertices.box: two": (lambda: contact.Vertices.box((1.0, 2.0)), "edges"),
    "HertzMindlin.between: three and two": (
        lambda: dem.HertzMindlin.from_materials([1e7] * 3, [0.3, 0.3], 0.5, 0.5),
        "two of each",
    ),
    "Clump.from_mesh: negative mass": (lambda: dem.Clump.from_mesh(cube(), -1.0, 0.3), "mass"),
    "Grains: walls": (lambda: dem.Grains(law(), [0.1], 2e3, walls=ball()), "walls"),
    "Grains: clumps": (lambda: dem.Grains(law(), [0.1], 2e3, clumps=[3]), "clumps"),
    "Continuum.at_rest: one place": (lambda: soil_with().at_rest(np.ones((2, 2))), "particles 0 and 1"),
    "at_rest_under_weight: five": (lambda: soil_with().at_rest_under_weight(np.eye(2), np.ones(5)), "depth"),
    "at_rest_under_weight: NaN": (lambda: soil_with().at_rest_under_weight(np.eye(2), [np.nan, 1.0]), "depth"),
    "Continuum: mass of two axes": (lambda: soil_with(mass=[[1.0], [1.0]]), "mass"),
    "Continuum: damping of three": (lambda: soil_with(damping=[1.0, 1.0, 1.0]), "damping"),
    "Tool: a mask": (lambda: sph.Tool([True], AT), "members"),
    "Tool: not whole": (lambda: sph.Tool([0.0], AT), "members"),
    "Tool: two axes": (lambda: sph.Tool([[0]], AT), "members"),
    "Tool: a number": (lambda: sph.Tool(0, AT), "members"),
    "Tool: ragged": (lambda: sph.Tool([[0], [0, 1]], AT), "members"),
    "Tool: normal NaN": (lambda: sph.Tool([0], AT, normal=[[np.nan], [0.0]]), "normal"),
    "Tool: normal of one axis": (lambda: sph.Tool([0], AT, normal=np.ones(2)), "normal"),
    "Tool: slides along one axis": (lambda: sph.Tool([0], AT, Sliding([1.0])), "path is of other dimensions"),
    "Tool: slides in space": (lambda: sph.Tool([0], AT, Sliding([1.0, 0.0, 0.0])), "path is of other dimensions"),
    "Tool: stops in space": (
        lambda: sph.Tool([0], AT, Stopping([1.0, 0.0, 0.0], 1.0)),
        "path is of other dimensions",
    ),
    "Tool: carried along one axis": (
        lambda: sph.Tool([0], AT, Carried(Sliding([1.0, 0.0]), Sliding([1.0]))),
        "path is of other dimensions",
    ),
    "Tool: a path to elsewhere": (lambda: sph.Tool([0], AT, Doubled()), "path"),
    "Stopping: until": (lambda: Stopping([1.0, 0.0], -5.0), "until"),
    "looking_at: shape": (lambda: camera.looking_at((1.0, 2.0), (0, 0, 0), (0, 0, 1)), "position"),
    "project: shape": (lambda: pinhole().project(np.ones((2, 2))), "points"),
    "mesh.box: a number": (lambda: mesh.box(1.0), "size"),
    "mesh.box: NaN": (lambda: mesh.box((1.0, np.nan, 1.0)), "size"),
    "mesh.cylinder: sectors": (lambda: mesh.cylinder(1.0, 1.0, 3.5), "sectors"),
    "TriMesh: 1e300": (lambda: mesh.TriMesh(1e300 * cube().vertices, cube().faces), "vertices"),
    "TriMesh: faces": (lambda: mesh.TriMesh(cube().vertices, cube().faces + 0.5), "faces"),
    "surface_points: count": (lambda: mesh.surface_points(cube(), 2.5), "count"),
    "load: unit": (lambda: mesh.load("x.obj", "mm"), "unit"),
    "inscribe: count": (lambda: gravity.inscribe(cube(), 1.5), "count"),
    "a grid of a box inside out": (
        lambda: shape.GridSDF.from_sdf(ball(), (2, 2, 2), (-2, -2, -2), 0.2),
        "low below high",
    ),
    "a grid coarser than its solid": (lambda: shape.GridSDF.from_mesh(cube(), 3.0), "spacing"),
    "a rough solid: octaves": (lambda: shape.Rough(ball(), 0.1, 1.0, 0, octaves=2.5), "octaves"),
}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_a_bad_call_of_a_function_is_refused(case):
    call, word = FUNCTIONS[case]
    refuse(call, word)


def test_a_surface_that_crosses_itself_is_doubted():
    with pytest.warns(UserWarning, match="crosses itself: 72 of 96 faces"):
        crossed_prism()
