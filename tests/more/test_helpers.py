import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.declarations import quantity
from tests.helpers import check_gradients, count_traces, slope


class Spring(eqx.Module):
    stiffness: jax.Array = quantity("", "a number of a toy")
    name: str = eqx.field(static=True, default="spring")


def test_check_gradients_accepts_arrays_and_modules():
    check_gradients(lambda x: jnp.sin(x) * x[0], jnp.array([0.3, 2.0]))
    check_gradients(lambda s: s.stiffness**2, Spring(3.0))


def test_check_gradients_refuses_nan_and_wrong_derivatives():
    with pytest.raises(AssertionError, match="not finite"):
        check_gradients(lambda x: jnp.sqrt(x @ x), jnp.zeros(3))

    @jax.custom_jvp
    def spoil(x):
        return x**2

    spoil.defjvp(lambda x, t: (spoil(x[0]), x[0] * t[0]))
    with pytest.raises(AssertionError, match="finite differences"):
        check_gradients(spoil, jnp.array(1.5))


def test_a_number_is_not_traced_again_and_has_a_gradient():
    def force(s):
        return s.stiffness * 2.0

    assert count_traces(force, (Spring(1.0),), (Spring(2.0),), (Spring(3),)) == 1
    assert count_traces(force, (Spring(1.0),), (Spring(2.0, "other"),)) == 2
    assert eqx.filter_grad(force)(Spring(1.0)).stiffness == 2.0


def test_slope():
    h = np.array([0.1, 0.05, 0.025])
    assert slope(h, 3 * h**2) == pytest.approx(2)
