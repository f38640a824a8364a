"""What many tests need: gradients compared three ways, float32, traces counted, orders of convergence."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree


def jacobians(function: Callable, *arguments):
    """`function` of one vector of all floating numbers in `arguments`, that vector, and the derivative there
    by forward and by reverse mode."""
    free, fixed = eqx.partition(arguments, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(free)

    def of_vector(vector):
        return ravel_pytree(function(*eqx.combine(unravel(vector), fixed)))[0]

    both = jax.jit(lambda vector: (jax.jacfwd(of_vector)(vector), jax.jacrev(of_vector)(vector)))
    return jax.jit(of_vector), flat, *(np.asarray(j) for j in both(flat))


def check_finite(function: Callable, *arguments, reverse_rtol: float = 1e-10):
    """Value and derivatives are finite, and both modes agree; returns what `check_gradients` goes on with."""
    of_vector, flat, forward, reverse = jacobians(function, *arguments)
    assert np.isfinite(of_vector(flat)).all(), f"value is not finite:\n{of_vector(flat)}"
    assert np.isfinite(forward).all(), f"forward derivative is not finite:\n{forward}"
    assert np.isfinite(reverse).all(), f"reverse derivative is not finite:\n{reverse}"
    atol = reverse_rtol * np.abs(forward).max(initial=0) + 1e-300
    np.testing.assert_allclose(reverse, forward, rtol=reverse_rtol, atol=atol, err_msg="reverse")
    return of_vector, flat, forward


def check_gradients(
    function: Callable,
    *arguments,
    step: float = 1e-4,
    rtol: float = 1e-6,
    unit: float = 0.0,
    reverse_rtol: float = 1e-10,
) -> None:
    """Forward, reverse and central finite differences (fourth order) of `function(*arguments)` agree.

    `arguments` are arrays or any pytrees with floating arrays in them (Modules); the function returns arrays.
    Numbers of a model differ by many powers of ten, so derivatives are compared as ∂f/∂ln x with a relative
    `step`; a number below `unit` in size counts as `unit`, an exact 0 at least as 1. Everything runs under
    jit, as it will in use; to look at many points, give `jax.vmap(f)` and a stack of them, which compiles
    once. Our own rather than `jax.test_util.check_grads`, which compares random projections only and hands
    numpy arrays to functions that are annotated for jax arrays.
    """
    of_vector, flat, forward = check_finite(function, *arguments, reverse_rtol=reverse_rtol)
    size = jnp.maximum(jnp.abs(flat), unit)
    scale = jnp.where(size == 0, 1.0, size)
    steps = jnp.diag(step * scale)
    f = jax.jit(jax.vmap(of_vector))
    near = f(flat[None] + steps) - f(flat[None] - steps)
    far = f(flat[None] + 2 * steps) - f(flat[None] - 2 * steps)
    differences = np.asarray(((8 * near - far) / (12 * step)).T)
    exact = forward * np.asarray(scale)[None]
    atol = rtol * np.abs(exact).max(initial=0)
    np.testing.assert_allclose(exact, differences, rtol=rtol, atol=atol, err_msg="finite differences")


def approx(expected, **tolerances):
    """`pytest.approx` of a jax number, which it refuses as it is."""
    return pytest.approx(np.asarray(expected).item(), **tolerances)


def single(tree):
    """The same arguments or Module in float32."""
    return jax.tree.map(lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, tree)


def count_traces(f: Callable, *calls: tuple) -> int:
    """How often `eqx.filter_jit(f)` is traced when called with each of `calls`, tuples of arguments."""
    traces = 0

    @eqx.filter_jit
    def counted(*args):
        nonlocal traces
        traces += 1
        return f(*args)

    for args in calls:
        counted(*args)
    return traces


def slope(hs, errors) -> float:
    """The order p of errors ∝ hᵖ: least-squares slope of log(error) over log(h)."""
    return float(np.polyfit(np.log(hs), np.log(errors), 1)[0])
