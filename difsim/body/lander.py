"""The lander: a rigid body on massless legs, a damper between them and the body, and a flywheel.

Legs and damper deflect along the surface normal (the error is the cosine of the tilt, 6 % at 20 degrees): then the
energy balance closes exactly and friction does no work on the leg springs.
"""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.body.hull import Hull
from difsim.body.rigid import RigidBody
from difsim.declarations import part, quantity, rule
from difsim.typing import Scalar, Vec3


class AbstractLandingGear(eqx.Module):
    """The damping between the body and the legs; its state is a vector of strokes, m."""

    @abstractmethod
    def strokes(self, state: Float[Array, "s"], legs: int) -> Float[Array, "legs"]:
        """The stroke of each leg's root towards the body, m.

        **Arguments:** `state` [s], m; `legs`, their number. **Returns:** strokes [legs], m.
        """

    @abstractmethod
    def initial(self, legs: int) -> Float[Array, "s"]:
        """The state at rest."""

    @abstractmethod
    def rate(self, state: Float[Array, "s"], loads: Float[Array, "legs"]) -> Float[Array, "s"]:
        """The rate of the state under the normal force on each leg.

        **Arguments:** `state` [s], m; `loads` [legs], N. **Returns:** the rate [s], m/s.
        """

    @abstractmethod
    def dissipation(self, rate: Float[Array, "s"]) -> Scalar:
        """The power lost in the dampers, W, at a rate of the state [s] m/s."""

    @abstractmethod
    def elastic_energy(self, state: Float[Array, "s"]) -> Scalar:
        """The energy stored in the stops, J."""


class CentralDamper(AbstractLandingGear):
    """One damper for all legs with stops at both ends: D s' = Σ N - κ ⟨s - s_stop⟩² + κ ⟨-s⟩².

    It does not return by itself. The stops are rubber buffers with a force quadratic in their compression, which
    starts smoothly; a softplus has a tail, under which the stroke would creep back for ever.
    """

    tag = "central-damper"
    damping: Scalar = quantity("N s/m", "damping D", gt=0, usual=(1, 1e5), slip="N s/mm")
    stroke: Scalar = quantity("m", "stroke s_stop between the stops", gt=0, usual=(1e-3, 1), slip="mm")
    stop_stiffness: Scalar = quantity("N/m²", "stiffness κ of the stops", gt=0, default=1e7)

    def strokes(self, state, legs):
        return jnp.broadcast_to(state, (legs,))

    def initial(self, legs):
        return jnp.zeros(1)

    def rate(self, state, loads):
        stops = _buffer(state - self.stroke) - _buffer(-state)
        return (jnp.sum(loads, keepdims=True) - self.stop_stiffness * stops) / self.damping

    def dissipation(self, rate):
        return self.damping * rate @ rate

    def elastic_energy(self, state):
        return self.stop_stiffness * jnp.sum(_buffer_energy(state - self.stroke) + _buffer_energy(-state))


class MaxwellLegs(AbstractLandingGear):
    """A separate damper in series with each leg spring: D s_i' = N_i + κ ⟨-s_i⟩².

    This is the paper's cascade (Fig. 5): a leg of 13.3 kN/m and 567 N s/m relaxes in 43 ms and does not return, so
    no energy is stored for a rebound. The stroke has no upper stop, only a buffer at 0, since a tensile force
    would draw the leg out of the body.
    """

    tag = "maxwell-legs"
    damping: Scalar = quantity("N s/m", "damping D of one leg", gt=0, usual=(1, 1e5), slip="N s/mm")
    stop_stiffness: Scalar = quantity("N/m²", "stiffness κ of the buffer", gt=0, default=1e7)

    def strokes(self, state, legs):
        return state

    def initial(self, legs):
        return jnp.zeros(legs)

    def rate(self, state, loads):
        return (loads + self.stop_stiffness * _buffer(-state)) / self.damping

    def dissipation(self, rate):
        return self.damping * rate @ rate

    def elastic_energy(self, state):
        return self.stop_stiffness * jnp.sum(_buffer_energy(-state))


class UndampedGear(AbstractLandingGear):
    """No damper: the springs of the legs alone, and nothing at all for a lander without legs."""

    tag = "undamped"

    def strokes(self, state, legs):
        return jnp.zeros(legs)

    def initial(self, legs):
        return jnp.zeros(0)

    def rate(self, state, loads):
        return jnp.zeros_like(state)

    def dissipation(self, rate):
        return jnp.sum(rate)

    def elastic_energy(self, state):
        return jnp.sum(state)


