"""Resistance to rolling and spinning at one contact: a wrench about the centre of mass."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp

from difsim.contact.friction import slip_direction
from difsim.declarations import quantity
from difsim.rotation import solve3
from difsim.typing import Mat3, Scalar, Vec3

SMOOTH = "it keeps the law smooth"


class AbstractRolling(eqx.Module):
    """A resistance to the body's spin, as force and torque at its centre of mass."""

    @abstractmethod
    def wrench(
        self, normal_force: Scalar, spin: Vec3, normal: Vec3, arm: Vec3, mass: Scalar, inertia: Mat3
    ) -> tuple[Vec3, Vec3]:
        """The force at the centre of mass and the torque that resist the spin.

        **Arguments:** all in one frame: `normal_force` ≥ 0, N; `spin` ω [3], rad/s; `normal` n̂ [3],
        out of the ground; `arm` r [3], m, from the centre of mass to the contact; `mass`, kg;
        `inertia` [3,3], kg m². **Returns:** the force [3], N, and the torque [3], N m.
        """


class RollingTorque(AbstractRolling):
    """The textbook's rolling resistance: a torque alone, L = -C N ω_t/√(ω_t² + ω_s²).

    ω_t is the part of the spin in the tangent plane. A sphere that rolls without slip is slowed by 5/7 μ_r g,
    μ_r = C/R, since friction takes its share. C is a lever: the ground balances a body as if it pushed up to C
    from the contact. A share s of that is held with a creep of ω_s s/√(1 - s²), as in all laws here.
    """

    tag = "rolling-torque"
    length: Scalar = quantity("m", "lever C of the torque", ge=0, usual=(0, 10), slip="mm")
    speed: Scalar = quantity(
        "rad/s", "spin ω_s, below which the resistance fades", gt=0, usual=(1e-8, 10), hint=SMOOTH
    )

    def wrench(self, normal_force, spin, normal, arm, mass, inertia):
        direction = slip_direction(_tangential(spin, normal), self.speed)
        return jnp.zeros_like(spin), -self.length * normal_force * direction


class RollingForceAndTorque(AbstractRolling):
    """The hopper paper's rolling resistance: a torque, and a force that leaves the contact's slip untouched.

    L = -C N ω/√(ω² + ω_s²), against the whole spin, and F = -m P (I⁻¹L × r) with P onto the tangent plane, so
    that F/m + I⁻¹L × r has no tangential part. A sphere that rolls is slowed by 5/2 (C/R) g: 3.5 times
    as much as by `RollingTorque` of the same C. So is the lever that it balances where the contact sticks,
    C (1 + m h²/I) for a centre of mass h above it: 3 C for a disc that rolls, 3.5 C for a sphere, 4 C for a cube
    on an edge. Choose C from the lever. The paper's own law sticks at ω = 0; this one creeps (`RollingTorque`).

    **Source:** the hopper paper, sec. 4.3.
    """

    tag = "rolling-paper003"
    length: Scalar = quantity("m", "lever C of the torque", ge=0, usual=(0, 10), slip="mm")
    speed: Scalar = quantity(
        "rad/s", "spin ω_s, below which the resistance fades", gt=0, usual=(1e-8, 10), hint=SMOOTH
    )

    def wrench(self, normal_force, spin, normal, arm, mass, inertia):
        torque = -self.length * normal_force * slip_direction(spin, self.speed)
        slip = jnp.cross(solve3(inertia, torque), arm)
        return -mass * _tangential(slip, normal), torque


class SpinningResistance(AbstractRolling):
    """Resistance to spin about the normal, L = -μ_s N r n̂ ω_n/√(ω_n² + ω_s²): I ω' = -μ_s N r."""

    tag = "spinning-resistance"
    length: Scalar = quantity(
        "m", "lever μ_s r, friction coefficient times radius of the patch", ge=0, usual=(0, 10), slip="mm"
    )
    speed: Scalar = quantity(
        "rad/s", "spin ω_s, below which the resistance fades", gt=0, usual=(1e-8, 10), hint=SMOOTH
    )

    def wrench(self, normal_force, spin, normal, arm, mass, inertia):
        direction = slip_direction(jnp.dot(spin, normal) * normal, self.speed)
        return jnp.zeros_like(spin), -self.length * normal_force * direction


def _tangential(v: Vec3, normal: Vec3) -> Vec3:
    return v - jnp.dot(v, normal) * normal
