"""A body that comes at a speed and is pressed into the ground until it stops.

    z'' = g - (F_y + c₁ z' + c₂ z'²)/m - T exp(-t/τ)/m

with the coefficients of the ground's law at its depth, and a thrust T that fades. The steps are equal in a time of
their own, in which a hard ground and a soft one take as many of them. The last step ends where the body stops, found by
Newton's method, so that all derivatives have the share of the stop.
"""

from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from difsim import safe
from difsim.contact import Poncelet, Regolith
from difsim.declarations import part, quantity
from difsim.runge_kutta import runge_kutta4
from difsim.typing import Scalar
from experiments.contact.cubics import Cubics, evaluate
from experiments.contact.shapes import Section

STEPS, STEP = 240, 0.06  # of the motion's own time, of which most motions take 2 to 6
NEWTON = 8  # iterations, the last of which has the derivative of the stop
CHANGES = 0.3  # of the radius, within which a section changes that does
DECADES = 6.0  # of the radius, above and below, in which its depth is looked for


class Motion(eqx.Module):
    """A motion from touch to stop, at the ends of its steps; after the stop the body rests at the last of them.

    `time` s; `depth` m; `speed` m/s; `specific_force` m/s², of an accelerometer at rest in the body, with its rate
    `specific_force_rate` m/s³; `has_stopped`.
    """

    time: Float[Array, " n"]
    depth: Float[Array, " n"]
    speed: Float[Array, " n"]
    specific_force: Float[Array, " n"]
    specific_force_rate: Float[Array, " n"]
    gravity: Scalar
    has_stopped: Bool[Array, ""]

    def depth_at(self, time: Scalar) -> Scalar:
        """The depth at a time after touch, s, by cubics; that of the stop after it."""
        depth = Cubics.through(self.time, self.depth, self.speed)
        return jnp.where(time < self.time[-1], depth(jnp.minimum(time, self.time[-1])), self.depth[-1])

    def speed_at(self, time: Scalar) -> Scalar:
        """The speed at a time after touch, s, by cubics; 0 after the stop."""
        speed = Cubics.through(self.time, self.speed, self.gravity - self.specific_force)
        return jnp.where(time < self.time[-1], speed(jnp.minimum(time, self.time[-1])), 0.0)

    def measure(self, times: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """The numbers that can be measured, by name. **Arguments:** `times`, s, of depth and speed."""
        return {
            "depth": self.depth_at(times["depth"]),
            "duration": self.time[-1],
            "speed": self.speed_at(times["speed"]),
            "peak_deceleration": self.peak_deceleration,
        }

    @property
    def peak_deceleration(self) -> Scalar:
        """The greatest at any time, m/s²: at the end of a step, or where the rate of a cubic falls through 0."""
        force = Cubics.through(self.time, self.specific_force, self.specific_force_rate)
        _, d1, d2, d3 = force.derivatives
        at = safe.divide(2 * d1, safe.sqrt(safe.positive_part(d2**2 - 2 * d1 * d3)) - d2)
        inside = jax.lax.stop_gradient(jnp.clip(at, 0.0, jnp.diff(force.time)))
        return safe.greatest(jnp.append(self.specific_force, evaluate(force.derivatives, inside))) - self.gravity


class Plunge(eqx.Module):
    """A body and its ground. `resistance` of the ground gives F_y, c₁ and c₂ at a depth under a radius."""

    ground: Poncelet | Regolith = part("law of the ground: `Poncelet` or `Regolith`")
    mass: Scalar = quantity("kg", "mass of the body", gt=0, usual=(1e-3, 1e4), slip="g")
    radius: Scalar = quantity(
        "m", "radius of a circle as large as the largest section", gt=0, usual=(1e-3, 5), slip="mm or cm"
    )
    speed: Scalar = quantity("m/s", "speed at touch", gt=0, usual=(1e-3, 100), slip="cm/s")
    gravity: Scalar = quantity("m/s²", "gravity along the motion", ge=0, usual=(0, 50), slip="g")
    section: Section = part("section of the body by its depth")
    thrust: Scalar = quantity(
        "N", "thrust T against the motion, at touch", ge=0, usual=(0, 1e4), slip="kN", default=0.0
    )
    thrust_decay: Scalar = quantity(
        "s", "time τ in which the thrust falls to 1/e", gt=0, usual=(1e-3, 1e4), slip="ms", default=1.0
    )
    restitution: Scalar = quantity(
        "", "speed of the way out over that at touch, 0 for a body that stays", ge=0, le=1, default=0.0
    )

    def contact_radius(self, z: Scalar) -> Scalar:
        """The radius of a circle as large as the section at a depth z, m."""
        return self.radius * jnp.sqrt(self.section(z / self.radius))

    def specific_force(self, z: Scalar, v: Scalar) -> Scalar:
        """The force over the mass, m/s², at a depth, m, and a speed, m/s."""
        strength, c1, c2 = self.ground.resistance(z, self.contact_radius(z))
        return (strength + c1 * v + c2 * v**2) / self.mass

    def felt_force(self, t: Scalar, z: Scalar, v: Scalar) -> Scalar:
        """That force and the thrust over the mass, m/s², at a time after touch, s."""
        return self.specific_force(z, v) + self.thrust * jnp.exp(-t / self.thrust_decay) / self.mass

    def time_out(self, depth: Scalar) -> Scalar:
        """The time, s, in which a body that rebounds from a depth, m, leaves its pit at one speed; 0 if it stays."""
        return safe.divide(depth, self.restitution * self.speed)

    def stopping_scale(self) -> Scalar:
        """The depth, m, at which the force at the speed of touch has taken up twice the energy of the fall."""

        def halve(ends, _):
            middle = 0.5 * (ends[0] + ends[1])
            z = self.radius * 10**middle
            is_deeper = self.specific_force(z, self.speed) * z < self.speed**2 + 2 * self.gravity * z
            return (jnp.where(is_deeper, middle, ends[0]), jnp.where(is_deeper, ends[1], middle)), None

        ends = jnp.full_like(self.mass, -DECADES), jnp.full_like(self.mass, DECADES)
        return self.radius * 10 ** jax.lax.scan(halve, ends, None, length=24)[0][1]

    def fall(self) -> Motion:
        """The motion until the stop. **Returns:** `Motion`, with STEPS + 1 times."""
        finest = jnp.where(self.section.is_constant, jnp.inf, CHANGES * self.radius)
        length = jax.lax.stop_gradient(jnp.minimum(self.stopping_scale(), finest))
        floor = jax.lax.stop_gradient(0.5 * jnp.sqrt(self.speed**2 + self.gravity * length))

        def rate(y):
            t, z, v = y
            force = self.felt_force(t, z, v)
            unit = 1 / (v / (length + z) + (force + self.gravity) / (v + floor))
            return (unit, unit * v, unit * (self.gravity - force)), None

        def advance(y, _):
            after, _ = runge_kutta4(rate, y, jnp.full_like(self.mass, STEP), unroll=False)
            return jax.tree.map(lambda a, b: jnp.where(y[2] > 0, a, b), after, y), y

        zero = jnp.zeros_like(self.mass)
        last, nodes = jax.lax.scan(advance, (zero, zero, self.speed), None, length=STEPS)
        nodes = jax.tree.map(lambda a, b: jnp.append(a, b), nodes, last)
        before = jnp.sum((nodes[2] > 0)[1:])  # index of the last state that moves
        start = jax.tree.map(lambda x: x[before], nodes)

        def shorten(found, _):
            share, _ = found
            end, _ = runge_kutta4(rate, start, share, unroll=False)
            return (share - end[2] / rate(end)[0][2], end), None

        guess = jnp.full_like(self.mass, 0.5 * STEP), start
        (_, stop), _ = jax.lax.scan(shorten, guess, None, length=NEWTON)
        moving = jnp.arange(STEPS + 1) <= before
        time, z, v = (jnp.where(moving, x, end) for x, end in zip(nodes, (stop[0], stop[1], zero), strict=True))

        def follow(t, z, v):
            rates = jnp.ones_like(v), v, self.gravity - self.felt_force(t, z, v)
            return jax.jvp(self.felt_force, (t, z, v), rates)

        both = jax.vmap(follow)(time, z, v)
        return Motion(time, z, v, *both, self.gravity, ~(last[2] > 0))
