"""A rigid body that flies about a rotating small body, bounces on its surface and comes to rest (the hopper paper)."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import rotation, safe
from difsim.body import RigidBody, RigidState
from difsim.body.rigid import rigid_scales
from difsim.contact import SurfaceContact
from difsim.contact.contact_points import BodyMotion
from difsim.contact.surface import Wrench
from difsim.declarations import is_valid, part, quantity, rule, variable
from difsim.dynamics.flight import TWICE
from difsim.dynamics.frames import AbstractFrame, frame_field
from difsim.dynamics.loads import AbstractLoad
from difsim.dynamics.model import AbstractForcedModel, Approach, motion_units
from difsim.dynamics.primary import Primary
from difsim.dynamics.surroundings import Surroundings, changes
from difsim.gravity import AbstractField
from difsim.shape import AbstractSDF
from difsim.typing import Scalar


class HopperState(eqx.Module):
    """The paper's state (x, v, q, ω), with the memory of the friction; the frame has the attitude of the target.

    The body's spin is that **against the target**, in the body's frame.
    """

    body: RigidState = part("motion of the body in the target's frame")
    memory: Float[Array, "M 3"] = variable("m", "memory of the friction")


class Hopper(AbstractForcedModel):
    """A rigid body near a rotating target, with contact (the hopper paper, Eq 2).

    v' = g(x) - Ω × (Ω × x) - 2 Ω × v - Ω' × x + ΣF/m;  I ω*' = ΣL - ω* × I ω*,  ω* = ω + Ω the inertial spin.

    Gravity acts at the centre of mass, and `loads` add what else acts in flight. The energy is the one that a steadily
    rotating frame conserves: the kinetic energy of the relative motion, less ½ Ω·(I + I_orbit) Ω, less m U. A spin that
    changes and a primary that moves in the frame change it: the powers `frame`, Ω' times the inertial angular momentum,
    and `tide`, -m ∂U/∂t.
    """

    state_kinds: ClassVar = (HopperState,)
    body: RigidBody = part("mass m and inertia I")
    contact: SurfaceContact = part("contact of the body with the surface")
    surface: AbstractSDF = part("surface of the target, in its frame")
    gravity: AbstractField = part("field U of the target alone, without a centrifugal term")
    frame: AbstractFrame = frame_field(
        "constant spin Ω [3] of the target, rad/s, or its frame", default=(0.0, 0.0, 0.0)
    )
    resolution: Scalar = quantity(
        "s", "longest step that cannot miss a contact, some 1/20 of its duration", gt=0, default=1e-3
    )
    primary: Primary | None = part("second body, whose tide is added to the field", default=None)
    loads: tuple[AbstractLoad, ...] = part("further loads, such as `GravityGradient()`", default=())

    @rule(TWICE)
    def _has_plain_gravity(self):
        return self.gravity.is_inertial

    def start(self, body: RigidState) -> HopperState:
        """The state before any contact, from the motion in the target's frame.

        **Arguments:** `body`, in the target's frame. **Returns:** the state.
        **Raises:** `ValueError` for an attitude that is no unit quaternion.
        """
        state = HopperState(body, self.contact.friction.memory(self.contact.outline.count))
        is_valid(state)  # refuses an attitude that is no rotation
        return state

    def wrench(self, t: Scalar | float, state: HopperState) -> Wrench:
        """The force and torque of the surface on the body. **Arguments:** `t`, s; `state`. **Returns:** the wrench."""
        turn = state.body.rotation.as_matrix()
        return self.contact.wrench(self.surface, self.free(t, state.body), turn, state.memory)

    def rates(self, t, state):
        return self.rate_with_contact(t, state, self.free(t, state.body))

    def free(self, t: Scalar | float, body: RigidState) -> BodyMotion:
        """The body with its accelerations in flight, in the target's frame.

        **Arguments:** `t`, s; `body`. **Returns:** the motion.
        """
        here = Surroundings.at(self, t)
        turn = body.rotation.as_matrix()
        inertia = rotation.turned3(turn, self.body.inertia)
        spin = rotation.times3(turn, body.spin)
        whole = spin + here.motion.spin
        free = BodyMotion(
            centre=body.position,
            velocity=body.velocity,
            spin=spin,
            mass=self.body.mass,
            inertia=inertia,
            acceleration=here.acceleration(body.position, body.velocity),
            # The rate in the target's frame of ω = ω* - Ω: what turns ω* there is Ω, and Ω has its own rate.
            spin_rate=rotation.spin_rate(inertia, whole)
            - jnp.cross(here.motion.spin, whole)
            - here.motion.spin_rate,
        )
        for load in self.loads:
            free = free.accelerate(*load.wrench(here, free))
        return free

    def rate_with_contact(
        self, t: Scalar | float, state: HopperState, free: BodyMotion
    ) -> tuple[HopperState, dict[str, Scalar]]:
        """The rate of the state with contact, and the power that leaves the energies.

        **Arguments:** `t`, s; `state`; `free`, the body with its accelerations without contact. **Returns:** the rate,
        and W by name.
        """
        body, turn = state.body, state.body.rotation.as_matrix()
        touch = self.contact.wrench(self.surface, free, turn, state.memory)
        with_contact = free.accelerate(touch.force, touch.torque)
        rate = HopperState(
            body=RigidState(
                position=body.velocity,
                velocity=with_contact.acceleration,
                attitude=body.rotation.rate(body.spin),
                # The rate of ω is the same in the body's frame and in the one that ω is relative to.
                spin=rotation.times3(turn.T, with_contact.spin_rate),
            ),
            memory=touch.memory_rate,
        )
        return rate, touch.powers | self.changes(t, free)

    def changes(self, t: Scalar | float, free: BodyMotion) -> dict[str, Scalar]:
        """The power that leaves the energies by loads, and because the frame and the field change with time.

        **Arguments:** `t`, s; `free`, the body. **Returns:** W by name.
        """
        here, x = Surroundings.at(self, t), free.centre
        motion = here.motion
        momentum = free.mass * jnp.cross(x, free.velocity + motion.velocity_at(x))
        momentum = momentum + rotation.times3(free.inertia, free.spin + motion.spin)
        found = changes(self, t, lambda field: self.potential_energy(field, free), momentum)
        for load in self.loads:
            found |= load.powers(here, free)
        return found

    def potential_energy(self, field: AbstractField, body: BodyMotion) -> Scalar:
        """The energy of gravity and of the loads, J. **Arguments:** `field`; `body`. **Returns:** the energy."""
        return sum((x.energy(field, body) for x in self.loads), -body.mass * field.potential(body.centre))

    def approach(self, t, state):
        """Bounds that are valid while half of the gap is closed; contact begins at the regularisation's `margin`.

        **Arguments:** `t`, s; `state`. **Returns:** the gap and the bounds.
        """
        body, turn = state.body, state.body.rotation.as_matrix()
        gap = self.contact.gap(self.surface, body.position, turn) - self.contact.normal.regularisation.margin
        return Approach(
            gap=gap,
            speed=safe.norm(body.velocity) + safe.norm(body.spin) * self.contact.outline.radius,
            resolution=self.resolution,
            acceleration=Surroundings.at(self, t).greatest_acceleration(body.position, gap),
        )

    def scales(self, t, state):
        reach = self.contact.outline.radius
        units = motion_units(self.approach(t, state), reach)
        origin, size = rigid_scales(state.body, units.speed, units.length, reach)
        return (
            HopperState(origin, jnp.zeros_like(state.memory)),
            HopperState(size, jnp.full_like(state.memory, units.length)),
        )

    def starts_inside(self, state):
        return self.surface.distance(state.body.position) < 0

    def energy(self, t, state):
        body, turn = state.body, state.body.rotation.as_matrix()
        here = Surroundings.at(self, t)
        swept, carried = here.motion.velocity_at(body.position), rotation.times3(turn.T, here.motion.spin)
        return {
            "kinetic": 0.5 * self.body.mass * body.velocity @ body.velocity,
            "rotation": self.body.rotation_energy(body.spin),
            "potential": self.potential_energy(here.field, self.free(t, body)),
            "centrifugal": -0.5 * self.body.mass * swept @ swept - self.body.rotation_energy(carried),
            "elastic": self.wrench(t, state).stored,
        }
