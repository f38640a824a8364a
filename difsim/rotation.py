"""Rotations: a class for them, the angles and axes of a landing site, and algebra of matrices [3, 3]."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from difsim import safe
from difsim.checks import numbers
from difsim.declarations import variable
from difsim.typing import Mat3, Quat, Scalar, Vec3, is_known


class Rotation(eqx.Module):
    """A rotation R from the body's frame to the outer one.

    `R @ v` has the outer components of a vector [3] with body components v, and `R @ S` is S and then R. It is one
    rotation: use `jax.vmap` for many. An integrator lets the length of its quaternion drift within its tolerance,
    which turns no vector; `normalise` removes the drift.

    **Example:**

    ```python
    import jax.numpy as jnp

    from difsim.rotation import Rotation

    turn = Rotation.from_rotation_vector(jnp.array([0.0, 0.0, 0.1]))  # rad
    print(turn @ jnp.array([1.0, 0.0, 0.0]), turn.inverse @ turn)
    ```
    """

    quaternion: Quat = variable("", "unit quaternion q = (w, u), scalar first")

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Rotation):
            return Rotation(_multiply(self.quaternion, other.quaternion))
        return _rotate(self.quaternion, other)

    @property
    def inverse(self) -> "Rotation":
        """The rotation back, of (w, -u)."""
        return Rotation(jnp.concatenate([self.quaternion[:1], -self.quaternion[1:]]))

    def normalise(self) -> "Rotation":
        """The same rotation with a quaternion of unit length; the zero quaternion stays 0."""
        return Rotation(safe.unit(self.quaternion))

    def rate(self, spin: Vec3) -> Quat:
        """The rate of the quaternion, ½ q ⊗ (0, ω), 1/s. **Arguments:** `spin` ω [3], rad/s, in the body frame."""
        return _rate(self.quaternion, spin)

    def as_matrix(self) -> Mat3:
        """The matrix [3, 3], whose columns are the body axes in the outer frame."""
        return _to_matrix(self.quaternion)

    def as_rotation_vector(self) -> Vec3:
        """The rotation vector [3] rad with |φ| ≤ π; smooth at the identity.

        At half a turn φ and -φ are the same rotation. It jumps there, and its derivative is meaningless.
        """
        return _to_rotation_vector(self.quaternion)

    def as_mrp(self) -> Vec3:
        """The modified Rodrigues parameters u/(1 + w), |p| ≤ 1, which jump to the shadow set at half a turn."""
        return _to_mrp(self.quaternion)

    @classmethod
    def from_matrix(cls, matrix: Mat3) -> "Rotation":
        """The rotation of a matrix [3, 3], with w ≥ 0."""
        return cls(_from_matrix(matrix))

    @classmethod
    def from_rotation_vector(cls, vector: Vec3) -> "Rotation":
        """The rotation by |φ| about a vector φ [3], rad; smooth at 0."""
        return cls(_from_rotation_vector(vector))

    @classmethod
    def from_mrp(cls, parameters: Vec3) -> "Rotation":
        """The rotation of modified Rodrigues parameters p [3] = tan(θ/4) n."""
        return cls(_from_mrp(parameters))


@jax.jit
def _rotate(q: Quat, v: Vec3) -> Vec3:
    """v + (2w u×v + 2 u×(u×v))/|q|², a rotation for any length of q."""
    w, u = q[0], q[1:]
    t = 2 * jnp.cross(u, v) / jnp.dot(q, q)
    return v + w * t + jnp.cross(u, t)


@jax.jit
def _multiply(p: Quat, q: Quat) -> Quat:
    """p ⊗ q: q is applied first, then p."""
    w = p[0] * q[0] - jnp.dot(p[1:], q[1:])
    u = p[0] * q[1:] + q[0] * p[1:] + jnp.cross(p[1:], q[1:])
    return jnp.concatenate([w[None], u])


@jax.jit
def _rate(q: Quat, spin: Vec3) -> Quat:
    return 0.5 * _multiply(q, jnp.concatenate([jnp.zeros_like(spin[:1]), spin]))


@jax.jit
def _to_matrix(q: Quat) -> Mat3:
    return jax.vmap(_rotate, in_axes=(None, 0), out_axes=1)(q, jnp.eye(3, dtype=q.dtype))


@jax.jit
def _from_matrix(r: Mat3) -> Quat:
    """The unit quaternion of a rotation matrix, with w ≥ 0 (Shepperd, J. Guidance 1, 223, 1978).

    R gives the products 4 qᵢqⱼ, whose row i is 4 qᵢ q. The row with the largest |qᵢ| ≥ 1/2 is normalised, so that
    no angle leads to a division by a small number.
    """
    (a, b, c), (d, e, f), (g, h, i) = r
    products = jnp.array(
        [
            [1 + a + e + i, h - f, c - g, d - b],
            [h - f, 1 + a - e - i, b + d, c + g],
            [c - g, b + d, 1 - a + e - i, f + h],
            [d - b, c + g, f + h, 1 - a - e + i],
        ]
    )
    return _upper(safe.unit(products[jnp.argmax(jnp.diagonal(products))]))


@jax.jit
def _from_rotation_vector(phi: Vec3) -> Quat:
    """The quaternion (cos θ/2, sin(θ/2) φ/θ) of a rotation vector φ [3] rad with θ = |φ|; smooth at φ = 0."""
    x = jnp.dot(phi, phi)
    small = x < 1e-2  # Below this the series in θ², and their derivatives, are exact to rounding.
    theta = jnp.sqrt(jnp.where(small, 1.0, x))
    cos_series = 1 - x / 8 * (1 - x / 48 * (1 - x / 120 * (1 - x / 224)))
    sin_series = 0.5 - x / 48 * (1 - x / 80 * (1 - x / 168 * (1 - x / 288)))
    w = jnp.where(small, cos_series, jnp.cos(theta / 2))
    k = jnp.where(small, sin_series, jnp.sin(theta / 2) / theta)
    return jnp.concatenate([w[None], k * phi])


@jax.jit
def _to_rotation_vector(q: Quat) -> Vec3:
    q = _upper(q)
    w, u = q[0], q[1:]
    x = jnp.dot(u, u)
    small = x < 1e-3 * w * w  # Below this the series of atan(t)/t in t² = |u|²/w² is exact to rounding.
    s = jnp.sqrt(jnp.where(small, 1.0, x))
    t2 = jnp.where(small, x, 0.0) / jnp.where(small, w * w, 1.0)
    series = (1 - t2 * (1 / 3 - t2 * (1 / 5 - t2 * (1 / 7 - t2 / 9)))) / jnp.where(small, w, 1.0)
    return 2 * jnp.where(small, series, jnp.arctan2(s, w) / s) * u


@jax.jit
def _from_mrp(p: Vec3) -> Quat:
    """The quaternion ((1 - p²), 2p)/(1 + p²) of modified Rodrigues parameters p [3] = tan(θ/4) n."""
    x = jnp.dot(p, p)
    return jnp.concatenate([(1 - x)[None], 2 * p]) / (1 + x)


@jax.jit
def _to_mrp(q: Quat) -> Vec3:
    q = _upper(q)
    return q[1:] / (1 + q[0])


def axis_from_projections(alpha: Scalar | float, beta: Scalar | float) -> Vec3:
    """The unit axis [3] along (cos α, sin α, sin α tan β), from the angles of its projections.

    An axis in the xz plane other than x and z projects to α = 0 or π and β = ±π/2 whatever its slope, so the two
    angles do not determine it. Inside `jit` such a pair gives ±x.

    **Arguments:** `alpha` α, rad, of the projection on the xy plane, from +x towards +y, over all four quadrants,
    so that it determines the end of the axis; `beta` β, rad, of the projection on the yz plane, from +y towards
    +z, modulo π, since α determines the sign of y. At β = ±π/2 the axis is ±z.
    **Returns:** the axis [3]. **Raises:** ValueError, outside `jit`, for a pair that does not determine an axis,
    and for angles that are not finite.
    **Source:** the Agilkia reconstruction, sec. 2.1 (α, β in the comet-fixed, αₛ, βₛ in the surface frame).
    """
    alpha, beta = (numbers(f"axis_from_projections: {name}", x) for name, x in (("alpha", alpha), ("beta", beta)))
    ca, sa, cb, sb = jnp.cos(alpha), jnp.sin(alpha), jnp.cos(beta), jnp.sin(beta)
    eps = 4 * jnp.finfo(ca.dtype).eps
    if is_known(sa) and is_known(cb) and abs(sa) < eps and abs(cb) < eps:
        raise ValueError(
            f"alpha = {alpha} and beta = {beta} rad are the projections of every axis in the xz plane: "
            "give the axis itself, or angles measured in another frame"
        )
    # The factor |cos β| keeps all terms finite at β = ±π/2, where rounding must not determine the sign.
    sign = jnp.where(jnp.where(jnp.abs(cb) < eps, sa, cb) < 0, -1.0, 1.0)
    return safe.unit(jnp.stack([ca * cb, sa * cb, sa * sb]) * sign)


@jax.jit
def product3(a: Float[Array, "m 3 *n"], b: Float[Array, "3 k *n"]) -> Float[Array, "m k *n"]:
    """The matrix product a b over an axis of three, written out.

    A library costs more than the product, and on a GPU it rounds float32 to the ten bits of its tensor cores.

    **Arguments:** `a` [m, 3], `b` [3, k]; of many, with their axes last. **Returns:** the product [m, k].
    """
    return a[:, :1] * b[:1] + a[:, 1:2] * b[1:2] + a[:, 2:] * b[2:]


@jax.jit
def times3(matrix: Mat3, vector: Vec3) -> Vec3:
    """The product of a 3 x 3 matrix and a vector, by `product3`.

    **Arguments:** `matrix` [3, 3]; `vector` [3]. **Returns:** the product [3].
    """
    return product3(matrix, vector[:, None])[:, 0]


@jax.jit
def turned3(turn: Mat3, tensor: Mat3) -> Mat3:
    """The tensor in another frame, R T Rᵀ. **Arguments:** `turn` R; `tensor` T. **Returns:** the tensor [3, 3]."""
    return product3(product3(turn, tensor), turn.T)


def cofactors3(matrix: Mat3) -> tuple[Mat3, Scalar]:
    """The adjugate of a 3 x 3 matrix, whose inverse is this over the determinant, and the determinant."""
    columns = matrix.T
    twice = jnp.concatenate([columns, columns])
    rows = jnp.cross(twice[1:4], twice[2:5])
    return rows, jnp.sum(columns[0] * rows[0])


@jax.jit
def inverse3(matrix: Mat3) -> Mat3:
    """The inverse of a 3 x 3 matrix by cofactors: a LAPACK call costs more than the rest of a time step."""
    cofactors, determinant = cofactors3(matrix)
    return cofactors / determinant


@jax.jit
def solve3(matrix: Mat3, vector: Vec3) -> Vec3:
    """The solution x of M x = b, by `inverse3`.

    **Arguments:** `matrix` M [3,3]; `vector` b [3]. **Returns:** x [3].
    """
    return times3(inverse3(matrix), vector)


@jax.jit
def spin_rate(inertia: Mat3, spin: Vec3, torque: Vec3 | float = 0.0, stored_momentum: Vec3 | float = 0.0) -> Vec3:
    """Euler's equations, I ω' = τ - ω × (I ω + h), solved for ω'.

    **Arguments:** `inertia` I [3, 3] kg m², `spin` ω [3] rad/s, `torque` τ [3] N m and `stored_momentum` h [3] N m s
    of wheels inside, all in the body frame. **Returns:** ω' [3], rad/s².
    """
    return solve3(inertia, torque - jnp.cross(spin, times3(inertia, spin) + stored_momentum))


def nearest_rotation(matrix: ArrayLike | Sequence) -> np.ndarray:
    """On the host: the orthonormal matrix nearest to one that was published with few digits."""
    left, _, right = np.linalg.svd(np.asarray(matrix))
    return left @ right


def _upper(q: Quat) -> Quat:
    """q or -q, which are the same rotation, with w ≥ 0."""
    return jnp.where(q[0] < 0, -q, q)
