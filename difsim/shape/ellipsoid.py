"""The exact distance to an ellipsoid, by its closest point."""

import jax
import jax.numpy as jnp

from difsim import safe
from difsim.declarations import quantity
from difsim.shape.sdf import AbstractSDF
from difsim.typing import Scalar, Vec3


class Ellipsoid(AbstractSDF):
    """An ellipsoid centred in the origin with semi-axes a along x, y, z (`Posed` moves and turns it).

    The closest surface point of x is yᵢ = aᵢ² xᵢ/(aᵢ² + t), with t > -min aᵢ² the root of Σ (aᵢ xᵢ/(aᵢ² + t))² =
    1. Then d = t |x/(a² + t)|, exact outside and inside. Deep inside, on the mid-plane of the shortest axis, two
    points are equally close, and the normal is that of one.

    Error of the distance: some 1e-15 of the largest semi-axis in float64, 3e-7 in float32.

    **Source:** Eberly, Distance from a Point to an Ellipse, an Ellipsoid, or a Hyperellipsoid (2013), for the
    equation and its bracket; Newton's method is applied to 1/√Σ here, which is almost linear in t.
    """

    tag = "ellipsoid"
    semi_axes: Vec3 = quantity("m", "semi-axes a along x, y and z", gt=0, usual=(0.01, 1e4), slip="km or mm")

    def distance(self, x: Vec3) -> Scalar:
        # In units of the longest semi-axis, so that squares stay in the range of float32.
        size = jnp.max(self.semi_axes)
        return size * _distance(self.semi_axes / size, x / size)


@jax.custom_jvp
def _distance(a: Vec3, x: Vec3) -> Scalar:
    p, root = _nearest(a, x)
    return root * safe.norm(p / a)


@_distance.defjvp
def _(primals, tangents):
    """∂d/∂x = n̂, ∂d/∂aᵢ = -n̂ᵢ pᵢ: without the derivative of the root, which does not exist at the centre."""
    (a, x), (da, dx) = primals, tangents
    p, root = _nearest(a, x)
    normal = safe.unit(p / a)
    return root * safe.norm(p / a), jnp.dot(normal, dx) - jnp.dot(normal * p, da)


@jax.jit  # traced once for a motion that asks in dozens of places, and for its derivatives
def _nearest(a: Vec3, x: Vec3) -> tuple[Vec3, Scalar]:
    """The closest surface point y as pᵢ = yᵢ/aᵢ (a unit vector), and t."""
    # In the mid-planes 0/0 would follow: take a point just off them.
    x = x + jnp.where(x == 0, _TINY, 0.0)
    # Solved for s = t + min a², which avoids cancellation near the mid-plane of the shortest axis. Its own e must be 0:
    # a² - min a², compiled to one operation that rounds once, leaves 1e-17, which is large against _TINY.
    least = jnp.min(a)
    e = (a - least) * (a + least)
    start = jnp.max(a * jnp.abs(x) - e)  # below the root, since Σ ≥ 1 by the largest term alone
    held = jax.lax.stop_gradient((a, x, e))
    s = jax.lax.fori_loop(0, _STEPS, lambda _, s: _newton(s, *held), jax.lax.stop_gradient(start))
    s = _newton(s, a, x, e)  # carries the derivative of the root, for that of the normal
    p, root = a * x / (e + s), s - least**2
    # Where two points are equally close the normal jumps; its derivative there, of order 1/_TINY, is left out.
    two = s < 1e10 * _TINY
    return jnp.where(two, jax.lax.stop_gradient(p), p), jnp.where(two, jax.lax.stop_gradient(root), root)


_TINY = 1e-30
_STEPS = 16


def _newton(s: Scalar, a: Vec3, x: Vec3, e: Vec3) -> Scalar:
    p2 = (a * x / (e + s)) ** 2
    F = jnp.sum(p2)
    return s + F * (safe.sqrt(F) - 1) / jnp.sum(p2 / (e + s))
