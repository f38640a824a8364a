"""Contact laws for one point, normal force, friction, rolling and spinning resistance, and for a whole body."""

from difsim.contact.boulder import Boulder
from difsim.contact.cohesion import ConstantCohesion, LinearCohesion
from difsim.contact.damping import ClippedDamping, CompressionDamping, HuntCrossley, TensileDamping, Undamped
from difsim.contact.elastic import Hertz, Hooke, PowerLaw
from difsim.contact.friction import MindlinSpring, RegularisedCoulomb, StickSlip, TangentialSpring
from difsim.contact.friction_distribution import AtEachPoint, AtEffectivePoint, SpringAtEachPoint
from difsim.contact.impact import Newton, Stronge
from difsim.contact.normal import AbstractNormalForce, NormalForce
from difsim.contact.outline import Ball, Vertices
from difsim.contact.poncelet import Poncelet
from difsim.contact.regolith import Regolith
from difsim.contact.regularisation import NoSmoothing
from difsim.contact.rolling import RollingForceAndTorque, RollingTorque, SpinningResistance
from difsim.contact.surface import SurfaceContact

__all__ = [
    "AbstractNormalForce",
    "AtEachPoint",
    "AtEffectivePoint",
    "Ball",
    "Boulder",
    "ClippedDamping",
    "CompressionDamping",
    "ConstantCohesion",
    "Hertz",
    "Hooke",
    "HuntCrossley",
    "LinearCohesion",
    "MindlinSpring",
    "Newton",
    "NoSmoothing",
    "NormalForce",
    "Poncelet",
    "PowerLaw",
    "Regolith",
    "RegularisedCoulomb",
    "RollingForceAndTorque",
    "RollingTorque",
    "SpinningResistance",
    "SpringAtEachPoint",
    "StickSlip",
    "Stronge",
    "SurfaceContact",
    "TangentialSpring",
    "TensileDamping",
    "Undamped",
    "Vertices",
]
