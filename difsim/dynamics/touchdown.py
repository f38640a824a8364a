"""A lander that touches down on a layered regolith next to, or on, a boulder (Wu et al. 2019, sec. 2.2-2.3).

The frame is the local surface frame with z along the surface normal and the regolith's surface at z = 0.
"""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from difsim import safe
from difsim.body import Lander, RigidState
from difsim.body.rigid import rigid_scales
from difsim.contact import Boulder, Regolith
from difsim.contact.boulder import series_energy, series_force
from difsim.declarations import count, part, quantity, rule
from difsim.dynamics.model import AbstractForcedModel, Approach, motion_units
from difsim.dynamics.touchdown_state import BoulderForces, RegolithForces, TouchdownState
from difsim.gravity import AbstractField
from difsim.typing import Scalar, Vec3

FELT = 20  # widths above the surface from which a smoothed contact is felt, with e⁻²⁰ of its strength
PIT = 0.1  # share of the hull's radius within which its lowest point is still over its pit


class Touchdown(AbstractForcedModel):
    """A lander, a layer of regolith, a boulder and a gravity field.

    In scenario 0 the strut of one leg meets the boulder's edge, and its footpad the regolith; in scenario 1 its footpad
    stands on the boulder's top. Values between blend both linearly, which is what a relaxation of this discrete unknown
    needs.
    """

    state_kinds: ClassVar = (TouchdownState,)
    lander: Lander = part("lander")
    regolith: Regolith = part("layer of regolith")
    boulder: Boulder | None = part("boulder, if there is one")
    gravity: AbstractField = part("gravity field in the surface frame")
    scenario: Scalar = quantity(
        "", "scenario of the leg at the boulder", ge=0, le=1, hint="0 is strut on the edge, 1 footpad on top"
    )
    smoothing: Scalar = quantity("m", "width over which contact with regolith begins", gt=0, default=1e-3)
    leg: int = count("leg at the boulder, counted from 0", least=0, default=1)

    @rule("scenario = {scenario} needs a boulder: without one it must be 0")
    def _has_boulder(self):
        return self.boulder is not None or self.scenario == 0

    @rule("the boulder's edge lies at z = {boulder.edge_point[2]} m: it must be above the ground, z = 0")
    def _has_edge_above_ground(self):
        return self.boulder is None or self.boulder.edge_point[2] > 0

    @rule("leg = {leg} must be one of the lander's {lander.legs} legs, counted from 0")
    def _has_leg(self):
        return self.boulder is None or self.leg < self.lander.legs

    def start(self, body: RigidState) -> TouchdownState:
        """The state before contact, with gear and ground unloaded."""
        return TouchdownState(
            body=body,
            gear=self.lander.gear.initial(self.lander.legs),
            penetration=jnp.zeros(self.lander.legs),
            pit=jnp.zeros(0 if self.lander.hull is None else 1),
        )

    @property
    def _is_leg(self) -> Bool[np.ndarray, "legs"]:
        """The mask of the leg that is at the boulder."""
        return np.arange(self.lander.legs) == self.leg

    @eqx.filter_jit  # all three are traced once for a motion, which asks for them in a dozen places
    def footpads(self, state: TouchdownState) -> RegolithForces:
        """The regolith's forces on the footpads.

        Leg spring and grain skeleton act in series on the closure less the plastic penetration. A footpad above the
        ground leaves its pit behind as it travels: after d m still the share 1 - d/(πR/2) of it is above the pit.
        """
        lander, ground, body = self.lander, self.regolith, state.body
        stroke = lander.gear.strokes(state.gear, lander.legs)
        feet = jax.vmap(body.point)(lander.feet)
        # By masks, not by scatters, each of which is several kernels of a GPU.
        share = jnp.ones_like(state.penetration)
        if self.boulder is not None:
            share = jnp.where(self._is_leg, 1 - self.scenario, share)
        stiffness = share / (1 / lander.leg_stiffness + 1 / ground.stiffness(lander.footpad_radius))
        height, radius = feet[:, 2] + stroke, lander.footpad_radius
        closure = -height - state.penetration
        normal = stiffness * safe.ramp(closure, self.smoothing)
        up = surface_normal(state)[None]
        point = feet + (stroke + normal / lander.leg_stiffness)[:, None] * up
        slip = jax.vmap(body.velocity_at)(point) * (1 - up)
        flow = jax.vmap(ground.flow, in_axes=(0, 0, None))(normal, state.penetration, radius)
        travel = jax.vmap(safe.norm)(slip)
        # Where its spring is no longer felt: a pit that vanished under a load would give energy.
        free = safe.step(height - FELT * self.smoothing, self.smoothing)
        leaving = free * state.penetration * travel / (jnp.pi / 2 * radius)
        sliding = jax.vmap(ground.sliding_force, in_axes=(0, 0, 0, None))
        return RegolithForces(
            closure=closure,
            normal=normal,
            friction=sliding(normal, state.penetration, slip, radius),
            point=point,
            slip=slip,
            flow=flow,
            leaving=leaving,
            stored=stiffness * safe.ramp_integral(closure, self.smoothing),
            power=normal * (flow - leaving),
        )

    @eqx.filter_jit
    def boulder_forces(self, state: TouchdownState) -> BoulderForces:
        """The boulder's forces on a strut and a footpad.

        The strut touches the edge (weight 1 - scenario), the footpad the top (weight scenario).
        """
        lander, boulder, body, up = self.lander, self.boulder, state.body, surface_normal(state)
        if boulder is None:
            none = jnp.zeros((5, 3), up.dtype)
            far, zero = jnp.full(2, jnp.inf, up.dtype), none[0]
            return BoulderForces(far, zero[:2], none[:3], none[:2], none, none[:2], zero[0])
        k, below, above = lander.leg_stiffness, 1 - self.scenario, self.scenario
        lift = lander.gear.strokes(state.gear, lander.legs)[self.leg] * up
        hip, foot = body.point(lander.hips[self.leg]), body.point(lander.feet[self.leg])
        edge = boulder.cross(hip + lift, foot + lift)
        closure = jnp.stack([edge.closure, boulder.edge_point[2] - foot[2] - lift[2]])
        both = lambda law: jax.vmap(law, in_axes=(0, None, None))(closure, k, boulder.hertz)  # noqa: E731
        force, energy = both(series_force), both(series_energy)
        on_hip, on_foot = boulder.edge_force(edge, force[0], energy[0])
        top = above * force[1]
        normal = jnp.stack([below * edge.weight * force[0], top])
        # Forces act on the body at points without the stroke, which moves along the normal and not
        # with the body's rotation. Only then is the work of a normal force the energy of the contact.
        crossing = edge.point - lift
        velocity = jax.vmap(body.velocity_at)(jnp.stack([crossing, foot]))
        faces = jnp.stack([edge.normal, up])
        slip = velocity - jnp.sum(velocity * faces, axis=1, keepdims=True) * faces
        friction = jax.vmap(boulder.sliding_force)(normal, slip)
        return BoulderForces(
            gap=jnp.stack([jnp.maximum(-edge.closure, edge.beyond), -closure[1]]),
            normal=normal,
            normal_forces=jnp.stack([below * on_hip, below * on_foot, top * up]),
            friction=friction,
            point=jnp.stack([hip, foot, foot, crossing, foot]),
            slip=slip,
            stored=below * edge.weight * energy[0] + above * energy[1],
        )

    @eqx.filter_jit
    def hull(self, state: TouchdownState) -> RegolithForces:
        """The regolith's force on the lowest point of the hull; none without a hull.

        A rigid body presses on the bottom of its pit by its section at the level of the ground. The pit is left behind
        as the lowest point travels out of it.
        """
        hull, ground, body, up = self.lander.hull, self.regolith, state.body, surface_normal(state)
        if hull is None:
            none, nowhere = state.pit, state.pit[:, None] * up[None]
            return RegolithForces(none, none, nowhere, nowhere, nowhere, none, none, none, none)
        in_body, (pit,) = body.rotation.inverse @ up, state.pit
        lowest, shift = jax.jvp(hull.lowest, (in_body,), (jnp.cross(in_body, body.spin),))
        point = body.point(lowest)
        velocity = body.velocity_at(point)
        slip, sinking = velocity * (1 - up), -velocity[2]
        radius = hull.contact_radius(in_body, pit + self.smoothing)
        touch = safe.step(-point[2] - pit, self.smoothing)
        normal = touch * ground.resist(sinking, pit, radius)
        travel = safe.norm((velocity + body.rotation @ shift) * (1 - up))
        forces = {
            "closure": -point[2] - pit,
            "normal": normal,
            "friction": ground.sliding_force(normal, pit, slip, radius),
            "point": point,
            "slip": slip,
            "flow": touch * safe.positive_part(sinking),
            "leaving": (1 - touch) * pit * travel / (PIT * hull.radius),
            "stored": jnp.zeros_like(normal),
            "power": normal * sinking,
        }
        return RegolithForces(**{name: x[None] for name, x in forces.items()})

    def contact_force(self, state: TouchdownState) -> Vec3:
        """The resultant of all contact forces on the lander [3], N."""
        return jnp.sum(self._forces(self.footpads(state), self.boulder_forces(state), self.hull(state))[0], axis=0)

    def _forces(
        self, footpads: RegolithForces, on_boulder: BoulderForces, hull: RegolithForces
    ) -> tuple[Float[Array, "f 3"], Float[Array, "f 3"]]:
        """All contact forces N, and their points of action on the body, m."""
        normal = jnp.concatenate([footpads.normal, hull.normal])
        sideways = jnp.concatenate([footpads.friction, hull.friction])
        up = jnp.asarray((0.0, 0.0, 1.0), normal.dtype)[None]
        forces = jnp.concatenate([sideways + normal[:, None] * up, on_boulder.force])
        return forces, jnp.concatenate([footpads.point, hull.point, on_boulder.point])

    def rates(self, t, state):
        lander, body = self.lander, state.body
        footpads, on_boulder, hull = self.footpads(state), self.boulder_forces(state), self.hull(state)
        forces, points = self._forces(footpads, on_boulder, hull)
        total, moment = jnp.sum(forces, axis=0), jnp.sum(jnp.cross(points, forces), axis=0)
        torque = moment - jnp.cross(body.position, total)
        weight = lander.body.mass * self.gravity.acceleration(body.position)
        wheel = lander.flywheel.torque(t)

        # The gear carries pushes alone. Friction goes into the body past it, and its work on the body is never
        # positive. Through the gear a slanting strut's friction could drive the stroke, and create energy.
        loads = footpads.normal
        if self.boulder is not None:
            loads = loads + jnp.where(self._is_leg, jnp.sum(on_boulder.normal_forces[:, 2]), 0.0)
        gear = lander.gear.rate(state.gear, loads)
        rate = TouchdownState(
            body=lander.body.derivative(
                body,
                total + weight,
                body.rotation.inverse @ torque + wheel,
                lander.flywheel.momentum_at(t),
            ),
            gear=gear,
            penetration=footpads.flow - footpads.leaving,
            pit=hull.flow - hull.leaving,
        )
        slipping = sum(jnp.sum(on.friction * on.slip) for on in (footpads, on_boulder, hull))
        return rate, {
            "ground": jnp.sum(footpads.power) + jnp.sum(hull.power),
            "damper": lander.gear.dissipation(gear),
            "friction": -slipping,
            "flywheel": -wheel @ body.spin,
        }

    def approach(self, t, state):
        lander, body, reach = self.lander, state.body, _reach(self.lander)
        if lander.hull is not None:
            reach = jnp.maximum(reach, lander.hull.radius)
        footpads, hull = (-on(state).closure - FELT * self.smoothing for on in (self.footpads, self.hull))
        # What this scenario does not touch is not near: in scenario 0 the footpad passes by the top.
        if self.boulder is not None:
            footpads = jnp.where(self._is_leg & (self.scenario >= 1), jnp.inf, footpads)
        edge, top = self.boulder_forces(state).gap
        edge = jnp.where(self.scenario < 1, edge, jnp.inf)
        top = jnp.where(self.scenario > 0, top, jnp.inf)
        speed = safe.norm(body.velocity) + safe.norm(body.spin) * reach
        # The resolution is a fraction of the legs' own period with the whole lander on them; a bare hull has none.
        if lander.legs:
            resolution = 0.05 * jnp.sqrt(lander.body.mass / (lander.legs * lander.leg_stiffness))
        else:
            resolution = self.smoothing / (speed + self.regolith.slip_speed)
        return Approach(
            gap=jnp.min(jnp.concatenate([footpads, hull, jnp.stack([edge, top])])),
            speed=speed,
            resolution=resolution,
            acceleration=safe.norm(self.gravity.acceleration(body.position)) + reach * body.spin @ body.spin,
        )

    def starts_inside(self, state):
        """True if the body's centre is in the ground, where neither legs nor hull have a law."""
        return state.body.position[2] < 0

    def scales(self, t, state):
        reach = _reach(self.lander)
        units = motion_units(self.approach(t, state), reach)
        origin, size = rigid_scales(state.body, units.speed, units.length, reach)
        length = units.length
        return (
            TouchdownState(origin, *(jnp.zeros_like(x) for x in (state.gear, state.penetration, state.pit))),
            TouchdownState(size, *(jnp.full_like(x, length) for x in (state.gear, state.penetration, state.pit))),
        )

    def energy(self, t, state):
        lander, body = self.lander, state.body
        contacts = sum(jnp.sum(on(state).stored) for on in (self.footpads, self.boulder_forces, self.hull))
        return {
            "kinetic": lander.body.kinetic_energy(body),
            "potential": -lander.body.mass * self.gravity.potential(body.position),
            "elastic": contacts + lander.gear.elastic_energy(state.gear),
        }

    def momentum(self, t: Scalar, state: TouchdownState) -> tuple[Vec3, Vec3]:
        """The momentum of the lander, and its angular momentum about the origin with the wheel's.

        **Arguments:** `t`, s; `state`. **Returns:** N s [3] and N m s [3].
        """
        lander, body = self.lander, state.body
        spin = lander.body.inertia @ body.spin + lander.flywheel.momentum_at(t)
        momentum = lander.body.mass * body.velocity
        return momentum, jnp.cross(body.position, momentum) + body.rotation @ spin

    def wrench(self, t: Scalar, state: TouchdownState) -> tuple[Vec3, Vec3]:
        """The force on the lander and its moment about the origin, which change `momentum`.

        **Arguments:** `t`, s; `state`. **Returns:** N [3] and N m [3].
        """
        forces, points = self._forces(self.footpads(state), self.boulder_forces(state), self.hull(state))
        weight = self.lander.body.mass * self.gravity.acceleration(state.body.position)
        moment = jnp.sum(jnp.cross(points, forces), axis=0) + jnp.cross(state.body.position, weight)
        return jnp.sum(forces, axis=0) + weight, moment


def _reach(lander: Lander) -> Scalar:
    """The distance m of the farthest foot from the centre of mass; of a lander without legs a bound for its hull."""
    return jnp.max(safe.norm(lander.feet)) if lander.hull is None or lander.legs else lander.hull.radius


def surface_normal(state: TouchdownState) -> Vec3:
    """The surface normal [3], in the precision of the state."""
    return jnp.asarray((0.0, 0.0, 1.0), state.body.position.dtype)


def contact_indicator(force: Scalar) -> Scalar:
    """A smooth indicator of contact from 0 to 1, half at 1 N, so that durations of phases have derivatives."""
    return force**2 / (force**2 + 1.0)
