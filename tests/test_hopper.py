"""Hoppers: impacts against closed forms, energies, grounds, derivatives, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import FixedSteps, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import (
    AtEffectivePoint,
    ClippedDamping,
    NormalForce,
    PowerLaw,
    RollingForceAndTorque,
    StickSlip,
    SurfaceContact,
    Vertices,
)
from difsim.dynamics import Hopper
from difsim.gravity import Rotating, Uniform
from difsim.mesh import TriMesh
from difsim.shape import Box, GridSDF, Posed
from tests.helpers import check_gradients, count_traces
from tests.hoppers import (
    CUBE,
    EDGE,
    FLOOR,
    IMPACT,
    MASS,
    NORMALS,
    RADIUS,
    STIFFNESS,
    account,
    ball,
    cube,
    follow,
    friction_law,
    normal,
    state,
    with_surface,
)

G = 9.81
SMOOTH = friction_law("each point")


def exponent(name):
    return float(name.split()[1]) if name.startswith("power") else 1.0 if name.startswith("linear") else 1.5


def elastic_depth(name, speed):
    """The depth at which a law without damping stops the ball."""
    p = exponent(name)
    return ((p + 1) * MASS * speed**2 / (2 * STIFFNESS)) ** (1 / (p + 1))


def realised(name, e, width=0.0, speed=IMPACT):
    """Restitution of an impact in free flight, `width` in units of the undamped depth; and its solution."""
    depth = elastic_depth(name, speed)
    height = 0.01 + 21 * width * depth
    model = ball(normal(name, e, width * depth), SMOOTH)
    end = (2 * height / e + 20 * depth / e) / speed
    solution = follow(model, state((0.0, 0.0, RADIUS + height), (0.0, 0.0, -speed)), end)
    return float(solution.last.body.velocity[2]) / speed, solution


# Impacts.


@pytest.mark.parametrize("name", NORMALS)
def test_a_free_impact_realises_the_restitution_of_the_law(name):
    for e in (0.3, 0.6, 0.9):
        got, solution = realised(name, e)
        assert got == pytest.approx(1 if name == "hertz" else e, abs=1e-5)
        total, parts = account(solution)
        np.testing.assert_allclose(total, total[0], rtol=5e-5)  # at 1e-9: steps across a force that jumps
        assert parts["damping"][-1] == pytest.approx(0.5 * MASS * 0.1**2 * (1 - got**2), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "deviations"),
    [
        ("linear clipped", [(0.01, 2.2e-3), (0.03, 6.5e-3), (0.1, 2.6e-2)]),
        ("linear compressive", [(0.01, 4.9e-3), (0.03, 1.46e-2), (0.1, 4.8e-2)]),
        ("power 1.5 clipped", [(0.01, 0.8e-3), (0.03, 3.1e-3), (0.1, 1.54e-2)]),
    ],
)
def test_smooth_onset_raises_the_restitution_as_predicted(name, deviations):
    for width, deviation in deviations:
        got, solution = realised(name, 0.6, width)
        assert got - 0.6 == pytest.approx(deviation, rel=0.05)
        total, _ = account(solution)
        np.testing.assert_allclose(total, total[0], rtol=5e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["effective point", "spring", "Mindlin"])
def test_an_oblique_bounce_closes_its_energies(name):
    """Friction, springs, rolling resistance and cohesion in one impact of a cube's corner."""
    width = 0.05 * elastic_depth("power 1.5", 1.0)
    model = cube(
        normal("power 1.5 clipped", 0.6, width),
        friction_law(name, 0.4, 1e-2),
        torque=1e-3,
        paper=1e-3,
        pull_off=2.0,
    )
    start = state((0.0, 0.0, 0.45), (0.3, 0.1, -1.0), (0.5, -1.0, 0.2), (0.8, 0.3, 0.4, 0.33))
    solution = follow(model, start, 0.4)
    total, parts = account(solution)
    assert solution.last.body.velocity[2] > 0.1  # it has bounced
    np.testing.assert_allclose(total, total[0], rtol=1e-6)
    for part in ("damping", "friction", "rolling"):
        assert parts[part][-1] > 1e-4
        assert (np.diff(parts[part]) >= -1e-8).all()
    assert abs(parts["elastic"][-1]) < 1e-10  # springs and cohesion have let go


def test_compressive_damper_dissipates_in_compression_only():
    """Paper 003, sec. 4.1 and Fig. 10: past the deepest point nothing is lost."""
    depth = elastic_depth("linear compressive", 0.1)
    model = ball(normal("linear compressive", 0.5, 0.02 * depth), SMOOTH)
    start = model.start(state((0.0, 0.0, RADIUS - 0.3 * depth)))

    @jax.jit
    def loss(speed):
        moving = RigidState(start.body.position, jnp.stack([0 * speed, 0 * speed, speed]), *_still(start))
        return model.power(0.0, model.start(moving))["damping"]

    assert abs(loss(jnp.array(0.05))) < 1e-14
    assert loss(jnp.array(-0.05)) > 1e-3


def _still(start):
    return start.body.attitude, start.body.spin


# Grounds.


