"""Models: what moves in what field against what ground."""

from difsim.curve import Curve
from difsim.dynamics.bouncing import Bouncer, HardBody, HardState, PointState
from difsim.dynamics.colliding import TwoBalls, TwoBallState
from difsim.dynamics.flight import Flight, FlightState, InertialFlight, TimeReversed
from difsim.dynamics.frames import AbstractFrame, Libration, Steady, Tabulated, tumble
from difsim.dynamics.hopper import Hopper
from difsim.dynamics.loads import AbstractLoad, GravityGradient, LightPressure
from difsim.dynamics.model import AbstractImpactModel, AbstractModel, Approach
from difsim.dynamics.pair import Pair, PairState
from difsim.dynamics.pair_compliant import CompliantPair
from difsim.dynamics.pair_hard import HardPair
from difsim.dynamics.pair_smooth import CalibratedNormal, SmoothPair
from difsim.dynamics.primary import Kepler, Primary
from difsim.dynamics.touchdown import Touchdown
from difsim.dynamics.wheel import TorqueProfile, Wheeled

__all__ = [
    "AbstractFrame",
    "AbstractImpactModel",
    "AbstractLoad",
    "AbstractModel",
    "Approach",
    "Bouncer",
    "CalibratedNormal",
    "CompliantPair",
    "Curve",
    "Flight",
    "FlightState",
    "GravityGradient",
    "HardBody",
    "HardPair",
    "HardState",
    "Hopper",
    "InertialFlight",
    "Kepler",
    "Libration",
    "LightPressure",
    "Pair",
    "PairState",
    "PointState",
    "Primary",
    "SmoothPair",
    "Steady",
    "Tabulated",
    "TimeReversed",
    "TorqueProfile",
    "Touchdown",
    "TwoBallState",
    "TwoBalls",
    "Wheeled",
    "tumble",
]
