"""A second body whose gravity is felt as a tide: the primary about which the body of the frame moves."""

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim.curve import Curve
from difsim.declarations import part, quantity
from difsim.dynamics.frames import AbstractFrame, frame_field
from difsim.gravity import AbstractField
from difsim.gravity.field import Turned
from difsim.rotation import Rotation
from difsim.typing import Scalar, Vec3


class Kepler(eqx.Module):
    """The position of one body from another on an ellipse, in axes that do not rotate.

    With all angles 0 the orbit is in the plane of x and y, and at t = 0 in its pericentre on the x axis.
    """

    semi_major_axis: Scalar = quantity("m", "semi-major axis a", gt=0, usual=(10, 1e12), slip="km")
    period: Scalar = quantity("s", "period T", gt=0, usual=(1e3, 1e9), slip="hours")
    eccentricity: Scalar = quantity("", "eccentricity e", ge=0, lt=1, default=0.0)
    mean_anomaly: Scalar = quantity("rad", "mean anomaly M at t = 0", slip="degrees", default=0.0)
    inclination: Scalar = quantity("rad", "inclination to the plane of x and y", slip="degrees", default=0.0)
    node: Scalar = quantity("rad", "longitude of the ascending node", slip="degrees", default=0.0)
    pericentre: Scalar = quantity("rad", "argument of the pericentre", slip="degrees", default=0.0)

    def __call__(self, t: Scalar) -> Vec3:
        """The position [3] m at the time `t` s."""
        e = self.eccentricity
        E = eccentric_anomaly(self.mean_anomaly + 2 * jnp.pi * t / self.period, e)
        x, y = jnp.cos(E) - e, jnp.sqrt(1 - e**2) * jnp.sin(E)
        z = jnp.array([0.0, 0.0, 1.0], x.dtype)
        plane = Rotation.from_rotation_vector(self.node * z) @ Rotation.from_rotation_vector(
            self.inclination * jnp.array([1.0, 0.0, 0.0], x.dtype)
        )
        turn = plane @ Rotation.from_rotation_vector(self.pericentre * z)
        return self.semi_major_axis * (turn @ jnp.stack([x, y, jnp.zeros_like(x)]))


def eccentric_anomaly(M: Scalar, e: Scalar) -> Scalar:
    """The root E of Kepler's equation E - e sin E = M.

    Newton's steps begin at a bound of the root on the side where they do not overshoot. Only the last two of them are
    differentiated: from a converged root they give derivatives exact up to the third.

    **Arguments:** `M` mean anomaly, rad; `e` eccentricity, 0 ≤ e < 1. **Returns:** E, rad.
    """
    turns = 2 * jnp.pi * jax.lax.stop_gradient(jnp.round(M / (2 * jnp.pi)))
    M = M - turns
    step = lambda E, M, e: E - (E - e * jnp.sin(E) - M) / (1 - e * jnp.cos(E))  # noqa: E731
    held = jax.lax.stop_gradient((M, e))
    start = jnp.sign(held[0]) * jnp.minimum(jnp.abs(held[0]) + held[1], jnp.pi)
    E = jax.lax.fori_loop(0, 12, lambda _, E: step(E, *held), start)
    return turns + step(step(E, M, e), M, e)


class Tide(AbstractField):
    """The tide of another body at one time: its pull on a point, less its pull on the origin, which falls freely.

    U = U₀(x - r) - U₀(-r) - x·g₀(-r). Only `Primary` makes one, because the position r changes with time in all frames
    but one that turns with a circular orbit.
    """

    tag = "tide"
    field: AbstractField = part("gravity U₀ of the other body, about its own origin")
    position: Vec3 = quantity("m", "position r of the other body")

    def potential(self, x: Vec3) -> Scalar:
        return self.field.tide(-self.position, x)


class Primary(eqx.Module):
    """A second body: its gravity, its orbit as seen from the body of the frame, and its own rotation.

    The tide of a `PointMass`, and of sums with it, keeps all digits. That of any other field is a difference: the
    acceleration loses the factor |r|/|x|, so give the gravity as a point mass and a rest.
    """

    field: AbstractField = part("gravity of the primary about its own origin")
    orbit: Kepler | Curve = part("position of the primary from the origin, in axes that do not rotate")
    frame: AbstractFrame = frame_field("spin ω [3] of the primary, rad/s, or its frame", default=(0.0, 0.0, 0.0))

    def tide(self, t: Scalar, attitude: Rotation) -> AbstractField:
        """The tide of the primary in a frame at one time.

        **Arguments:** `t`, s; `attitude`, from the frame to the axes that do not rotate. **Returns:** the field.
        """
        own = Turned(self.field, self.frame.at(t).attitude.inverse.quaternion)
        return Turned(Tide(own, self.orbit(t)), attitude.quaternion)
