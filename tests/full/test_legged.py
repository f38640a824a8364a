"""A lander among grains: what its legs keep, how they give, that it is the lander it was made of."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import FixedSteps, simulate
from difsim.dem import Grains
from difsim.stepping.marching import initialise
from tests.legged import DAMPING, FEET, LAW, SMALL, STIFFNESS, moving, push_pebbles, ring_and_turn
from tests.more.test_legged import lander, philae  # noqa: F401  # of fixtures


def test_derivatives_by_spring_and_damper():
    force = jnp.array([[0.0, 30.0, 0.0, 0.0], [0.0] * 4, [0.0, 500.0, 200.0, 300.0]])
    begin = ring_and_turn(SMALL)

    def speeds(x):
        clump = eqx.tree_at(lambda c: (c.stiffness, c.gear.damping), SMALL, (x[0], x[1]))
        end = push_pebbles(clump, begin, force, 1e-4, 200)
        return jnp.concatenate([end.body.velocity, end.body.spin])

    at = jnp.array([STIFFNESS, DAMPING])
    exact = jax.jacfwd(speeds)(at)
    for i, change in enumerate((10.0, 1.0)):
        by = change * jnp.eye(2)[i]
        np.testing.assert_allclose(
            exact[:, i], (speeds(at + by) - speeds(at - by)) / (2 * change), rtol=2e-4, atol=1e-9
        )


def test_soles_give_by_the_leg_springs_and_close_by_the_damper(philae):
    """On a body that stays, each sole is pushed by 100 N; what gives is what a lander's data sheet says."""
    nailed = eqx.tree_at(
        lambda c: (c.body.body.mass, c.body.body.inertia), philae, (jnp.array(1e9), 1e9 * jnp.eye(3))
    )
    begin = moving(nailed)
    spheres, parts = nailed.spheres(begin), [leg.radius.size for leg in (nailed.body, *nailed.legs)]
    of = np.repeat(np.arange(4), parts)
    foot = np.concatenate([np.full((1, 2), np.inf), FEET[:, :2]])[of].T
    footpad = np.hypot(*(np.asarray(spheres.position[:2]) - foot)) < 0.099
    footpad &= np.asarray(spheres.position[2] - spheres.radius) < -0.74
    count = np.bincount(of[footpad], minlength=4)
    assert (count[1:] > 5).all()
    force = np.zeros((3, of.size))
    force[2, footpad] = 100.0 / count[of[footpad]]

    def rise(gear, time):
        clump = eqx.tree_at(lambda c: (c.gear.damping, c.gear.stroke), nailed, (jnp.array(gear), jnp.array(10.0)))
        dt = 2e-4
        # They ring without end, about where they would stand: the mean over many periods.
        state, rise = push_pebbles(clump, begin, force, dt, round(time / dt)), []
        for _ in range(50):
            state = push_pebbles(clump, state, force, dt, 40)
            now = np.asarray(clump.spheres(state).position[2] - spheres.position[2])
            rise.append([now[footpad & (of == k)].mean() for k in (1, 2, 3)])
        return np.mean(rise, axis=0)

    np.testing.assert_allclose(100.0 / rise(1e15, 0.2), STIFFNESS, rtol=0.03)
    closing = (rise(DAMPING, 0.6) - rise(DAMPING, 0.2)) / 0.4
    np.testing.assert_allclose(300.0 / closing, DAMPING, rtol=0.01)


def test_among_grains_momenta_are_kept_and_parts_do_not_meet():
    # A leg comes down on two grains; where legs and body overlap nothing pushes.
    near = eqx.tree_at(lambda c: c.seat, SMALL, SMALL.seat.at[:, 2].set(-0.4))
    clump = eqx.tree_at(lambda c: c.body.radius, near, jnp.array([1.22]))
    grains = Grains(LAW, np.array([0.04, 0.05]), 600.0, clumps=(clump,), clump_laws=(None,))
    lander = moving(clump, (0.0, 0.0, -1.0), (0.0, 0.0, 0.2))
    spheres = clump.spheres(lander)
    apart = np.linalg.norm(spheres.position[:, 1:] - spheres.position[:, :1], axis=0)
    assert (apart - spheres.radius[1:] - spheres.radius[0] < -4e-3).all()
    at = np.array([[1.18, 1.25], [0.02, -0.03], [-0.4 - 0.1, -0.4 - 0.11]])
    begin = initialise(grains, grains.at_rest(jnp.asarray(at), (lander,)))
    for load in jax.tree.leaves(begin.motion.rates.clumps):
        np.testing.assert_allclose(load, 0.0, atol=1e-9)
    state = begin.motion.state
    run = simulate(grains, state, [0.0, 0.02], solver=FixedSteps(1000))
    end = jax.tree.map(lambda x: jnp.asarray(x[-1]), run.states)

    def momenta(state):
        m, inertia = np.asarray(grains.mass), np.asarray(grains.inertia)
        x, v, w = (np.asarray(a) for a in (state.position, state.velocity, state.spin))
        centre, velocity, spun = clump.total_motion(state.clumps[0])
        linear = (m * v).sum(1) + clump.mass * velocity
        return linear, (m * np.cross(x, v, axis=0) + inertia * w).sum(1) + spun + clump.mass * np.cross(
            centre, velocity
        )

    for before, after in zip(momenta(state), momenta(end), strict=True):
        np.testing.assert_allclose(after, before, atol=1e-9)
    assert np.abs(np.asarray(end.velocity)).max() > 0.1  # it has hit
    free = moving(clump, (0.0, 0.0, -1.0), (0.0, 0.0, 0.2))
    assert float(jnp.abs(end.clumps[0].legs[1].velocity - free.legs[1].velocity).max()) < 0.05
    turned = end.clumps[0].body.rotation.as_rotation_vector()
    assert float(jnp.linalg.norm(turned)) < 0.01
