"""Models: what moves in what field against what ground."""

from difsim.dynamics.bouncing import Bouncer, PointState
from difsim.dynamics.model import AbstractImpactModel, AbstractModel, Approach
from difsim.dynamics.touchdown import Accounts, Touchdown, TouchdownState

__all__ = [
    "AbstractImpactModel",
    "AbstractModel",
    "Accounts",
    "Approach",
    "Bouncer",
    "PointState",
    "Touchdown",
    "TouchdownState",
]
