"""Rigid walls and tools: particles with prescribed motion, independent of the forces on them."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim.checks import numbers
from difsim.fields import number, part
from difsim.typing import Scalar, Vec2, came, require


class AbstractPath(eqx.Module):
    """A prescribed motion."""

    @abstractmethod
    def place(self, reference: Float[Array, "d n"], time: Scalar) -> Float[Array, "d n"]:
        """The places of moving points.

        **Arguments:** `reference` [d, n], m, at 0 s; `time`, s. **Returns:** places [d, n], m.
        """

    def fits(self, d: int) -> bool:
        """Whether it is a motion of `d` dimensions."""
        return True


class Fixed(AbstractPath):
    """No motion."""

    tag = "fixed"

    def place(self, reference, time):
        return reference


class Sliding(AbstractPath):
    """Uniform motion. **Arguments:** `velocity` [d], m/s."""

    tag = "sliding"
    velocity: Float[Array, " d"] = number()

    def place(self, reference, time):
        return reference + time * self.velocity[:, None]

    def fits(self, d):
        return self.velocity.shape == (d,)


class Turning(AbstractPath):
    """A rotation in the plane of x and y. **Arguments:** `centre` [2], m; `rate`, rad/s, positive from x to y."""

    tag = "turning"
    centre: Vec2 = number()
    rate: Scalar = number()

    def place(self, reference, time):
        c, s = jnp.cos(self.rate * time), jnp.sin(self.rate * time)
        x, y = reference[0] - self.centre[0], reference[1] - self.centre[1]
        turned = jnp.stack([self.centre[0] + c * x - s * y, self.centre[1] + s * x + c * y])
        return jnp.concatenate([turned, reference[2:]])


class Stopping(AbstractPath):
    """Uniform motion until a time.

    **Arguments:** `velocity` [d], m/s; `until`, s. **Raises:** ValueError for a negative `until`.
    """

    tag = "stopping"
    velocity: Float[Array, " d"] = number()
    until: Scalar = number()

    def __check_init__(self):
        # Motion begins at 0 s: before that the tool would be away from its reference from the start.
        require(self.until >= 0, f"Stopping: until = {self.until} s must not be negative")

    def place(self, reference, time):
        return reference + jnp.minimum(time, self.until) * self.velocity[:, None]

    def fits(self, d):
        return self.velocity.shape == (d,)


class Carried(AbstractPath):
    """A motion within a moving frame, such as the rotation of a brush in a tool that is lowered.

    **Arguments:** `path`, in the moving frame; `by`, the motion of that frame.
    """

    tag = "carried"
    path: AbstractPath = part()
    by: AbstractPath = part()

    def place(self, reference, time):
        return self.by.place(self.path.place(reference, time), time)

    def fits(self, d):
        return self.path.fits(d) and self.by.fits(d)


def _members(given: Any) -> Array:
    try:
        x = given if isinstance(given, jax.Array) else np.asarray(given)
    except ValueError:  # rows of several lengths
        x = np.asarray(None)
    if x.dtype.kind not in "iu" or x.ndim != 1:
        raise ValueError(f"Tool: members: got {came(given)}: give integers [m], the indices of particles")
    return jnp.asarray(x)


def _normal(given: Any) -> Array | None:
    return None if given is None else numbers("Tool: normal", given)


class Tool(eqx.Module):
    """Particles that are one rigid body on a path.

    The solid does not slip along them, unless the surface has a `normal` [d, m] at each of them: then it slips
    freely (`difsim.sph.walls`). A corner between two such surfaces is a separate tool without a normal.

    **Arguments:** `members` [m], indices of particles; `reference` [d, m], m: places at 0 s; `path`; `normal` at 0
    s, of any length but 0. **Raises:** ValueError for members that are no integers [m], a path of other dimensions
    than the reference, a normal of another shape or of length 0.
    """

    members: Int[Array, " m"] = eqx.field(converter=_members)
    reference: Float[Array, "d m"] = number()
    path: AbstractPath = part(default=Fixed())
    normal: Float[Array, "d m"] | None = eqx.field(converter=_normal, default=None)

    def __check_init__(self):
        self._check_path()
        if self.normal is not None:
            found, shape = self.normal.shape, self.reference.shape
            require(found == shape, f"Tool: normal has shape {found}: give {list(shape)}, as the reference")
            require(jnp.sum(self.normal**2, axis=0) > 0, "Tool: a normal has no length, and so no direction")

    def _check_path(self) -> None:
        shape = self.reference.shape
        # Of a velocity with one number, or none for an axis, broadcasting would make another motion.
        require(
            self.path.fits(shape[0]),
            f"Tool: path: {type(self.path).__name__} is of other dimensions: give a velocity [{shape[0]}], as the "
            f"reference {list(shape)} has",
        )
        moved = jax.eval_shape(
            self.path.place, self.reference, jax.ShapeDtypeStruct((), self.reference.dtype)
        ).shape
        require(
            moved == shape, f"Tool: path: it makes places {list(moved)} of a reference {list(shape)}: give as many"
        )

    def at(self, time: Scalar) -> tuple[Float[Array, "d m"], Float[Array, "d m"]]:
        """Places m and velocities m/s at `time` s."""
        return jax.jvp(lambda t: self.path.place(self.reference, t), (time,), (jnp.ones_like(time),))

    def normal_at(self, time: Scalar) -> Float[Array, "d m"]:
        """Unit normals at `time` s, which rotate with the tool."""
        turned = self.path.place(self.reference + self.normal, time) - self.path.place(self.reference, time)
        return turned / jnp.sqrt(jnp.sum(turned**2, axis=0))[None]
