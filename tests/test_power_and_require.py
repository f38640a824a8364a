"""The guarded power, and the check that constructors use."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import safe
from difsim.contact import LinearClipped, Newton, Sharp
from difsim.typing import require
from tests.helpers import check_finite, check_gradients


@pytest.mark.parametrize("exponent", [0, 0.25, 1, 1.5, 2.5])
def test_power_at_zero_and_beside_it(exponent):
    x = jnp.array([-1.0, 0.0, 1e-300, 2.0])
    np.testing.assert_allclose(safe.power(x, exponent)[:2], 0)
    np.testing.assert_allclose(safe.power(x, exponent)[2:], x[2:] ** exponent)
    check_finite(lambda x: safe.power(x, exponent), jnp.array([-1.0, 0.0, 2.0]))
    check_gradients(lambda x: safe.power(x, exponent), jnp.array([-1.0, 0.3, 2.0]))


def test_require_reads_values_and_lets_tracers_through():
    require(jnp.array([True, True]), "not raised")
    with pytest.raises(ValueError, match="two of them"):
        require(jnp.array([True, False]), "two of them")
    with pytest.raises(ValueError, match="NaN"):
        require(jnp.array(jnp.nan) > 0, "NaN")

    @jax.jit
    def inside(x):
        require(x > 0, "values of a trace cannot be read")
        return x

    inside(-1.0)


def test_a_vector_where_a_law_has_one_number_is_refused():
    for build in (
        lambda x: Newton(x, 0.5),
        lambda x: Newton(0.5, np.asarray(x)),
        lambda x: LinearClipped(x, 0.0, Sharp()),
    ):
        with pytest.raises(ValueError, match=r"shape \(2,\) where one number belongs"):
            build(jnp.array([0.5, 0.6]))
    # A batch is made of laws of one number each.
    many = jax.vmap(lambda e: Newton(e, 0.5))(jnp.array([0.5, 0.6]))
    np.testing.assert_array_equal(many.restitution, [0.5, 0.6])
