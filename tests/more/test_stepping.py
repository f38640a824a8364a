"""Stepping: the guard, statuses, and which derivative each method offers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, FixedSteps, Status, simulate
from difsim.dynamics import PointState
from tests.bodies import Bullet
from tests.core.test_stepping import G, drop_above
from tests.ways import equal, forward, name


class Unknown(Bullet):
    def _push(self, z):
        return jnp.nan * z


def test_a_force_that_is_not_known_is_never_ok():
    model, start, times = Unknown(6e3, 0.05, gravity=G), drop_above(jnp.array(0.6)), jnp.array([0.0, 0.8])
    assert simulate(model, start, times, throw=False).status == Status.NOT_FINITE


class Unaccounted(Bullet):
    def energy(self, t, state):
        return {"kinetic": jnp.where(t > 0, jnp.nan, 0.0)}


def test_an_account_that_is_not_finite_is_told():
    model, start = Unaccounted(6e3, 0.05), drop_above(jnp.array(0.6))
    solution = simulate(model, start, jnp.array([0.0, 0.1]), solver=FixedSteps(50), throw=False)
    assert solution.status == Status.NOT_FINITE and jnp.all(jnp.isfinite(solution.last.position))


def test_a_start_inside_the_contact_counts_as_one_contact():
    start = PointState((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    for method in (forward(), equal(300)):
        solution = simulate(Bullet(6e3, 0.05), start, jnp.array([0.0, 0.3]), **method)
        assert np.isfinite(solution.stats.steps_per_contact)


def test_time_counts_from_the_first_time():
    """The same flight at another epoch, for a model that does not know the time."""
    start, model = PointState((0.0, 0.0, 0.6)), Bullet(6e3, 0.05, gravity=G)
    one = simulate(model, start, jnp.array([0.0, 0.8]))
    other = simulate(model, start, jnp.array([100.0, 100.8]))
    np.testing.assert_allclose(other.states.position, one.states.position, atol=1e-7)


@pytest.mark.parametrize("method", [forward(1e-10, 1e-10), equal(2000)], ids=name)
def test_a_solution_is_differentiated_by_its_times(method):
    """By the last time it is the rate of the state there; by the first, as the field does not know the time, minus
    the same."""
    model, start = Bullet(6e3, 0.05, gravity=G), PointState((0.0, 0.0, 0.6))

    def end(times):
        return simulate(model, start, times, **method, throw=False).states.position[-1, 2]

    found = jax.jacfwd(end)(jnp.array([0.0, 0.5, 0.8]))
    speed = simulate(model, start, jnp.array([0.0, 0.8]), solver=Adaptive(1e-12, 1e-12, order=8)).last.velocity[2]
    np.testing.assert_allclose(found, jnp.stack([-speed, 0.0 * speed, speed]), atol=1e-6)
