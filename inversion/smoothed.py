"""Gradients of an expectation over a spread of inputs, for models whose single paths have useless derivatives.

For x = p + σ ξ with ξ normal, J(p) = E[f(x)] is smooth for any f. There are two estimates of its gradient, each
with an error bar: the mean of f's own derivatives, exact in expectation for continuous f, but useless if
derivatives are large and of either sign; and the score's, from values alone, right for any f.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from difsim.checks import CallError, explain_errors, integer, numbers, random_key
from difsim.typing import Scalar, require

from .batches import map_batched


class Smoothed(eqx.Module):
    """An estimate of ∂E[f(p + σ ξ)]/∂p and its standard error.

    `gradient` and `error` [m, n] for m values and n parameters; `value` [m], the mean of f; `ok`, samples with
    finite results. Failed samples are left out, which biases the mean towards the rest without an effect on the
    error bar: check `failed_share`. Both are NaN if too few are left.
    """

    gradient: Float[Array, "m n"]
    error: Float[Array, "m n"]
    value: Float[Array, "m"]
    ok: Bool[Array, " samples"]

    @property
    def failed_share(self) -> Scalar:
        """The share of failed samples."""
        return jnp.mean(jnp.where(self.ok, 0.0, 1.0))


def smoothed_gradient(
    function: Callable[[Float[Array, " n"]], Float[Array, " m"]],
    point: Float[Array, " n"],
    spread: Float[Array, " n"],
    samples: int,
    key: Array,
    batch_size: int | None = None,
) -> Smoothed:
    """The gradient ∂E[f(p + σ ξ)]/∂p from values of f alone, by regression on antithetic pairs.

    A pair ±ξ has the half difference d = (f(p + σξ) - f(p - σξ))/2, in which all even parts of f cancel. For
    normal ξ the expectation's gradient is E[d ξᵀ]/σ (Stein), and so is the slope of d's linear regression on ξ in
    the limit of many pairs; the regression leaves only the nonlinear rest of f as noise, and is exact for any
    quadratic f. Its standard error is the sandwich estimate, which does not suppose equal scatter; it is too small
    if few samples dominate (a cubic f: 85 % of 95 % intervals hold at 200 samples).

    **Arguments:** `function` of [n] to [m], traceable; it need not be differentiable, or continuous; `point` p
    [n]; `spread` σ [n] > 0, the same units; `samples`, calls of f, even and at least 4 n; `key`; `batch_size` of
    `map_batched`. **Returns:** the estimate. **Raises:** `ValueError` for another spread or number of samples.
    **Source:** C. Stein (1981), Ann. Stat. 9, 1135; H. White (1980), Econometrica 48, 817.
    """
    called = _vector("smoothed_gradient: function", function)
    point, spread = _check("smoothed_gradient", point, spread, key)
    n = point.shape[0]
    samples = integer("smoothed_gradient: samples", samples)
    if samples % 2 or samples < 4 * n:
        raise ValueError(f"smoothed_gradient: samples = {samples} must be even and at least {4 * n}")
    xi = jax.random.normal(key, (samples // 2, n), point.dtype)
    at = point[None] + spread[None] * jnp.concatenate([xi, -xi])
    values = map_batched(called, at, batch_size)
    ok = jnp.all(jnp.isfinite(values), axis=1)
    plus, minus = jnp.split(values, 2)
    both = ok[: samples // 2] & ok[samples // 2 :]
    xi = jnp.where(both[:, None], xi, 0.0)
    half = jnp.where(both[:, None], 0.5 * (plus - minus), 0.0)
    slope, error = regression(xi, half)
    # The smallest number of pairs allowed: with fewer the regression leaves no scatter.
    enough = jnp.sum(both) >= 2 * n
    slope, error = (jnp.where(enough, x / spread[None], jnp.nan) for x in (slope, error))
    return Smoothed(
        gradient=slope,
        error=error,
        value=_mean(values, ok),
        ok=ok,
    )


def regression(x: Float[Array, "k n"], y: Float[Array, "k m"]) -> tuple[Float[Array, "m n"], Float[Array, "m n"]]:
    """Slopes of y ≈ slope·x by least squares, and their standard errors.

    The line goes through the origin: a column of ones in `x` gives an intercept. The errors are the sandwich
    estimate HC3, which does not suppose equal scatter.

    **Arguments:** `x` [k, n] of full rank, k > n; `y` [k, m]. **Returns:** slopes and errors [m, n].
    **Source:** J. G. MacKinnon & H. White (1985), J. Econometrics 29, 305.
    """
    inverse = jnp.linalg.inv(x.T @ x)
    slope = y.T @ x @ inverse
    rest, lever = y - x @ slope.T, jnp.sum(x @ inverse * x, axis=1)
    # Residuals of a fit are too small for samples of large leverage: (1 - lever) corrects that.
    influence = jnp.einsum("km,kn->kmn", rest / (1 - lever)[:, None], x @ inverse)
    return slope, jnp.sqrt(jnp.sum(influence**2, axis=0))


def pathwise_gradient(
    function: Callable[[Float[Array, " n"]], Float[Array, " m"]],
    point: Float[Array, " n"],
    spread: Float[Array, " n"],
    samples: int,
    key: Array,
    batch_size: int | None = None,
) -> Smoothed:
    """The gradient ∂E[f(p + σ ξ)]/∂p as the mean of f's forward derivatives, with the standard error of that mean.

    It is right for continuous f only: at a jump the derivative of a path lacks the contribution of the jump, and
    the error bar does not show it. If single derivatives have heavy tails (chaotic bounces) the error bar itself
    is unreliable.

    **Arguments:** as `smoothed_gradient`; `samples` at least 2. **Returns:** the estimate. **Raises:** as there.
    """
    called = _vector("pathwise_gradient: function", function)
    point, spread = _check("pathwise_gradient", point, spread, key)
    samples = integer("pathwise_gradient: samples", samples)
    if samples < 2:
        raise ValueError(f"pathwise_gradient: samples = {samples} must be at least 2")
    at = point[None] + spread[None] * jax.random.normal(key, (samples, point.shape[0]), point.dtype)
    slopes, values = map_batched(jax.jacfwd(lambda x: (called(x),) * 2, has_aux=True), at, batch_size)
    ok = jnp.all(jnp.isfinite(values), axis=1) & jnp.all(jnp.isfinite(slopes), axis=(1, 2))
    mean = _mean(slopes, ok)
    apart = jnp.where(ok[:, None, None], slopes - mean[None], 0.0)
    count = jnp.sum(ok)
    return Smoothed(
        gradient=mean,
        error=jnp.sqrt(jnp.sum(apart**2, axis=0) / (count * (count - 1))),
        value=_mean(values, ok),
        ok=ok,
    )


def _check(name: str, point, spread, key) -> tuple[Array, Array]:
    random_key(f"{name}: key", key)
    point, spread = numbers(f"{name}: point", point, "n"), numbers(f"{name}: spread", spread)
    require(spread > 0, f"{name}: spread = {spread} must be positive")
    if spread.shape not in ((), point.shape):
        raise ValueError(
            f"{name}: spread has shape {spread.shape}, point {point.shape}: give one number, or one each"
        )
    return point, jnp.broadcast_to(spread, point.shape)


def _vector(name: str, function: Callable) -> Callable:
    """The function, whose result is checked to be a vector."""
    called = explain_errors(name, function)

    def wrapper(x):
        value = called(x)
        if jnp.ndim(value) != 1:
            raise CallError(
                f"{name} returned shape {jnp.shape(value)}: return a vector [m], such as jnp.array([y])"
            )
        return jnp.asarray(value)

    return wrapper


def _mean(values: Array, ok: Array) -> Array:
    kept = ok.reshape((-1,) + (1,) * (values.ndim - 1))
    return jnp.sum(jnp.where(kept, values, 0.0), axis=0) / jnp.sum(ok)
