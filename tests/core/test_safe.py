"""The guarded maths at exactly zero, in batches with one zero row, for tiny vectors, and in float32."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import safe
from tests.helpers import check_finite, check_gradients

DTYPES = [jnp.float32, jnp.float64]
TINY = 5e-9  # m/s; a norm that calls this zero loses real motion


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("jac", [jax.jacfwd, jax.jacrev])
def test_exactly_zero_has_zero_derivatives(dtype, jac):
    zero = jnp.zeros(3, dtype)
    for f in (safe.norm, safe.unit, safe.sqrt):
        value, slope = f(zero), jac(f)(zero)
        assert value.dtype == slope.dtype == dtype
        assert not value.any() and not slope.any()
    for argnum in (0, 1):
        assert jac(safe.divide, argnum)(dtype(0), dtype(0)) == 0
        assert jac(safe.arctan2, argnum)(dtype(0), dtype(0)) == 0
    assert safe.divide(dtype(3), dtype(0)) == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("jac", [jax.jacfwd, jax.jacrev])
@pytest.mark.parametrize("f", [safe.norm, safe.unit])
def test_one_zero_row_in_a_batch(f, jac, dtype):
    rows = jnp.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0], [TINY, 0.0, 0.0]], dtype)
    alone = jax.jit(jax.vmap(jac(f)))(rows)
    together = jax.jit(jac(f))(rows)  # the derivative of row i by row j
    for i in range(3):
        np.testing.assert_allclose(together[i, ..., i, :], alone[i], rtol=1e-6)
    assert np.isfinite(together).all()
    np.testing.assert_allclose(safe.norm(rows), jnp.array([5, 0, TINY], dtype), rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_small_is_not_zero(dtype):
    v = jnp.array([0.0, -TINY, 0.0], dtype)
    assert safe.norm(v) == pytest.approx(TINY, rel=1e-6)
    np.testing.assert_allclose(safe.unit(v), jnp.array([0, -1, 0], dtype), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(safe.norm)(v), jnp.array([0, -1, 0], dtype), rtol=1e-6)
    np.testing.assert_allclose(jax.jacrev(safe.unit)(v)[0, 0], 1 / TINY, rtol=1e-6)


def test_nan_stays_nan():
    """A force that is not known must not pass for none."""
    v = jnp.array([0.0, jnp.nan, 1.0])
    for found in (safe.sqrt(v)[1], safe.power(v, 1.5)[1], safe.norm(v), *safe.unit(v), safe.divide(v, v)[1]):
        assert jnp.isnan(found)


def test_quotients_of_numbers_whose_square_underflows():
    """A soft contact begins with forces of 1e-300 N: d(a/b) must not square b."""
    by_a, by_b = jax.jacfwd(safe.divide, argnums=(0, 1))(jnp.array(2e-200), jnp.array(1e-200))
    np.testing.assert_allclose([by_a, by_b], [1e200, -2e200], rtol=1e-14)
    np.testing.assert_allclose(jax.jacrev(safe.divide, argnums=1)(jnp.array(2e-200), jnp.array(1e-200)), -2e200)


def test_gradients_away_from_zero():
    v = jnp.array([0.3, -1.2, 2.0])
    check_gradients(safe.norm, v, unit=1.0, step=1e-5)
    check_gradients(safe.unit, v, unit=1.0, step=1e-5)
    check_gradients(lambda x: safe.sqrt(x[2]), v, unit=1.0, step=1e-5)
    check_gradients(lambda x: safe.divide(x[0], x[1]), v, unit=1.0, step=1e-5)
    check_gradients(lambda x: safe.arctan2(x[0], x[1]), v, unit=1.0, step=1e-5)
    check_gradients(lambda x: safe.ramp(x, 0.1), v, unit=1.0, step=1e-5)
    check_gradients(lambda x: safe.step(x, 1.0), v, unit=1.0, step=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ramp_and_step(dtype):
    width = 0.1
    x = jnp.array([-1e3, -1.0, 0.0, 1.0, 1e3], dtype)
    above = safe.ramp(x, width) - jnp.maximum(x, 0)
    assert above.dtype == dtype
    assert (above >= 0).all() and (above <= width * np.log(2) * (1 + 1e-5)).all()
    assert above[2] == pytest.approx(width * np.log(2), rel=1e-6)
    np.testing.assert_allclose(jax.vmap(jax.grad(safe.ramp), (0, None))(x, width), safe.step(x, width), rtol=1e-5)
    np.testing.assert_allclose(safe.step(x, width)[jnp.array([0, 2, 4])], jnp.array([0, 0.5, 1], dtype))
    second = jax.vmap(jax.grad(jax.grad(safe.ramp)), (0, None))(x, width)
    assert np.isfinite(second).all() and second[2] == pytest.approx(0.25 / width, rel=1e-5)


def test_least_and_greatest_follow_one_element():
    x = jnp.array([3.0, 1.0, 2.0, 1.0])
    assert safe.least(x) == 1.0 and safe.greatest(x) == 3.0
    np.testing.assert_array_equal(jax.grad(safe.least)(x), [0, 1, 0, 0])
    np.testing.assert_array_equal(jax.jacfwd(safe.greatest)(x), [1, 0, 0, 0])


@pytest.mark.parametrize("jac", [jax.jacfwd, jax.jacrev])
def test_shortened(jac):
    """Shorter vectors pass with the derivative 1, longer ones keep the direction alone, and zero stays zero."""
    rows = jnp.array([[3.0, 0.0, 4.0], [0.3, 0.0, 0.4], [0.0, 0.0, 0.0]])
    most = jnp.array([2.0, 2.0, 0.0])
    np.testing.assert_allclose(safe.clip_norm(rows, most), [[1.2, 0, 1.6], [0.3, 0, 0.4], [0, 0, 0]], atol=1e-15)
    slopes = jax.vmap(jac(safe.clip_norm))(rows, most)
    u = np.array([0.6, 0.0, 0.8])
    np.testing.assert_allclose(slopes[0], 2 / 5 * (np.eye(3) - np.outer(u, u)), atol=1e-15)
    np.testing.assert_allclose(slopes[1], np.eye(3), atol=1e-15)
    assert np.isfinite(slopes[2]).all()


@pytest.mark.parametrize("exponent", [0, 0.25, 1, 1.5, 2.5])
def test_power_at_zero_and_beside_it(exponent):
    x = jnp.array([-1.0, 0.0, 1e-300, 2.0])
    np.testing.assert_allclose(safe.power(x, exponent)[:2], 0)
    np.testing.assert_allclose(safe.power(x, exponent)[2:], x[2:] ** exponent)
    check_finite(lambda x: safe.power(x, exponent), jnp.array([-1.0, 0.0, 2.0]))
    check_gradients(lambda x: safe.power(x, exponent), jnp.array([-1.0, 0.3, 2.0]))
