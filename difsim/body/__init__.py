"""Bodies: rigid motion and the lander."""

from difsim.body.lander import AbstractGear, CentralDamper, Flywheel, Lander, MaxwellLegs
from difsim.body.rigid import RigidBody, RigidState, rigid_scales
from difsim.body.stone import Edges, Stone

__all__ = [
    "AbstractGear",
    "CentralDamper",
    "Edges",
    "Flywheel",
    "Lander",
    "MaxwellLegs",
    "RigidBody",
    "RigidState",
    "Stone",
    "rigid_scales",
]
