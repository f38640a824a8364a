"""Stepping: one entry point, with solvers, derivatives and stopping rules as independent choices."""

from difsim.stepping.collision import Impacts
from difsim.stepping.derivatives import AbstractDerivative, Forward, Reverse, Unrolled
from difsim.stepping.marching import Progress, initialise
from difsim.stepping.running import failure, next_step
from difsim.stepping.solution import Solution
from difsim.stepping.solve import simulate
from difsim.stepping.solvers import AbstractSolver, Adaptive, Courant, FixedSteps
from difsim.stepping.stops import AbstractStop, AtContact, AtRest, AtSample, MaxImpacts, Outside
from difsim.stepping.transitions import transition
from difsim.stepping.validity import Validity

__all__ = [
    "AbstractDerivative",
    "AbstractSolver",
    "AbstractStop",
    "Adaptive",
    "AtContact",
    "AtRest",
    "AtSample",
    "Courant",
    "FixedSteps",
    "Forward",
    "Impacts",
    "MaxImpacts",
    "Outside",
    "Progress",
    "Reverse",
    "Solution",
    "Unrolled",
    "Validity",
    "failure",
    "initialise",
    "next_step",
    "simulate",
    "transition",
]
