"""The polyhedron against closed forms, the sphere, the ellipsoid, its own derivatives and polyhedral-gravity."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.gravity import Polyhedron
from difsim.mesh import load
from difsim.units import G
from tests.core.test_polyhedron import CUBE, at_point, evaluate, icosphere
from tests.helpers import find_published, slope, to_single


def _shapes(vertices: int, faces: int) -> Polyhedron:
    """A polyhedron without numbers, to compile for."""

    def shape(leaf, rows):
        return jax.ShapeDtypeStruct((rows, *leaf.shape[1:]), leaf.dtype)

    arrays = CUBE.vertices, CUBE.faces, CUBE.edges
    sized = [shape(a, n) for a, n in zip(arrays, (vertices, faces, faces * 3 // 2), strict=True)]
    return eqx.tree_at(lambda b: (b.vertices, b.faces, b.edges), CUBE, sized)


def test_four_million_facets_fit_in_2_GB():
    """What the compiler reserves: arguments and temporaries, for many points."""
    points = jax.ShapeDtypeStruct((10_000, 3), jnp.float64)
    memory = evaluate.lower(_shapes(2_000_002, 4_000_000), points).compile().memory_analysis()
    assert memory.temp_size_in_bytes + memory.argument_size_in_bytes < 2e9


PEER = """
import sys
import numpy as np
import polyhedral_gravity as pg

case = np.load(sys.argv[1])
body = pg.Polyhedron((case["vertices"], case["faces"]), float(case["density"]), pg.NormalOrientation.OUTWARDS,
                     pg.PolyhedronIntegrity.DISABLE)
result = pg.GravityEvaluable(body)(case["points"], parallel=False)
U, g, gradient = (np.array([row[i] for row in result]) for i in range(3))
np.savez(sys.argv[2], U=U, g=g, gradient=gradient)
"""


@pytest.mark.skipif(
    importlib.util.find_spec("polyhedral_gravity") is None, reason="polyhedral-gravity is not installed"
)
@pytest.mark.parametrize(
    "name", ["67P/67p_shap5_cheops_2000f", "Bennu/bennu_osirisrex2019_2692f", "Itokawa/itokawa_sbgat_q8_768f"]
)
def test_polyhedral_gravity_finds_the_same(name, tmp_path: Path):
    """1000 points in and out of a real body; the peer runs in a process of its own, since its licence is GPL."""
    mesh, density = load(find_published(f"{name}.obj"), "km"), 1000.0
    size = np.abs(mesh.vertices).max()
    rng = np.random.default_rng(0)
    beneath = mesh.vertices[rng.integers(len(mesh.vertices), size=500)] * rng.uniform(0.05, 0.99, (500, 1))
    points = np.concatenate([beneath, rng.uniform(-1.5 * size, 1.5 * size, (500, 3))])
    np.savez(tmp_path / "case.npz", vertices=mesh.vertices, faces=mesh.faces, density=density, points=points)
    subprocess.run([sys.executable, "-c", PEER, tmp_path / "case.npz", tmp_path / "peer.npz"], check=True)
    peer = np.load(tmp_path / "peer.npz")
    body = Polyhedron(mesh, density)
    U, g, gradient = (np.asarray(part) for part in evaluate(body, jnp.array(points)))
    inside = np.trace(gradient, axis1=1, axis2=2) < -2 * np.pi * G * density
    assert 300 < np.sum(inside) < 700
    np.testing.assert_allclose(U, peer["U"], rtol=1e-9)
    assert (np.linalg.norm(g - peer["g"], axis=1) < 1e-9 * np.linalg.norm(g, axis=1)).all()
    six = gradient[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]  # xx, yy, zz, xy, xz, yz
    np.testing.assert_allclose(six, peer["gradient"], atol=1e-9 * 4 * np.pi * G * density)


def test_icosphere_errs_by_its_edge_squared():
    """Against GM/r of the full sphere outside, and (2π/3)(3R² - r²) inside."""
    points = jnp.array([[1.5, 0.2, -0.7], [-0.3, 2.0, 3.0], [0.1, 0.2, -0.3]])
    radius = np.linalg.norm(points, axis=1)
    exact_U = np.where(radius > 1, 4 * np.pi / 3 / radius, 2 * np.pi / 3 * (3 - radius**2))
    exact_g = -4 * np.pi / 3 * np.asarray(points) / np.maximum(radius, 1)[:, None] ** 3
    sizes, errors_U, errors_g = [], [], []
    for subdivisions in (1, 2, 3):
        U, g, _ = evaluate(Polyhedron(icosphere(subdivisions), 1 / G), points)
        sizes.append(2.0**-subdivisions)
        errors_U.append(np.abs(U - exact_U).max())
        errors_g.append(np.abs(g - exact_g).max())
    assert 1.9 < slope(sizes, errors_U) < 2.1
    assert 1.9 < slope(sizes, errors_g) < 2.1
    assert errors_U[-1] < 0.02 * exact_U.max()


def test_many_points_equal_single_points():
    """More points than a chunk holds, and not a multiple of it."""
    body = Polyhedron(icosphere(3), 1 / G)
    points = jax.random.uniform(jax.random.PRNGKey(0), (131, 3), minval=-2.0, maxval=2.0)
    U, g, gradient = evaluate(body, points)
    for i in (0, 63, 64, 130):
        single_U, single_g, single_gradient = at_point(body, points[i])
        np.testing.assert_allclose(U[i], single_U, rtol=1e-13)
        np.testing.assert_allclose(g[i], single_g, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(gradient[i], single_gradient, rtol=1e-10, atol=1e-12)


def test_float32():
    """Errors of some 1e-5 near a body 2 km in size, the surface and its corners included."""
    body = Polyhedron(icosphere(3, (2000.0, 1600.0, 1000.0)), 533.0)
    direction = np.random.default_rng(0).normal(size=(200, 3))
    factor = np.repeat([0.3, 1.0, 1.5, 5.0], 50)[:, None]
    points = jnp.array(direction / np.linalg.norm(direction / [2000, 1600, 1000], axis=1)[:, None] * factor)
    points = jnp.concatenate([points, body.vertices[:50]])
    exact, found = evaluate(body, points), evaluate(to_single(body), to_single(points))
    for a, b in zip(found[:2], exact[:2], strict=True):
        assert a.dtype == jnp.float32
        np.testing.assert_allclose(a, b, atol=2e-5 * np.abs(b).max())
    inside = slice(0, 50)
    np.testing.assert_allclose(found[2][inside], exact[2][inside], atol=1e-4 * np.abs(exact[2][inside]).max())
