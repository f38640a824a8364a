"""Derivatives through contact against closed forms."""

import jax
import jax.numpy as jnp

from difsim import MaxImpacts, simulate
from difsim.contact import Newton
from difsim.dynamics import Bouncer, PointState, TwoBalls, TwoBallState
from difsim.gravity import Uniform
from difsim.shape import Plane
from experiments.validation.cases import Case

BOUNCE = {"h": (0, 1.03916199), "e": (1, 2.45221599)}  # of the height after 1 s, from 1.2 m with e = 0.8
BALLS = {"x₁": (0, 1.0), "x₂": (1, 0.0), "v": (2, 1.0), "u": (3, 0.0)}  # of ball 2, after an impact with e = 1


def cases() -> list[Case]:
    """A bounce, and two balls that meet."""
    by_bounce = jax.jit(jax.jacfwd(_height))(jnp.array([1.2, 0.8]))
    by_balls = jax.jit(jax.jacfwd(_second_ball))(jnp.array([0.0, 0.52, 1.0, 0.0]))
    return [
        *(
            Case("Derivatives", f"bounce: ∂z/∂{name}", value, by_bounce[i], 1e-8)
            for name, (i, value) in BOUNCE.items()
        ),
        *(
            Case("Derivatives", f"two balls: ∂x₂'/∂{name}", value, by_balls[i], 1e-8)
            for name, (i, value) in BALLS.items()
        ),
    ]


def _height(p):
    model = Bouncer(Uniform((0, 0, -9.81)), Plane((0, 0, 0), (0, 0, 1)), p[1])
    start = PointState(jnp.array([0.0, 0.0, 1.0]) * p[0])
    return simulate(model, start, jnp.array([0.0, 1.0]), throw=False).last.position[2]


def _second_ball(p):
    x, v = (q[:, None] * jnp.array([[1.0, 0.0, 0.0]]) for q in (p[:2], p[2:]))
    model = TwoBalls(Newton(1.0, turns=0), (1.0, 1.0), (0.1, 0.1))
    run = simulate(model, TwoBallState(x, v), jnp.array([0.0, 1.0]), until=MaxImpacts(1), throw=False)
    return run.last.position[1, 0]
