"""Hertz in series with a leg spring, and a strut across an edge: limits, conservative forces, derivatives."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim.contact import Boulder
from tests.helpers import check_gradients

K, KAPPA = jnp.array(13.3e3), jnp.array(4 / 3 * 1e7 * np.sqrt(0.2))

cross, edge_energy = eqx.filter_jit(Boulder.cross), eqx.filter_jit(Boulder.edge_energy)


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


def test_slipping_off_the_end_is_smooth_and_conservative():
    hip, foot = jnp.array([0.1, 0.0, 1.05]), jnp.array([1.5, 0.0, -0.35])
    weights = [
        float(cross(boulder(), hip.at[1].set(y), foot.at[1].set(y)).weight) for y in np.linspace(0.4, 0.6, 21)
    ]
    assert np.all(np.diff(weights) < 0) and weights[0] > 0.99 and weights[-1] < 0.01
    for y in (0.48, 0.5, 0.52):
        check_gradients(boulder().edge_energy, hip.at[1].set(y), foot.at[1].set(y), K)
