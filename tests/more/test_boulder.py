"""Hertz in series with a leg spring, and a strut across an edge: limits, conservative forces, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.core.test_boulder import K, boulder, series_energy, series_force

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
