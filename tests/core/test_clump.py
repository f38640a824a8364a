"""Rigid bodies of sub-spheres: a free top, what a collision keeps, one sub-sphere as a grain, weight, derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.body import RigidBody, RigidState
from difsim.dem import Clump
from difsim.mesh import TriMesh

R, RHO = 5e-3, 2500.0

MASS = 4 / 3 * np.pi * RHO * R**3

# Three sub-spheres that overlap, of an asymmetric body.
CLUMP = Clump(
    RigidBody(5 * MASS, 5 * MASS * R**2 * np.array([[1.0, 0.1, 0.0], [0.1, 1.5, 0.2], [0.0, 0.2, 2.0]])),
    R * np.array([[-1.0, 0.0, 0.2], [0.3, 0.2, 0.0], [1.1, -0.3, 0.1]]),
    R * np.array([1.0, 1.2, 0.8]),
)

TURNED = (0.8, 0.0, 0.48, 0.36)


def flying(x, v, attitude=(1.0, 0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0)):
    return RigidState(*(np.array(a, float) for a in (x, v, attitude, spin)))


def test_a_free_top_keeps_its_momentum_and_turns_to_second_order():
    @eqx.filter_jit
    def fly(clump, dt, steps):
        begin = flying((0, 0, 0), (1.0, 0, 0), TURNED, (5.0, -3.0, 8.0))
        return jax.lax.fori_loop(0, steps, lambda _, at: clump.drift(at, dt), begin), begin

    ends = []
    for steps in (100, 200, 3200):
        end, begin = fly(CLUMP, jnp.asarray(1.0 / steps), jnp.asarray(steps))
        body = CLUMP.body
        before, after = (s.rotation @ (body.inertia @ s.spin) for s in (begin, end))
        np.testing.assert_allclose(after, before, rtol=1e-12)
        ends.append((np.asarray(end.attitude), float(body.kinetic_energy(end) / body.kinetic_energy(begin)) - 1))
    assert end.position[0] == pytest.approx(1.0)
    (a, ea), (b, eb), (best, _) = ends
    assert np.abs(b - best).max() < 1e-2
    assert np.log2(np.abs(a - best).max() / np.abs(b - best).max()) > 1.8
    assert abs(eb) < 1e-4 and np.log2(abs(ea / eb)) > 1.8


def test_low_inertia_makes_an_outer_sub_sphere_light():
    heavy = Clump(RigidBody(1.0, 1e-2 * np.eye(3)), [[0.2, 0.1, 0.0], [-0.2, 0.0, 0.1]], [0.05, 0.05])
    for clump in (heavy, CLUMP):
        m, inverse = float(clump.body.mass), np.linalg.inv(clump.body.inertia)
        least = []
        for x, y, z in np.asarray(clump.centre):
            turn = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            moves = np.linalg.eigvalsh(np.eye(3) / m - turn @ inverse @ turn).max()
            bound = float(clump.mobility(jnp.array([x, y, z])))
            assert moves <= bound * (1 + 1e-12) and bound <= np.sqrt(3) * moves
            least.append(1 / bound)
        assert float(clump.least_mass) == pytest.approx(min(*least, m))
    assert float(heavy.least_mass) < 0.2


def test_from_a_mesh_and_bad_input():
    corners = R * np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4.0]])
    clump = Clump.from_mesh(TriMesh(corners, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])), 0.3, 0.4)
    # The corner that the three right angles make is a radius and more from each sub-sphere, about the centre of mass.
    assert (np.asarray(clump.centre) - np.asarray(clump.radius)[:, None] >= -R - 1e-12).all()
    assert float(jnp.trace(clump.body.inertia)) == pytest.approx(0.3 * 6 * 3 * (4 * R) ** 2 / 80)
    with pytest.raises(ValueError, match="give one of each"):
        Clump(CLUMP.body, np.zeros((2, 3)), np.ones(3))
