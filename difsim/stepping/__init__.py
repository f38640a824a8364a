"""Stepping: one entry point, with solvers, derivatives and stopping rules as independent choices."""

from difsim.stepping.collision import Collision, collide
from difsim.stepping.derivatives import AbstractDerivative, Forward, Reverse, Unrolled
from difsim.stepping.error_control import ErrorControlledStep
from difsim.stepping.marching import AbstractStep, ConstantStep, CourantStep, Progress, advance, march, start
from difsim.stepping.running import Evolution, describe, evolve, onward
from difsim.stepping.solution import Solution, Stats
from difsim.stepping.solve import simulate
from difsim.stepping.solvers import AbstractSolver, Adaptive, Courant, FixedSteps
from difsim.stepping.stops import AbstractStop, AtContact, AtRest, MaxImpacts, Outside
from difsim.stepping.transitions import Transition, transition
from difsim.stepping.validity import Validity

__all__ = [
    "AbstractDerivative",
    "AbstractSolver",
    "AbstractStep",
    "AbstractStop",
    "Adaptive",
    "AtContact",
    "AtRest",
    "Collision",
    "ConstantStep",
    "Courant",
    "CourantStep",
    "ErrorControlledStep",
    "Evolution",
    "FixedSteps",
    "Forward",
    "MaxImpacts",
    "Outside",
    "Progress",
    "Reverse",
    "Solution",
    "Stats",
    "Transition",
    "Unrolled",
    "Validity",
    "advance",
    "collide",
    "describe",
    "evolve",
    "march",
    "onward",
    "simulate",
    "start",
    "transition",
]
