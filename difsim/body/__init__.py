"""Bodies: rigid motion and the lander."""

from difsim.body.hull import Hull
from difsim.body.lander import AbstractGear, CentralDamper, Flywheel, Lander, MaxwellLegs
from difsim.body.rigid import RigidBody, RigidState
from difsim.body.stone import Edges, Stone

__all__ = [
    "AbstractGear",
    "CentralDamper",
    "Edges",
    "Flywheel",
    "Hull",
    "Lander",
    "MaxwellLegs",
    "RigidBody",
    "RigidState",
    "Stone",
]
