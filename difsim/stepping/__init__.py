"""Stepping: solve, derivatives, events with restart, step guard, status, ledgers."""

from difsim.stepping.collision import Collision, collide
from difsim.stepping.derivatives import Transition, transition
from difsim.stepping.error_control import ErrorControlledStep
from difsim.stepping.events import Events
from difsim.stepping.flight import Coast, ToContact
from difsim.stepping.marching import AbstractStep, ConstantStep, CourantStep, Progress, advance, march, start
from difsim.stepping.methods import AbstractMethod, Checkpointed, FixedSteps, Sensitivities
from difsim.stepping.rest import Settled, Still, settle
from difsim.stepping.running import Evolution, describe, evolve, onward
from difsim.stepping.solve import Solution, simulate
from difsim.stepping.status import Status, raise_unless_ok
from difsim.stepping.validity import Validity

__all__ = [
    "AbstractMethod",
    "AbstractStep",
    "Checkpointed",
    "Coast",
    "Collision",
    "ConstantStep",
    "CourantStep",
    "ErrorControlledStep",
    "Events",
    "Evolution",
    "FixedSteps",
    "Progress",
    "Sensitivities",
    "Settled",
    "Solution",
    "Status",
    "Still",
    "ToContact",
    "Transition",
    "Validity",
    "advance",
    "collide",
    "describe",
    "evolve",
    "march",
    "onward",
    "raise_unless_ok",
    "settle",
    "simulate",
    "start",
    "transition",
]