def _buffer(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """⟨x⟩², m²: the force of a rubber buffer that is compressed by x m, per unit stiffness."""
    return jnp.maximum(x, 0.0) ** 2


def _buffer_energy(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """⟨x⟩³/3, m³: the energy in a rubber buffer, per unit stiffness."""
    return jnp.maximum(x, 0.0) ** 3 / 3


END_WIDTH = 0.01  # share of the run-down time over which the flywheel's torque ends


class Flywheel(eqx.Module):
    """A flywheel that transfers its angular momentum to the body about its z axis, over the run-down time."""

    momentum: Scalar = quantity(
        "N m s", "angular momentum at the start, about the body's z axis", usual=(-100, 100), slip="mN m s"
    )
    rundown: Scalar = quantity(
        "s",
        "run-down time",
        gt=0,
        usual=(0.1, 1e5),
        slip="minutes or ms",
        hint="a body that has the wheel's momentum from the start spins already, with momentum = 0",
    )

    def momentum_at(self, t: Scalar) -> Vec3:
        """The angular momentum left in the wheel, body frame, N m s."""
        left = self.momentum * safe.ramp(1 - t / self.rundown, END_WIDTH)
        return jnp.stack([jnp.zeros_like(left), jnp.zeros_like(left), left])

    def torque(self, t: Scalar) -> Vec3:
        """The torque on the body, body frame, N m: minus the rate of `momentum_at`."""
        torque = self.momentum / self.rundown * safe.step(1 - t / self.rundown, END_WIDTH)
        return jnp.stack([jnp.zeros_like(torque), jnp.zeros_like(torque), torque])


class Lander(eqx.Module):
    """A rigid body with n legs, or with none: `Lander.without_legs`."""

    body: RigidBody = part("mass and inertia of the whole")
    feet: Float[Array, "n 3"] = quantity(
        "m", "centres of the footpads in the body's frame, with the gear unloaded", usual=(0.05, 30), slip="mm"
    )
    hips: Float[Array, "n 3"] = quantity(
        "m", "upper ends of the struts in the body's frame", usual=(0, 30), slip="mm"
    )
    footpad_radius: Scalar = quantity("m", "radius R of a footpad", gt=0, usual=(0.01, 1), slip="mm")
    leg_stiffness: Scalar = quantity("N/m", "stiffness k of one leg", gt=0, usual=(100, 1e7), slip="N/mm")
    gear: AbstractLandingGear = part("damping between the body and the legs")
    flywheel: Flywheel = part("wheel that runs down")
    hull: Hull | None = part("hull, which touches the ground if the lander tips over", default=None)

    @rule(
        "feet {feet.shape} and hips {hips.shape} must have the same shape [n, 3]: each strut runs from a hip to a foot"
    )
    def _has_struts(self):
        return self.feet.shape == self.hips.shape

    @rule("feet have shape {feet.shape}: give three or more [x, y, z], m")
    def _has_three_legs_or_none(self):
        return self.legs not in (1, 2)

    @rule("without legs and without a hull nothing would touch the ground: give a hull")
    def _has_contact(self):
        return self.legs > 0 or self.hull is not None

    @rule("feet at z ≥ 0 are not below the centre of mass: {feet} m must have z < 0 in the body's frame")
    def _has_feet_below_the_centre(self):
        return self.feet[:, 2] < 0

    @rule("feet at {feet} m must lie below their hips {hips} m")
    def _has_feet_below_the_hips(self):
        return self.feet[:, 2] < self.hips[:, 2]

    @rule("feet at {feet} m must lie below the hull, {hull.size} m: it would touch first")
    def _has_feet_below_the_hull(self):
        return self.legs == 0 or self.hull is None or self.feet[:, 2] < -0.5 * self.hull.size[2]

    @rule("footpads of radius {footpad_radius} m at {feet} m overlap: move the feet apart")
    def _has_footpads_apart(self):
        # Each footpad acts on undisturbed soil: under overlapping ones its strength would count twice.
        return self.legs == 0 or _nearest(self.feet) > 2 * self.footpad_radius

    @rule("feet at {feet} m lie on one line, so that the lander tips over: move one of them")
    def _is_wide(self):
        return self.legs == 0 or _width(self.feet) > self.footpad_radius

    @classmethod
    def without_legs(cls, body: RigidBody, flywheel: Flywheel, hull: Hull) -> "Lander":
        """A bare body that lands on its hull.

        **Arguments:** `body`; `flywheel`; `hull`. **Returns:** the lander.
        """
        none = jnp.zeros((0, 3))
        one = jnp.asarray(1.0)  # the numbers of no leg do nothing
        return cls(body, none, none, one, one, UndampedGear(), flywheel, hull)

    @property
    def legs(self) -> int:
        return self.feet.shape[0]


def _nearest(feet: Float[Array, "n 3"]) -> Scalar:
    """The smallest distance between two feet seen from above, m."""
    one, other = jnp.triu_indices(feet.shape[0], 1)
    return jnp.min(safe.norm((feet[one] - feet[other])[:, :2]))


def _width(feet: Float[Array, "n 3"]) -> Scalar:
    """The distance of the feet from their best-fit line, seen from above, m: root of the sum of squares."""
    across = feet[:, :2] - jnp.mean(feet[:, :2], axis=0, keepdims=True)
    (xx, xy), (_, yy) = across.T @ across
    return safe.sqrt(0.5 * (xx + yy - safe.norm(jnp.stack([xx - yy, 2 * xy]))))
