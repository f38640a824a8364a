"""Hertz in series with a leg spring, and a strut across an edge: limits, conservative forces, derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from difsim.contact import Boulder
from difsim.contact import boulder as laws
from tests.helpers import approx, check_finite, check_gradients

K, KAPPA = jnp.array(13.3e3), jnp.array(4 / 3 * 1e7 * np.sqrt(0.2))

series_force, series_energy = jax.jit(laws.series_force), jax.jit(laws.series_energy)

cross, edge_energy = eqx.filter_jit(Boulder.cross), eqx.filter_jit(Boulder.edge_energy)


def test_series_force_and_energy_solve_both_laws():
    """κ δ^1.5 = k (g - δ), solved by bracketing."""
    for k in (1e2, 13.3e3, 1e7):
        for κ in (1e4, 6e6, 1e9):
            for g in (1e-6, 1e-3, 0.05, 0.5):
                δ = brentq(lambda d: κ * d**1.5 - k * (g - d), 0, g, xtol=1e-300, rtol=1e-14)  # noqa: B023
                at = jnp.array(g), jnp.array(k), jnp.array(κ)
                assert series_force(*at) == approx(κ * δ**1.5, rel=1e-11), at
                assert series_energy(*at) == approx(k / 2 * (g - δ) ** 2 + 0.4 * κ * δ**2.5, rel=1e-11), at
    for x in (0.0, -1e-9, -1.0):
        assert series_force(jnp.array(x), K, KAPPA) == 0 == series_energy(jnp.array(x), K, KAPPA)


@pytest.mark.parametrize("law", [series_force, series_energy], ids=["force", "energy"])
def test_derivative_rules(law):
    """All three arguments, separated and deep; at the touch itself, where √ has a kink, finite ones."""
    for g in (-0.01, 1e-9, 1e-4, 0.03, 0.5):
        check_gradients(law, jnp.array(g), K, KAPPA, rtol=1e-7)
    check_finite(law, jnp.array(0.0), K, KAPPA)
    at_touch = jax.jit(jax.grad(law, argnums=(0, 1, 2)))(jnp.array(0.0), K, KAPPA)
    assert all(x == 0 for x in at_touch)


def test_second_derivative_of_the_energy_is_that_of_the_force():
    """A fit needs the derivative of the force, which comes from the energy."""
    second = jax.jit(jax.jacfwd(jax.grad(series_energy), argnums=(0, 1, 2)))
    by_energy = second(jnp.array(0.03), K, KAPPA)
    by_force = jax.grad(series_force, argnums=(0, 1, 2))(jnp.array(0.03), K, KAPPA)
    np.testing.assert_allclose(by_energy, by_force, rtol=1e-12)
    at_touch = second(jnp.array(0.0), K, KAPPA)
    assert np.isfinite(at_touch).all()


def boulder(**changes) -> Boulder:
    values = {
        "edge_point": [1.0, 0.0, 0.2],
        "edge_direction": [0.0, 1.0, 0.0],
        "half_length": 0.5,
        "modulus": 1e7,
        "radius": 0.2,
        "friction": 0.6,
    }
    return Boulder(**values | changes)


def test_crossing_of_perpendicular_lines_by_hand():
    """A strut that falls 1 in 1 in the x-z plane: at the edge it is at height h_hip - 1, and its distance from
    the edge is that excess over √2, along (1, 0, 1)/√2."""
    hip, foot = jnp.array([0.0, 0.1, 1.25]), jnp.array([1.5, 0.1, -0.25])
    edge = cross(boulder(), hip, foot)
    np.testing.assert_allclose(edge.normal, np.array([1, 0, 1]) / np.sqrt(2), atol=1e-15)
    assert edge.closure == approx(-0.05 / np.sqrt(2), rel=1e-12)
    np.testing.assert_allclose(edge.point, [1.025, 0.1, 0.225], rtol=1e-12)
    assert edge.weight == approx(1, abs=1e-6)
    below = cross(boulder(), hip - jnp.array([0.0, 0.0, 0.06]), foot - jnp.array([0.0, 0.0, 0.06]))
    assert below.closure == approx(0.01 / np.sqrt(2), rel=1e-12)


def test_the_direction_of_the_edge_does_not_matter():
    hip, foot = jnp.array([0.1, 0.05, 1.1]), jnp.array([1.5, 0.2, -0.25])
    one, other = cross(boulder(), hip, foot), cross(boulder(edge_direction=[0.0, -1.0, 0.0]), hip, foot)
    assert eqx.tree_equal(one, other, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    "hip, foot",
    [
        ([0.1, 0.9, 1.05], [1.5, 0.9, -0.35]),
        ([1.1, 0.0, 0.05], [1.5, 0.0, -0.35]),
        ([-1.0, 0.0, 1.7], [0.7, 0.0, 0.35]),
    ],
    ids=["edge's end", "above the hip", "below the foot"],
)
def test_beyond_the_ends_there_is_no_contact(hip, foot):
    hip, foot = jnp.array(hip), jnp.array(foot)
    edge = cross(boulder(), hip, foot)
    assert edge.closure > 0 and edge.weight < 1e-3
    check_finite(boulder().edge_energy, hip, foot, K)


def test_forces_are_minus_the_gradient_wherever_the_strut_lies():
    """Thousands of struts, most of them near a switch: upright, along the edge, an end at the edge."""
    random, n = np.random.default_rng(7), 4000
    hip = random.uniform([0.8, -0.6, 0.1], [1.2, 0.6, 0.9], (n, 3))
    strut = random.uniform(-1, 1, (n, 3)) * [0.3, 0.3, 1.0] * random.choice([1, 0.1], (n, 3)) - [0, 0, 0.1]
    stone = boulder()

    @jax.jit
    @jax.vmap
    def evaluate(hip, foot):
        edge = stone.cross(hip, foot)
        force, energy = series_force(edge.closure, K, stone.hertz), series_energy(edge.closure, K, stone.hertz)
        slope = jnp.stack(jax.grad(stone.edge_energy, argnums=(0, 1))(hip, foot, K))
        return edge.weight, jnp.stack(stone.edge_force(edge, force, energy)), -slope

    weight, push, expected = (np.asarray(x) for x in evaluate(jnp.asarray(hip), jnp.asarray(hip + strut)))
    size = np.abs(expected).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(push, expected, rtol=0, atol=1e-9 * np.maximum(size, 1).max())
    assert np.mean((weight > 0) & (weight < 1)) > 0.05, "many are fading"


def test_gradients_by_the_boulder():
    """Edge position and direction, modulus and radius; separated, touching and deep."""
    along = lambda b: b.edge_direction / jnp.sqrt(b.edge_direction @ b.edge_direction)  # noqa: E731

    def evaluate(b, hip, foot):
        b = eqx.tree_at(lambda b: b.edge_direction, b, along(b))
        edge = b.cross(hip, foot)
        return edge.closure, edge.normal, edge.point, edge.weight, b.edge_energy(hip, foot, K)

    for lift in (0.3, 0.0, -0.05):
        hip, foot = jnp.array([0.1, 0.05, 1.09 + lift]), jnp.array([1.5, 0.2, -0.2 + lift])
        check_gradients(evaluate, boulder(), hip, foot, rtol=1e-5)


def test_a_strut_along_the_edge_stays_finite():
    """Parallel lines do not cross: no contact, and no NaN in value or derivative."""
    hip, foot = jnp.array([1.0, -0.3, 0.15]), jnp.array([1.0, 0.4, 0.15])
    assert edge_energy(boulder(), hip, foot, K) == 0
    check_finite(boulder().edge_energy, hip, foot, K)


def test_friction_of_the_boulder():
    np.testing.assert_allclose(
        boulder().sliding_force(jnp.array(10.0), jnp.array([3.0, 4.0, 0.0])), [-3.6, -4.8, 0], rtol=1e-6
    )
    check_finite(boulder().sliding_force, jnp.array(0.0), jnp.zeros(3))
    check_gradients(
        lambda b, N, v: b.sliding_force(N, v), boulder(), jnp.array(10.0), jnp.array([0.003, -0.01, 0.002])
    )


# Ways of a strut [hip, foot] past the edge at x = 1 (height 0.2 m, y within 0.5 m), by a number from 0 to 1.
HIP, FOOT = np.array([0.6, 0.05, 0.5]), np.array([1.3, 0.1, -0.15])

X, Y, Z = np.eye(3)

PATHS = {
    "past the vertical": lambda s: (HIP + 0.5 * s * X, FOOT - 0.4 * s * X),
    "past the edge's direction": lambda s: (
        X + 0.4 * Z - 0.3 * (np.cos(3 * s) * X + np.sin(3 * s) * Y),
        X - 0.2 * Z + 0.3 * (np.cos(3 * s) * X + np.sin(3 * s) * Y),
    ),
    "its foot passes": lambda s: (HIP, FOOT - 0.5 * s * X),
    "its hip passes": lambda s: (HIP + 0.6 * s * X - 0.35 * Z, FOOT),
    "off the edge's end": lambda s: (HIP + 0.9 * s * Y, FOOT + 0.9 * s * Y),
    "upside down": lambda s: (
        X + 0.1 * Z - 0.5 * (np.cos(4 * s) * X - np.sin(4 * s) * Z),
        X + 0.1 * Z + 0.5 * (np.cos(4 * s) * X - np.sin(4 * s) * Z) + 0.1 * Y,
    ),
}


@pytest.mark.parametrize("path", PATHS)
def test_work_of_forces_is_the_energy_where_the_contact_switches(path):
    """The edge's energy has no jump on the way, and falls by what its forces do on hip and foot, to 1e-6 of it."""
    s = 0.5 * (1 - np.cos(np.pi * np.linspace(0, 1, 20001)))
    ways = np.array([np.stack(PATHS[path](x)) for x in s])

    @jax.jit
    @jax.vmap
    def meet(way):
        stone = boulder()
        edge = stone.cross(*way)
        force, energy = series_force(edge.closure, K, stone.hertz), series_energy(edge.closure, K, stone.hertz)
        return stone.edge_energy(*way, K), jnp.stack(stone.edge_force(edge, force, energy))

    energy, push = (np.asarray(x) for x in meet(jnp.asarray(ways)))
    work = np.sum(0.5 * (push[1:] + push[:-1]) * np.diff(ways, axis=0), axis=(1, 2))
    assert energy.max() > 1, "it is met"
    np.testing.assert_allclose(energy[1:] - energy[0], -np.cumsum(work), rtol=0, atol=1e-6 * energy.max())
