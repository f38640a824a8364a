"""Models: what moves in what field against what ground."""

from difsim.dynamics.bouncing import Bouncer, HardBody, HardState, PointState
from difsim.dynamics.colliding import TwoBalls, TwoBallState
from difsim.dynamics.flight import Backward, Flight, FlightState, InertialFlight, to_body, to_inertial
from difsim.dynamics.hard import AbstractHardModel, Meeting, Phase
from difsim.dynamics.hopper import Hopper, HopperState
from difsim.dynamics.model import AbstractImpactModel, AbstractModel, Approach
from difsim.dynamics.pair import AbstractPairLaw, ContactEpisode, Pair, PairState, Record
from difsim.dynamics.pair_compliant import CompliantPair
from difsim.dynamics.pair_flight import free_flight
from difsim.dynamics.pair_hard import HardPair
from difsim.dynamics.pair_smooth import AbstractPairNormal, Calibrated, Given, SmoothPair
from difsim.dynamics.pair_touch import ContactFeatures, Nearby, least_gap, nearby, separation, touches
from difsim.dynamics.touchdown import Touchdown
from difsim.dynamics.touchdown_state import TouchdownState
from difsim.dynamics.wheel import TorqueProfile, Wheeled, WheeledState

__all__ = [
    "AbstractHardModel",
    "AbstractImpactModel",
    "AbstractModel",
    "AbstractPairLaw",
    "AbstractPairNormal",
    "Approach",
    "Backward",
    "Bouncer",
    "Calibrated",
    "CompliantPair",
    "ContactEpisode",
    "ContactFeatures",
    "Flight",
    "FlightState",
    "Given",
    "HardBody",
    "HardPair",
    "HardState",
    "Hopper",
    "HopperState",
    "InertialFlight",
    "Meeting",
    "Nearby",
    "Pair",
    "PairState",
    "Phase",
    "PointState",
    "Record",
    "SmoothPair",
    "TorqueProfile",
    "Touchdown",
    "TouchdownState",
    "TwoBallState",
    "TwoBalls",
    "Wheeled",
    "WheeledState",
    "",
    "free_flight",
    "least_gap",
    "nearby",
    "separation",
    "to_body",
    "to_inertial",
    "touches",
]
