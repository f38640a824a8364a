"""Clumps, bodies made of overlapping spheres among grains: the interface, and one rigid body."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.body import RigidBody, RigidState
from difsim.body.free_motion import free_step
from difsim.checks import host_numbers
from difsim.declarations import part, quantity, rule
from difsim.dem.touching import Grain
from difsim.mesh import TriMesh
from difsim.mesh.surface import require_mesh
from difsim.rotation import solve3
from difsim.shape.sub_spheres import fill_with_spheres
from difsim.typing import Scalar, Vec3, require

CROWD = 6  # contacts of a grain in a bed, for which its time step is stable


class Load(eqx.Module):
    """The force N on a body and the torque N m about its centre of mass, both in the inertial frame."""

    force: Vec3
    torque: Vec3


class AbstractClump(eqx.Module):
    """Sub-spheres that do not meet each other, and what moves with them.

    A state and a load of it are Modules of its own; `radius` [p] m, of its sub-spheres.
    """

    radius: eqx.AbstractVar[Float[Array, " p"]]

    @abstractmethod
    def spheres(self, state: Any) -> Grain:
        """The sub-spheres in the frame, each with the mass that stands behind it."""

    @abstractmethod
    def load(self, state: Any, force: Float[Array, "3 p"], moment: Float[Array, "3 p"], gravity: Vec3) -> Any:
        """The load of the forces on the sub-spheres and of the weight.

        **Arguments:** `state`; `force` [3, p] on the sub-spheres, N; `moment` [3, p] about their centres, N m;
        `gravity` [3], m/s². **Returns:** the load.
        """

    @abstractmethod
    def kick(self, state: Any, load: Any, dt: Scalar) -> Any:
        """The state with the velocities after a load has acted, at the same place.

        **Arguments:** `state`; `load`; `dt`, s. **Returns:** the state.
        """

    @abstractmethod
    def drift(self, state: Any, dt: Scalar) -> Any:
        """The state after motion without loads.

        **Arguments:** `state`; `dt`, s. **Returns:** the state.
        """

    @abstractmethod
    def energy(self, state: Any, gravity: Vec3) -> dict[str, Scalar]:
        """The energies of translation, of rotation, in gravity, and stored in the clump's own springs.

        **Arguments:** `state`; `gravity` [3], m/s². **Returns:** the energies, J, by the names of `Grains.energy`.
        """

    @abstractmethod
    def dissipation(self, state: Any) -> Scalar:
        """The power that the clump's own linear dampers take, W."""

    @abstractmethod
    def acceleration(self, load: Any) -> Scalar:
        """The largest acceleration of a part of the clump, m/s²."""

    @abstractmethod
    def stable_time_step(self, state: Any) -> Scalar:
        """The longest step that resolves the clump's own springs and dampers, s; infinite without any."""

    @property
    @abstractmethod
    def least_mass(self) -> Scalar:
        """The least effective mass of one sub-sphere, kg, if `CROWD` of them touch at once."""


