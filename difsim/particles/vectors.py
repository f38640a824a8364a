"""Short vectors by components: over pairs, loops over an axis of two or three are not vectorised.

For pairs use tuples of components, each of which is one long array over all pairs.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim.typing import Vec3

Each = Float[Array, "*n"]  # a number for one particle or many
Components = tuple[Each, ...]
Symmetric = tuple[Each, ...]  # xx, xy, yy in the plane; xx, xy, xz, yy, yz, zz in space
Vector = Components | Float[Array, " d"]


def minus(a: Vector, b: Vector) -> Components:
    """The difference a - b.

    **Arguments:** `a`, `b`, vectors. **Returns:** its components.
    """
    return tuple(a[i] - b[i] for i in range(len(a)))


def times(s: Each, a: Vector) -> Components:
    """The product s a.

    **Arguments:** `s`, a number; `a`, a vector. **Returns:** its components.
    """
    return tuple(s * a[i] for i in range(len(a)))


def dot(a: Vector, b: Vector) -> Each:
    """The inner product a·b.

    **Arguments:** `a`, `b`, vectors. **Returns:** a number.
    """
    return sum(a[i] * b[i] for i in range(1, len(a))) + a[0] * b[0]


def outer(a: Vector, b: Vector) -> tuple[Components, ...]:
    """The tensor product a ⊗ b.

    **Arguments:** `a`, `b`, vectors. **Returns:** its rows.
    """
    return tuple(times(a[i], b) for i in range(len(a)))


def stack(m: tuple[Components, ...]) -> Float[Array, "d d *n"]:
    """A tensor [d, d, ...] from its rows."""
    return jnp.stack([jnp.stack(row) for row in m])


def upper(m: Float[Array, "d d *n"]) -> Symmetric:
    """The components of a symmetric tensor from its upper triangle."""
    return tuple(m[i, j] for i in range(len(m)) for j in range(i, len(m)))


def rows(m: Symmetric) -> tuple[Components, ...]:
    """The rows of a symmetric tensor."""
    if len(m) == 3:
        return m[:2], m[1:]
    xx, xy, xz, yy, yz, zz = m
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def cross(a: Vec3, b: Vec3) -> Vec3:
    """The vector product a × b.

    **Arguments:** `a`, `b` [3]. **Returns:** the product [3].
    """
    return jnp.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
