"""Bodies: rigid motion and the lander."""

from difsim.body.attitude import attitude_is_unit, require_attitude
from difsim.body.hull import Hull
from difsim.body.lander import (
    AbstractLandingGear,
    CentralDamper,
    Flywheel,
    Lander,
    MaxwellLegs,
    Undamped,
)
from difsim.body.rigid import RigidBody, RigidState, rigid_scales
from difsim.body.stone import Edges, Stone

__all__ = [
    "AbstractLandingGear",
    "CentralDamper",
    "Edges",
    "Flywheel",
    "Hull",
    "Lander",
    "MaxwellLegs",
    "RigidBody",
    "RigidState",
    "Stone",
    "Undamped",
    "attitude_is_unit",
    "require_attitude",
    "rigid_scales",
]
