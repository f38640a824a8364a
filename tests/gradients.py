"""One check for the derivatives of any function of arrays and Modules: forward = reverse = differences."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree


def jacobians(function: Callable, *arguments):
    """Forward and reverse derivatives of `function(*arguments)` by all floating numbers in the arguments."""
    free, fixed = eqx.partition(arguments, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(free)

    def of_vector(vector):
        return ravel_pytree(function(*eqx.combine(unravel(vector), fixed)))[0]

    both = jax.jit(lambda vector: (jax.jacfwd(of_vector)(vector), jax.jacrev(of_vector)(vector)))
    return jax.jit(of_vector), flat, *both(flat)


def check_finite(function: Callable, *arguments, rtol=1e-9):
    """Value and derivatives are finite, and both modes agree; returns what `check_gradients` goes on with."""
    of_vector, flat, forward, reverse = jacobians(function, *arguments)
    assert np.all(np.isfinite(of_vector(flat)))
    assert np.all(np.isfinite(forward))
    np.testing.assert_allclose(forward, reverse, rtol=rtol, atol=rtol * (np.abs(forward).max() + 1e-300))
    return of_vector, flat, forward


def check_gradients(function: Callable, *arguments, step=1e-4, rtol=1e-6):
    """As `check_finite`, and both modes equal central differences (fourth order, `step` relative).

    Numbers of an argument differ by many powers of ten, so derivatives are compared as ∂f/∂ln x, or for
    x = 0 as ∂f/∂x with a step of `step`.
    """
    of_vector, flat, forward = check_finite(function, *arguments)
    scale = jnp.where(flat == 0, 1.0, jnp.abs(flat))
    steps = jnp.diag(step * scale)
    f = jax.jit(jax.vmap(of_vector))
    near = f(flat[None] + steps) - f(flat[None] - steps)
    far = f(flat[None] + 2 * steps) - f(flat[None] - 2 * steps)
    differences = ((8 * near - far) / (12 * step)).T
    exact = forward * scale[None]
    np.testing.assert_allclose(exact, differences, rtol=rtol, atol=rtol * np.abs(exact).max())


def single(tree):
    """The same arguments or Module in float32."""
    return jax.tree.map(lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, tree)
