"""Points on inscribed ellipsoids and in meshes, and the errors of packings, for tests of both tiers."""

import igl
import jax
import jax.numpy as jnp
import numpy as np
import trimesh

from difsim.gravity import Polyhedron
from difsim.gravity.inscribed import Inscribed
from difsim.gravity.packing import Packing
from difsim.mesh import TriMesh
from difsim.units import G

UNIT = trimesh.creation.icosphere(subdivisions=3).vertices  # points on the unit sphere


def surface(ellipsoid: Inscribed) -> np.ndarray:
    return ellipsoid.centre + UNIT @ ellipsoid.matrix.T


def depth(mesh: TriMesh, points) -> np.ndarray:
    return -igl.signed_distance(np.asarray(points), mesh.vertices, np.ascontiguousarray(mesh.faces))[0]


def errors(mesh: TriMesh, packing: Packing, points) -> tuple[np.ndarray, np.ndarray]:
    """Relative errors of U and g of a packing of density 1/G, against the polyhedron's."""
    body, field, x = Polyhedron(mesh, 1 / G), packing.field, jnp.asarray(points)
    U, g = jax.jit(lambda x: body.evaluate(x)[:2])(x)
    both = jax.value_and_grad(field.potential)
    u, a = jax.jit(lambda x: jax.lax.map(both, x, batch_size=64))(x)
    wrong = jnp.linalg.norm(a - g, axis=1) / jnp.linalg.norm(g, axis=1)
    return np.abs(np.asarray(u / U - 1)), np.asarray(wrong)
