"""The bodies and grounds of the hopper paper: a cube on a plane in three gravities, and their contact."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from difsim.body import RigidBody, RigidState
from difsim.contact import (
    AbstractNormalForce,
    AtEffectivePoint,
    CompressionDamping,
    Hooke,
    NormalForce,
    NoSmoothing,
    PowerLaw,
    RollingForceAndTorque,
    StickSlip,
    SurfaceContact,
    Vertices,
)
from difsim.contact.outline import AbstractOutline
from difsim.declarations import quantity
from difsim.dynamics import Hopper
from difsim.dynamics.hopper import HopperState
from difsim.gravity import Uniform
from difsim.shape import Plane
from difsim.typing import Scalar

# Mean surface gravity, m/s²: GM/R² with the published means.
GRAVITY = {"phobos": 5.7e-3, "67p": 1.7e-4, "itokawa": 8.6e-5}


class Ground(eqx.Module):
    """The numbers that people quote of a surface that a body touches."""

    restitution: Scalar = quantity("", "restitution of a central impact", default=0.6)
    friction: Scalar = quantity("", "friction μ, sliding and sticking", default=0.5)
    rolling: Scalar = quantity("m", "rolling resistance C", default=2e-3)
    depth: Scalar = quantity("m", "depth of an impact at `speed`", default=2e-3)
    speed: Scalar = quantity("m/s", "speed of that impact", default=0.1)
    slip_speed: Scalar = quantity("m/s", "slip speed below which friction fades", default=1e-3)
    spin_speed: Scalar = quantity("rad/s", "spin below which rolling resistance fades", default=1e-2)

    def contact(
        self, outline: AbstractOutline, mass: float | Scalar, normal: "NormalOf | None" = None
    ) -> SurfaceContact:
        """The hopper paper's contact for a body of `mass` kg, with a power law of 3/2 unless `normal` makes another."""
        return SurfaceContact(
            outline,
            (normal or smooth)(self, mass),
            AtEffectivePoint(StickSlip(self.friction, self.friction, self.slip_speed)),
            (RollingForceAndTorque(self.rolling, self.spin_speed),),
        )

    @property
    def resolution(self) -> Scalar:
        """Some 1/20 of a contact's duration at `speed`, s: a contact lasts 2.94 δ/v (Hertz)."""
        return 0.15 * self.depth / self.speed


NormalOf = Callable[[Ground, float | Scalar], AbstractNormalForce]


def smooth(ground: Ground, mass: float | Scalar) -> NormalForce:
    """The default: a power law of 3/2, smoothed, whose derivatives are right."""
    stiffness = 1.25 * mass * ground.speed**2 / ground.depth**2.5  # ½ m v² = k δ^2.5/2.5
    return NormalForce.from_restitution(
        ground.restitution, PowerLaw(stiffness, 1.5), 0.05 * ground.depth, mass=mass
    )


def jumping(ground: Ground, mass: float | Scalar) -> NormalForce:
    """The paper's: spring, and a damper while it is compressed, from zero depth on. For values only."""
    stiffness = mass * ground.speed**2 / ground.depth**2
    return NormalForce.from_restitution(
        ground.restitution, Hooke(stiffness), NoSmoothing(), mass=mass, damping=CompressionDamping
    )


EDGE, MASS = 0.2, 1.0  # m, kg; the paper gives neither
INERTIA = MASS * EDGE**2 / 6 * np.eye(3)  # kg m², homogeneous


def cube(gravity: float, ground: Ground | None = None, normal: NormalOf = smooth) -> Hopper:
    """A homogeneous cube over the plane z = 0, with uniform `gravity` m/s² downwards."""
    ground = ground or Ground()
    return Hopper(
        RigidBody(MASS, INERTIA),
        ground.contact(Vertices.box((EDGE, EDGE, EDGE)), MASS, normal),
        Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
        Uniform((0.0, 0.0, -gravity)),
        resolution=ground.resolution,
    )


def throw_cube(model: Hopper) -> HopperState:
    """The cube thrown as in Figs 8-10 (our numbers): 0.5 m up, sideways and down at 5 cm/s, tumbling."""
    attitude = jnp.array([0.8, 0.3, 0.4, 0.33])
    return model.start(
        RigidState(
            position=(0.0, 0.0, 0.5),
            velocity=(0.05, 0.0, -0.05),
            attitude=attitude / jnp.linalg.norm(attitude),
            spin=(0.1, 0.2, 0.05),
        )
    )
