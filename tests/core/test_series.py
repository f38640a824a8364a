"""Hertz and spring in series: the root is exact where the spring is soft, and so energy and force agree."""

import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact.boulder import series_energy, series_force


@pytest.mark.parametrize("closure", [1e-6, 1e-3, 0.02, 0.1, 1.0])
def test_the_root_is_exact_for_a_soft_leg(closure):
    k, κ = 13300.0, 4 / 3 * 1e7 * np.sqrt(0.2)  # Philae's leg on the boulder: κ √g/k = 142 at 0.1 m
    x = max(z.real for z in np.roots([κ / k, 1, 0, -closure]) if abs(z.imag) < 1e-9)
    args = jnp.asarray(closure), jnp.asarray(k), jnp.asarray(κ)
    np.testing.assert_allclose(series_force(*args), κ * x**3, rtol=1e-12)
    np.testing.assert_allclose(series_energy(*args), k / 2 * (closure - x**2) ** 2 + 0.4 * κ * x**5, rtol=1e-12)
