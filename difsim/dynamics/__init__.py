"""Models: what moves in what field against what ground."""

from difsim.dynamics.bouncing import Bouncer, HardBody, HardState, PointState
from difsim.dynamics.colliding import TwoBalls, TwoBallState
from difsim.dynamics.flight import Backward, Flight, FlightState, InertialFlight, to_body, to_inertial
from difsim.dynamics.hard import AbstractHardModel, Meeting, Phase
from difsim.dynamics.hopper import Hopper, HopperState
from difsim.dynamics.model import AbstractImpactModel, AbstractModel, Approach
from difsim.dynamics.touchdown import Accounts, Touchdown, TouchdownState
from difsim.dynamics.wheel import Burst, Wheeled, WheeledState

__all__ = [
    "AbstractHardModel",
    "AbstractImpactModel",
    "AbstractModel",
    "Accounts",
    "Approach",
    "Backward",
    "Bouncer",
    "Burst",
    "Flight",
    "FlightState",
    "HardBody",
    "HardState",
    "Hopper",
    "HopperState",
    "InertialFlight",
    "Meeting",
    "Phase",
    "PointState",
    "Touchdown",
    "TouchdownState",
    "TwoBallState",
    "TwoBalls",
    "Wheeled",
    "WheeledState",
    "to_body",
    "to_inertial",
]
