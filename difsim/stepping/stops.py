"""Rules that end a motion before the last of the wanted times."""

import equinox as eqx
from jaxtyping import Array, Bool

from difsim import safe
from difsim.body import RigidState
from difsim.declarations import count, part, quantity
from difsim.shape import AbstractSDF
from difsim.typing import Scalar


class AbstractStop(eqx.Module):
    """A rule that ends a motion."""


class AtRest(AbstractStop):
    """Ends a motion when its body has been at rest for a while: |v| < `speed` and |ω| < `spin` for `hold`.

    At the top of a hop under gravity g a body is slower than `speed` for 2 speed/g: let `hold` be longer. The status
    is UNSETTLED where the body still moves at the last time. Particles are at rest where all of them are. The run
    ends at the end of a step, and derivatives of the state there are at that fixed time (of particles by `Courant`,
    whose steps depend on the material: at the end of that step). What still creeps with v then misses v times the
    change of the time of rest.

    **Source:** the hopper paper, sec. 5.1.
    """

    speed: Scalar = quantity("m/s", "speed below which a body is at rest", gt=0, usual=(1e-7, 0.1), default=1e-4)
    spin: Scalar = quantity(
        "rad/s", "angular speed below which it is at rest", gt=0, usual=(1e-6, 1), slip="degrees/s", default=1e-3
    )
    hold: Scalar = quantity("s", "time for which it must be", gt=0, usual=(1e-3, 1e4), slip="ms", default=10.0)

    def __call__(self, body: RigidState) -> Bool[Array, ""]:
        """Whether the body is as slow as that now."""
        return (safe.norm(body.velocity) < self.speed) & (safe.norm(body.spin) < self.spin)


class AtContact(AbstractStop):
    """Ends a motion where the gap to the next contact first falls to zero.

    The time of contact is the root of the gap, and is differentiated as an implicit function. The status is
    NO_CONTACT where the last wanted time comes first, and INSIDE for a start in the body, or on its surface and
    moving into it. A step uses at most half the gap, so that the ground cannot be jumped over.
    """

    slack: Scalar = quantity(
        "m", "depth to which a start still counts as one on the surface", usual=(0, 1e-3), default=1e-6
    )


class Outside(AbstractStop):
    """Ends a motion where the centre of mass leaves `region`, with the status LEFT."""

    region: AbstractSDF = part("solid, such as the part of the surface that a model holds")


class MaxImpacts(AbstractStop):
    """Ends a motion with the status IMPACT_LIMIT at the impact after the first `count`.

    Impacts, ends of slides and lift-offs of hard contact count, and contacts of two stones. The time of compilation
    does not depend on their number.
    """

    count: int = count("number of impacts")
