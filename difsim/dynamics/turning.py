"""A slide that nearly stops and turns back, from a small slip to another one, in closed form."""

import math

import jax.numpy as jnp

from difsim import safe
from difsim.typing import Scalar, Vec3

FASTER = 1.25  # the slip that it goes on with, over the one it had: past the least one
STEPS = 6  # of Newton, from the left of a convex function's root, which is not at its minimum
NONE = 1e-150  # a slip across that rounding hides


def turn_back(heading: Vec3, onward: Vec3, braking: Scalar, gain: Scalar) -> tuple[Vec3, Scalar]:
    """The slip direction after a turn at a small slip, and the time of the turn.

    Where slip is small it changes within a distance over which all but the direction of friction is constant: along
    the ground u' = p (ĝ - k u/|u|). With φ between u and ĝ, |u| sin φ / tan(φ/2)^k is then constant. In x = ln tan(φ/2)
    that is |u| = C e^(k x) cosh x, which has the same value before and after the turn. So what of the slip is across
    keeps its share, and its derivative, however small the slip has become.

    **Arguments:** `heading` [3], of the slip that becomes small; `onward` ĝ [3], the direction in which a point slides
    from rest; `braking` p (1 + k) and `gain` p (1 - k) m/s², how fast slip against ĝ falls, and slip along it grows.
    **Returns:** the direction [3] where the slip is `FASTER` times what it was; the time, in units of the slip that
    enters, over p.
    """
    k = (braking - gain) / (braking + gain)
    along = jnp.dot(heading, onward)
    across = heading - along * onward
    sine = jnp.maximum(safe.norm(across), NONE)
    x = jnp.log((1 - along) / sine)
    size = _log_cosh(x) + k * x + math.log(FASTER)
    x = -(size + math.log(2.0)) / (1 - k)
    for _ in range(STEPS):
        x = x - (_log_cosh(x) + k * x - size) / (jnp.tanh(x) + k)
    back = -jnp.tanh(x) * onward + across / (sine * jnp.cosh(x))
    # k |u| + ĝ·u grows at the constant rate p (1 - k²).
    return back, (k * (FASTER - 1) - FASTER * jnp.tanh(x) - along) / (1 - k**2)


def _log_cosh(x: Scalar) -> Scalar:
    return jnp.logaddexp(x, -x) - math.log(2.0)
