"""The polyhedron against closed forms, the sphere, the ellipsoid, its own derivatives and polyhedral-gravity."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import trimesh

from difsim.gravity import Polyhedron
from difsim.units import G
from tests.core.test_polyhedron import mesh_of
from tests.helpers import check_gradients
from tests.more.test_polyhedron import _shapes


def test_derivatives_by_vertices_and_density():
    """Inside, outside, next to a facet, an edge and a vertex of an octahedron."""
    body = Polyhedron(mesh_of(trimesh.Trimesh(np.concatenate([np.eye(3), -np.eye(3)])).convex_hull), 1 / G)
    points = jnp.array(
        [[0.1, 0.2, 0.1], [1.5, -1.0, 0.4], [0.34, 0.34, 0.34], [0.51, 0.0, 0.51], [0.0, 1.02, 0.0]]
    )
    check_gradients(lambda body: body.evaluate(points), body, unit=0.1, rtol=1e-6)


def test_reverse_mode_is_bounded_in_memory():
    """By vertices, at many points: without checkpoints it would keep tens of bytes for each facet and point."""

    def loss(vertices, body, points):
        U, g, gradient = eqx.tree_at(lambda b: b.vertices, body, vertices).evaluate(points)
        return jnp.sum(U) + jnp.sum(g**2) + jnp.sum(gradient)

    facets, n = 20_000, 10_000
    points = jax.ShapeDtypeStruct((n, 3), jnp.float64)
    body = _shapes(facets // 2 + 2, facets)
    memory = jax.jit(jax.grad(loss)).lower(body.vertices, body, points).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 1e8 < 0.1 * 8 * facets * n
