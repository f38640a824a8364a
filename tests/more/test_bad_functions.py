"""Bad calls of the functions of `difsim`: each is refused by our own code, by the name of what is wrong."""

import functools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import (
    Adaptive,
    AtContact,
    Courant,
    FixedSteps,
    MaxImpacts,
    Reverse,
    allocate,
    beds,
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
from difsim.beds.sizes import coarse_grained
from difsim.rotation import axis_from_projections
from difsim.sph.tools import AbstractPath, Carried, Sliding, Stopping
from difsim.spline import interpolate
from difsim.stepping.marching import initialise
from difsim.stepping.running import resume
from tests.declared import arguments, example
from tests.refusals import refused

TIMES = [0.0, 1.0]


def changed(kind: type, **change):
    return kind(**arguments(kind) | change)


def flight():
    return example(dynamics.Flight)


def hopper():
    return example(dynamics.Hopper)


def at():
    return example(dynamics.FlightState)


def rigid():
    return example(body.RigidState)


def hopper_state(**change):
    state = hopper().start(rigid())
    return eqx.tree_at(lambda s: [getattr(s, name) for name in change], state, list(change.values()))


def turned(attitude):
    return eqx.tree_at(lambda s: s.body.attitude, hopper().start(rigid()), jnp.asarray(attitude))


def grains():
    return example(dem.Grains)


def still():
    return grains().at_rest(np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))


def three():
    return dem.Grains(law(), [0.1] * 3, 2e3)


def walled():
    return changed(dem.Grains, walls=(shape.Plane((0, 0, 0), (0, 0, 1)),))


@functools.cache
def begun():
    return initialise(grains(), still())


def saved(save):
    return run(grains(), still(), TIMES, save=save)


def listed(near):
    return simulate(grains(), still(), TIMES, solver=Courant(neighbours=near))


AT = np.zeros((2, 1))  # the reference of a tool of one particle in the plane


class Doubled(AbstractPath):
    """A user's path, that makes two places of each."""

    def place(self, reference, time):
        return jnp.concatenate([reference, reference], axis=1)


def law():
    return example(dem.HertzMindlin)


def soil():
    return example(sph.Continuum)


def soil_with(*tool, **change):
    flat = {"gravity": (0.0, 0.0), "tools": (sph.Tool(*tool),) if tool else ()}
    return changed(sph.Continuum, **flat | change)


def sizes():
    return example(beds.GaussianSizes)


def pinhole():
    return example(camera.Camera)


def ball():
    return example(shape.Sphere)


@functools.cache
def cube():
    return mesh.box((1.0, 1.0, 1.0))


@functools.cache
def solid():
    return gravity.Polyhedron(cube(), 1e3)


def crossed():
    """A prism over a polygon of 24 corners that goes around its middle twice."""
    turn = 4 * np.pi * np.arange(24) / 24 + 1e-3 * np.arange(24)
    ring = np.stack([np.cos(turn), np.sin(turn)], 1) * (1 + 0.02 * np.arange(24))[:, None]
    vertices = np.concatenate([np.insert(ring, 2, z, axis=1) for z in (0.0, 1.0)] + [[[0, 0, 0.0], [0, 0, 1.0]]])
    i, j = np.arange(24), (np.arange(24) + 1) % 24
    low, high = np.full(24, 48), np.full(24, 49)
    faces = [(i, j, j + 24), (i, j + 24, i + 24), (j, i, low), (i + 24, j + 24, high)]
    return mesh.TriMesh(vertices, np.concatenate([np.stack(face, 1) for face in faces]))


