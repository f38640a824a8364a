"""Hard contact at one point: the impulse of an impact, and the force that holds a point which has come to rest.

Routh's path. While a point is pressed on, the normal impulse grows from zero, friction follows Coulomb's law at
each instant, and the velocity follows the impulse:

    u = u₀ + W P,    dP/dp = n̂ - μ û_t  while the point slips,    W the response of the body at the point, 1/kg.

Slip may turn, stop, stick or reverse on the way. Compression ends at u_n = 0. Where restitution ends is the law:
Newton, at u_n = -e u_n₀; Stronge (energetic), where the normal force has given back e² of the work it took.
Newton's law gains energy in some impacts with reversed slip; Stronge's never does, for e ≤ 1.

Sources: Routh, Dynamics of a System of Rigid Bodies I (1891), art. 314-317; Keller, J. Appl. Mech. 53 (1986) 1-4;
Stronge, Proc. R. Soc. A 431 (1990) 169-181, and Impact Mechanics (2000); Batlle, J. Appl. Mech. 63 (1996) 168-172.
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from difsim import safe
from difsim.declarations import count, quantity
from difsim.rotation import cofactors3, solve3
from difsim.runge_kutta import runge_kutta4
from difsim.typing import Mat3, Scalar, Vec3

# Of a step dτ: (L dτ)^4 h dτ is TURN^5, and RK4's error then some 1e-7 a step, with L, the rate at which slip can
# change at most, and h, at which it turns now; what does not turn is a straight line, and RK4 is exact along it.
# Beyond L dτ = 2.8 RK4 is not stable.
TURN, STABLE = 0.125, 2.0
TURNS = "number of steps for slip that turns: 0 is exact for points and balls, and for slip along one line"
SMALL = 1e-8  # of the velocity: slip that is less, and falls, stops; further on rounding would turn it


class Impulse(eqx.Module):
    """Impulse `total` [3] N s on the body, the `work` J of its normal part, and whether the slip `stopped`."""

    total: Vec3
    work: Scalar
    stopped: Bool[Array, ""]


class AbstractImpact(eqx.Module):
    """A law of impact at one point."""

    restitution: eqx.AbstractVar[Scalar]
    friction: eqx.AbstractVar[Scalar]

    @abstractmethod
    def impulse(self, response: Mat3, normal: Vec3, velocity: Vec3) -> Impulse:
        """The impulse on the body that ends the impact.

        **Arguments:** `response` W [3, 3] 1/kg, the velocity per impulse at the point; `normal` n̂ out of the
        ground; `velocity` u₀ [3] m/s of the body's point over the ground's, n̂·u₀ ≤ 0. **Returns:** the impulse.
        """


class Newton(AbstractImpact):
    """Restitution of speeds: u_n = -e u_n₀, with Coulomb friction along Routh's path."""

    restitution: Scalar = quantity("", "coefficient e of restitution of speeds", ge=0, le=1, slip="percent")
    friction: Scalar = quantity("", "friction coefficient μ", ge=0, usual=(0, 2), slip="degrees", default=0.0)
    turns: int = count(TURNS, least=0, default=256)

    def impulse(self, response: Mat3, normal: Vec3, velocity: Vec3) -> Impulse:
        path = _Path.build(response, normal, velocity, self.friction)
        u_n = jnp.dot(normal, velocity)

        def remaining(now, speed, gain):
            return _quotient(-self.restitution * u_n - speed, gain)

        return path.hold_sticking(path.follow(path.start(), remaining, self.turns))


class Stronge(AbstractImpact):
    """Restitution of energy: the normal force does e² of the work in restitution that it took in compression."""

    restitution: Scalar = quantity("", "energetic coefficient e of restitution", ge=0, le=1, slip="percent")
    friction: Scalar = quantity("", "friction coefficient μ", ge=0, usual=(0, 2), slip="degrees", default=0.0)
    turns: int = count(TURNS, least=0, default=256)

    def impulse(self, response: Mat3, normal: Vec3, velocity: Vec3) -> Impulse:
        path = _Path.build(response, normal, velocity, self.friction)
        pressed = path.follow(path.start(), lambda now, speed, gain: _quotient(-speed, gain), self.turns)
        end = (1 - self.restitution**2) * pressed.work

        def remaining(now, speed, gain):
            # speed dp + ½ gain dp² = missing, in the form that does not cancel.
            missing = end - now.work
            square = speed**2 + 2 * gain * missing
            dp = safe.divide(2 * missing, speed + safe.sqrt(square))
            return jnp.where(square >= 0, dp, jnp.inf)

        ended = path.follow(pressed, remaining, self.turns)
        # What is left of the root √(e² work) at e = 0: its derivative by e, with the value 0.
        along = path.derivative(pressed)
        rebound = safe.sqrt(safe.divide(-2 * pressed.work, jnp.dot(normal, response @ along)))
        rebound = jnp.where(self.restitution == 0, self.restitution * jax.lax.stop_gradient(rebound * along), 0.0)
        return path.hold_sticking(Impulse(ended.total + rebound, ended.work, ended.stopped))


