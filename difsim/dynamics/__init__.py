"""Models: what moves in what field against what ground."""

from difsim.dynamics.bouncing import Bouncer, PointState
from difsim.dynamics.flight import Backward, Flight, FlightState, InertialFlight, to_body, to_inertial
from difsim.dynamics.hopper import Hopper, HopperState
from difsim.dynamics.model import AbstractImpactModel, AbstractModel, Approach
from difsim.dynamics.touchdown import Accounts, Touchdown, TouchdownState
from difsim.dynamics.wheel import Burst, Wheeled, WheeledState

__all__ = [
    "AbstractImpactModel",
    "AbstractModel",
    "Accounts",
    "Approach",
    "Backward",
    "Bouncer",
    "Burst",
    "Flight",
    "FlightState",
    "Hopper",
    "HopperState",
    "InertialFlight",
    "PointState",
    "Touchdown",
    "TouchdownState",
    "Wheeled",
    "WheeledState",
    "to_body",
    "to_inertial",
]
