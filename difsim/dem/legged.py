"""A lander among grains: a body and legs of sub-spheres, springs between them, and the lander's gear."""

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import rotation
from difsim.body import AbstractLandingGear, Lander, RigidBody, RigidState
from difsim.declarations import is_valid, part, quantity, rule
from difsim.dem.clump import AbstractClump, Clump, Load
from difsim.dem.touching import Grain
from difsim.mesh import TriMesh, cylinder
from difsim.rotation import Rotation
from difsim.shape.sub_spheres import fill_with_spheres
from difsim.typing import Scalar, Vec3

PER_RADIAN = 5  # steps per radian of the springs' fastest oscillation: 31 a period


class LeggedState(eqx.Module):
    """The motion of the body and of each leg, and the strokes [s] of the landing gear, m."""

    body: RigidState
    legs: tuple[RigidState, ...]
    gear: Float[Array, "s"]


class LeggedLoad(eqx.Module):
    """The loads of the body and of each leg, and the rate of the gear's strokes, m/s."""

    body: Load
    legs: tuple[Load, ...]
    gear: Float[Array, "s"]


class LeggedClump(AbstractClump):
    """A body and its legs, each a rigid body of sub-spheres.

    A leg slides along the body's axis z on its spring, which the gear is in series with: N = k (d_z - stroke),
    where d is how far the point that the leg is held at is from its seat, in the body frame. Across the axis, and
    against turning, a stiff spring guides it, with a damper that lets a leg which rings in flight come to rest;
    along the axis nothing resists but spring and gear. What holds a leg pushes leg and body at that point, so that
    momenta are kept. Its state is a `LeggedState`.
    """

    tag = "legged-clump"
    body: Clump = part("body")
    legs: tuple[Clump, ...] = part("tuple of at least one leg")
    seat: Float[Array, "n 3"] = quantity(
        "m", "points in the body frame where legs are held while unloaded, with the attitude of the body"
    )
    attachment: Float[Array, "n 3"] = quantity(
        "m",
        "same points from the centre of mass of each leg: where the ground pushes, in the footpad, or else the guide "
        "gives way and not the spring",
    )
    gear: AbstractLandingGear = part("landing gear")
    stiffness: Scalar = quantity(
        "N/m", "stiffness k of one leg along the axis", gt=0, usual=(100, 1e7), slip="N/mm"
    )
    transverse_stiffness: Scalar = quantity(
        "N/m", "stiffness of its guide across the axis", gt=0, usual=(100, 1e8), slip="N/mm", default=1e5
    )
    rotational_stiffness: Scalar = quantity(
        "N m/rad", "stiffness of its guide against turning", gt=0, usual=(10, 1e6), default=2e3
    )
    damping: Scalar = quantity(
        "",
        "ratio of the guide's dampers to critical ones of a leg on a fixed body",
        gt=0,
        usual=(0.01, 1),
        slip="percent",
        default=0.1,
    )

    @rule("legs is empty: give at least one leg, or a Clump in place of this")
    def _has_legs(self):
        return len(self.legs) > 0

    @rule(
        "seat of shape {seat.shape} and attachment of shape {attachment.shape}: give one point of each for each leg"
    )
    def _has_points_of_legs(self):
        return len(self.legs) == self.seat.shape[0] == self.attachment.shape[0]

    @classmethod
    def from_lander(
        cls, lander: Lander, hull: TriMesh, leg_mass: float, strut: float, vacancy: float = 0.2
    ) -> "LeggedClump":
        """The lander of the reduced law, of the same mass, inertia, feet, leg springs and gear.

        A leg is a strut from hip to foot and a footpad, a disc across the axis. Its mass is distributed over its
        sub-spheres by their volume, and it is held in the middle of its footpad. The mass of the legs is taken from the
        body. The flywheel keeps its angular momentum at touch-down.

        **Arguments:** `lander`; `hull`: the body's surface in the body frame, m, filled to `vacancy`; `leg_mass` of
        one leg, kg; `strut`, its radius and half the footpad's thickness, m. **Returns:** the clump.
        **Raises:** ValueError for legs that are as heavy as the lander or have more than its inertia, and as
        `fill_with_spheres`.
        """
        mass = float(lander.body.mass) - lander.legs * leg_mass
        if mass <= 0:
            raise ValueError(f"LeggedClump: legs of {leg_mass} kg leave nothing of {lander.body.mass} kg")
        filling = fill_with_spheres(hull, vacancy)
        footpad = fill_with_spheres(cylinder(float(lander.footpad_radius), 2 * strut), vacancy)
        legs, footpads, held = zip(
            *(
                _leg(hip, foot, footpad, strut, leg_mass)
                for hip, foot in zip(lander.hips, lander.feet, strict=True)
            ),
            strict=True,
        )
        held = np.array(held)
        middle = np.array(footpads) - held
        # The centre of mass of all stays in the origin.
        centre = -leg_mass * middle.sum(axis=0) / mass
        theirs = sum(_inertia_about(leg.body, at) for leg, at in zip(legs, middle, strict=True))
        inertia = np.asarray(lander.body.inertia) - theirs - mass * _shift(centre)
        body = RigidBody(jnp.asarray(mass), jnp.asarray(0.5 * (inertia + inertia.T)))
        wheels = lander.flywheel.momentum_at(jnp.zeros_like(lander.flywheel.momentum))
        own, radius = jnp.asarray(filling.centre - centre), jnp.asarray(filling.radius)
        return cls(  # pyright: ignore[reportCallIssue]  # to pyright `radius`, which is derived, is an argument
            body=Clump(body=body, centre=own, radius=radius, wheels=wheels),
            legs=legs,
            seat=jnp.asarray(np.array(footpads) - centre),
            attachment=jnp.asarray(held),
            gear=lander.gear,
            stiffness=lander.leg_stiffness,
        )

    @property
    def radius(self) -> Float[Array, " p"]:
        return jnp.concatenate([part.radius for part in self._parts])

    @property
    def _parts(self) -> tuple[Clump, ...]:
        return self.body, *self.legs

    def _pair_parts(self, of: LeggedState | LeggedLoad) -> Iterator[tuple[Clump, Any]]:
        """Pairs of the body and of each leg with what is `of` it."""
        return zip(self._parts, (of.body, *of.legs), strict=True)

    @property
    def mass(self) -> Scalar:
        """The mass of body and legs, kg."""
        return sum((leg.body.mass for leg in self.legs), self.body.body.mass)

    def move_rigidly(self, state: RigidState) -> LeggedState:
        """The state in which body and legs move as one rigid body, with gear and springs unloaded.

        **Arguments:** `state` of the body frame of `from_lander`, whose origin is the centre of mass of all.
        **Raises:** ValueError for an attitude that is not a unit quaternion.
        """
        is_valid(state)  # refuses an attitude that is no rotation
        masses, middle = jnp.stack([leg.body.mass for leg in self.legs]), self.seat - self.attachment
        offset = -(masses @ middle) / self.mass  # of the body from the centre of all

        def carry(point):
            at = state.point(point)
            return RigidState(at, state.velocity_at(at), state.attitude, state.spin)

        legs = tuple(carry(offset + at) for at in middle)
        return LeggedState(carry(offset), legs, self.gear.initial(len(self.legs)))

    def total_motion(self, state: LeggedState) -> tuple[Vec3, Vec3, Vec3]:
        """The centre of mass m, its velocity m/s, and the angular momentum about it N m s, in the inertial frame."""
        parts = list(self._pair_parts(state))
        centre = sum(p.body.mass * at.position for p, at in parts) / self.mass
        velocity = sum(p.body.mass * at.velocity for p, at in parts) / self.mass
        spins = (at.rotation @ (p.body.inertia @ at.spin + p.wheels) for p, at in parts)
        orbits = (p.body.mass * jnp.cross(at.position - centre, at.velocity - velocity) for p, at in parts)
        return centre, velocity, reduce(add, spins) + reduce(add, orbits)

    def spheres(self, state: LeggedState) -> Grain:
        many = (part.spheres(at) for part, at in self._pair_parts(state))
        return jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=-1), *many)

    def load(self, state: LeggedState, force, moment, gravity: Vec3) -> LeggedLoad:
        ends = np.cumsum([part.radius.size for part in self._parts])[:-1]
        forces, moments = (jnp.split(x, ends, axis=1) for x in (force, moment))
        each = zip(self._pair_parts(state), forces, moments, strict=True)
        on_body, *on_legs = (part.load(at, f, m, gravity) for (part, at), f, m in each)
        strokes, pushes, legs = self.gear.strokes(state.gear, len(self.legs)), [], []
        for i, (at, load) in enumerate(zip(state.legs, on_legs, strict=True)):
            push, point, force, torque = self._holds(i, state.body, at, strokes[i])
            on_leg, on_hold = (torque + jnp.cross(point - of.position, force) for of in (at, state.body))
            on_body = Load(on_body.force - force, on_body.torque - on_hold)
            legs.append(Load(load.force + force, load.torque + on_leg))
            pushes.append(push)
        return LeggedLoad(on_body, tuple(legs), self.gear.rate(state.gear, jnp.stack(pushes)))

    def _holds(self, i: int, body: RigidState, at: RigidState, stroke: Scalar):
        """The connection of leg i with the body.

        The force of the leg's spring N, the point m at which the leg is held, and force N and torque N m on the leg
        there, in the inertial frame.
        """
        point = at.point(self.attachment[i])
        away, q = self._deflection(i, body, at)
        rate = body.rotation.inverse @ (at.velocity_at(point) - body.velocity_at(point))
        turning = Rotation(q) @ at.spin - body.spin
        springs = jnp.stack([self.transverse_stiffness, self.transverse_stiffness, self.stiffness])
        pushed = springs * away.at[2].add(-stroke)
        (across, rate), (about, turning) = self._guide(i, body, at)
        force = -pushed - across * rate
        # Energy 2 κ |v|², v the vector part of q: κ θ²/2 for small angles, and no root anywhere.
        torque = -2 * self.rotational_stiffness * q[0] * q[1:] - about * turning
        return pushed[2], point, body.rotation @ force, body.rotation @ torque

    def _guide(self, i: int, body: RigidState, at: RigidState):
        """The dampers of a leg's guide: N s/m and the speed [3] m/s across the axis, N m s and the spin [3] rad/s."""
        leg, point = self.legs[i].body, at.point(self.attachment[i])
        rate = body.rotation.inverse @ (at.velocity_at(point) - body.velocity_at(point))
        turning = Rotation(self._deflection(i, body, at)[1]) @ at.spin - body.spin
        heaviest = jnp.max(jnp.diagonal(leg.inertia))
        across, about = (
            jnp.sqrt(self.transverse_stiffness * leg.mass),
            jnp.sqrt(self.rotational_stiffness * heaviest),
        )
        # Along the axis a damper would add to that of the gear.
        return (2 * self.damping * across, rate.at[2].set(0.0)), (2 * self.damping * about, turning)

    def dissipation(self, state: LeggedState) -> Scalar:
        guides = (self._guide(i, state.body, at) for i, at in enumerate(state.legs))
        return reduce(add, (damping * rate @ rate for guide in guides for damping, rate in guide))

    def _deflection(self, i: int, body: RigidState, at: RigidState):
        """The displacement of leg i from its seat, m, and its rotation, a quaternion, in the body frame."""
        away = body.rotation.inverse @ (at.point(self.attachment[i]) - body.position) - self.seat[i]
        return away, (body.rotation.inverse @ at.rotation).quaternion

    def kick(self, state: LeggedState, load: LeggedLoad, dt: Scalar) -> LeggedState:
        each = zip(self.legs, state.legs, load.legs, strict=True)
        legs = tuple(leg.kick(at, on, dt) for leg, at, on in each)
        return LeggedState(self.body.kick(state.body, load.body, dt), legs, state.gear + dt * load.gear)

    def drift(self, state: LeggedState, dt: Scalar) -> LeggedState:
        legs = tuple(leg.drift(at, dt) for leg, at in zip(self.legs, state.legs, strict=True))
        return LeggedState(self.body.drift(state.body, dt), legs, state.gear)

    def energy(self, state: LeggedState, gravity: Vec3) -> dict[str, Scalar]:
        parts = [part.energy(at, gravity) for part, at in self._pair_parts(state)]
        stored = self.gear.elastic_energy(state.gear)
        strokes = self.gear.strokes(state.gear, len(self.legs))
        for i, at in enumerate(state.legs):
            away, q = self._deflection(i, state.body, at)
            x, y, z = away
            stored += (
                0.5 * self.transverse_stiffness * (x**2 + y**2) + 0.5 * self.stiffness * (z - strokes[i]) ** 2
            )
            stored += 2 * self.rotational_stiffness * q[1:] @ q[1:]
        total = {name: reduce(add, (of[name] for of in parts)) for name in parts[0]}
        return total | {"elastic": total["elastic"] + stored}

    def acceleration(self, load: LeggedLoad) -> Scalar:
        return jnp.max(jnp.stack([part.acceleration(on) for part, on in self._pair_parts(load)]))

    def stable_time_step(self, state: LeggedState) -> Scalar:
        def fastest(leg: Clump, held: Vec3):
            # The trace is above the largest of 1/I, by a factor of three at the most.
            turns = self.rotational_stiffness * jnp.trace(rotation.inverse3(leg.body.inertia))
            return turns + jnp.maximum(self.transverse_stiffness, self.stiffness) * leg.mobility(held)

        def closing_rate(gear):
            return self.gear.rate(gear, -self.stiffness * self.gear.strokes(gear, len(self.legs)))

        # No rate of the gear's strokes is above the largest sum of a row.
        eases = jnp.max(jnp.sum(jnp.abs(jax.jacfwd(closing_rate)(state.gear)), axis=1), initial=0.0)
        rings = jnp.sqrt(jnp.max(jnp.stack([fastest(*of) for of in zip(self.legs, self.attachment, strict=True)])))
        return 1 / (PER_RADIAN * jnp.maximum(rings, eases))

    @property
    def least_mass(self) -> Scalar:
        return jnp.min(jnp.stack([part.least_mass for part in self._parts]))


