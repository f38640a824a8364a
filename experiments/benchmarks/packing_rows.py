"""Ellipsoids and mascons against the polyhedron of the same mesh: time a point, and error by height."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from difsim.gravity import Polyhedron, pack
from difsim.mesh import TriMesh

BATCH = 64  # points whose distances to some thousand mascons stay in the cache of a core
SHAP5 = 3.8e6  # facets of the mesh that the published ratios refer to
HEIGHTS = (0.0, 20.0, 100.0, 500.0)


def packing_rows(
    mesh: TriMesh, density: float = 533.0, mascons: int = 1200, points: int = 640
) -> list[dict[str, Any]]:
    """Rows {work, ours, peer, ratio, unit}: µs a point, the same extrapolated to 3.8 million facets (a polyhedron
    costs the same per facet), the time to pack, and errors at several heights above random places."""
    started = time.perf_counter()
    packing = pack(mesh, density, mascons=mascons)
    rows = [_row("pack: inscribe, fill, check", time.perf_counter() - started, np.nan, "s")]
    rows += [_row("volume in the ellipsoids, strictly inside", packing.share, 0.648, "share")]
    field, body = packing.field, Polyhedron(mesh, density)
    ours = {name: _batched(getattr(field, name)) for name in ("potential", "acceleration")}
    peer = {
        "potential": jax.jit(lambda x: body.evaluate(x)[0]),
        "acceleration": jax.jit(lambda x: body.evaluate(x)[1]),
    }
    places = _above(mesh, points)
    many = jnp.tile(places[HEIGHTS[-1]], (20, 1))
    for name in ours:
        fast = _seconds(ours[name], many) / len(many) * 1e6
        slow = _seconds(peer[name], places[HEIGHTS[-1]]) / points * 1e6
        scale = SHAP5 / len(mesh.faces)
        rows += [
            _row(f"{name}, {len(mesh.faces)} facets", fast, slow, "µs/point"),
            _row(f"{name}, extrapolated to {SHAP5:.2g} facets", fast, slow * scale, "µs/point"),
        ]
    for height, x in places.items():
        U, g = peer["potential"](x), peer["acceleration"](x)
        dU = np.abs(ours["potential"](x) / U - 1)
        dg = np.linalg.norm(ours["acceleration"](x) - g, axis=1) / np.linalg.norm(g, axis=1)
        for name, error in (("potential", dU), ("acceleration", dg)):
            rows += [
                _row(f"{name} error {height:g} m up, rms", 100 * float(np.sqrt(np.mean(error**2))), 0.0, "%"),
                _row(f"{name} error {height:g} m up, worst", 100 * float(error.max()), 0.0, "%"),
            ]
    return rows


def _above(mesh: TriMesh, count: int) -> dict[float, jax.Array]:
    """`count` random places of the surface [n,3], and those above them along the facets' normals.

    In hollows the way up may end in another slope: those places are then inside, and count all the same.
    """
    corners = mesh.vertices[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    rng = np.random.default_rng(0)
    facet = rng.choice(len(areas), count, p=areas / areas.sum())
    places = np.einsum("nk,nki->ni", rng.dirichlet((1, 1, 1), count), corners[facet])
    return {h: jnp.asarray(places + h * (normals / areas[:, None])[facet]) for h in HEIGHTS}


def _batched(one: Callable) -> Callable:
    return jax.jit(lambda x: jax.lax.map(one, x, batch_size=BATCH))


def _seconds(f: Callable, x: jax.Array) -> float:
    jax.block_until_ready(f(x))
    times = []
    for _ in range(5):
        started = time.perf_counter()
        jax.block_until_ready(f(x))
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def _row(work: str, ours: float, peer: float, unit: str) -> dict[str, Any]:
    return {"work": work, "ours": ours, "peer": peer, "ratio": peer / ours if ours else float("nan"), "unit": unit}
