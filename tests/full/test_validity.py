"""What a derivative is worth: laws that jump are refused, growth is measured, doubts are statuses."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Status, simulate
from difsim.dynamics import Bouncer, PointState
from difsim.gravity import Uniform
from difsim.shape import Plane
from experiments.scenes.parts import EARTH
from tests.helpers import approx
from tests.ways import impacts


def drop(e, method, time=1.0):
    ball = Bouncer(Uniform((0.0, 0.0, -EARTH)), Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), e)
    return simulate(ball, PointState((0.0, 0.0, 1.2)), jnp.array([0.0, time]), **method, throw=False)


def with_velocity(solution):
    return solution.last.velocity, solution


def test_growth_of_a_rigid_ball():
    """What a relative change of e changes most, in units of the fall's height and speed, is the place,
    e ∂z/∂e = e v₀ (1 s - t₀). Each point has its own."""

    def by_e(e):
        return jax.jacfwd(lambda e: with_velocity(drop(e, impacts(1))), has_aux=True)(e)[1]

    v0, fall = np.sqrt(2 * EARTH * 1.2), np.sqrt(2 * 1.2 / EARTH)
    found = jax.jit(jax.vmap(by_e))(jnp.array([0.8, 0.9])).validity
    for growth, e in zip(found.growth, (0.8, 0.9), strict=True):
        assert growth == approx(e * v0 * (1 - fall) / 1.2, rel=1e-8)
    np.testing.assert_array_equal(found.contacts, 1)


def test_a_derivative_past_its_validity_is_a_status():
    """At a tolerance of 0.25 the growth of five bounces, 2.3, is past ε^(-1/2) = 2. The value is untouched."""
    loose = impacts(9, rtol=0.25)
    plain = drop(jnp.array(0.9), loose, 4.0)
    assert plain.ok and jnp.isnan(plain.validity.growth) and plain.validity.contacts == 5
    _, solution = jax.jacfwd(lambda e: with_velocity(drop(e, loose, 4.0)), has_aux=True)(jnp.array(0.9))
    assert solution.status == Status.PAST_VALIDITY and solution.validity.is_past
