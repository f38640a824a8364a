"""`prevent_fusion`: nothing but a sort, in a loop and in the loop that goes back."""

import jax
import jax.numpy as jnp

from difsim.dynamics.splitting import prevent_fusion

AT = jnp.asarray([3.0, -1.0, 2.0])


def turn(x):
    """A loop of three turns that passes `x` through."""
    return jax.lax.scan(lambda y, _: (jnp.sin(prevent_fusion(y)) * jnp.cos(y), None), x, length=3)[0]


def sorts(function):
    """The number of sorts in the compiled function."""
    return jax.jit(function).lower(AT).compile().as_text().count(" sort(")


def test_the_loop_back_has_a_sort_too():
    assert sorts(turn) == 1
    assert sorts(jax.grad(lambda x: jnp.sum(turn(x)))) == 2
