"""`prevent_fusion`: nothing but a sort, in a loop and in the loop that goes back."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.dynamics.splitting import prevent_fusion

AT = jnp.asarray([3.0, -1.0, 2.0])


def turn(x, by=prevent_fusion):
    """A loop of three turns that passes `x` through."""
    return jax.lax.scan(lambda y, _: (jnp.sin(by(y)) * jnp.cos(y), None), x, length=3)[0]


@pytest.mark.parametrize("of", [lambda f: f, jax.jacfwd, jax.jacrev, jax.hessian, jax.vmap, jax.jit])
def test_it_changes_nothing(of):
    plain = of(lambda x: turn(x, lambda y: y))(AT)
    np.testing.assert_array_equal(of(turn)(AT), plain)
    np.testing.assert_array_equal(jax.jit(of(turn))(AT), jax.jit(of(lambda x: turn(x, lambda y: y)))(AT))


def test_types_stay():
    for dtype in (jnp.float32, jnp.float64, jnp.int64):
        assert prevent_fusion(jnp.arange(3, dtype=dtype)).dtype == dtype


def sorts(function):
    """The number of sorts in the compiled function."""
    return jax.jit(function).lower(AT).compile().as_text().count(" sort(")


def test_the_loop_back_has_a_sort_too():
    assert sorts(turn) == 1
    assert sorts(jax.grad(lambda x: jnp.sum(turn(x)))) == 2
