"""Hertz in series with a leg spring, and a strut across an edge: limits, conservative forces, derivatives."""

import jax.numpy as jnp
import numpy as np

from tests.core.test_boulder import K, boulder, cross
from tests.helpers import check_gradients


def test_slipping_off_the_end_is_smooth_and_conservative():
    hip, foot = jnp.array([0.1, 0.0, 1.05]), jnp.array([1.5, 0.0, -0.35])
    weights = [
        float(cross(boulder(), hip.at[1].set(y), foot.at[1].set(y)).weight) for y in np.linspace(0.4, 0.6, 21)
    ]
    assert np.all(np.diff(weights) < 0) and weights[0] > 0.99 and weights[-1] < 0.01
    for y in (0.48, 0.5, 0.52):
        check_gradients(boulder().edge_energy, hip.at[1].set(y), foot.at[1].set(y), K)
