"""Two stones that collide: closed forms, conservation, several points, edges, derivatives, bad input."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import simulate
from difsim.dynamics import PairState
from tests.bodies import SIDE, TIMES, body, boxes, ridge


def end_of(p):
    """Of two crossed edges: height of the first box at the end, time of touch, energy, impulse along x."""
    z1, z2, v, u, e, μ, slide = p
    state = PairState(
        body(jnp.stack([0.0, 0.0, z1]), jnp.stack([0.0, 0.0, u]), ridge("x")),
        body(jnp.stack([0.0, 0.0, z2]), jnp.stack([slide, 0.0, -v]), ridge("y")),
    )
    c = simulate(boxes(e, μ), state, TIMES, throw=False)
    return jnp.stack(
        [c.states.first.position[-1, 2], c.impacts.time, c.impacts.energy_restitution, c.impacts.impulse[0]]
    )


def test_derivatives_match_the_closed_form_and_differences():
    along = jax.jit(lambda at, way: jax.jvp(end_of, (at,), (way,))[1])

    def jacobian(at):
        return jnp.stack([along(at, way) for way in jnp.eye(7)], axis=1)

    # Equal masses and e = 1: the first box takes over the second's flight, less the way between the centres.
    exact = jacobian(jnp.array([0.0, 0.3, 1.0, 0.0, 1.0, 0.0, 0.0]))
    wait = 0.3 - np.sqrt(2) * SIDE
    np.testing.assert_allclose(exact[0, :4], [0, 1, -1, 0], atol=1e-8)
    np.testing.assert_allclose(exact[1, :4], [-1, 1, -wait, -wait], atol=1e-8)
    at = jnp.array([0.0, 0.3, 1.0, 0.1, 0.6, 0.2, 0.4])
    steps = 1e-5 * jnp.eye(7)
    differences = jnp.stack([(end_of(at + d) - end_of(at - d)) / 2e-5 for d in steps], axis=1)
    np.testing.assert_allclose(jacobian(at), differences, atol=1e-7)
