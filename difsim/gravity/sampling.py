"""On the host: fields at many places around a mesh, and the errors of one field relative to another there."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from difsim.checks import host_numbers
from difsim.extras import require
from difsim.gravity.field import AbstractField
from difsim.gravity.polyhedron import Polyhedron
from difsim.mesh import TriMesh, surface_points
from difsim.session import compile_with_matrix_library
from difsim.units import G
from difsim.wide import TERMS, put

CHUNK = 4096  # points per call: one compiled shape, and bounded memory

Points = Float[np.ndarray, "P 3"]


def error_map(fast: AbstractField, exact: AbstractField, points: Points) -> dict:
    """Relative errors of acceleration, |g - g₀|/|g₀|, and of potential, |U - U₀|/|U₀|, at many points.

    Errors of the potential are many times smaller than those of the force: show both, judge by the force.

    **Arguments:** `fast`, the field to judge; `exact`, the reference; `points` [P,3], m.
    **Returns:** `acceleration` [P], `potential` [P]; `rms` and `worst` of the acceleration.
    **Raises:** ValueError for points that are not finite, not [P,3], or none.
    """
    points = host_numbers("error_map: points", points, "P 3")
    if len(points) == 0:
        raise ValueError("error_map: points has shape (0, 3): give one point at least")
    (U, g), (U0, g0) = field_at(fast, points), field_at(exact, points)
    error = np.linalg.norm(g - g0, axis=1) / np.linalg.norm(g0, axis=1)
    return {
        "acceleration": error,
        "potential": np.abs(U - U0) / np.abs(U0),
        "rms": float(np.sqrt(np.mean(error**2))),
        "worst": float(error.max()),
    }


def field_at(field: AbstractField, points: Points) -> tuple[Float[np.ndarray, " P"], Points]:
    """Potential and acceleration at many points in bounded memory, by the field's own `evaluate` if it has one.

    **Arguments:** `field`; `points` [P,3], m. **Returns:** U [P], m²/s², and g [P,3], m/s².
    """
    return _evaluate_chunks(_evaluate, field, points)


@compile_with_matrix_library
def _evaluate(field: AbstractField, points: Float[Array, "P 3"]) -> tuple:
    if evaluate := getattr(field, "evaluate", None):
        return evaluate(points)[:2]
    return jax.lax.map(jax.value_and_grad(field.potential), points, batch_size=256)


@compile_with_matrix_library
def _laplacian(body: Polyhedron, points: Float[Array, "P 3"]) -> Float[Array, " P"]:
    return jnp.trace(body.evaluate(points)[2], axis1=1, axis2=2)


def _evaluate_chunks(function: Callable, field: AbstractField, points: Points) -> Any:
    n = len(points)
    width = min(n, CHUNK)
    chunks = np.pad(points, ((0, -n % width), (0, 0)), mode="edge").reshape(-1, width, 3)
    is_wide = isinstance(field, Polyhedron) and width * len(field.faces) >= TERMS
    parts = [jax.tree.map(np.asarray, function(field, put(jnp.asarray(chunk), is_wide))) for chunk in chunks]
    return jax.tree.map(lambda *part: np.concatenate(part)[:n], *parts)


def sample_above_surface(mesh: TriMesh, n: int, height: float, seed: int = 0) -> Points:
    """Up to n random places outside the body, raised from its surface along the normals.

    Places that are nearer to another part of the surface are left out.

    **Arguments:** `mesh`; `n`; `height` above the surface, m; `seed`. **Returns:** places [P,3], m.
    """
    places, normals, _ = surface_points(mesh, n, seed)
    places = places + height * normals
    # The tolerance keeps points whose distance differs from the height by rounding only.
    places = places[~is_near_surface(mesh, places, 0.999 * height)]
    return places[is_outside(mesh, places)]


def is_near_surface(mesh: TriMesh, points: Points, distance: float) -> Bool[np.ndarray, " P"]:
    """True for points within a distance of the surface.

    **Arguments:** `mesh`; `points` [P,3], m; `distance`, m. **Returns:** booleans [P].
    """
    igl = require("mesh", "igl")

    squares, *_ = igl.point_mesh_squared_distance(points, mesh.vertices, mesh.faces)
    return np.asarray(squares) < distance**2


def is_outside(mesh: TriMesh, points: Points) -> Bool[np.ndarray, " P"]:
    """True for points outside the body, by the solid angle of its surface.

    **Arguments:** `mesh`; `points` [P,3], m. **Returns:** booleans [P].
    """
    body = Polyhedron(mesh, 1 / (4 * np.pi * G))  # ∇²U = -1 inside
    return _evaluate_chunks(_laplacian, body, points) > -0.5
