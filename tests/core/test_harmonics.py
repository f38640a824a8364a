"""Spherical harmonics: the functions, closed forms of coefficients, fits, files, and the polar axis."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from difsim.gravity import Ellipsoid, Harmonics, PointMass, Polyhedron, error_map, read_harmonics
from difsim.gravity.harmonics import solid_harmonics
from difsim.mesh import box
from difsim.units import G

DIRECTIONS = np.random.default_rng(2).normal(size=(40, 3))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1)[:, None]


def test_functions_are_those_of_scipy():
    x = np.array([0.9, -1.1, 0.7])
    r, latitude, longitude = np.linalg.norm(x), np.arcsin(x[2] / np.linalg.norm(x)), np.arctan2(x[1], x[0])
    real, imaginary = solid_harmonics(jnp.asarray(x), 9)
    for n in range(10):
        for m in range(n + 1):
            ratio = scipy.special.gamma(n - m + 1) / scipy.special.gamma(n + m + 1)
            norm = np.sqrt((2 - (m == 0)) * (2 * n + 1) * ratio)
            size = (-1) ** m * norm * scipy.special.lpmv(m, n, np.sin(latitude)) / r ** (n + 1)
            expected = size * np.cos(m * longitude), size * np.sin(m * longitude)
            np.testing.assert_allclose((real[n, m], imaginary[n, m]), expected, atol=1e-14)
    assert not np.triu(real, 1).any() and not np.triu(imaginary, 1).any()


def test_coefficients_of_an_ellipsoid_are_its_moments():
    a, b, c, R = 1.2, 0.8, 0.6, 1.3
    series = Harmonics.fit(Ellipsoid(np.zeros(3), np.eye(3), (a, b, c), 1 / G), R, 6)
    np.testing.assert_allclose(series.GM, 4 / 3 * np.pi * a * b * c, rtol=1e-13)
    expected = np.zeros((3, 3))
    expected[0, 0] = 1
    expected[2, 0] = (c**2 - (a**2 + b**2) / 2) / (5 * R**2) / np.sqrt(5)
    expected[2, 2] = (a**2 - b**2) / (20 * R**2) * np.sqrt(12 / 5)
    np.testing.assert_allclose(series.cosine[:3, :3], expected, atol=1e-13)
    np.testing.assert_allclose(series.sine, 0, atol=1e-13)


@pytest.mark.parametrize(
    ("field", "degree", "worst"),
    [
        (lambda: PointMass(2.0, (0.3, 0.2, -0.1)), 30, 1e-11),
        (lambda: Ellipsoid(np.zeros(3), np.eye(3), (1.0, 0.8, 0.6), 1 / G), 20, 1e-7),
        (lambda: Polyhedron(box((1.0, 1.2, 0.8)), 1 / G), 20, 2e-7),
    ],
    ids=["point mass", "ellipsoid", "polyhedron"],
)
def test_series_is_the_field_outside_and_nan_inside(field, degree, worst):
    exact = field()
    series = Harmonics.fit(exact, 1.0, degree)
    assert error_map(series, exact, 1.6 * DIRECTIONS)["worst"] < worst
    assert jnp.isnan(series.potential(0.9 * jnp.asarray(DIRECTIONS[0])))
    # Higher degrees converge: what is left falls by the powers of the distance.
    rough = error_map(Harmonics.fit(exact, 1.0, 4), exact, 1.6 * DIRECTIONS)["worst"]
    assert 10 * worst < rough < 0.1


def test_polar_axis_is_a_place_like_others():
    """Pull and gradient are finite and right on it, and Laplace's equation holds."""
    field = PointMass(2.0, (0.3, 0.2, -0.1))
    series = Harmonics.fit(field, 1.0, 30)
    for x in ((0.0, 0.0, 2.0), (0.0, 0.0, -1.5), (1e-200, 0.0, 2.0)):
        x = jnp.asarray(x)
        np.testing.assert_allclose(series.acceleration(x), field.acceleration(x), rtol=1e-8)
        gradient = series.gradient(x)
        np.testing.assert_allclose(gradient, field.gradient(x), atol=1e-7)
        np.testing.assert_allclose(jnp.trace(gradient), 0, atol=1e-12)


def test_file_gives_the_coefficients_in_si_units(tmp_path):
    """Earth-like numbers, normalised and not: J2 = -C20."""
    path = tmp_path / "field.tab"
    head = "  0.075, 3.0268D-10, 0.0, 2, 2, {}, 0.0, 0.0\n"
    path.write_text(head.format(0) + " 2, 0, -0.1, 0.0, 0.0, 0.0\n 2, 2, 2.0E-2, -1.0E-2, 0.0, 0.0\n")
    plain = read_harmonics(path)
    np.testing.assert_allclose([plain.radius, plain.GM], [75.0, 0.30268], rtol=1e-14)
    x = jnp.array([60.0, 50.0, 70.0])
    r, (a, b, c) = float(jnp.linalg.norm(x)), np.asarray(x) / float(jnp.linalg.norm(x))
    terms = -0.1 * (3 * c**2 - 1) / 2 + 3 * (0.02 * (a**2 - b**2) - 0.01 * 2 * a * b)
    np.testing.assert_allclose(plain.potential(x), 0.30268 / r * (1 + (75 / r) ** 2 * terms), rtol=1e-13)

    rows = [f"{n}, {m}, {float(plain.cosine[n, m])!r}, {float(plain.sine[n, m])!r}\n" for n, m in ((2, 0), (2, 2))]
    path.write_text(head.format(1) + "".join(rows))
    np.testing.assert_array_equal(jax.tree.leaves(read_harmonics(path))[2], plain.cosine)
    for wrong in ("", head.format(2), head.format(1) + "3, 0, 1.0, 0.0\n", head.format(1) + "2, 0, x, 0.0\n"):
        path.write_text(wrong)
        with pytest.raises(ValueError, match=r"field\.tab: .*give"):
            read_harmonics(path)
