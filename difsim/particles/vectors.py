"""Products of short vectors, written out: reductions of an axis of two or three are not vectorised over pairs."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.typing import Scalar, Vec3


def dot(a: Float[Array, " d"], b: Float[Array, " d"]) -> Scalar:
    """a·b."""
    return sum(a[i] * b[i] for i in range(1, a.shape[0])) + a[0] * b[0]


def cross(a: Vec3, b: Vec3) -> Vec3:
    """a × b."""
    return jnp.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
