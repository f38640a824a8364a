"""Rigid walls and tools: particles that move as prescribed, whatever pushes them."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from difsim.typing import Scalar, Vec2, number


class AbstractPath(eqx.Module):
    """A prescribed motion."""

    @abstractmethod
    def place(self, reference: Float[Array, "d n"], time: Scalar) -> Float[Array, "d n"]:
        """Where points are at `time` s that were at `reference` m at 0 s."""


class Fixed(AbstractPath):
    """No motion."""

    def place(self, reference, time):
        return reference


class Sliding(AbstractPath):
    """Uniform motion. **Arguments:** `velocity` [d], m/s."""

    velocity: Float[Array, " d"] = number()

    def place(self, reference, time):
        return reference + time * self.velocity[:, None]


class Turning(AbstractPath):
    """A turn in the plane of x and y. **Arguments:** `centre` [2], m; `rate`, rad/s, positive from x to y."""

    centre: Vec2 = number()
    rate: Scalar = number()

    def place(self, reference, time):
        c, s = jnp.cos(self.rate * time), jnp.sin(self.rate * time)
        x, y = reference[0] - self.centre[0], reference[1] - self.centre[1]
        turned = jnp.stack([self.centre[0] + c * x - s * y, self.centre[1] + s * x + c * y])
        return jnp.concatenate([turned, reference[2:]])


class Tool(eqx.Module):
    """Particles that are one rigid body on a path.

    **Arguments:** `members` [m], which particles; `reference` [d, m], m: where they are at 0 s; `path`.
    """

    members: Int[Array, " m"] = eqx.field(converter=jnp.asarray)
    reference: Float[Array, "d m"] = number()
    path: AbstractPath = Fixed()

    def at(self, time: Scalar) -> tuple[Float[Array, "d m"], Float[Array, "d m"]]:
        """Places m and velocities m/s at `time` s."""
        return jax.jvp(lambda t: self.path.place(self.reference, t), (time,), (jnp.ones_like(time),))
