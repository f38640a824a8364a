"""What many tests need: gradients compared three ways, traces counted, orders of convergence measured."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree


def check_gradients(f: Callable, x, *, step: float = 1e-6, rtol: float = 1e-6, atol: float = 1e-9) -> None:
    """Forward, reverse and central finite differences of `f` at `x` are finite and agree.

    `x` is an array, or any pytree with floating arrays in it (a Module); `f(x)` is an array. `step` is the
    finite difference's, relative to max(1, |x|) of each entry. Forward and reverse must agree to 1e-10 of the
    largest entry, whatever `rtol`. Everything runs under jit, as it will in use; to look at many points, give
    `jax.vmap(f)` and a stack of them, which compiles once. Our own rather than
    `jax.test_util.check_grads`, which compares random projections only and hands numpy arrays to functions
    that are annotated for jax arrays.
    """
    arrays, rest = eqx.partition(x, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(arrays)

    def g(v):
        return jnp.ravel(f(eqx.combine(unravel(v), rest)))

    forward, reverse = np.asarray(jax.jit(jax.jacfwd(g))(flat)), np.asarray(jax.jit(jax.jacrev(g))(flat))
    assert np.isfinite(forward).all(), f"forward derivative is not finite:\n{forward}"
    assert np.isfinite(reverse).all(), f"reverse derivative is not finite:\n{reverse}"
    scale = np.abs(forward).max(initial=0)
    np.testing.assert_allclose(reverse, forward, rtol=1e-10, atol=1e-10 * scale + 1e-300, err_msg="reverse")

    steps = step * jnp.maximum(1, jnp.abs(flat))
    values = jax.jit(jax.vmap(g))(flat[None] + jnp.concatenate([jnp.diag(steps), -jnp.diag(steps)]))
    up, down = np.split(np.asarray(values), 2)
    differences = ((up - down) / (2 * np.asarray(steps)[:, None])).T
    np.testing.assert_allclose(
        forward, differences, rtol=rtol, atol=atol + rtol * scale, err_msg="finite differences"
    )


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