class Clump(AbstractClump):
    """A rigid body made of sub-spheres, overlapping spheres: what touches a sub-sphere pushes the body.

    Where sub-spheres overlap, a grain may touch several. Each pushes as if it were alone, so the stiffness there is
    that of as many contacts in parallel, and impacts are the more damped; the bound of friction, μ times
    the sum of the pushes, is the same. The mass that a damper goes by is the body's, as for an impact at its
    centre: at a rim, walls give back a little less than `restitution`.

    Its state is a `RigidState`.
    """

    tag = "clump"
    body: RigidBody = part("mass and inertia of the clump")
    centre: Float[Array, "p 3"] = quantity(
        "m", "centres of the sub-spheres from the centre of mass, in the body frame"
    )
    radius: Float[Array, " p"] = quantity("m", "radii of the sub-spheres", gt=0, usual=(1e-3, 10), slip="mm")
    wheels: Vec3 = quantity(
        "N m s",
        "angular momentum of wheels inside, in the body frame, which stays",
        usual=(0, 100),
        default=(0.0, 0.0, 0.0),
    )

    @rule(
        "centre of shape {centre.shape} and radius of shape {radius.shape}: give one of each for each sub-sphere"
    )
    def _has_sub_spheres(self):
        return self.centre.shape[:1] == self.radius.shape != (0,)

    @classmethod
    def from_mesh(cls, mesh: TriMesh, mass: float, vacancy: float) -> "Clump":
        """A body of uniform density with the shape of a mesh, filled by `fill_with_spheres`.

        Its frame has the axes of the mesh and the origin in its centroid.

        **Arguments:** `mesh`; `mass`, kg; `vacancy`, as of `fill_with_spheres`. **Returns:** the clump.
        **Raises:** ValueError as `RigidBody` and `fill_with_spheres`.
        """
        # The filling takes seconds: all is checked before it.
        require_mesh("Clump.from_mesh", mesh)
        mass = float(host_numbers("Clump.from_mesh: mass", mass, ""))
        require(mass > 0, f"Clump.from_mesh: mass = {mass} kg must be positive")
        filling = fill_with_spheres(mesh, vacancy)
        body = RigidBody(jnp.asarray(mass), jnp.asarray(mesh.inertia(mass / mesh.volume)))
        centre = jnp.asarray(filling.centre - mesh.centroid)
        return cls(body=body, centre=centre, radius=jnp.asarray(filling.radius))

    def spheres(self, state: RigidState) -> Grain:
        spin = state.rotation @ state.spin

        def one(centre, radius):
            point = state.point(centre)
            return Grain(point, state.velocity_at(point), spin, radius, self.body.mass)

        return jax.vmap(one, out_axes=-1)(self.centre, self.radius)

    def load(
        self, state: RigidState, force: Float[Array, "3 p"], moment: Float[Array, "3 p"], gravity: Vec3
    ) -> Load:
        def moment_about(centre, force, moment):
            return moment + jnp.cross(state.rotation @ centre, force)

        torque = jax.vmap(moment_about, in_axes=(0, 1, 1), out_axes=1)(self.centre, force, moment)
        return Load(jnp.sum(force, axis=1) + self.body.mass * gravity, jnp.sum(torque, axis=1))

    def kick(self, state: RigidState, load: Load, dt: Scalar) -> RigidState:
        torque = state.rotation.inverse @ load.torque
        new = (
            state.velocity + dt / self.body.mass * load.force,
            state.spin + dt * solve3(self.body.inertia, torque),
        )
        return eqx.tree_at(lambda s: (s.velocity, s.spin), state, new)

    def drift(self, state: RigidState, dt: Scalar) -> RigidState:
        return free_step(self.body, state, self.wheels, dt)

    def energy(self, state: RigidState, gravity: Vec3) -> dict[str, Scalar]:
        """The energies of the body, without that of the wheels.

        **Arguments:** `state`; `gravity` [3], m/s². **Returns:** the energies, J, as of `AbstractClump`.
        """
        return {
            "kinetic": 0.5 * self.body.mass * state.velocity @ state.velocity,
            "rotation": 0.5 * state.spin @ self.body.inertia @ state.spin,
            "potential": -self.body.mass * gravity @ state.position,
            "elastic": jnp.zeros_like(self.body.mass),
        }

    def dissipation(self, state: RigidState) -> Scalar:
        return jnp.zeros_like(self.body.mass)

    def acceleration(self, load: Load) -> Scalar:
        return safe.norm(load.force) / self.body.mass

    def stable_time_step(self, state: RigidState) -> Scalar:
        return jnp.full_like(self.body.mass, jnp.inf)

    @property
    def least_mass(self) -> Scalar:
        crowded = self.body.mass / max(1.0, self.radius.size / CROWD)
        # One sub-sphere alone, far from the centre of mass, may have less.
        return jnp.minimum(crowded, 1 / jnp.max(jax.vmap(self.mobility)(self.centre)))

    def mobility(self, point: Vec3) -> Scalar:
        """An upper bound of the acceleration of a point per force there, 1/kg; `point` in the body frame, m.

        It is the largest sum of a row of 1/m - [r] I⁻¹ [r], which no eigenvalue exceeds; 1/m in the centre of mass.
        """

        def acceleration_by(force):
            return force / self.body.mass + jnp.cross(solve3(self.body.inertia, jnp.cross(point, force)), point)

        rows = jax.vmap(acceleration_by)(jnp.eye(3, dtype=point.dtype))
        return jnp.max(jnp.sum(jnp.abs(rows), axis=1))


def check_state(clump: AbstractClump, state: Any) -> None:
    """Raise ValueError for a state that is none of the clump's, or with which sub-spheres are not where they seem."""
    name = type(clump).__name__
    try:
        places = _places(clump, state)
    except (AttributeError, TypeError) as error:  # a state may be any object: only the clump knows its own
        raise ValueError(f"Grains: {type(state).__name__} is no state of a {name}") from error
    require(
        jnp.isfinite(places), f"Grains: sub-spheres of a {name} are at no finite place: look at it and its state"
    )
    for at in jax.tree.leaves(state, is_leaf=lambda x: isinstance(x, RigidState)):
        if isinstance(at, RigidState):
            # The first step makes it one of length 1: the sub-spheres would jump.
            unit = jnp.abs(safe.norm(at.attitude) - 1) < 1e-5
            require(unit, f"Grains: attitude = {at.attitude} is no unit quaternion: divide it by its length")


@eqx.filter_jit
def _places(clump: AbstractClump, state: Any) -> Float[Array, "3 p"]:
    return clump.spheres(state).position
