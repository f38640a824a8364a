"""Contact of a pair that takes time: smooth, and hard with compliance and cohesion. From the instant of touch."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim.body import RigidBody, RigidState, Stone
from difsim.contact import ClippedDamping, Hooke, NormalForce, NoSmoothing, PowerLaw, TangentialSpring
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


def test_smooth_contact_has_its_calibrated_restitution():
    after, record = episode(smooth(0.6), touching_state())
    # Two dampers, each for the whole mass on half the stiffness: together √2 times as strong as one for both.
    one = ClippedDamping.from_restitution(0.6, Hooke(K / 2), mass=MASS / 2)
    both = NormalForce(Hooke(K), ClippedDamping(2 * one.coefficient), NoSmoothing())
    expected = both.restitution(mass=MASS / 2)
    u = after.state.second.velocity[2] - after.state.first.velocity[2]
    np.testing.assert_allclose(u, expected, rtol=2e-4)
    assert DURATION < after.duration < 1.3 * DURATION and not after.unfinished
    np.testing.assert_allclose(after.normal, [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(after.point[:2], 0, atol=1e-3)
    # At half time they are closest: on their way between the states before and after.
    assert -1 < record.states[1, 13 + 5] - record.states[1, 5] < u


def assert_slid_throughout(after, friction, rtol):
    """|P_t| = μ P_n."""
    push = after.impulse @ after.normal
    np.testing.assert_allclose(np.linalg.norm(after.impulse - push * after.normal), friction * push, rtol=rtol)


def test_smooth_contact_keeps_momentum_and_angular_momentum():
    pair, start = smooth(0.7, 0.1), touching_state(slide=3.0, spin=(3.0, 2.0, -1.0))
    after, _ = episode(pair, start)
    np.testing.assert_allclose(pair.momentum(after.state), pair.momentum(start), atol=1e-12)
    np.testing.assert_allclose(pair.angular_momentum(after.state), pair.angular_momentum(start), atol=1e-11)
    np.testing.assert_allclose(
        after.impulse, MASS * (after.state.second.velocity - start.second.velocity), atol=1e-12
    )
    assert_slid_throughout(after, 0.1, rtol=0.02)  # the spring takes a while to load
    assert pair.kinetic_energy_cm(after.state) < pair.kinetic_energy_cm(start)


def test_smooth_contact_converges_in_its_step():
    start = touching_state(slide=0.1)
    u = [episode(smooth(0.6, 0.5, step=DURATION / n), start)[0].impulse for n in (50, 100, 800)]
    assert np.max(np.abs(u[1] - u[2])) < 2e-3 * np.max(np.abs(u[2]))
    assert np.max(np.abs(u[1] - u[2])) < np.max(np.abs(u[0] - u[2]))


def test_oblique_contact_without_force_has_a_point_and_a_normal():
    n = np.array([0.48, 0.6, 0.64])
    turn = np.array([1.64, -0.6, 0.48, 0.0]) / np.sqrt(3.28)  # z to n
    bodies = (RigidState(way, v, turn, (0.0, 0.0, 0.0)) for way, v in ((np.zeros(3), -n), (2 * R * n, n)))
    after, _ = episode(smooth(0.6, step=DURATION / 200), PairState(*bodies))
    np.testing.assert_allclose(after.impulse, 0, atol=1e-12)
    np.testing.assert_allclose(after.normal, n, atol=1e-12)


def compliant(cohesion=0.0, e=1.0, friction=0.5, step=DURATION / 200) -> Pair:
    return Pair(BALL, BALL, CompliantPair(2 / K, e, friction, cohesion, step))


def test_compliance_alone_is_elastic_and_sets_the_duration():
    after, _ = episode(compliant(), touching_state())
    u = after.state.second.velocity[2] - after.state.first.velocity[2]
    np.testing.assert_allclose(u, 1.0, rtol=1e-3)
    np.testing.assert_allclose(after.duration, DURATION, rtol=0.02)


def test_how_steps_fall_on_the_parting_shows_in_no_derivative():
    """With the force at the middle of a step the rebound had teeth of 1.2e-4 as a function of the compliance."""
    pair, shares = compliant(e=0.6, step=DURATION / 40), np.linspace(0.94, 1.06, 13)
    changed = [eqx.tree_at(lambda p: p.law.compliance, pair, share * 2 / K) for share in shares]
    u = [float(episode(p, touching_state())[0].state.second.velocity[2]) for p in changed]
    np.testing.assert_allclose(u, np.polyval(np.polyfit(shares, u, 2), shares), atol=1e-5)


def test_cohesion_takes_its_work_and_holds_what_is_slower():
    # Two bonds of ½ C F² each against ½ (m/2) u².
    F = 6000.0
    work = 2 * 0.5 * (2 / K) * F**2
    escape = np.sqrt(2 * work / (MASS / 2))
    after, _ = episode(compliant(F), touching_state(2 * escape))
    u = after.state.second.velocity[2] - after.state.first.velocity[2]
    np.testing.assert_allclose(u, np.sqrt(3) * escape, rtol=0.01)
    held, _ = episode(compliant(F, e=0.5), touching_state(0.9 * escape))
    assert held.duration >= 4 * DURATION and not held.unfinished


def test_rigid_friction_slides_and_sticks():
    pair = compliant(friction=0.1)
    slid, _ = episode(pair, touching_state(slide=2.0))
    assert_slid_throughout(slid, 0.1, rtol=1e-3)
    # A solid ball that sticks: 2/7 of the slip's momentum.
    stuck, _ = episode(pair, touching_state(slide=0.01))
    np.testing.assert_allclose(-stuck.impulse[0], MASS / 7 * 0.01, rtol=0.02)
    for after, slide in ((slid, 2.0), (stuck, 0.01)):
        assert pair.kinetic_energy_cm(after.state) < pair.kinetic_energy_cm(touching_state(slide=slide))


def test_a_contact_of_too_few_steps_is_marked():
    for step, coarse in ((DURATION / 200, False), (DURATION / 25, False), (DURATION / 10, True), (DURATION, True)):
        after, _ = episode(smooth(0.6, step=step), touching_state())
        assert after.coarse == coarse and not after.unfinished
        after, _ = episode(compliant(step=step), touching_state())
        assert after.coarse == coarse
