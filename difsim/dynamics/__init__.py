"""Models: what moves in what field against what ground."""

from difsim.dynamics.bouncing import Bouncer, HardBody, HardState, PointState
from difsim.dynamics.colliding import TwoBalls, TwoBallState
from difsim.dynamics.flight import Backward, Flight, FlightState, InertialFlight, to_body, to_inertial
from difsim.dynamics.hard import Phase
from difsim.dynamics.hopper import Hopper, HopperState
from difsim.dynamics.model import AbstractImpactModel, AbstractModel, Approach
from difsim.dynamics.pair import AbstractPairLaw, Pair, PairState
from difsim.dynamics.pair_compliant import CompliantPair
from difsim.dynamics.pair_flight import free_flight
from difsim.dynamics.pair_hard import HardPair
from difsim.dynamics.pair_smooth import Calibrated, SmoothPair
from difsim.dynamics.pair_touch import separation, touches
from difsim.dynamics.touchdown import Touchdown
from difsim.dynamics.touchdown_state import TouchdownState
from difsim.dynamics.wheel import TorqueProfile, Wheeled

__all__ = [
    "AbstractImpactModel",
    "AbstractModel",
    "AbstractPairLaw",
    "Approach",
    "Backward",
    "Bouncer",
    "Calibrated",
    "CompliantPair",
    "Flight",
    "FlightState",
    "HardBody",
    "HardPair",
    "HardState",
    "Hopper",
    "HopperState",
    "InertialFlight",
    "Pair",
    "PairState",
    "Phase",
    "PointState",
    "SmoothPair",
    "TorqueProfile",
    "Touchdown",
    "TouchdownState",
    "TwoBallState",
    "TwoBalls",
    "Wheeled",
    "",
    "free_flight",
    "separation",
    "to_body",
    "to_inertial",
    "touches",
]
