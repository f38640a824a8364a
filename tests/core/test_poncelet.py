"""Poncelet's law: its terms, its derivatives, and a body that never stops."""

import jax.numpy as jnp
import numpy as np

from difsim.contact import Poncelet
from tests.helpers import check_gradients


def test_each_term_of_the_resistance_is_a_pressure():
    strength, linear, drag = Poncelet(100.0, 2e3, 1500.0).resistance(jnp.array(0.1), jnp.array(0.02))
    area = np.pi * 0.02**2
    np.testing.assert_allclose([strength, linear, drag], [area * 300.0, 0.0, area * 1500.0], rtol=1e-14)


def test_derivatives():
    at = jnp.array(0.1), jnp.array(0.02)
    check_gradients(lambda law, z, r: jnp.stack(law.resistance(z, r)), Poncelet(100.0, 2e3, 1500.0), *at)
