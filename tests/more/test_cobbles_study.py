"""The cobbles study: its stones, the paper's tables, and what a collision of the study writes."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from difsim.mesh import TriMesh
from difsim.rotation import Rotation
from experiments.cobbles import paper
from experiments.cobbles.scene import release
from experiments.cobbles.stones import cobble, generate


@pytest.mark.parametrize("seed", [0, 7])
def test_the_generated_stone_is_the_papers_but_for_its_shape(seed):
    stone = generate(seed)
    assert len(stone.vertices) == paper.VERTICES
    np.testing.assert_allclose(stone.centroid, 0.0, atol=1e-12)
    np.testing.assert_allclose(stone.inertia(paper.MASS / stone.volume), np.diag(paper.INERTIA), atol=1e-12)
    assert 0.85 < np.ptp(stone.vertices, axis=0).max() / paper.LENGTH < 1.05
    # Star-shaped about the centre of mass, so that no face crosses another; and concave.
    assert (np.linalg.det(stone.vertices[stone.faces]) > 0).all()
    assert 0.9 < stone.volume / ConvexHull(stone.vertices).volume < 0.99


def test_a_seed_is_a_stone():
    np.testing.assert_array_equal(generate(3).vertices, generate(3).vertices)
    assert np.abs(generate(3).vertices - generate(4).vertices).max() > 1e-3


def _block(path, sides, turn=(1.0, 0.0, 0.0, 0.0)):
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]) * np.asarray(sides)
    corners = corners @ np.asarray(Rotation(jnp.array(turn)).as_matrix()).T + [1.0, 2.0, 3.0]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [f for a, b, c, d in quads for f in ((a, b, c), (a, c, d))]
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in corners]
    path.write_text("\n".join(lines + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]))
    return path


def test_a_users_mesh_is_put_about_its_centre_and_along_its_axes(tmp_path):
    a, b, c = sides = (0.12, 0.05, 0.08)
    found = cobble(str(_block(tmp_path / "block.obj", sides, (0.5, 0.1, -0.7, 0.5))), 0)
    closed_form = paper.MASS / 12 * np.array([a * a + c * c, a * a + b * b, b * b + c * c])
    np.testing.assert_allclose(found.inertia, np.sort(closed_form)[::-1], rtol=1e-9)
    np.testing.assert_allclose(np.ptp(found.mesh.vertices, axis=0), (0.05, 0.08, 0.12), rtol=1e-9)
    assert isinstance(found.mesh, TriMesh) and found.name == "block"


def test_shapes_that_are_not_there_or_of_no_cobble_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("DIFSIM_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="--shape generated"):
        cobble("bennu", 0)
    with pytest.raises(FileNotFoundError, match="no mesh file"):
        cobble(str(tmp_path / "missing.obj"), 0)
    with pytest.raises(ValueError, match=r"not 0\.02 to 0\.5 m"):
        cobble(str(_block(tmp_path / "house.obj", (12.0, 5.0, 8.0))), 0)


def test_the_papers_tables_agree_with_one_another():
    """A frontal collision of rigid, smooth bodies gives sin²α + e² cos²α: 15 of the 16 lie within 0.05 of it, which
    a wrong digit would not; and the normal speeds within 6 % of what was put in."""
    e, angle = np.array(paper.RESTITUTIONS)[:, None], np.radians(paper.INCLINATIONS)
    off = np.abs(paper.ENERGY_RATIO - (np.sin(angle) ** 2 + e**2 * np.cos(angle) ** 2))
    assert (off < 0.05).sum() == 15 and off.max() == off[3, 0]
    np.testing.assert_allclose(paper.NORMAL_RATIO / e, 1.0, atol=0.06)
    np.testing.assert_allclose(np.linalg.norm(paper.ATTITUDES, axis=1), 1.0)
    assert paper.RESTITUTION in paper.RESTITUTIONS and paper.INCLINATION in paper.INCLINATIONS


@pytest.mark.parametrize("inclination", paper.INCLINATIONS)
def test_the_release_is_table_4(inclination):
    state = release(inclination)
    to_the_other = state.second.position - state.first.position
    for velocity, line in ((state.first.velocity, to_the_other), (state.second.velocity, -to_the_other)):
        assert float(jnp.linalg.norm(velocity)) == pytest.approx(paper.SPEED)
        along = float(velocity @ line / jnp.linalg.norm(velocity) / jnp.linalg.norm(line))
        assert np.degrees(np.arccos(along)) == pytest.approx(inclination, abs=1e-6)
    across = state.first.velocity + state.second.velocity
    np.testing.assert_allclose(across / 2, (0, -paper.SPEED * np.sin(np.radians(inclination)), 0), atol=1e-12)
