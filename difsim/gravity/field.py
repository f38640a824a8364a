"""Gravity fields: one potential at one point, from which acceleration and gradient follow.

The potential U is positive near mass, and g = +∇U (the geodesist's sign). A field is evaluated at one point;
callers use `vmap`. Fields can be added and multiplied by a number: `3 * (field + Uniform(g))`.
"""

from abc import abstractmethod
from functools import reduce
from operator import add
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.checks import check_point, check_points, numbers
from difsim.declarations import part, quantity, quaternion, rule
from difsim.rotation import Rotation
from difsim.typing import Mat3, Quat, Scalar, Vec3


class AbstractField(eqx.Module):
    """A gravity field, given by its potential at one point."""

    def __init_subclass__(cls, **kwargs):
        """Check the point that the methods of a field are given, those of a user's own field too."""
        super().__init_subclass__(**kwargs)
        check_points(cls, "potential", "acceleration", "gradient")

    @abstractmethod
    def potential(self, x: Vec3) -> Scalar:
        """U(x) > 0 in m²/s² at `x` [3] in m."""

    @check_point
    def acceleration(self, x: Vec3) -> Vec3:
        """g = +∇U [3] in m/s² at `x` [3] in m."""
        return jax.grad(self.potential)(x)

    @check_point
    def gradient(self, x: Vec3) -> Mat3:
        """∂g/∂x = ∇∇U [3,3] in 1/s² at `x` [3] in m: symmetric, with trace -4πGρ."""
        return jax.jacfwd(jax.grad(self.potential))(x)

    def tide(self, place: Vec3, x: Vec3) -> Scalar:
        """The potential U(p + x) - U(p) - x·g(p) that a frame feels whose origin falls freely at p.

        The difference loses the digits by which the tide is smaller than the pull. A field that has a better form
        returns that.

        **Arguments:** `place` p [3], m; `x` [3] from there, m. **Returns:** the potential, m²/s².
        """
        at_place, pull = jax.value_and_grad(self.potential)(place)
        return self.potential(place + x) - at_place - jnp.dot(pull, x)

    @property
    def is_inertial(self) -> bool:
        """Whether no part of the field is `Rotating`, with a centrifugal term."""
        is_rotating = lambda part: isinstance(part, Rotating)  # noqa: E731
        return not any(map(is_rotating, jax.tree.leaves(self, is_leaf=is_rotating)))

    def __add__(self, other: "AbstractField") -> "AbstractField":
        return Sum((self, other))

    def __mul__(self, factor: Any) -> "AbstractField":
        return Scaled(self, factor)

    def __rmul__(self, factor: Any) -> "AbstractField":
        return Scaled(self, factor)


class Sum(AbstractField):
    """The sum of several fields, U = Σ Uᵢ; `a + b` makes one."""

    tag = "sum"
    fields: tuple[AbstractField, ...] = part("tuple of at least one field")

    @rule("fields is empty: give at least one field, or Uniform((0, 0, 0))")
    def _has_fields(self):
        return len(self.fields) > 0

    def potential(self, x: Vec3) -> Scalar:
        return reduce(add, (field.potential(x) for field in self.fields))

    def tide(self, place: Vec3, x: Vec3) -> Scalar:
        return reduce(add, (field.tide(place, x) for field in self.fields))


class Scaled(AbstractField):
    """A field times a number, U = s U₀, as when all densities are scaled by s; `s * field` makes one."""

    tag = "scaled"
    field: AbstractField = part("field of potential U₀")
    factor: Scalar = quantity("", "factor s", usual=(0.01, 100))

    def potential(self, x: Vec3) -> Scalar:
        return self.factor * self.field.potential(x)

    def tide(self, place: Vec3, x: Vec3) -> Scalar:
        return self.factor * self.field.tide(place, x)


class Uniform(AbstractField):
    """The same acceleration everywhere, U = g·x (so U = 0 in the origin)."""

    tag = "uniform"
    vector: Vec3 = quantity("m/s²", "acceleration g")

    def potential(self, x: Vec3) -> Scalar:
        return jnp.dot(self.vector, x)


class Rotating(AbstractField):
    """A field in a frame of uniform rotation, gravity and centrifugal term: U = U₀ + ½ |ω × x|².

    The rotation axis goes through the origin. The Coriolis term -2 ω × v has no potential; it belongs to the
    equations of motion.
    """

    tag = "rotating"
    field: AbstractField = part("gravity in the rotating frame, of potential U₀")
    omega: Vec3 = quantity("rad/s", "angular velocity ω of the frame", slip="degrees per second")

    def potential(self, x: Vec3) -> Scalar:
        speed = jnp.cross(self.omega, x)
        return self.field.potential(x) + 0.5 * jnp.dot(speed, speed)


class Turned(AbstractField):
    """A field whose own frame is turned against the one in which it is asked for, U(x) = U₀(A x)."""

    tag = "turned"
    field: AbstractField = part("field of potential U₀ in its own frame")
    attitude: Quat = quaternion("attitude A, a unit quaternion from the frame of x to the field's own")

    def potential(self, x: Vec3) -> Scalar:
        return self.field.potential(Rotation(self.attitude) @ x)

    def tide(self, place: Vec3, x: Vec3) -> Scalar:
        turn = Rotation(self.attitude)
        return self.field.tide(turn @ place, turn @ x)


class PointMass(AbstractField):
    """A point mass, U = GM/|x - r|.

    At the point r itself U and all its derivatives are 0.
    """

    tag = "point-mass"
    GM: Scalar = quantity(
        "m³/s²", "gravitational parameter GM", ge=0, usual=(0.1, 1e6), slip="km³/s²", hint="masses attract"
    )
    position: Vec3 = quantity("m", "position r of the point")

    def potential(self, x: Vec3) -> Scalar:
        return safe.divide(self.GM, safe.norm(x - self.position))

    def tide(self, place: Vec3, x: Vec3) -> Scalar:
        """The tide without differences of large numbers, for points at any distance from the mass.

        With r from the place to the mass, q = (x² - 2 x·r)/r² and s = |x - r|/r, so that s² = 1 + q, the tide is
        GM/r (q² (2 + s)/(2 s (1 + s)²) - ½ x²/r²).

        **Arguments:** `place` [3], m; `x` [3] from there, m. **Returns:** the potential, m²/s².

        **Source:** the same step as for the acceleration in Battin, An introduction to the mathematics and methods of
        astrodynamics (1999), sec. 8.4.
        """
        arm = self.position - place
        r = safe.norm(arm)
        ratio, s = safe.divide(x, jnp.broadcast_to(r, (3,))), safe.divide(safe.norm(x - arm), r)
        square = jnp.dot(ratio, ratio)
        q = square - 2 * jnp.dot(ratio, safe.unit(arm))
        return safe.divide(self.GM, r) * (safe.divide(q**2 * (2 + s), 2 * s * (1 + s) ** 2) - 0.5 * square)


def as_points(points: Any) -> Float[Array, "P 3"]:
    """The points of `evaluate` as an array.

    **Arguments:** `points` [P,3], m. **Returns:** the array. **Raises:** `ValueError` for another shape, none, and
    known values that are not finite.
    """
    points = numbers("evaluate: points", points)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) == 0:
        raise ValueError(
            f"evaluate: points of shape {points.shape}: give [P,3], in m, P > 0; for one point there are "
            "potential, acceleration and gradient"
        )
    return points
