"""Bodies: rigid bodies, landers and stones."""

from difsim.body.description import read_description
from difsim.body.hull import Hull
from difsim.body.lander import AbstractLandingGear, CentralDamper, Flywheel, Lander, MaxwellLegs
from difsim.body.rigid import RigidBody, RigidState
from difsim.body.stone import Stone

__all__ = [
    "AbstractLandingGear",
    "CentralDamper",
    "Flywheel",
    "Hull",
    "Lander",
    "MaxwellLegs",
    "RigidBody",
    "RigidState",
    "Stone",
    "read_description",
]
