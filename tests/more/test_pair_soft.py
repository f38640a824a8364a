"""Contact of a pair that takes time: smooth, and hard with compliance and cohesion. From the instant of touch."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim.body import RigidBody, RigidState, Stone
from difsim.contact import PowerLaw, TangentialSpring
from difsim.dynamics import CalibratedNormal, CompliantPair, Pair, PairState, SmoothPair
from difsim.dynamics.pair import Record
from difsim.dynamics.pair_touch import nearest_features, touches
from difsim.shape import Sphere

R, MASS = 0.05, 1.0

BALL = Stone(RigidBody(MASS, np.eye(3) * 0.4 * MASS * R**2), [[0, 0, R], [0, 0, -R]], Sphere((0.0, 0, 0), R))

K = 1e9  # so short a contact that nothing turns or slides away in it

DURATION = np.pi * np.sqrt(MASS / 2 / K)


def smooth(e=0.6, friction=0.5, exponent=1.0, step=DURATION / 200, stiffness=K) -> Pair:
    # Both balls touch with a point at one place: two springs side by side.
    law = SmoothPair(
        CalibratedNormal(e, PowerLaw(stiffness / 2, exponent)),
        TangentialSpring(friction, 2 / 7 * K / 2),
        0.0,
        step,
    )
    return Pair(BALL, BALL, law)


def touching_state(speed=1.0, slide=0.0, spin=(0.0, 0.0, 0.0)) -> PairState:
    return PairState(
        RigidState((0.0, 0, 0), (0.1, 0.0, 0.2), (1.0, 0, 0, 0), spin),
        RigidState((0.0, 0, 2 * R), (0.1 + slide, 0.0, 0.2 - speed), (1.0, 0, 0, 0), (0.0, 0, 0)),
    )


def episode(pair, state):
    # Not weakly typed: one compilation for all numbers.
    return _bout(*jax.tree.map(lambda x: jnp.asarray(x, x.dtype), (pair, state)))


@eqx.filter_jit
def _bout(pair, state):
    record = Record(jnp.array([0.0, DURATION / 2, 4 * DURATION]), jnp.full((3, 26), jnp.nan))
    near = nearest_features(pair, state)
    return pair.law.episode(pair, state, near, touches(pair, state, near), record)


def test_a_contact_of_too_few_steps_is_told():
    for step, coarse in ((DURATION / 200, False), (DURATION / 25, False), (DURATION / 10, True), (DURATION, True)):
        after, _ = episode(smooth(0.6, step=step), touching_state())
        assert after.coarse == coarse and not after.unfinished
        after, _ = episode(compliant(step=step), touching_state())
        assert after.coarse == coarse


def compliant(cohesion=0.0, e=1.0, friction=0.5, step=DURATION / 200) -> Pair:
    return Pair(BALL, BALL, CompliantPair(2 / K, e, friction, cohesion, step))
