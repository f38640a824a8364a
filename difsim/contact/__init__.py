"""Contact laws for one point: normal force, friction, rolling and spinning resistance."""

from difsim.contact.boulder import Boulder
from difsim.contact.friction import (
    AbstractFriction,
    AbstractTangentialSpring,
    MindlinSpring,
    RegularisedCoulomb,
    StickSlip,
    TangentialHistory,
    TangentialSpring,
)
from difsim.contact.normal import AbstractNormal, LinearClipped, LinearCompressive, LinearNormal
from difsim.contact.onset import AbstractOnset, Sharp, Smooth
from difsim.contact.power_law import Hertz, PowerLaw, PowerLawClipped, effective_modulus, effective_radius
from difsim.contact.regolith import Regolith
from difsim.contact.rolling import AbstractRolling, RollingPaper003, RollingTorque, SpinningResistance

__all__ = [
    "AbstractFriction",
    "AbstractNormal",
    "AbstractOnset",
    "AbstractRolling",
    "AbstractTangentialSpring",
    "Boulder",
    "Hertz",
    "LinearClipped",
    "LinearCompressive",
    "LinearNormal",
    "MindlinSpring",
    "PowerLaw",
    "PowerLawClipped",
    "Regolith",
    "RegularisedCoulomb",
    "RollingPaper003",
    "RollingTorque",
    "Sharp",
    "Smooth",
    "SpinningResistance",
    "StickSlip",
    "TangentialHistory",
    "TangentialSpring",
    "effective_modulus",
    "effective_radius",
]
