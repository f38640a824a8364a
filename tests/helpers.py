"""What many tests need: gradients compared three ways, float32, traces counted, orders of convergence."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from difsim.particles.neighbours import Neighbours


def python_blocks(page: Path | str) -> list[str]:
    """The blocks of Python of a page, or of a text."""
    text = page.read_text(encoding="utf-8") if isinstance(page, Path) else page
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)


def find_published(name: str | Path) -> Path:
    """A file of published shapes or measurements; a test that has none is skipped."""
    path = Path(os.environ.get("DIFSIM_DATA", "")) / name
    if not path.is_file():
        pytest.skip(f"{name} is not under DIFSIM_DATA: set it to the folder with the published data")
    return path


def flatten_arguments(function: Callable, arguments):
    """`function` of one vector of all floating numbers in `arguments`, and that vector."""
    free, fixed = eqx.partition(arguments, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(free)
    return lambda vector: ravel_pytree(function(*eqx.combine(unravel(vector), fixed)))[0], flat


# Each of these two is one program, and kept: tests that call them with one and the same function object and
# other values of the same shapes compile it once.


@eqx.filter_jit
def derivatives(function: Callable, arguments):
    """Value, and derivative by forward and by reverse mode, at `arguments`."""
    f, flat = flatten_arguments(function, arguments)

    def differentiate_twice(x):  # the value comes along, without a trace of its own
        value = f(x)
        return value, value

    forward, value = jax.jacfwd(differentiate_twice, has_aux=True)(flat)
    return value, forward, jax.jacrev(f)(flat)


@eqx.filter_jit
def derivatives_and_differences(function: Callable, arguments, step, unit):
    """... and central finite differences of fourth order, with the scale of each number."""
    f, flat = flatten_arguments(function, arguments)
    size = jnp.maximum(jnp.abs(flat), unit)
    scale = jnp.where(size == 0, 1.0, size)
    steps = jnp.diag(step * scale)
    points = jnp.concatenate([flat[None] + k * steps for k in (1, -1, 2, -2)])
    up, down, up2, down2 = jnp.split(jax.vmap(f)(points), 4)
    differences = ((8 * (up - down) - (up2 - down2)) / (12 * step)).T
    return derivatives(function, arguments), differences, scale


def close(a, b) -> None:
    """Two pytrees are equal but for rounding."""
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12), a, b)


def all_pairs(x, reach: float, radius=0.0):
    """Which spheres at `x` [d, n] have a gap below `reach`, a table, by looking at all; none with itself."""
    x, radius = np.asarray(x), np.broadcast_to(radius, np.shape(x)[1])
    gap = np.linalg.norm(x[:, :, None] - x[:, None], axis=0) - radius[:, None] - radius
    return (gap < reach) & ~np.eye(radius.size, dtype=bool)


def directions(count: int, seed: int = 0) -> np.ndarray:
    """Unit vectors [count, 3] in all directions."""
    found = np.random.default_rng(seed).normal(size=(count, 3))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def list_neighbours(position, *sizes, **more) -> Neighbours:
    """`Neighbours.empty` of the same arguments, filled."""
    return eqx.filter_jit(Neighbours.rebuild)(Neighbours.empty(position, *sizes, **more), jnp.asarray(position))


def random_like(tree, seed: int):
    """A pytree of the same shapes, of normally distributed numbers."""
    leaves, structure = jax.tree.flatten(tree)
    rng = np.random.default_rng(seed)
    return structure.unflatten([jnp.asarray(rng.normal(size=x.shape)) for x in leaves])


def assert_same_function(ours: Callable, theirs: Callable, *at) -> None:
    """Values and derivatives of two functions agree: forward, in reverse, and of second order both ways."""
    along, back, all_of = random_like(at, 1), random_like(theirs(*at), 2), tuple(range(len(at)))

    def look(f):
        slope = jax.grad(lambda *x: sum(jnp.sum(jnp.sin(y)) for y in jax.tree.leaves(f(*x))), all_of)
        size = lambda *x: sum(jnp.sum(s**2) for s in jax.tree.leaves(slope(*x)))  # noqa: E731
        return (
            jax.jvp(f, at, along),
            jax.vjp(f, *at)[1](back),
            jax.jvp(slope, at, along),
            jax.grad(size, all_of)(*at),
        )

    close(*(jax.jit(lambda f=f: look(f))() for f in (ours, theirs)))


@eqx.filter_jit
def each(function: Callable, models: Mapping, *arguments) -> dict:
    """`function(model, *arguments)` of each model by its name, all of them as one program."""
    return {name: function(model, *arguments) for name, model in models.items()}


def assert_finite(value, forward, reverse, reverse_rtol: float) -> None:
    assert np.isfinite(value).all(), f"value is not finite:\n{value}"
    assert np.isfinite(forward).all(), f"forward derivative is not finite:\n{forward}"
    assert np.isfinite(reverse).all(), f"reverse derivative is not finite:\n{reverse}"
    atol = reverse_rtol * np.abs(forward).max(initial=0) + 1e-300
    np.testing.assert_allclose(reverse, forward, rtol=reverse_rtol, atol=atol, err_msg="reverse")


def check_finite(function: Callable, *arguments, reverse_rtol: float = 1e-10) -> np.ndarray:
    """Value and derivatives are finite, and both modes agree; returns the derivative."""
    value, forward, reverse = map(np.asarray, derivatives(function, arguments))
    assert_finite(value, forward, reverse, reverse_rtol)
    return forward


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
    of_both = derivatives_and_differences(function, arguments, jnp.asarray(step), jnp.asarray(unit))
    (value, forward, reverse), differences, scale = jax.tree.map(np.asarray, of_both)
    assert_finite(value, forward, reverse, reverse_rtol)
    exact = forward * scale[None]
    atol = rtol * np.abs(exact).max(initial=0)
    np.testing.assert_allclose(exact, differences, rtol=rtol, atol=atol, err_msg="finite differences")


@eqx.filter_jit
def rows(law: Callable, *x):
    """`law`, also a Module's method, of each row of all `x` as one program, not operation by operation."""
    return jax.vmap(law)(*x)


def approx(expected, **tolerances):
    """`pytest.approx` of a jax number, which it refuses as it is."""
    return pytest.approx(np.asarray(expected).item(), **tolerances)


def to_single(tree):
    """The same arguments or Module in float32."""
    return jax.tree.map(lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, tree)


def count_traces(f: Callable, *calls: tuple) -> int:
    """How often `eqx.filter_jit(f)` is traced for `calls`, tuples of arguments; nothing is compiled or run."""
    traces = 0

    @eqx.filter_jit
    def count(*args):
        nonlocal traces
        traces += 1
        return f(*args)

    for args in calls:
        count.lower(*args)
    return traces


def slope(hs, errors) -> float:
    """The order p of errors ∝ hᵖ: least-squares slope of log(error) over log(h)."""
    return float(np.polyfit(np.log(hs), np.log(errors), 1)[0])
