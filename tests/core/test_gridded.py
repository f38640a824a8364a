"""The fast field against the exact field that it was fitted to, and what makes it safe for long runs."""

import equinox as eqx
import numpy as np
import pytest
import trimesh

from difsim.gravity import Ellipsoid, Gridded, PointMass, Uniform, error_map
from difsim.gravity.sampling import above_surface
from difsim.gravity.tables import near_table
from difsim.mesh import TriMesh, surface_points
from difsim.spline import GridSpline
from difsim.units import G
from tests.catalogue import rotation

SEMI_AXES, CENTRE, AXES = np.array([1.0, 0.8, 0.6]), np.array([0.3, -0.2, 0.1]), rotation(6)

BODY = Ellipsoid(CENTRE, AXES, SEMI_AXES, 1 / G)

SPACING = 1 / 12


def mesh(subdivisions=3):
    """The ellipsoid by triangles, circumscribed: all places on it are outside the body."""
    ball = trimesh.creation.icosphere(subdivisions=subdivisions)
    vertices = np.asarray(ball.vertices) / np.linalg.norm(ball.triangles_center, axis=1).min()
    return TriMesh(vertices * SEMI_AXES @ AXES + CENTRE, np.asarray(ball.faces))


@pytest.fixture(scope="module")
def fast():
    return Gridded.fit(BODY, mesh(), SPACING, progress=False)


def directions(n, seed=3):
    d = np.random.default_rng(seed).normal(size=(n, 3))
    return d / np.linalg.norm(d, axis=1)[:, None]


def test_error_of_the_acceleration(fast):
    """Goals: 0.2 % rms and 1 % at the surface, 1e-4 well above it, 1e-5 from two radii."""
    surface = error_map(fast, BODY, surface_points(mesh(), 500, seed=1).points)
    assert surface["rms"] < 2e-3 and surface["worst"] < 1e-2
    assert surface["potential"].max() < surface["rms"]
    for height, worst in ((0.5, 1e-4), (1.0, 1e-5)):
        assert error_map(fast, BODY, above_surface(mesh(), 500, height))["worst"] < worst
    for distance in (2.0, 5.0, 20.0, 1000.0):
        assert error_map(fast, BODY, CENTRE + distance * directions(500))["worst"] < 1e-5


def test_the_fit_outside_beats_interpolation(fast):
    """Interpolation smears the jump of ∇g through the surface; the fit to the outside mends that tenfold."""
    radii = (float(fast.inner), float(fast.outer))
    near = near_table(BODY, np.asarray(fast.centre), SPACING, fast.far, *radii, None)
    interpolated = eqx.tree_at(lambda field: field.near, fast, near)
    places = surface_points(mesh(), 500).points
    assert error_map(interpolated, BODY, places)["rms"] > 10 * error_map(fast, BODY, places)["rms"]


def table(half):
    return GridSpline((-half,) * 3, half / 4, np.zeros((9, 9, 9)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gridded.fit(BODY, mesh(), 0.3), "spacing 0.3 m"),
        (lambda: Gridded.fit(BODY, mesh(), -1.0), "spacing -1"),
        (lambda: Gridded.fit(BODY, mesh(), 1e-3), r"makes a table of .* numbers, .* GiB: give 0.006\d+ m or more"),
        (lambda: Gridded.fit(BODY + Uniform((0, 0, 1.0)), mesh(), 0.1, progress=False), "fall off as GM/r"),
        (lambda: Gridded.fit(PointMass(1.0, (50.0, 0, 0)), mesh(), 0.1, progress=False), "fall off as GM/r"),
        (lambda: Gridded(table(4.0), table(4.0), np.zeros(3), 2.0, 1.0), "inner < outer"),
        (lambda: Gridded(table(4.0), table(4.0), np.zeros(3), 2.0, 3.5), "up to outer = 3.5 m"),
    ],
)
def test_wrong_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