FUNCTIONS = {
    "simulate: no model": (lambda: simulate(3.0, at(), TIMES), "model"),
    "simulate: a class for a model": (lambda: simulate(dynamics.Bouncer, at(), TIMES), "model"),
    "simulate: a dict for a model": (lambda: simulate({}, at(), TIMES), "model"),
    "simulate: a state of another model": (lambda: simulate(flight(), rigid(), TIMES), "state"),
    "simulate: no state": (lambda: simulate(flight(), None, TIMES), "state"),
    "simulate: a list for a state": (lambda: simulate(flight(), [0.0, 1.0], TIMES), "state"),
    "simulate: a body's state for a hopper's": (lambda: simulate(hopper(), rigid(), TIMES), "start"),
    "simulate: particles without a state": (lambda: simulate(grains(), None, TIMES), "state"),
    "simulate: a text for times": (lambda: simulate(flight(), at(), "now"), "times"),
    "simulate: one time": (lambda: simulate(flight(), at(), 1.0), "times"),
    "simulate: no times": (lambda: simulate(flight(), at(), None), "times"),
    "simulate: times back": (lambda: simulate(flight(), at(), [1.0, 0.0]), "times"),
    "simulate: NaN times": (lambda: simulate(flight(), at(), [0.0, np.nan]), "times"),
    "simulate: times of particles": (lambda: simulate(grains(), still(), ["now", "then"]), "times"),
    "simulate: a text for a solver": (lambda: simulate(flight(), at(), TIMES, solver="Tsit5"), "Adaptive"),
    "simulate: a class for a solver": (lambda: simulate(flight(), at(), TIMES, solver=FixedSteps), "Adaptive"),
    "simulate: a text for a derivative": (
        lambda: simulate(flight(), at(), TIMES, derivative="forward"),
        "Forward",
    ),
    "simulate: a number for until": (lambda: simulate(flight(), at(), TIMES, until=3), "until"),
    "simulate: a text for until": (lambda: simulate(flight(), at(), TIMES, until="rest"), "until"),
    "simulate: a rule for particles": (lambda: simulate(grains(), still(), TIMES, until=AtContact()), "until"),
    "simulate: trust": (lambda: simulate(flight(), at(), TIMES, trust="refuse"), "trust"),
    "simulate: neighbours": (
        lambda: simulate(flight(), at(), TIMES, solver=FixedSteps(1, neighbours=3)),
        "neighbours",
    ),
    "simulate: no neighbours": (lambda: listed(3), "neighbours"),
    "simulate: neighbours of others": (
        lambda: listed(allocate(three(), three().at_rest(np.eye(3)))),
        "neighbours",
    ),
    "simulate: integrals": (lambda: simulate(flight(), at(), TIMES, integrals={"x": 1}), "integrals"),
    "simulate: integrals return a number": (
        lambda: simulate(flight(), at(), TIMES, integrals=lambda *_: 1.0),
        "integrals",
    ),
    "simulate: integrals raise": (
        lambda: simulate(flight(), at(), TIMES, integrals=lambda m, t, s: s.x),
        "integrals",
    ),
    "run: no particles": (lambda: run(flight(), at(), TIMES), "model"),
    "run: other grains": (lambda: run(three(), still(), TIMES), "position of these grains"),
    "run: until": (lambda: run(grains(), still(), TIMES, until=AtContact()), "until"),
    "run: save": (lambda: saved(3), "save"),
    "run: save returns a text": (lambda: saved(lambda state: "x"), "save"),
    "run: save returns nothing": (lambda: saved(lambda state: None), "save"),
    "run: save raises": (lambda: saved(lambda state: state.speed), "save"),
    "run: watch": (lambda: run(grains(), still(), TIMES, watch=3), "watch"),
    "run: checkpoint": (lambda: run(grains(), still(), TIMES, checkpoint=3), "checkpoint"),
    "resume: no progress": (lambda: resume(grains(), still(), TIMES), "progress"),
    "resume: other grains": (lambda: resume(three(), begun(), TIMES), "position of these grains"),
    "resume: times": (lambda: resume(grains(), begun(), [1.0, 2.0]), "times"),
    "simulate: text in a state": (lambda: simulate(hopper(), hopper_state(memory="x"), TIMES), "memory"),
    "simulate: a zero quaternion": (lambda: simulate(hopper(), turned((0.0, 0.0, 0.0, 0.0)), TIMES), "attitude"),
    "simulate: a quaternion of length 2": (
        lambda: simulate(hopper(), turned((2.0, 0.0, 0.0, 0.0)), TIMES),
        "attitude",
    ),
    "allocate: no model": (lambda: allocate(flight(), at()), "model"),
    "allocate: no state": (lambda: allocate(grains(), None), "state"),
    "allocate: skin": (lambda: allocate(grains(), still(), "x"), "skin"),
    "allocate: slack": (lambda: allocate(grains(), still(), 0.2, None), "slack"),
    "allocate: other grains": (lambda: allocate(three(), still()), "position of these grains"),
    "allocate: no wall": (lambda: allocate(walled(), still()), "0 walls"),
    "allocate: far apart": (lambda: allocate(grains(), grains().at_rest(1e12 * np.eye(3)[:, :2])), "apart"),
    "transition: no model": (lambda: transition(grains(), still(), TIMES), "model"),
    "transition: no state": (lambda: transition(flight(), 3.0, TIMES), "state"),
    "Adaptive: rtol above 1": (lambda: Adaptive(5.0, 1.0), "rtol"),
    "Adaptive: rtol infinite": (lambda: Adaptive(np.inf, 1.0), "rtol"),
    "Adaptive: resolve negative": (lambda: Adaptive(resolve=-1.0), "resolve"),
    "FixedSteps: resolve not a number": (lambda: FixedSteps(3, resolve=np.nan), "resolve"),
    "run: until of several": (
        lambda: run(grains(), still(), TIMES, until=lambda s: s.position[0] > 0),
        "one truth",
    ),
    "run: until of nothing": (lambda: run(grains(), still(), TIMES, until=lambda s: None), "until"),
    "run: until is a number": (lambda: run(grains(), still(), TIMES, until=lambda s: 0.5), "one truth"),
    "run: until raises": (lambda: run(grains(), still(), TIMES, until=lambda s: s.speed > 0), "until"),
    "Reverse: a text": (lambda: Reverse("x"), "checkpoints"),
    "Reverse: not whole": (lambda: Reverse(checkpoints=2.5), "checkpoints"),
    "configure: a Boolean": (lambda: configure(cores=True), "cores"),
    "configure": (lambda: configure(cores="all"), "cores"),
    "configure: negative": (lambda: configure(cores=-1), "cores"),
    "configure: a device": (lambda: configure(device="cuda"), "device"),
    "configure: no GPU": (lambda: configure(device="gpu"), "difsim[cuda13]"),
    "acceleration: a text": (lambda: gravity.Uniform((0, 0, -1)).acceleration("x"), "x"),
    "acceleration: None": (lambda: gravity.Uniform((0, 0, -1)).acceleration(None), "x"),
    "acceleration: a plane": (lambda: gravity.Uniform((0, 0, -1)).acceleration([1.0, 2.0]), "x"),
    "acceleration: several": (lambda: gravity.PointMass(1.0, (0, 0, 0)).acceleration(np.ones((2, 3))), "vmap"),
    "gradient: NaN": (lambda: gravity.PointMass(1.0, (0, 0, 0)).gradient([np.nan, 0.0, 0.0]), "finite"),
    "potential: infinite": (lambda: gravity.PointMass(1.0, (0, 0, 0)).potential([np.inf, 0.0, 0.0]), "finite"),
    "potential: complex": (lambda: gravity.Mascons([1.0], [[0, 0, 0]]).potential([1j, 0.0, 0.0]), "x"),
    "distance: NaN": (lambda: shape.Sphere((0, 0, 0), 1.0).distance([np.nan, 0, 0]), "finite"),
    "distance: rank": (lambda: shape.Box((1, 1, 1)).distance(1.0), "x"),
    "normal: a text": (lambda: shape.Plane((0, 0, 0), (0, 0, 1)).normal("x"), "x"),
    "normal: several": (lambda: shape.Plane((0, 0, 0), (0, 0, 1)).normal(np.ones((4, 3))), "vmap"),
    "a field plus a number": (lambda: gravity.Uniform((0, 0, -1)) + 3.0, "fields"),
    "a field times two": (lambda: gravity.Uniform((0, 0, -1)) * np.ones(2), "factor"),
    "Polyhedron.evaluate: NaN": (lambda: solid().evaluate(np.full((1, 3), np.nan)), "points"),
    "Polyhedron.evaluate: a text": (lambda: solid().evaluate("x"), "points"),
    "Gridded.evaluate: NaN": (lambda: example(gravity.Gridded).evaluate([[np.nan, 0.0, 0.0]]), "points"),
    "Gridded.evaluate: a text": (lambda: example(gravity.Gridded).evaluate("x"), "points"),
    "Gridded.load": (lambda: gravity.Gridded.load(3), "path"),
    "Gridded.load: None": (lambda: gravity.Gridded.load(None), "path"),
    "Gridded.save": (lambda: example(gravity.Gridded).save(3.5), "path"),
    "Gridded.fit: field": (lambda: gravity.Gridded.fit(3, cube(), 0.1), "field"),
    "Gridded.fit: mesh": (lambda: gravity.Gridded.fit(solid(), 3, 0.1), "mesh"),
    "Gridded.fit: spacing": (lambda: gravity.Gridded.fit(solid(), cube(), "x"), "spacing"),
    "axis_from_projections: NaN": (lambda: axis_from_projections(np.nan, 1.0), "alpha"),
    "axis_from_projections: a text": (lambda: axis_from_projections(1.0, "x"), "beta"),
    "interpolate: spacing": (lambda: interpolate(np.zeros((5, 5, 5)), (0, 0, 0), "x", 3), "spacing"),
    "interpolate: values": (lambda: interpolate("x", (0, 0, 0), 1.0, 3), "values"),
    "a field times a text": (lambda: gravity.Uniform((0, 0, -1)) * "x", "factor"),
    "swapped arguments": (lambda: gravity.PointMass((0.0, 0.0, 0.0), 5.0), "GM"),
    "a negative point mass": (lambda: gravity.PointMass(-1.0, (0.0, 0.0, 0.0)), "GM"),
    "static friction below dynamic": (lambda: contact.StickSlip(0.7, 0.5, 1e-3), "static_coefficient"),
    "a number of impacts": (lambda: MaxImpacts(2.5), "count"),
    "a reflection": (lambda: shape.Posed(ball(), (0, 0, 0), np.diag([1, 1, -1])), "rotation"),
    "from_restitution: e": (
        lambda: contact.NormalForce.from_restitution("x", contact.Hooke(1.0), 1e-3, mass=1.0),
        "e",
    ),
    "from_restitution: mass": (
        lambda: contact.NormalForce.from_restitution(0.5, contact.Hooke(1.0), 1e-3, mass="x"),
        "mass",
    ),
    "from_restitution: elastic": (
        lambda: contact.NormalForce.from_restitution(0.5, 3.0, 1e-3, mass=1.0),
        "elastic",
    ),
    "Vertices.box": (lambda: contact.Vertices.box("x"), "edges"),
    "Vertices.box: negative": (lambda: contact.Vertices.box((-1.0, 1.0, 1.0)), "edges"),
    "Vertices.box: two": (lambda: contact.Vertices.box((1.0, 2.0)), "edges"),
    "Hertz.from_materials": (lambda: contact.Hertz.from_materials("x", 0.3, 1.0), "modulus"),
    "HertzMindlin.between": (lambda: dem.HertzMindlin.between(None, [0.3, 0.3], 0.5, 0.5), "modulus"),
    "HertzMindlin.between: three and two": (
        lambda: dem.HertzMindlin.between([1e7] * 3, [0.3, 0.3], 0.5, 0.5),
        "two of each",
    ),
    "Clump.from_mesh": (lambda: dem.Clump.from_mesh(3, 1.0, 0.1), "mesh"),
    "Clump.from_mesh: mass": (lambda: dem.Clump.from_mesh(cube(), "x", 0.3), "mass"),
    "Clump.from_mesh: negative mass": (lambda: dem.Clump.from_mesh(cube(), -1.0, 0.3), "mass"),
    "Clump.from_mesh: vacancy": (lambda: dem.Clump.from_mesh(cube(), 1.0, "x"), "vacancy"),
    "LeggedClump: no legs": (
        lambda: changed(dem.LeggedClump, legs=(), seat=np.zeros((0, 3)), held=np.zeros((0, 3))),
        "legs is empty",
    ),
    "Grains.at_rest": (lambda: grains().at_rest("x"), "position"),
    "Grains.at_rest: shape": (lambda: grains().at_rest(np.zeros((3, 5))), "position"),
    "Grains: walls": (lambda: dem.Grains(law(), [0.1], 2e3, walls=ball()), "walls"),
    "Grains: clumps": (lambda: dem.Grains(law(), [0.1], 2e3, clumps=[3]), "clumps"),
    "HertzMindlin: rolling": (lambda: dem.HertzMindlin(1e7, 0.3, 0.5, 0.5, rolling=3), "rolling"),
    "Continuum.at_rest": (lambda: soil().at_rest("x"), "position"),
    "Continuum.at_rest: shape": (lambda: soil().at_rest(np.zeros(3)), "position"),
    "Continuum.at_rest: of a plane's": (lambda: soil_with().at_rest(np.zeros((3, 2))), "position"),
    "Continuum.at_rest: three of two": (lambda: soil().at_rest(np.eye(3)), "position"),
    "Continuum.at_rest: one place": (lambda: soil_with().at_rest(np.ones((2, 2))), "particles 0 and 1"),
    "at_rest_under_weight": (lambda: soil_with().at_rest_under_weight(np.eye(2), "x"), "depth"),
    "at_rest_under_weight: five": (lambda: soil_with().at_rest_under_weight(np.eye(2), np.ones(5)), "depth"),
    "at_rest_under_weight: NaN": (lambda: soil_with().at_rest_under_weight(np.eye(2), [np.nan, 1.0]), "depth"),
    "Continuum: mass of two axes": (lambda: soil_with(mass=[[1.0], [1.0]]), "mass"),
    "Continuum: damping of three": (lambda: soil_with(damping=[1.0, 1.0, 1.0]), "damping"),
    "Tool: a text": (lambda: sph.Tool("x", AT), "members"),
    "Tool: None": (lambda: sph.Tool(None, AT), "members"),
    "Tool: a mask": (lambda: sph.Tool([True], AT), "members"),
    "Tool: not whole": (lambda: sph.Tool([0.0], AT), "members"),
    "Tool: two axes": (lambda: sph.Tool([[0]], AT), "members"),
    "Tool: a number": (lambda: sph.Tool(0, AT), "members"),
    "Tool: ragged": (lambda: sph.Tool([[0], [0, 1]], AT), "members"),
    "Tool: normal": (lambda: sph.Tool([0], AT, normal="x"), "normal"),
    "Tool: normal NaN": (lambda: sph.Tool([0], AT, normal=[[np.nan], [0.0]]), "normal"),
    "Tool: normal of space": (lambda: sph.Tool([0], AT, normal=np.ones((3, 1))), "normal"),
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
    "looking_at": (lambda: camera.looking_at("x", (0, 0, 0), (0, 0, 1)), "position"),
    "looking_at: shape": (lambda: camera.looking_at((1.0, 2.0), (0, 0, 0), (0, 0, 1)), "position"),
    "project": (lambda: pinhole().project("x"), "points"),
    "project: shape": (lambda: pinhole().project(np.ones((2, 2))), "points"),
    "read_cameras": (lambda: camera.read_cameras(3), "path"),
    "coarse_grained": (lambda: coarse_grained(3, 2e3, 0.6, 2.0), "sizes"),
    "coarse_grained: density": (lambda: coarse_grained(sizes(), "x", 0.6, 2.0), "density"),
    "mesh.box": (lambda: mesh.box("x"), "size"),
    "mesh.box: a number": (lambda: mesh.box(1.0), "size"),
    "mesh.box: NaN": (lambda: mesh.box((1.0, np.nan, 1.0)), "size"),
    "mesh.cylinder": (lambda: mesh.cylinder("x", 1.0), "radius"),
    "mesh.cylinder: sectors": (lambda: mesh.cylinder(1.0, 1.0, 3.5), "sectors"),
    "TriMesh": (lambda: mesh.TriMesh("x", "y"), "vertices"),
    "TriMesh: shape": (lambda: mesh.TriMesh(np.ones((4, 2)), np.zeros((4, 3), int)), "vertices"),
    "TriMesh: 1e300": (lambda: mesh.TriMesh(1e300 * cube().vertices, cube().faces), "vertices"),
    "TriMesh: faces": (lambda: mesh.TriMesh(cube().vertices, cube().faces + 0.5), "faces"),
    "simplify": (lambda: mesh.simplify(3, 10), "mesh"),
    "simplify: faces": (lambda: mesh.simplify(cube(), "x"), "faces"),
    "surface_points": (lambda: mesh.surface_points(3, 10), "mesh"),
    "surface_points: count": (lambda: mesh.surface_points(cube(), 2.5), "count"),
    "repair": (lambda: mesh.repair("x", [[0, 1, 2]]), "vertices"),
    "load": (lambda: mesh.load(3, "m"), "path"),
    "load: unit": (lambda: mesh.load("x.obj", "mm"), "unit"),
    "inscribe": (lambda: gravity.inscribe(3, 1), "mesh"),
    "inscribe: count": (lambda: gravity.inscribe(cube(), 1.5), "count"),
    "pack": (lambda: gravity.pack(3, 1e3), "mesh"),
    "pack: densities": (lambda: gravity.pack(cube(), "x"), "densities"),
    "clustered_lumps": (lambda: gravity.clustered_lumps(3, []), "mesh"),
    "error_map": (lambda: gravity.error_map(3, gravity.Uniform((0, 0, 1)), np.ones((2, 3))), "fast"),
    "error_map: points": (lambda: gravity.error_map(*2 * [gravity.Uniform((0, 0, 1))], "x"), "points"),
    "error_map: no points": (
        lambda: gravity.error_map(*2 * [gravity.Uniform((0, 0, 1))], np.zeros((0, 3))),
        "points",
    ),
    "inertia": (lambda: cube().inertia("x"), "density"),
    "Polyhedron: no mesh": (lambda: gravity.Polyhedron(3, 1e3), "mesh"),
    "Stone: no body": (lambda: body.Stone(3, np.eye(3), ball()), "body"),
    "Stone: no shape": (lambda: body.Stone(body.RigidBody(1.0, np.eye(3)), np.eye(3), 3), "shape"),
    "Stone.from_mesh: mass": (lambda: body.Stone.from_mesh(cube(), "x"), "mass"),
    "Stone.from_mesh: spacing": (lambda: body.Stone.from_mesh(cube(), 1.0, spacing="x"), "spacing"),
    "a grid with a text for a margin": (lambda: shape.GridSDF.from_mesh(cube(), 0.1, margin="x"), "margin"),
    "a grid of a text of nodes": (lambda: shape.GridSDF.from_mesh(cube(), 0.1, max_nodes="x"), "max_nodes"),
    "a grid of a box inside out": (
        lambda: shape.GridSDF.from_sdf(ball(), (2, 2, 2), (-2, -2, -2), 0.2),
        "low below high",
    ),
    "a grid coarser than its solid": (lambda: shape.GridSDF.from_mesh(cube(), 3.0), "spacing"),
    "a grid of a text": (lambda: shape.GridSDF.from_mesh(cube(), "x"), "spacing"),
    "a grid of no mesh": (lambda: shape.GridSDF.from_mesh(3, 0.1), "mesh"),
    "a grid of no solid": (lambda: shape.GridSDF.from_sdf(3, (-1, -1, -1), (1, 1, 1), 0.1), "sdf"),
    "a rough solid: octaves": (lambda: shape.Rough(ball(), 0.1, 1.0, 0, octaves=2.5), "octaves"),
    "a rough solid: seed": (lambda: shape.Rough(ball(), 0.1, 1.0, "x"), "seed"),
    "read_description": (lambda: body.read_description(3), "path"),
    "comet_67p": (lambda: shape.comet_67p("x"), "spacing"),
}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_a_bad_call_of_a_function_is_refused(case):
    call, word = FUNCTIONS[case]
    refused(call, word)


def test_a_surface_that_crosses_itself_is_doubted():
    with pytest.warns(UserWarning, match="crosses itself: 72 of 96 faces"):
        crossed()