def _quotient(a: Scalar, b: Scalar) -> Scalar:
    """a/b for b > 0; inf otherwise: what does not grow never gets there."""
    positive = b > 0
    return jnp.where(positive, a / jnp.where(positive, b, 1.0), jnp.inf)


class _Path(eqx.Module):
    """Routh's path: how the impulse grows with its normal part, and what friction does to a point without slip."""

    response: Mat3
    normal: Vec3
    velocity: Vec3
    friction: Scalar
    stopped: "RestForce"

    @classmethod
    def build(cls, response: Mat3, normal: Vec3, velocity: Vec3, friction: Scalar) -> "_Path":
        return cls(response, normal, velocity, friction, rest_force(response, normal, -normal, friction))

    def start(self) -> Impulse:
        slip = self._slip(jnp.zeros(3))
        return Impulse(jnp.zeros_like(self.normal), jnp.zeros_like(self.friction), safe.norm(slip) == 0)

    def hold_sticking(self, impulse: Impulse) -> Impulse:
        """`impulse` with its derivative by the slip before the impact where there was none, and friction sticks.

        A small slip would be stopped at once: of any impulse that ends without slip the slip before takes away as
        much. Its value, 0, is not needed; without it the derivative would be that of an impact without friction.
        """
        slip = self._slip(jnp.zeros(3))
        sticks = self.stopped.sticks & (self.friction > 0)
        stop = jnp.where((safe.norm(slip) == 0) & sticks, -solve3(self.response, slip), 0.0)
        return Impulse(impulse.total + stop, impulse.work, impulse.stopped)

    def follow(self, impulse: Impulse, remaining: Any, turns: int) -> Impulse:
        """Go on from `impulse` until `remaining(impulse, normal speed, its gain per normal impulse)` is 0.

        While slip may turn, by RK4 in the time τ = ∫ dp/|u_t|, in which slip decays like an exponential and its
        stop is no singular point. Then in straight lines: to the stop, and to the end. For slip along one line
        these are exact; else what is left for them is 1e-8 of the velocity, of a slip that stops.
        """
        along_n = self.response @ self.normal
        fastest = safe.norm(self._tangent(along_n)) + self.friction * (
            jnp.trace(self.response) - jnp.dot(self.normal, along_n)
        )

        def turn(impulse, _):
            slip, rate = self._slip(impulse.total), self.response @ self._sliding_derivative(impulse.total)
            speed, gain = self._speed(impulse.total), jnp.dot(self.normal, rate)
            turning = jnp.abs(jnp.dot(self.normal, jnp.cross(safe.unit(slip), rate)))
            straight = jnp.maximum(safe.divide(turning, fastest), (TURN / STABLE) ** 5)
            most = safe.divide(TURN * straight**-0.2, fastest)
            to_end = safe.divide(remaining(impulse, speed, gain), safe.norm(slip))
            ending = (safe.norm(slip) < SMALL * safe.norm(self.velocity)) & (jnp.dot(slip, rate) < 0)
            # Where a step ends along the path changes nothing: no derivative of dτ is needed. A step past the end
            # is taken back by the next one.
            dτ = jnp.where(impulse.stopped | ending, 0.0, jax.lax.stop_gradient(jnp.clip(to_end, -most, most)))

            def slope(gained):
                slip = self._slip(impulse.total + gained)
                return safe.norm(slip) * self.normal - self.friction * slip, None

            # From 0, not from the total: of the difference of two totals little would be left.
            step, _ = runge_kutta4(slope, jnp.zeros_like(impulse.total), dτ)
            total, dp = impulse.total + step, jnp.dot(self.normal, step)
            end_gain = jnp.dot(self.normal, self.response @ self._sliding_derivative(total))
            work = 0.5 * dp * (speed + self._speed(total)) + dp**2 / 12 * (gain - end_gain)
            return Impulse(total, impulse.work + work, impulse.stopped), None

        if turns:
            impulse, _ = jax.lax.scan(turn, impulse, length=turns)
        for _ in range(2):
            slip = self._slip(impulse.total)
            along = self.derivative(impulse)
            rate, speed = self.response @ along, self._speed(impulse.total)
            gain = jnp.dot(self.normal, rate)
            to_end = remaining(impulse, speed, gain)
            to_stop = _quotient(safe.norm(slip), -jnp.dot(safe.unit(slip), rate))
            stops = ~impulse.stopped & (to_stop < to_end)
            dp = jnp.where(stops, to_stop, to_end)
            impulse = Impulse(
                total=impulse.total + dp * along,
                work=impulse.work + dp * (speed + 0.5 * dp * gain),
                stopped=impulse.stopped | stops,
            )
        return impulse

    def derivative(self, impulse: Impulse) -> Vec3:
        """dP/dp after `impulse`."""
        stuck = self.stopped.force / jnp.dot(self.normal, self.stopped.force)
        return jnp.where(impulse.stopped, stuck, self._sliding_derivative(impulse.total))

    def _tangent(self, v: Vec3) -> Vec3:
        return v - jnp.dot(self.normal, v) * self.normal

    def _speed(self, total: Vec3) -> Scalar:
        return jnp.dot(self.normal, self.velocity + self.response @ total)

    def _sliding_derivative(self, total: Vec3) -> Vec3:
        """dP/dp while the point slips."""
        return self.normal - self.friction * safe.unit(self._slip(total))

    def _slip(self, total: Vec3) -> Vec3:
        return self._tangent(self.velocity + self.response @ total)


