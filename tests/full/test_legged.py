"""A lander among grains: what its legs keep, how they give, that it is the lander it was made of."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import FixedSteps, simulate
from difsim.body import CentralDamper, Flywheel, Lander, RigidBody, RigidState
from difsim.dem import Clump, Grains, HertzMindlin, LeggedClump
from difsim.mesh import box
from difsim.stepping.marching import initialise

DAMPING, STROKE, STIFFNESS, ACROSS = 567.0, 0.04, 13.3e3, 1e5

LAW = HertzMindlin(1e7, 0.25, restitution=0.6, friction=0.5)

TURN = 2 * np.pi / 3 * np.arange(3)

FEET = np.stack([1.2 * np.cos(TURN), 1.2 * np.sin(TURN), np.full(3, -0.75)], axis=1)

HIPS = FEET * [1 / 6, 1 / 6, 0.4 / 0.75]

BODY = Clump(RigidBody(90.0, np.diag([18.0, 19.0, 28.0])), np.zeros((1, 3)), np.array([0.4]))

LEG = Clump(RigidBody(1.0, np.diag([0.02, 0.1, 0.11])), np.zeros((1, 3)), np.array([0.05]))

GEAR = CentralDamper(DAMPING, STROKE)

SMALL = LeggedClump(BODY, (LEG,) * 3, FEET, np.zeros((3, 3)), GEAR, STIFFNESS)


def moving(clump, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), attitude=(1.0, 0.0, 0.0, 0.0)):
    return clump.moving(RigidState(np.zeros(3), np.array(velocity), np.array(attitude), np.array(spin)))


def pushed(clump, state, force, dt, count):
    """After `count` steps of `dt` s under a `force` [3, p] N on the pebbles."""
    return _pushed(clump, state, jnp.asarray(force), jnp.asarray(dt), jnp.asarray(count))


@eqx.filter_jit
def _pushed(clump, state, force, dt, count):
    none = jnp.zeros(3)

    def step(_, state):
        half = clump.kicked(state, clump.load(state, force, 0 * force, none), 0.5 * dt)
        far = clump.drifted(half, dt)
        return clump.kicked(far, clump.load(far, force, 0 * force, none), 0.5 * dt)

    return jax.lax.fori_loop(0, count, step, state)


def torn(clump, along=1.0):
    """A lander that turns while its legs ring in every way; `along` their axis as much."""
    state = moving(clump, (0.1, -0.2, 0.3), (0.3, -0.5, 0.8), (0.8, 0.0, 0.48, 0.36))
    way = jnp.asarray(np.random.default_rng(0).normal(size=(3, 6)) * [1.0, 1.0, along, 1.0, 1.0, 1.0])
    legs = tuple(
        eqx.tree_at(
            lambda s: (s.velocity, s.spin),
            leg,
            (leg.velocity + 0.3 * (leg.rotation @ w[:3]), leg.spin + 3 * w[3:]),
        )
        for leg, w in zip(state.legs, way, strict=True)
    )
    return eqx.tree_at(lambda s: s.legs, state, legs)


def test_derivatives_by_spring_and_damper():
    force = jnp.array([[0.0, 30.0, 0.0, 0.0], [0.0] * 4, [0.0, 500.0, 200.0, 300.0]])
    begin = torn(SMALL)

    def speeds(x):
        clump = eqx.tree_at(lambda c: (c.stiffness, c.gear.damping), SMALL, (x[0], x[1]))
        end = pushed(clump, begin, force, 1e-4, 200)
        return jnp.concatenate([end.body.velocity, end.body.spin])

    at = jnp.array([STIFFNESS, DAMPING])
    exact = jax.jacfwd(speeds)(at)
    for i, change in enumerate((10.0, 1.0)):
        by = change * jnp.eye(2)[i]
        np.testing.assert_allclose(
            exact[:, i], (speeds(at + by) - speeds(at - by)) / (2 * change), rtol=2e-4, atol=1e-9
        )


@pytest.fixture(scope="module")
def lander():
    body = RigidBody(96.3, np.diag([21.6, 21.6, 31.7]))
    return Lander(body, FEET, HIPS, 0.1, STIFFNESS, GEAR, Flywheel(5.17, 1900.0))


@pytest.fixture(scope="module")
def philae(lander):
    return LeggedClump.from_lander(lander, box((1.0, 1.0, 0.8)), 1.0, 0.04, 0.4)


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

    def risen(gear, time):
        clump = eqx.tree_at(lambda c: (c.gear.damping, c.gear.stroke), nailed, (jnp.array(gear), jnp.array(10.0)))
        dt = 2e-4
        # They ring without end, about where they would stand: the mean over many periods.
        state, rise = pushed(clump, begin, force, dt, round(time / dt)), []
        for _ in range(50):
            state = pushed(clump, state, force, dt, 40)
            now = np.asarray(clump.spheres(state).position[2] - spheres.position[2])
            rise.append([now[footpad & (of == k)].mean() for k in (1, 2, 3)])
        return np.mean(rise, axis=0)

    np.testing.assert_allclose(100.0 / risen(1e15, 0.2), STIFFNESS, rtol=0.03)
    closing = (risen(DAMPING, 0.6) - risen(DAMPING, 0.2)) / 0.4
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
        centre, velocity, spun = clump.whole(state.clumps[0])
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
