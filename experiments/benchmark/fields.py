"""Fast fields against the polyhedron of the same mesh: time a point, and error by height."""

import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import units
from difsim.gravity import AbstractField, Gridded, Polyhedron, error_map, pack
from difsim.gravity.sampling import sample_above_surface
from difsim.mesh import TriMesh
from difsim.shape import comet_67p
from experiments.benchmark.timing import cpu_seconds, row

SHAP5 = 3.8e6  # facets of the mesh that the paper's ratios refer to: 818 for potentials, 720 for trajectories
HEIGHTS = (0.1, 20.0, 100.0, 500.0)  # m
POINTS = 32768  # fewer take more each, since every call reads the tables into the cache afresh
GRID = 100.0  # m


def field_rows(runs: int) -> list[dict[str, Any]]:
    """Rows for a packing and a table of the analogue of 67P: µs a point for potential and acceleration, against the
    polyhedron and one of 3.8 million facets (its cost goes with the facets), and the worst errors of g."""
    mesh = comet_67p(spacing=100.0)
    density = units.GM_67P / (units.G * mesh.volume)
    body = Polyhedron(mesh, density)
    started = time.perf_counter()
    packed = pack(mesh, density).field
    packing = time.perf_counter() - started
    table = Gridded.fit(body, mesh, GRID)
    fitting = time.perf_counter() - started - packing

    places = sample_above_surface(mesh, POINTS, 200.0)
    exact = _microseconds(lambda body, x: body.evaluate(x)[:2], body, places[:256], runs)
    many = lambda field, x: jax.lax.map(jax.value_and_grad(field.potential), x, batch_size=64)  # noqa: E731
    rows = []
    for name, field, made, run in (
        ("ellipsoids + mascons", packed, packing, many),
        ("fast field", table, fitting, lambda table, x: table.evaluate(x)),
    ):
        ours = _microseconds(run, field, places, runs)
        rows += [
            row(f"{name}: to make it", made, "s"),
            row(f"{name}: U and g, polyhedron of {len(mesh.faces)} facets", ours, "µs/point", exact),
            row(f"{name}: the same, 3.8 million facets", ours, "µs/point", exact * SHAP5 / len(mesh.faces)),
        ]
        rows += _errors(name, field, body, mesh)
    return rows


def _errors(name: str, field: AbstractField, body: Polyhedron, mesh: TriMesh) -> list[dict[str, Any]]:
    rows = []
    for height in HEIGHTS:
        found = error_map(field, body, sample_above_surface(mesh, 1000, height, seed=1))
        rows += [
            row(f"{name}: error of g {height:g} m up, rms", found["rms"], "relative"),
            row(f"{name}: error of g {height:g} m up, worst", found["worst"], "relative"),
        ]
    return rows


def _microseconds(f: Callable, field: AbstractField, x: np.ndarray, runs: int) -> float:
    """Median CPU time a point, all threads together."""
    compiled, x = eqx.filter_jit(f), jnp.asarray(x)
    return cpu_seconds(lambda: compiled(field, x), runs)[1] / len(x) * 1e6
