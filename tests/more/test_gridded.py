"""The fast field against the exact field that it was fitted to, and what makes it safe for long runs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh

from difsim.gravity import Ellipsoid, Gridded, error_map
from difsim.gravity.sampling import field_at, sample_above_surface
from difsim.mesh import TriMesh, surface_points
from difsim.units import G
from tests.catalogue import rotation
from tests.helpers import directions, to_single

SEMI_AXES, CENTRE, AXES = np.array([1.0, 0.8, 0.6]), np.array([0.3, -0.2, 0.1]), rotation(6)

BODY = Ellipsoid(CENTRE, AXES, SEMI_AXES, 1 / G)

SPACING = 1 / 12

GM = 4 / 3 * np.pi * SEMI_AXES.prod()


def mesh(subdivisions=3):
    """The ellipsoid by triangles, circumscribed: all places on it are outside the body."""
    ball = trimesh.creation.icosphere(subdivisions=subdivisions)
    vertices = np.asarray(ball.vertices) / np.linalg.norm(ball.triangles_center, axis=1).min()
    return TriMesh(vertices * SEMI_AXES @ AXES + CENTRE, np.asarray(ball.faces))


@pytest.fixture(scope="module")
def fast():
    return Gridded.fit(BODY, mesh(), SPACING)


def test_float32(fast):
    x = np.concatenate([CENTRE + r * directions(30) for r in (1.0, 1.42, 5.0)])
    g = jax.vmap(to_single(fast).acceleration)(jnp.asarray(x, jnp.float32))
    assert g.dtype == jnp.float32
    exact = field_at(fast, x)[1]
    assert (np.linalg.norm(g - exact, axis=1) < 5e-5 * np.linalg.norm(exact, axis=1)).all()


def test_far_away_it_is_a_point_mass(fast):
    for distance in (1e3, 1e6, 1e9):
        x = CENTRE + distance * directions(20)
        U, g = field_at(fast, x)
        # The quadrupole of the body is of the order of (size/distance)², the middle of the image exact.
        tolerance = 1e-12 + 1 / distance**2
        np.testing.assert_allclose(U, GM / distance, rtol=tolerance)
        np.testing.assert_allclose(g, -GM / distance**2 * directions(20), atol=GM / distance**2 * tolerance)


def test_second_derivatives_are_continuous(fast):
    """Across a knot, and where the blend begins and ends."""
    tensor = jax.jit(jax.vmap(fast.gradient))
    knot = (fast.near.origin + fast.near.spacing * 20 + fast.centre)[None]
    along = jnp.asarray(directions(1))
    for place in (knot, CENTRE[None] + fast.inner * along, CENTRE[None] + fast.outer * along):
        before, after = tensor(place - 1e-9 * along), tensor(place + 1e-9 * along)
        np.testing.assert_allclose(before, after, atol=1e-6 * np.abs(before).max())
        np.testing.assert_allclose(before, before.swapaxes(1, 2), atol=1e-12)


def test_work_round_a_closed_loop_is_zero(fast):
    """A circle through the body, the blend and the far table."""
    angle = np.linspace(0, 2 * np.pi, 8001)
    u, v = rotation(4)[:2]
    loop = 1.2 * (np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * v) + 0.9 * u + CENTRE
    tangent = 1.2 * (-np.sin(angle)[:, None] * u + np.cos(angle)[:, None] * v)
    assert np.linalg.norm(loop - CENTRE, axis=1).min() < 0.4 and np.linalg.norm(loop - CENTRE, axis=1).max() > 2
    power = np.einsum("ij,ij->i", field_at(fast, loop)[1], tangent)
    np.testing.assert_allclose(np.trapezoid(power, angle), 0, atol=1e-9 * np.abs(power).max())


def test_error_of_the_acceleration(fast):
    """Goals: 0.2 % rms and 1 % at the surface, 1e-4 well above it, 1e-5 from two radii."""
    surface = error_map(fast, BODY, surface_points(mesh(), 500, seed=1).points)
    assert surface["rms"] < 2e-3 and surface["worst"] < 1e-2
    assert surface["potential"].max() < surface["rms"]
    for height, worst in ((0.5, 1e-4), (1.0, 1e-5)):
        assert error_map(fast, BODY, sample_above_surface(mesh(), 500, height))["worst"] < worst
    for distance in (2.0, 5.0, 20.0, 1000.0):
        assert error_map(fast, BODY, CENTRE + distance * directions(500))["worst"] < 1e-5


def test_tables_are_kept(tmp_path):
    spacing = 2 * SPACING
    made = Gridded.fit(BODY, mesh(2), spacing, cache=tmp_path)
    (file,) = tmp_path.glob("*/*")
    written = file.stat().st_mtime_ns
    assert eqx.tree_equal(Gridded.fit(BODY, mesh(2), spacing, cache=tmp_path), made)
    assert list(tmp_path.glob("*/*")) == [file] and file.stat().st_mtime_ns == written
    other = Gridded.fit(2 * BODY, mesh(2), spacing, cache=tmp_path)
    assert len(list(tmp_path.glob("*/*"))) == 2 and not eqx.tree_equal(other, made)
