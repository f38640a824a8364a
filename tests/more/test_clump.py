"""Rigid bodies of sub-spheres: a free top, what a collision keeps, one sub-sphere as a grain, weight, derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import FixedSteps, Status, simulate
from difsim.body import RigidBody, RigidState
from difsim.dem import Clump, Grains, HertzMindlin
from difsim.stepping.marching import initialise

R, RHO = 5e-3, 2500.0

MASS = 4 / 3 * np.pi * RHO * R**3

LAW = HertzMindlin(1e7, 0.25, restitution=0.6, friction=0.5)

# Three sub-spheres that overlap, of an asymmetric body.
CLUMP = Clump(
    RigidBody(5 * MASS, 5 * MASS * R**2 * np.array([[1.0, 0.1, 0.0], [0.1, 1.5, 0.2], [0.0, 0.2, 2.0]])),
    R * np.array([[-1.0, 0.0, 0.2], [0.3, 0.2, 0.0], [1.1, -0.3, 0.1]]),
    R * np.array([1.0, 1.2, 0.8]),
)

TURNED = (0.8, 0.0, 0.48, 0.36)


def flying(x, v, attitude=(1.0, 0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0)):
    return RigidState(*(np.array(a, float) for a in (x, v, attitude, spin)))


# It runs into two grains, which lie side by side, while a third is out of reach.
AMONG = Grains(LAW, R * np.array([1.0, 0.8, 1.0]), RHO, clumps=(CLUMP,), clump_laws=(None,))

HIT = AMONG.at_rest(
    jnp.asarray(R * np.array([[0.0, 1.6, 9.0], [0.1, 1.1, 9.0], [0.0, 0.2, 9.0]])),
    (flying((0.2 * R, 0.1 * R, 2.48 * R), (0.05, 0.0, -0.6), TURNED, (5.0, -3.0, 8.0)),),
)

DT = 4e-6


@eqx.filter_jit
def stepped(model, progress, steps):
    """After some steps with the list of the first."""
    near, dt = progress.neighbours, jnp.asarray(DT)
    return jax.lax.fori_loop(0, steps, lambda _, m: model.step(m, near, dt), progress.motion).state


def test_rebound_by_restitution_forward_and_by_differences():
    progress = initialise(AMONG, HIT)

    @jax.jit
    def end(e):
        def ended(e):
            model = eqx.tree_at(lambda m: m.law.restitution, AMONG, e)
            clump = stepped(model, progress, 150).clumps[0]
            return jnp.concatenate([clump.velocity, clump.spin])

        return jax.jvp(ended, (e,), (jnp.ones_like(e),))

    e, h = jnp.asarray(0.6), 1e-5
    slope = end(e)[1]
    differences = (end(e + h)[0] - end(e - h)[0]) / (2 * h)
    assert np.abs(slope[:3]).max() > 1e-2
    np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-6 * np.abs(slope).max())


def test_a_clump_that_is_not_finite_stops_the_run():
    lost = eqx.tree_at(lambda s: s.clumps[0].spin, HIT, jnp.array([0.0, jnp.nan, 0.0]))
    ended = simulate(AMONG, lost, [0.0, 4e-4], solver=FixedSteps(100), throw=False)
    assert ended.status == Status.NOT_FINITE
