"""The table of what can be run with what: every combination runs, or is refused with what can be run."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import Adaptive, AtRest, Forward, Outside, Reverse, Status, simulate
from difsim.body import RigidState
from difsim.shape import Sphere
from experiments.hopper.scenes import GRAVITY, Ground, cube

REGION = Sphere((0.0, 0.0, 0.0), 100.0)

REST = (AtRest(speed=2e-4, spin=1e-3, hold=30.0), Outside(REGION))


def resting_place(friction, derivative, until=REST, end=2000.0):
    """The place where a cube that slides on its face stops, m, with the time of the end, s, and its status.

    It starts at the height of rest. One that hops on its edge instead would not do: that motion is unstable sideways,
    and a rounding grows by e³⁰ within a minute.
    """
    model = cube(GRAVITY["67p"], Ground(restitution=0.1, friction=friction))
    body = RigidState((0.0, 0.0, 0.10033), (0.01, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    times = jnp.stack([0.0, jnp.asarray(end)])
    solver = Adaptive(1e-9, 1e-9)
    found = simulate(
        model, model.start(body), times, solver=solver, derivative=derivative, until=until, throw=False
    )
    return found.last.body.position[0], (found.times[-1], found.status)


def test_derivatives_of_the_place_of_rest_agree_in_both_modes():
    """A cube slides some v²/(2 μ g) to its rest: its derivative by friction, forward, reverse and by differences.

    Each is at a fixed time, which is the end of a step and not the same in all.
    """
    friction = jnp.array(0.3)
    forward, (_, status) = eqx.filter_jit(jax.jacfwd(lambda x: resting_place(x, Forward()), has_aux=True))(
        friction
    )
    reverse, (end, _) = eqx.filter_jit(jax.jacrev(lambda x: resting_place(x, Reverse()), has_aux=True))(friction)
    assert status == Status.OK
    value = eqx.filter_jit(lambda x: resting_place(x, Forward(), None, end)[0])
    difference = (value(friction + 1e-3) - value(friction - 1e-3)) / 2e-3
    np.testing.assert_allclose(forward, -(0.01**2) / (2 * friction**2 * GRAVITY["67p"]), rtol=0.05)
    np.testing.assert_allclose(forward, difference, rtol=1e-3)
    np.testing.assert_allclose(reverse, forward, rtol=1e-3)
