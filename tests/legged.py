"""A lander on three legs among grains: what its tests share."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim.body import CentralDamper, RigidBody, RigidState
from difsim.dem import Clump, HertzMindlin, LeggedClump

DAMPING, STROKE, STIFFNESS = 567.0, 0.04, 13.3e3
LAW = HertzMindlin(1e7, 0.25, restitution=0.6, friction=0.5)
TURN = 2 * np.pi / 3 * np.arange(3)
FEET = np.stack([1.2 * np.cos(TURN), 1.2 * np.sin(TURN), np.full(3, -0.75)], axis=1)
HIPS = FEET * [1 / 6, 1 / 6, 0.4 / 0.75]
BODY = Clump(RigidBody(90.0, np.diag([18.0, 19.0, 28.0])), np.zeros((1, 3)), np.array([0.4]))
LEG = Clump(RigidBody(1.0, np.diag([0.02, 0.1, 0.11])), np.zeros((1, 3)), np.array([0.05]))
GEAR = CentralDamper(DAMPING, STROKE)
SMALL = LeggedClump(BODY, (LEG,) * 3, FEET, np.zeros((3, 3)), GEAR, STIFFNESS)


def moving(clump, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), attitude=(1.0, 0.0, 0.0, 0.0)):
    return clump.move_rigidly(RigidState(np.zeros(3), np.array(velocity), np.array(attitude), np.array(spin)))


def push_pebbles(clump, state, force, dt, count):
    """After `count` steps of `dt` s under a `force` [3, p] N on the pebbles."""
    return _push(clump, state, jnp.asarray(force), jnp.asarray(dt), jnp.asarray(count))


@eqx.filter_jit
def _push(clump, state, force, dt, count):
    none = jnp.zeros(3)

    def step(_, state):
        half = clump.kick(state, clump.load(state, force, 0 * force, none), 0.5 * dt)
        far = clump.drift(half, dt)
        return clump.kick(far, clump.load(far, force, 0 * force, none), 0.5 * dt)

    return jax.lax.fori_loop(0, count, step, state)


def ring_and_turn(clump, along=1.0):
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
