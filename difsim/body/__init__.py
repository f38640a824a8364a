"""Bodies: rigid motion and the lander."""

from difsim.body.lander import AbstractGear, CentralDamper, Flywheel, Lander, MaxwellLegs
from difsim.body.rigid import RigidBody, RigidState

__all__ = ["AbstractGear", "CentralDamper", "Flywheel", "Lander", "MaxwellLegs", "RigidBody", "RigidState"]
