"""The rotation of the frame that is fixed to a body: steady, librating, tumbling or from a table.

A frame gives the attitude from its own axes to those that do not rotate. All spins have components in the frame.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim import rotation, safe
from difsim.body import RigidState
from difsim.checks import host_numbers, numbers
from difsim.curve import Curve
from difsim.declarations import custom_field, part, quantity
from difsim.rotation import Rotation
from difsim.runge_kutta import runge_kutta4
from difsim.typing import Mat3, Quat, Scalar, Vec3, convert_named

STEPS = 16  # of Runge and Kutta between two times of a table of `tumble`


class FrameMotion(eqx.Module):
    """The rotation of a frame at one time: attitude R, spin ω rad/s and its rate ω' rad/s², both in the frame."""

    attitude: Rotation
    spin: Vec3
    spin_rate: Vec3

    def velocity_at(self, x: Vec3) -> Vec3:
        """The velocity ω × x with which the frame carries a point `x` [3] m, m/s."""
        return jnp.cross(self.spin, x)

    def apparent_acceleration(self, x: Vec3, v: Vec3) -> Vec3:
        """The acceleration -2 ω × v - ω × (ω × x) - ω' × x of a free point in the frame.

        **Arguments:** `x` [3], m, and `v` [3], m/s, in the frame. **Returns:** the acceleration [3], m/s².
        """
        swept = jnp.cross(self.spin, self.velocity_at(x))
        return -2 * jnp.cross(self.spin, v) - swept - jnp.cross(self.spin_rate, x)

    def enter(self, body: RigidState) -> RigidState:
        """A motion as it is seen from the frame.

        **Arguments:** `body`, in axes that do not rotate, with its spin against the stars. **Returns:** the motion in
        the frame, with its spin against the frame.
        """
        back = self.attitude.inverse
        position, attitude = back @ body.position, back @ body.rotation
        velocity = back @ body.velocity - self.velocity_at(position)
        return RigidState(position, velocity, attitude.quaternion, body.spin - attitude.inverse @ self.spin)


class AbstractFrame(eqx.Module):
    """The rotation of a frame as a function of time. A model takes a constant spin ω [3] rad/s in place of one."""

    is_steady: ClassVar[bool] = False  # whether it keeps the energy of the relative motion

    @abstractmethod
    def at(self, t: Scalar) -> FrameMotion:
        """The rotation at the time `t` s."""


class Steady(AbstractFrame):
    """A constant spin ω; at t = 0 the axes are those that do not rotate."""

    tag = "steady"
    is_steady: ClassVar[bool] = True
    omega: Vec3 = quantity("rad/s", "constant spin ω", usual=(0, 0.3), slip="degrees/s or rev/min")

    def at(self, t: Scalar) -> FrameMotion:
        return FrameMotion(Rotation.from_rotation_vector(self.omega * t), self.omega, jnp.zeros_like(self.omega))


class Libration(AbstractFrame):
    """A rotation about a fixed pole by the angle |n| t + A sin(f t + φ), as of a satellite that librates in longitude.

    In an orbit of eccentricity e, with f = |n| and φ = 0 where t = 0 is the pericentre, A = 2 e follows the primary.
    Forced libration of a rigid body of principal moments a < b < c has A = 2 e w²/(w² - n²), w² = 3 n² (b - a)/c.

    **Source:** the linear equation of libration, e.g. Murray and Dermott, Solar system dynamics (1999), sec. 5.5.
    """

    tag = "libration"
    mean: Vec3 = quantity("rad/s", "mean spin n, along the pole", usual=(0, 0.3), slip="degrees/s or rev/min")
    amplitude: Scalar = quantity("rad", "amplitude A", usual=(-0.8, 0.8), slip="degrees")
    frequency: Scalar = quantity("rad/s", "frequency f", usual=(0, 0.3), slip="1/s")
    phase: Scalar = quantity("rad", "phase φ at t = 0", slip="degrees", default=0.0)

    def at(self, t: Scalar) -> FrameMotion:
        pole, phase = safe.unit(self.mean), self.frequency * t + self.phase
        angle = safe.norm(self.mean) * t + self.amplitude * jnp.sin(phase)
        return FrameMotion(
            Rotation.from_rotation_vector(angle * pole),
            self.mean + self.amplitude * self.frequency * jnp.cos(phase) * pole,
            -self.amplitude * self.frequency**2 * jnp.sin(phase) * pole,
        )


