"""Contact laws for one point, normal force, friction, rolling and spinning resistance, and for a whole body."""

from difsim.contact.boulder import Boulder
from difsim.contact.cohesion import AbstractCohesion, ConstantCohesion, LinearCohesion
from difsim.contact.contact_points import ContactPoints, Moving, effective_arm
from difsim.contact.friction import (
    AbstractFriction,
    AbstractTangentialSpring,
    MindlinSpring,
    RegularisedCoulomb,
    StickSlip,
    TangentialHistory,
    TangentialSpring,
)
from difsim.contact.friction_distribution import (
    AbstractFrictionDistribution,
    AtEachPoint,
    AtEffectivePoint,
    FrictionWrench,
    SpringAtEachPoint,
)
from difsim.contact.impact import AbstractImpact, Hold, Impulse, Newton, Stronge, hold
from difsim.contact.moreau import simultaneous
from difsim.contact.normal import AbstractNormal, LinearClipped, LinearCompressive, LinearNormal
from difsim.contact.onset import AbstractOnset, Sharp, Smooth
from difsim.contact.outline import AbstractOutline, Ball, Vertices, box_corners
from difsim.contact.power_law import (
    Hertz,
    HuntCrossley,
    PowerLaw,
    PowerLawClipped,
    effective_modulus,
    effective_radius,
)
from difsim.contact.regolith import Regolith
from difsim.contact.rolling import AbstractRolling, RollingForceAndTorque, RollingTorque, SpinningResistance
from difsim.contact.surface import Powers, SurfaceContact, Wrench

__all__ = [
    "AbstractCohesion",
    "AbstractFriction",
    "AbstractFrictionDistribution",
    "AbstractImpact",
    "AbstractNormal",
    "AbstractOnset",
    "AbstractOutline",
    "AbstractRolling",
    "AbstractTangentialSpring",
    "AtEachPoint",
    "AtEffectivePoint",
    "Ball",
    "Boulder",
    "ConstantCohesion",
    "ContactPoints",
    "FrictionWrench",
    "Hertz",
    "Hold",
    "HuntCrossley",
    "Impulse",
    "LinearClipped",
    "LinearCohesion",
    "LinearCompressive",
    "LinearNormal",
    "MindlinSpring",
    "Moving",
    "Newton",
    "PowerLaw",
    "PowerLawClipped",
    "Powers",
    "Regolith",
    "RegularisedCoulomb",
    "RollingForceAndTorque",
    "RollingTorque",
    "Sharp",
    "Smooth",
    "SpinningResistance",
    "SpringAtEachPoint",
    "StickSlip",
    "Stronge",
    "SurfaceContact",
    "TangentialHistory",
    "TangentialSpring",
    "Vertices",
    "Wrench",
    "box_corners",
    "effective_arm",
    "effective_modulus",
    "effective_radius",
    "hold",
    "simultaneous",
]
