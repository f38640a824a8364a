"""Stepping: solve, derivatives, events with restart, step guard, status, ledgers."""

from difsim.stepping.collision import Impacts
from difsim.stepping.derivatives import Forward, Reverse, Unrolled
from difsim.stepping.events import Events
from difsim.stepping.flight import Coast, ToContact
from difsim.stepping.marching import Progress, initialise
from difsim.stepping.methods import AbstractMethod, Checkpointed, FixedSteps, Sensitivities
from difsim.stepping.rest import Settled, Still, settle
from difsim.stepping.running import failure, next_step
from difsim.stepping.solve import Solution, simulate
from difsim.stepping.solvers import AbstractSolver, Adaptive, Courant
from difsim.stepping.status import Status, raise_unless_ok
from difsim.stepping.stops import AtRest, AtSample, MaxImpacts
from difsim.stepping.transitions import Transition, transition
from difsim.stepping.validity import Validity

__all__ = [
    "AbstractMethod",
    "AbstractSolver",
    "Adaptive",
    "AtRest",
    "AtSample",
    "Checkpointed",
    "Coast",
    "Courant",
    "Events",
    "FixedSteps",
    "Forward",
    "Impacts",
    "MaxImpacts",
    "Progress",
    "Reverse",
    "Sensitivities",
    "Settled",
    "Solution",
    "Status",
    "Still",
    "ToContact",
    "Transition",
    "Unrolled",
    "Validity",
    "failure",
    "initialise",
    "next_step",
    "raise_unless_ok",
    "settle",
    "simulate",
    "transition",
]