def _leg(hip, foot, footpad: Any, strut: float, mass: float) -> tuple[Clump, np.ndarray, np.ndarray]:
    """A leg, the middle of its footpad in the body frame, and the same from the leg's centre of mass."""
    # The footpad's lower side is where the reduced law has the foot.
    hip, end = np.asarray(hip), np.asarray(foot) + np.array([0.0, 0.0, strut])
    # As far apart as their radius: the strut is never thinner than 0.87 of it.
    count = int(np.ceil(np.linalg.norm(end - hip) / strut))
    along = hip + np.linspace(0.0, 1.0, count, endpoint=False)[:, None] * (end - hip)
    centre = np.concatenate([along, footpad.centre + end])
    radius = np.concatenate([np.full(count, strut), footpad.radius])
    weight = radius**3 / np.sum(radius**3)
    middle = weight @ centre
    inertia = sum(
        mass * w * (_shift(c - middle) + 0.4 * r**2 * np.eye(3))
        for w, c, r in zip(weight, centre, radius, strict=True)
    )
    body = RigidBody(jnp.asarray(mass), jnp.asarray(inertia))
    return Clump(body=body, centre=jnp.asarray(centre - middle), radius=jnp.asarray(radius)), end, end - middle


def _shift(x: np.ndarray) -> np.ndarray:
    """|x|² - x xᵀ: of a unit mass at x."""
    return x @ x * np.eye(3) - np.outer(x, x)


def _inertia_about(body: RigidBody, at: np.ndarray) -> np.ndarray:
    return np.asarray(body.inertia) + float(body.mass) * _shift(at)
