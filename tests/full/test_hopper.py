"""Hoppers: impacts against closed forms, energies, grounds, derivatives, what is refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim.body import RigidBody
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
from difsim.gravity import Uniform
from difsim.mesh import TriMesh
from difsim.shape import Box, GridSDF, Posed
from tests.core.test_hopper import G, elastic_depth
from tests.helpers import check_gradients
from tests.hoppers import (
    CUBE,
    EDGE,
    FLOOR,
    MASS,
    cube,
    follow,
    friction_law,
    normal,
    state,
)


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
        got = follow(eqx.tree_at(lambda m: m.surface, model, ground), start, 0.4).last.body
        assert got.velocity[2] > 0.1
        for name in ("position", "velocity", "attitude", "spin"):
            np.testing.assert_allclose(getattr(got, name), getattr(expected, name), atol=1e-6, err_msg=name)


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
        model = grounded_cube(*numbers)
        return jax.vmap(lambda body: model.vector_field(0.0, model.start(body)))(starts)

    check_gradients(rates, stack, *map(jnp.array, NUMBERS), step=1e-5, rtol=1e-5, unit=1e-1)


NUMBERS = 1e5, 0.4, 2e-3, (0.1, 0.2, 0.3)  # stiffness, friction, rolling resistance, turning of the target


def grounded_cube(stiffness, friction, rolling, omega):
    """The cube of the hopper paper's laws, wide regularisations, on the floor of a turning target."""
    contact = SurfaceContact(
        Vertices.box((EDGE, EDGE, EDGE)),
        NormalForce(PowerLaw(stiffness, 1.5), ClippedDamping(30.0), 1e-3),
        AtEffectivePoint(StickSlip(friction, friction, 0.2)),
        (RollingForceAndTorque(rolling, 0.1),),
    )
    return Hopper(RigidBody(MASS, CUBE), contact, FLOOR, Uniform((0, 0, -G)), omega)