class RestForce(eqx.Module):
    """The force on a contact point whose slip velocity is zero.

    `force` [3], N; whether friction `sticks`; if not, the unit vector `slip_direction` [3] in which the point begins to
    slide.
    """

    force: Vec3
    sticks: Bool[Array, ""]
    slip_direction: Vec3


@jax.jit
def rest_force(response: Mat3, normal: Vec3, acceleration: Vec3, friction: Scalar) -> RestForce:
    """The contact force that holds a point at rest on the ground, or with which it begins to slide.

    With F = N n̂ - μ y and |y| = N the point gets no normal acceleration and a tangential one of γ y, γ ≥ 0. So

        (μ S + γ) y = c,    S = W_tt - W_tn W_nt/W_nn,    c = a_t - W_tn a_n/W_nn

    γ = 0 is sticking, right where |y| ≤ N; else γ is the root of |y| = N: the condition of a trust region, whose
    N/|y| is nearly linear in γ, so that Newton's steps are few (Moré & Sorensen 1983). Slip that reverses after
    a stop within an impact starts by the same equation, with a = -n̂.

    **Arguments:** `response` W [3, 3] 1/kg; `normal` n̂; `acceleration` a [3] m/s² of the point without the
    force, n̂·a < 0; `friction` μ. **Returns:** the force, and whether the point sticks.
    """
    n, μ = normal, friction
    tangent = jnp.eye(3) - jnp.outer(n, n)
    W_n = response @ n
    W_nn, W_tn = jnp.dot(n, W_n), tangent @ W_n
    S = tangent @ response @ tangent - jnp.outer(W_tn, W_tn) / W_nn
    free = -jnp.dot(n, acceleration) / W_nn
    c = tangent @ acceleration + W_tn * free

    def share(γ):
        """y and N, and both by γ."""
        # n̂n̂ᵀ fills the direction that S and y do not have.
        cofactors, determinant = cofactors3(μ * S + γ * tangent + jnp.outer(n, n))
        # 0 for a singular matrix: no friction and no slip.
        inverse = safe.divide(cofactors, jnp.broadcast_to(determinant, (3, 3)))
        y = inverse @ c
        y_γ = -inverse @ (tangent @ y)
        return y, free + μ * jnp.dot(W_tn, y) / W_nn, y_γ, μ * jnp.dot(W_tn, y_γ) / W_nn

    def newton(γ, y, push, y_γ, push_γ):
        """The next γ by Newton's method for N/|y| = 1, from what `share` gives."""
        size = safe.norm(y)
        ratio = safe.divide(push, size)
        slope = safe.divide(push_γ - ratio * safe.divide(jnp.dot(y, y_γ), size), size)
        return jnp.maximum(γ - safe.divide(ratio - 1, slope), 0.0)

    y_stuck, push_stuck, *_ = share(jnp.zeros_like(μ))
    # Without friction nothing but a point that is not pulled sideways stays.
    sticks = (safe.norm(y_stuck) <= push_stuck) & ((μ > 0) | (safe.norm(c) == 0))
    # |c| ≤ (μ tr S + γ) |y|: the root is not below this, and is this where μ = 0.
    γ = jnp.maximum(safe.divide(safe.norm(c), jnp.abs(free)) - μ * jnp.trace(S), 0.0)
    γ = jax.lax.fori_loop(0, 8, lambda _, γ: newton(γ, *share(γ)), jax.lax.stop_gradient(γ))
    # One step that is differentiated, from the root: the derivative of the implicit function. The step is 0 to
    # rounding, so that y and N follow by their slopes.
    y, push, y_γ, push_γ = share(jax.lax.stop_gradient(γ))
    step = newton(jax.lax.stop_gradient(γ), y, push, y_γ, push_γ) - jax.lax.stop_gradient(γ)
    y = jnp.where(sticks, y_stuck, y + step * y_γ)
    push = jnp.where(sticks, push_stuck, push + step * push_γ)
    return RestForce(push * n - μ * y, sticks, jnp.where(sticks, jnp.zeros_like(y), safe.unit(y)))
