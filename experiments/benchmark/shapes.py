"""Distance queries: the gridded distance with its normal against exact queries of the same mesh, same points."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import igl
import jax
import jax.numpy as jnp
import numpy as np

from difsim.mesh import TriMesh, surface_points
from difsim.shape import Ellipsoid, GridSDF, Plane, Rough, comet_67p
from experiments.benchmark.timing import cpu_seconds, row

SPACING = 25.0  # m, of the table
BATCH = 256  # points at once: their pieces of the table stay in the cache


def rows(seeds: int, _: Path) -> list[dict[str, Any]]:
    """`ours` and `peer` in ns a point, or `ours` an error in m, of which the peer has none; on the analogue of 67P.

    The peer of the grid is libigl's pseudonormal distance, which gives the nearest point and so the normal too.
    Its tree is built in each call, so it gets many points. CPU time of all threads together, medians over
    `seeds` runs.
    """
    mesh = comet_67p(100.0)
    grid = GridSDF.from_mesh(mesh, SPACING)
    points = _sample_near_surface(mesh, 50_000)
    peer, exact = _time(lambda p: _libigl(mesh, p), points, max(1, seeds // 5))
    ours, (distance, _) = _time(_jit(grid), jnp.asarray(points), seeds)
    error = np.abs(np.asarray(distance) - exact)
    faces = len(mesh.faces)
    return [
        row(f"grid of {SPACING:g} m, distance and normal, against libigl on {faces} faces", ours, "ns", peer),
        row("grid: error within 50 m of the surface, rms", float(np.sqrt((error**2).mean())), "m"),
        row("grid: error within 50 m of the surface, worst", float(error.max()), "m"),
        row(
            "ellipsoid, distance and normal", _nanoseconds(Ellipsoid((2100.0, 1620.0, 975.0)), points, seeds), "ns"
        ),
        row("roughness, 1 octave, with normal", _nanoseconds(_add_roughness(1), points, seeds), "ns"),
        row("roughness, 4 octaves, with normal", _nanoseconds(_add_roughness(4), points, seeds), "ns"),
    ]


def _add_roughness(octaves: int) -> Rough:
    return Rough(Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), 1.0, 50.0, 1, octaves)


def _sample_near_surface(mesh: TriMesh, count: int) -> np.ndarray:
    on = surface_points(mesh, count, seed=0)
    height = np.random.default_rng(1).uniform(-50, 50, size=(count, 1))
    return on.points + height * on.normals


def _libigl(mesh: TriMesh, points: np.ndarray) -> np.ndarray:
    kind = igl.SignedDistanceType.SIGNED_DISTANCE_TYPE_PSEUDONORMAL
    return igl.signed_distance(points, mesh.vertices, mesh.faces.astype(np.int64), sign_type=kind)[0]


def _jit(sdf) -> Callable:
    one = jax.value_and_grad(sdf.distance)
    return jax.jit(lambda points: jax.lax.map(one, points, batch_size=BATCH))


def _nanoseconds(sdf, points: np.ndarray, seeds: int) -> float:
    return _time(_jit(sdf), jnp.asarray(points), seeds)[0]


def _time(f: Callable, points, runs: int) -> tuple[float, Any]:
    """Median CPU time in ns a point, and the result."""
    result, seconds = cpu_seconds(lambda: f(points), runs)
    return seconds / len(points) * 1e9, result
