"""Rigid walls and tools: particles with prescribed motion, independent of the forces on them."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim.checks import numbers
from difsim.declarations import custom_field, part, quantity, rule
from difsim.typing import Scalar, Vec2, as_float, describe, is_known


class ToolLoad(NamedTuple):
    """The action of a solid on a tool.

    `force` [d], N; `torque` about the mean of its places, N m ([3]; in the plane one number); `power`, that of the
    solid on the tool, W. In the plane all are for each metre of width.
    """

    force: Float[Array, "*T d"]
    torque: Float[Array, "*T 3"] | Float[Array, "*T"]
    power: Float[Array, "*T"]


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
    """Uniform motion."""

    tag = "sliding"
    velocity: Float[Array, " d"] = quantity("m/s", "velocity", slip="mm/s")

    def place(self, reference, time):
        return reference + time * self.velocity[:, None]

    def fits(self, d):
        return self.velocity.shape == (d,)


class Turning(AbstractPath):
    """A rotation in the plane of x and y."""

    tag = "turning"
    centre: Vec2 = quantity("m", "centre of the rotation")
    rate: Scalar = quantity(
        "rad/s", "angular velocity, positive from x to y", usual=(-1e3, 1e3), slip="degrees/s or rev/min"
    )

    def place(self, reference, time):
        c, s = jnp.cos(self.rate * time), jnp.sin(self.rate * time)
        x, y = reference[0] - self.centre[0], reference[1] - self.centre[1]
        turned = jnp.stack([self.centre[0] + c * x - s * y, self.centre[1] + s * x + c * y])
        return jnp.concatenate([turned, reference[2:]])


class Stopping(AbstractPath):
    """Uniform motion until a time."""

    tag = "stopping"
    velocity: Float[Array, " d"] = quantity("m/s", "velocity", slip="mm/s")
    # Motion begins at 0 s: a tool that stopped earlier would be away from its reference from the start.
    until: Scalar = quantity("s", "time when the motion stops", ge=0, usual=(0, 1e4), slip="ms")

    def place(self, reference, time):
        return reference + jnp.minimum(time, self.until) * self.velocity[:, None]

    def fits(self, d):
        return self.velocity.shape == (d,)


class Carried(AbstractPath):
    """A motion within a moving frame, such as the rotation of a brush in a tool that is lowered."""

    tag = "carried"
    path: AbstractPath = part("motion in the moving frame")
    by: AbstractPath = part("motion of that frame")

    def place(self, reference, time):
        return self.by.place(self.path.place(reference, time), time)

    def fits(self, d):
        return self.path.fits(d) and self.by.fits(d)


def _members(name: str, annotation: Any, given: Any) -> Array:
    try:
        x = given if isinstance(given, jax.Array) else np.asarray(given)
    except ValueError:  # rows of several lengths
        x = np.asarray(None)
    if x.dtype.kind not in "iu" or x.ndim != 1:
        raise ValueError(f"{name}: got {describe(given)}: give integers [m], the indices of particles")
    return jnp.asarray(x)


def _normal(name: str, annotation: Any, given: Any) -> Array | None:
    return None if given is None else numbers(name, given)


class Tool(eqx.Module):
    """Particles that are one rigid body on a path.

    The solid does not slip along them, unless the surface has a `normal` [d, m] at each of them: then it slips
    freely (`difsim.sph.walls`). A corner between two such surfaces is a separate tool without a normal.
    """

    members: Int[Array, " m"] = custom_field(_members, "indices of the particles")
    reference: Float[Array, "d m"] = quantity("m", "places of the particles at 0 s")
    path: AbstractPath = part("motion of the tool", default=Fixed())
    normal: Float[Array, "d m"] | None = custom_field(_normal, "normals at 0 s, of any length but 0", default=None)

    @rule("a particle is a member twice: {members}")
    def _has_different_members(self):
        return not is_known(self.members) or np.unique(self.members).size == self.members.size

    @rule("reference of shape {reference.shape} and members of shape {members.shape}: give [d, m] and [m]")
    def _has_places_of_members(self):
        return self.reference.shape[1:] == self.members.shape

    # Of a velocity with one number, or none for an axis, broadcasting would make another motion.
    @rule(
        "path is of other dimensions: give a velocity with one number for each row of reference {reference.shape}"
    )
    def _has_path_of_its_dimensions(self):
        return self.path.fits(self.reference.shape[0])

    @rule("path makes places of another shape than reference {reference.shape}: give as many")
    def _has_path_that_keeps_shapes(self):
        at = jax.ShapeDtypeStruct((), self.reference.dtype)
        return jax.eval_shape(self.path.place, self.reference, at).shape == self.reference.shape

    @rule("normal has another shape than reference {reference.shape}: give one for each particle")
    def _has_normals_of_its_shape(self):
        return self.normal is None or self.normal.shape == self.reference.shape

    @rule("a normal has no length, and so no direction")
    def _has_directions(self):
        return self.normal is None or jnp.sum(self.normal**2, axis=0) > 0

    def at(self, time: Scalar) -> tuple[Float[Array, "d m"], Float[Array, "d m"]]:
        """Places m and velocities m/s at `time` s."""
        return jax.jvp(lambda t: self.path.place(self.reference, t), (time,), (jnp.ones_like(time),))

    def normal_at(self, time: Scalar) -> Float[Array, "d m"]:
        """Unit normals at `time` s, which rotate with the tool."""
        turned = self.path.place(self.reference + as_float(self.normal), time) - self.path.place(
            self.reference, time
        )
        return turned / jnp.sqrt(jnp.sum(turned**2, axis=0))[None]