@pytest.mark.slow
def test_plane_table_and_mesh_give_the_same_rebound():
    width = 0.1 * elastic_depth("power 1.5", 1.0)
    model = cube(normal("power 1.5 clipped", 0.6, width), friction_law("each point", 0.4, 1e-2))
    start = state((0.0, 0.0, 0.4), (0.3, 0.1, -1.0), (0.5, -1.0, 0.2), (0.8, 0.3, 0.4, 0.33))
    expected = follow(model, start, 0.4).last.body
    low, high = (-1.5, -1.5, -2.0), (1.5, 1.5, 0.0)
    corners = np.array([[x, y, z] for x in (-1.5, 1.5) for y in (-1.5, 1.5) for z in (-2.0, 0.0)])
    faces = ["013", "032", "467", "475", "045", "051", "237", "276", "026", "064", "157", "173"]
    faces = np.array([[int(corner) for corner in face] for face in faces])
    slab = Posed(Box((1.5, 1.5, 1.0)), (0.0, 0.0, -1.0), np.eye(3))
    for ground in (GridSDF.from_sdf(slab, low, high, 0.1), GridSDF.from_mesh(TriMesh(corners, faces), 0.1)):
        got = follow(with_surface(model, ground), start, 0.4).last.body
        assert got.velocity[2] > 0.1
        for name in ("position", "velocity", "attitude", "spin"):
            np.testing.assert_allclose(getattr(got, name), getattr(expected, name), atol=1e-6, err_msg=name)


# Derivatives.


@pytest.mark.slow
def test_rate_derivatives_are_right_apart_touching_and_at_rest():
    """Far, before the touch, in it, at rest and turning on four corners, still on one: zero spin, zero slip."""
    tilted = (0.8, 0.3, 0.4, 0.33)
    starts = [
        state((0, 0, 5.0), (0.3, 0.1, -1.0), (0.5, -1.0, 0.2), tilted),
        state((0, 0, 0.36), (0.3, 0.1, -1.0), (0.5, -1.0, 0.2), tilted),
        state((0, 0, 0.32), (0.3, 0.1, -1.0), (0.5, -1.0, 0.2), tilted),
        state((0, 0, EDGE / 2 - 1e-3)),
        state((0, 0, EDGE / 2 - 1e-3), (0.3, 0.1, 0.0), (0, 0, 0.5)),
        state((0, 0, 0.32), attitude=tilted),
    ]
    stack = jax.tree.map(lambda *x: jnp.stack(x), *starts)

    def rates(starts, *numbers):
        model = grounded(*numbers)
        return jax.vmap(lambda body: model.vector_field(0.0, model.start(body)))(starts)

    check_gradients(rates, stack, *map(jnp.array, NUMBERS), step=1e-5, rtol=1e-5, unit=1e-1)


@pytest.mark.slow
def test_a_short_bounce_has_right_derivatives():
    """Through equal steps, from before a corner touches until after its lift-off, with friction and rolling."""
    start = state((0, 0, 0.37), (0.3, 0.1, -1.0), (0.5, -1.0, 0.2), (0.8, 0.3, 0.4, 0.33))

    def bounce(start, *numbers):
        model = grounded(*numbers)
        times = jnp.array([0.0, 0.15])
        return simulate(model, model.start(start), times, solver=FixedSteps(150), throw=False).last.body

    after = bounce(start, *map(jnp.array, NUMBERS))
    assert after.velocity[2] > 0.05
    check_gradients(bounce, start, *map(jnp.array, NUMBERS), step=1e-5, rtol=1e-4, unit=1e-1, reverse_rtol=1e-8)


NUMBERS = 1e5, 0.4, 2e-3, (0.1, 0.2, 0.3)  # stiffness, friction, rolling resistance, turning of the target


def grounded(stiffness, friction, rolling, omega):
    """The cube of paper 003's laws, wide regularisations, on the floor of a turning target."""
    contact = SurfaceContact(
        Vertices.box((EDGE, EDGE, EDGE)),
        NormalForce(PowerLaw(stiffness, 1.5), ClippedDamping(30.0), 1e-3),
        AtEffectivePoint(StickSlip(friction, friction, 0.2)),
        (RollingForceAndTorque(rolling, 0.1),),
    )
    return Hopper(RigidBody(MASS, CUBE), contact, FLOOR, Uniform((0, 0, -G)), omega)


def test_new_numbers_are_not_traced_again():
    a = cube(normal("hertz", width=1e-3), friction_law("spring", 0.4), gravity=(0, 0, -G))
    b = cube(normal("linear", 0.5, 2e-3), friction_law("Mindlin", 0.3), gravity=(0, 0, -1.0), omega=(0, 0, 1.0))
    moving = state((1.0, 0.5, 0.2), (0.3, -0.1, 0.2), (0.4, 1.1, -0.6), (0.7, 0.1, -0.5, 0.4))
    calls = [(m, m.start(s)) for m, s in ((a, moving), (b, state((0, 0, 0.1))))]
    assert count_traces(lambda m, s: m.vector_field(0.0, s), *calls) == 1


def test_wrong_input_is_refused():
    parts = cube(normal("hertz"), SMOOTH)
    with pytest.raises(ValueError, match="Rotating"):
        field = Rotating(Uniform((0, 0, -1.0)), (0, 0, 1.0))
        Hopper(parts.body, parts.contact, FLOOR, field)
    with pytest.raises(ValueError, match="resolution"):
        Hopper(parts.body, parts.contact, FLOOR, Uniform((0, 0, -1.0)), resolution=0.0)
    with pytest.raises(ValueError, match=r"give model.start\("):
        simulate(parts, state((1.0, 0.5, 0.2)), jnp.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="omega has shape"):
        Hopper(parts.body, parts.contact, FLOOR, Uniform((0, 0, -1.0)), omega=1e-4)
