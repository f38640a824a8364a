"""The polyhedron against closed forms, the sphere, the ellipsoid, its own derivatives and polyhedral-gravity."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh

from difsim.gravity import Polyhedron
from difsim.mesh import TriMesh, load
from difsim.units import G


def mesh_of(body: trimesh.Trimesh) -> TriMesh:
    return TriMesh(np.asarray(body.vertices), np.asarray(body.faces))


CUBE = Polyhedron(mesh_of(trimesh.creation.box((2, 2, 2))), 1 / G)  # G ρ = 1

evaluate = jax.jit(lambda body, points: body.evaluate(points))


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


@pytest.mark.skipif("DIFSIM_DATA" not in os.environ, reason="DIFSIM_DATA is not set: no real meshes")
@pytest.mark.skipif(
    importlib.util.find_spec("polyhedral_gravity") is None, reason="polyhedral-gravity is not installed"
)
@pytest.mark.parametrize(
    "name", ["67P/67p_shap5_cheops_2000f", "Bennu/bennu_osirisrex2019_2692f", "Itokawa/itokawa_sbgat_q8_768f"]
)
def test_polyhedral_gravity_finds_the_same(name, tmp_path: Path):
    """1000 points in and out of a real body; the peer runs in a process of its own, since its licence is GPL."""
    mesh, density = load(Path(os.environ["DIFSIM_DATA"]) / f"{name}.obj", "km"), 1000.0
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
