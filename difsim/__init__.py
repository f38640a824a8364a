"""difsim: a differentiable simulator of small-body contact."""

from difsim import body, contact, dynamics, gravity, mesh, rotation, safe, shape, stepping, typing, units
from difsim.stepping import Checkpointed, Events, FixedSteps, Sensitivities, Solution, Status, simulate

__all__ = [
    "Checkpointed",
    "Events",
    "FixedSteps",
    "Sensitivities",
    "Solution",
    "Status",
    "body",
    "contact",
    "dynamics",
    "gravity",
    "mesh",
    "rotation",
    "safe",
    "shape",
    "simulate",
    "stepping",
    "typing",
    "units",
]
