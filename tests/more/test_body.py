"""The rigid body against closed forms, the gear and the flywheel by hand."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import simulate
from difsim.body import Flywheel
from tests.bodies import FreeBody, at, free
from tests.core.test_body import TIGHT, angular_momenta


def test_asymmetric_top_keeps_energy_and_angular_momentum():
    times = jnp.linspace(0.0, 60.0, 13)
    model = free((1.0, 2.0, 3.0))
    solution = simulate(model, at((0.02, 1.0, 0.01)), times, **TIGHT)
    L = angular_momenta(model, solution)
    assert np.abs(L - L[0]).max() < 1e-10 * np.linalg.norm(L[0])
    T = jax.vmap(model.body.kinetic_energy)(solution.states)
    assert np.abs(T / T[0] - 1).max() < 1e-10


def test_a_push_at_the_centre_of_mass():
    model = FreeBody(free((1.0, 2.0, 3.0)).body, Flywheel(0.0, 1.0), force=jnp.array([2.0, 0.0, -1.0]))
    end = simulate(model, at((0.0, 0.0, 0.0), (1.0, 2.0, 3.0)), jnp.array([0.0, 4.0]), **TIGHT).states
    np.testing.assert_allclose(end.position[-1], [4 + 16.0, 8.0, 12 - 8.0], rtol=1e-12)
