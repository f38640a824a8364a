"""Two irregular rigid bodies: their state, their free flight, and their energy and momenta."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from difsim import rotation, safe
from difsim.body import RigidBody, RigidState, Stone
from difsim.body.free_motion import free_flight, spin_bound
from difsim.declarations import part, quantity
from difsim.dynamics.pair_touch import ContactFeatures, NearestFeatures
from difsim.typing import Mat3, Scalar, Vec3


class PairState(eqx.Module):
    """The states of both bodies, in one inertial frame."""

    first: RigidState = part("motion of the first body")
    second: RigidState = part("motion of the second body")


class ContactEpisode(eqx.Module):
    """One contact episode, from touch to separation.

    `state` at separation; `duration` s; `impulse` [3] N s on the second body; `point` [3] m and `normal` [3], from
    the first body to the second, as means over the features in contact, weighted by the normal impulse;
    `unfinished`, true if the limit of steps of the law ended the episode; `coarse`, true if the bodies separated
    after too few steps to resolve the contact.
    """

    state: PairState
    duration: Scalar
    impulse: Vec3
    point: Vec3
    normal: Vec3
    unfinished: Bool[Array, ""]
    coarse: Bool[Array, ""]


class Record(eqx.Module):
    """The states of a contact episode at requested times.

    `times` [T] s since touch; `states` [T, 26], each the flat state of a pair, filled in for the times that the
    episode has passed.
    """

    times: Float[Array, " T"]
    states: Float[Array, "T 26"]

    def fill(self, t: Scalar, before: PairState, after: PairState, dt: Scalar) -> "Record":
        """Fill in the states at those requested times that lie within one step.

        **Arguments:** `t`, the start of the step, s since touch; the states `before` and `after` the step; `dt`, its
        length, s. **Returns:** the record with these states.
        """
        here, there = ravel_pytree(before)[0], ravel_pytree(after)[0]
        # Linear interpolation within a step that resolves the contact is wrong by about 1e-4 of the depth.
        share = (self.times - t) / dt
        inside = (share >= 0) & (share < 1)
        states = here[None] + jnp.clip(share, 0, 1)[:, None] * (there - here)[None]
        return Record(self.times, jnp.where(inside[:, None], states, self.states))


class AbstractPairLaw(eqx.Module):
    """The law of motion of two bodies from touch to separation."""

    @abstractmethod
    def episode(
        self, pair: "Pair", state: PairState, nearby: NearestFeatures, found: ContactFeatures, record: Record
    ) -> tuple[ContactEpisode, Record]:
        """The contact episode that begins with `state`, in which the surfaces touch.

        **Arguments:** `pair`; `state`; `nearby`, the points and edges that may take part; `found`, the contact
        features that these form in `state`; `record`, to which a law with steps passes each of them.
        **Returns:** the episode and the record.
        """


class Pair(eqx.Module):
    """Two stones and the law of their contact, in free flight between contacts."""

    state_kinds: ClassVar = (PairState,)
    first: Stone = part("first stone")
    second: Stone = part("second stone")
    law: AbstractPairLaw = part(
        "law of contact: a `SmoothPair`, a `CompliantPair`, or a `HardPair` of an impact law"
    )
    gravity: Vec3 = quantity(
        "m/s²", "uniform gravity g, 0 in a freely falling frame", usual=(0, 10), default=(0.0, 0.0, 0.0)
    )

    def free_flight(self, state: PairState, dt: Scalar) -> PairState:
        """The state after free flight. **Arguments:** `state`; `dt`, s. **Returns:** the state `dt` later."""
        bodies, states = jax.tree.map(
            lambda a, b: jnp.stack([a, b]), (self.first.body, state.first), (self.second.body, state.second)
        )
        later = jax.vmap(free_flight, in_axes=(0, 0, None, None))(bodies, states, self.gravity, dt)
        return PairState(jax.tree.map(lambda x: x[0], later), jax.tree.map(lambda x: x[1], later))

    def flight(self, state: PairState) -> PairState:
        """The rate of the state in free flight."""
        none = jnp.zeros((0, 3), state.first.spin.dtype)
        return self.rate(state, none, none)

    def rate(self, state: PairState, points: Float[Array, "M 3"], forces: Float[Array, "M 3"]) -> PairState:
        """The rate of the state under forces at points of the second body, and their opposites on the first.

        **Arguments:** `state`; `points` [M, 3], m; `forces` [M, 3], N. **Returns:** the rate, in the state's structure.
        """

        def one(body, state, sign):
            total = sign * jnp.sum(forces, axis=0)
            turn = sign * jnp.sum(jnp.cross(points - state.position[None], forces), axis=0)
            turn = state.rotation.inverse @ turn
            return body.derivative(state, total + body.mass * self.gravity, turn, jnp.zeros_like(turn))

        return PairState(one(self.first.body, state.first, -1.0), one(self.second.body, state.second, 1.0))

    def closing_bound(self, state: PairState) -> Scalar:
        """An upper bound, m/s, of the speed at which any two points of the bodies approach each other in flight."""
        return (
            safe.norm(state.second.velocity - state.first.velocity)
            + self.first.radius * spin_bound(self.first.body, state.first)
            + self.second.radius * spin_bound(self.second.body, state.second)
        )

    def apply_impulse(self, state: PairState, point: Vec3, impulse: Vec3) -> PairState:
        """Add an impulse to the second body and subtract it from the first, both at one point.

        **Arguments:** `state`; `point` [3], m; `impulse` [3], N s. **Returns:** the state after the impulse.
        """

        def push(body, state, impulse):
            v, spin = body.velocity_changes(state, point - state.position, impulse)
            return eqx.tree_at(lambda s: (s.velocity, s.spin), state, (state.velocity + v, state.spin + spin))

        return PairState(
            push(self.first.body, state.first, -impulse), push(self.second.body, state.second, impulse)
        )

    def response(self, state: PairState, point: Vec3) -> Mat3:
        """The change of the relative velocity (second minus first) at a point per impulse at that point.

        **Arguments:** `state`; `point` [3], m. **Returns:** the response W [3, 3], 1/kg.
        """
        first, second = point - state.first.position, point - state.second.position
        return self.first.body.response(state.first, first) + self.second.body.response(state.second, second)

    def relative_velocity(self, state: PairState, point: Vec3) -> Vec3:
        """The velocity of the second body's material at a point, relative to the first body's.

        **Arguments:** `state`; `point` [3], m. **Returns:** the relative velocity [3], m/s.
        """
        return state.second.velocity_at(point) - state.first.velocity_at(point)

    def kinetic_energy(self, state: PairState) -> Scalar:
        """The kinetic energy, J, of translation and rotation of both bodies, in the frame of the states."""
        return self.first.body.kinetic_energy(state.first) + self.second.body.kinetic_energy(state.second)

    def kinetic_energy_cm(self, state: PairState) -> Scalar:
        """The kinetic energy, J, in the frame of the common centre of mass.

        It is computed from velocities in that frame: a difference of two energies would lose digits.
        """
        a, b = self.first.body, self.second.body
        drift = self.momentum(state) / (a.mass + b.mass)
        inner = eqx.tree_at(
            lambda s: (s.first.velocity, s.second.velocity),
            state,
            (state.first.velocity - drift, state.second.velocity - drift),
        )
        return self.kinetic_energy(inner)

    def energy(self, t: Scalar, state: PairState) -> dict[str, Scalar]:
        """The parts of the energy of both bodies. **Arguments:** `t`, s; `state`. **Returns:** J by name."""
        first, second = self.first.body.mass * state.first.position, self.second.body.mass * state.second.position
        return {"kinetic": self.kinetic_energy(state), "potential": -self.gravity @ (first + second)}

    def momentum(self, state: PairState) -> Vec3:
        """The linear momentum [3], N s, of both bodies."""
        return self.first.body.mass * state.first.velocity + self.second.body.mass * state.second.velocity

    def angular_momentum(self, state: PairState) -> Vec3:
        """The angular momentum [3], N m s, of both bodies about the origin of the frame."""
        return _angular(self.first.body, state.first) + _angular(self.second.body, state.second)


def _angular(body: RigidBody, state: RigidState) -> Vec3:
    spin = state.rotation @ rotation.times3(body.inertia, state.spin)
    return body.mass * jnp.cross(state.position, state.velocity) + spin
