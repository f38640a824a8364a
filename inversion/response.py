"""Response surfaces: the mean of a noisy or chaotic model as a smooth, cheap function."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from difsim.checks import numbers


class ResponseSurface(eqx.Module):
    """A polynomial of second degree in n numbers, by least squares; `surface(x)` [m], differentiable.

    `low` and `high` [n]: the box of its points, the range of validity; `terms` [t, m] of t = (n + 1)(n + 2)/2;
    `error` [m]: rms error of leave-one-out predictions, with the scatter of the model: the sigma of one
    prediction; `ok` [k]: the points that were used.
    """

    low: Float[Array, " n"]
    high: Float[Array, " n"]
    terms: Float[Array, "t m"]
    error: Float[Array, " m"]
    ok: Bool[Array, " k"]

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        return _monomials(self.scale(x)) @ self.terms

    def is_inside(self, x: Float[Array, " n"]) -> Bool[Array, ""]:
        """True if `x` is in the box of the points."""
        x = self._point(x)
        return jnp.all((x >= self.low) & (x <= self.high))

    def scale(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """The numbers scaled so that the box is ±1."""
        return (2 * self._point(x) - self.low - self.high) / (self.high - self.low)

    def _point(self, x: Any) -> Float[Array, " n"]:
        return numbers("ResponseSurface: x", x, str(self.low.shape[0]), is_finite=False)


def response_surface(points: Float[Array, "k n"], values: Float[Array, "k m"]) -> ResponseSurface:
    """On the host: the response surface through noisy values at points.

    Points with values that are not finite are left out, and are not `ok`.

    **Arguments:** `points` [k, n]; `values` [k, m]. **Returns:** the surface.
    **Raises:** ValueError for fewer than 1.5 times as many points as there are terms, or points that do not
    determine one of the n numbers or a product of two.
    **Source:** Box & Wilson (1951), J. R. Stat. Soc. B 13, 1; the error: Allen (1974), Technometrics 16, 125.
    """
    points = numbers("response_surface: points", points, "k n")
    values = numbers("response_surface: values", values, "k m", is_finite=False)
    if len(points) != len(values):
        raise ValueError(
            f"response_surface: {len(points)} points and {len(values)} values: give values for each point"
        )
    ok = np.isfinite(np.asarray(values)).all(axis=1)
    low, high = jnp.min(points, axis=0), jnp.max(points, axis=0)
    n = points.shape[1]
    count = (n + 1) * (n + 2) // 2
    if ok.sum() < 1.5 * count:
        raise ValueError(
            f"response_surface: {ok.sum()} points with finite values are too few for {count} terms of {n} numbers"
        )
    if not bool(jnp.all(high > low)):
        raise ValueError("response_surface: a number that is the same in all points cannot be determined")
    none = jnp.zeros((count, values.shape[1]))
    surface = ResponseSurface(low, high, none, none[0], jnp.asarray(ok))
    design = np.asarray(jax.vmap(lambda x: _monomials(surface.scale(x)))(points[ok]))
    left, size, right = np.linalg.svd(design, full_matrices=False)
    if size[-1] < 1e-8 * size[0]:
        raise ValueError("response_surface: the points lie on a conic section, and do not determine all terms")
    y = np.asarray(values)[ok]
    terms = right.T @ ((left.T @ y) / size[:, None])
    lever = np.sum(left**2, axis=1)
    off = (y - design @ terms) / (1 - lever)[:, None]
    error = np.sqrt(np.mean(off**2, axis=0))
    return eqx.tree_at(lambda s: (s.terms, s.error), surface, (jnp.asarray(terms), jnp.asarray(error)))


def _monomials(x: Float[Array, " n"]) -> Float[Array, " t"]:
    """The monomials 1, x_i, x_i x_j for i ≤ j."""
    i, j = np.triu_indices(x.shape[0])
    return jnp.concatenate([jnp.ones(1), x, x[i] * x[j]])