class Tabulated(AbstractFrame):
    """A rotation whose attitude is a table: `fit` and `tumble` make one. It ends with its table, by NaN."""

    tag = "tabulated"
    attitude: Curve = part("curve of the quaternion [4], of any length near one")

    def at(self, t: Scalar) -> FrameMotion:
        turn = lambda t: safe.unit(self.attitude(t))  # noqa: E731
        first = lambda t: jax.jvp(turn, (t,), (jnp.ones_like(t),))  # noqa: E731
        (quaternion, rate), (_, bend) = jax.jvp(first, (t,), (jnp.ones_like(t),))
        # With |q| = 1 the conjugate of q times 2 q' is (0, ω), and times 2 q'' it is (-½ ω², ω').
        back = Rotation(quaternion).inverse
        spin, spin_rate = ((back @ Rotation(2 * x)).quaternion[1:] for x in (rate, bend))
        return FrameMotion(Rotation(quaternion), spin, spin_rate)

    @classmethod
    def fit(cls, times: Any, attitudes: Any) -> "Tabulated":
        """On the host: the rotation through attitudes, such as those of SPICE, by a spline of degree 5.

        **Arguments:** `times` [T] s, ascending, six at least; `attitudes` [T, 4], unit quaternions from the frame to
        the axes that do not rotate, less than half a turn from each to the next. **Returns:** the frame.
        **Raises:** `ValueError` as `Curve.fit`.
        """
        attitudes = host_numbers("Tabulated.fit: attitudes", attitudes, "T 4").copy()
        for i in range(1, len(attitudes)):  # q and -q are the same attitude
            attitudes[i] *= -1 if attitudes[i] @ attitudes[i - 1] < 0 else 1
        return cls(Curve.fit(times, attitudes))


def tumble(inertia: Any, spin: Any, times: Any) -> Tabulated:
    """The free rotation of a rigid body, by Euler's equations, as a table; it can be differentiated.

    Times between which the body turns by 0.1 rad make attitudes good to 1e-10 rad and rates of spin to 1e-8 of ω².

    **Arguments:** `inertia` [3, 3] in the frame, in any unit, since only ratios count; `spin` ω [3], rad/s, in the
    frame at the first time, where its axes are those that do not rotate; `times` [T] of the table, s, ascending.
    **Returns:** the frame. **Raises:** `ValueError` for other shapes, and times that do not ascend.
    """
    inertia, spin = numbers("tumble: inertia", inertia, "3 3"), numbers("tumble: spin", spin, "3")
    times = numbers("tumble: times", times, "T")

    def rate(y):
        attitude, spin = y
        return (Rotation(attitude).rate(spin), rotation.spin_rate(inertia, spin)), None

    def advance(y, h):
        y = jax.lax.fori_loop(0, STEPS, lambda _, y: runge_kutta4(rate, y, h / STEPS, unroll=False)[0], y)
        return y, y

    start = jnp.array([1.0, 0.0, 0.0, 0.0], spin.dtype), spin
    _, later = jax.lax.scan(advance, start, jnp.diff(times))
    attitudes, spins = (jnp.concatenate([a[None], b]) for a, b in zip(start, later, strict=True))
    return Tabulated(Curve(times, *jax.vmap(lambda q, w: _derivatives(inertia, q, w))(attitudes, spins)))


def _derivatives(inertia: Mat3, attitude: Quat, spin: Vec3) -> tuple[Quat, Quat, Quat]:
    """The attitude of a free body, of unit length, and its first two derivatives by time."""
    turn = Rotation(attitude).normalise()
    rate = turn.rate(spin)
    return turn.quaternion, rate, Rotation(rate).rate(spin) + turn.rate(rotation.spin_rate(inertia, spin))


def frame_field(meaning: str, **default: Any) -> Any:
    """A Module field that holds a frame, or the spin ω [3] of a steady one. **Arguments:** `meaning`; `default`."""
    as_frame: Callable[[Any], AbstractFrame] = lambda x: x if isinstance(x, AbstractFrame) else Steady(x)  # noqa: E731
    return custom_field(lambda name, _, given: convert_named(name, as_frame, given), meaning, **default)
