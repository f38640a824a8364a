"""difsim: a differentiable simulator of small-body contact."""

from difsim import body, contact, dynamics, gravity, mesh, rotation, safe, shape, stepping, typing, units
from difsim.session import configure
from difsim.status import Status, raise_unless_ok
from difsim.stepping import (
    Adaptive,
    AtContact,
    AtRest,
    Courant,
    FixedSteps,
    Forward,
    MaxImpacts,
    Outside,
    Reverse,
    Solution,
    Unrolled,
    simulate,
)

__all__ = [
    "Adaptive",
    "AtContact",
    "AtRest",
    "Courant",
    "FixedSteps",
    "Forward",
    "MaxImpacts",
    "Outside",
    "Reverse",
    "Solution",
    "Status",
    "Unrolled",
    "body",
    "configure",
    "contact",
    "dynamics",
    "gravity",
    "mesh",
    "raise_unless_ok",
    "rotation",
    "safe",
    "shape",
    "simulate",
    "stepping",
    "typing",
    "units",
]
