"""Two stones that collide: closed forms, conservation, several points, edges, derivatives, bad input."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import MaxImpacts, Status, simulate
from difsim.body import RigidBody, Stone
from difsim.body.free_motion import free_flight
from difsim.contact import Newton
from difsim.contact.moreau import solve_simultaneous
from difsim.dynamics import Pair, PairState
from difsim.dynamics.pair_touch import least_gap, separation
from difsim.stepping.collision import Impacts
from tests.bodies import SIDE, TIMES, body, boxes, cross_boxes, stone, turn_by


def test_free_rotation_is_periodic_and_keeps_its_invariants():
    top = RigidBody(1.0, np.diag([1.0, 2.0, 3.0]))
    start = body((0.0, 0, 0), (1.0, 0, 0), spin=(0.02, 1.0, 0.01))
    fly = jax.jit(lambda dt, state=start: free_flight(top, state, jnp.array([0.0, 0.0, -2.0]), dt))
    end = fly(jnp.asarray(2 * 20.752016850))  # the period of the polhode, by the elliptic integral K
    np.testing.assert_allclose(end.spin, start.spin, atol=2e-8)
    np.testing.assert_allclose(end.rotation @ (top.inertia @ end.spin), [0.02, 2.0, 0.03], atol=1e-11)
    spinning = 0.5 * start.spin @ top.inertia @ start.spin
    np.testing.assert_allclose(0.5 * end.spin @ top.inertia @ end.spin, spinning, rtol=1e-13)
    there = fly(jnp.asarray(3.0))
    back = fly(jnp.asarray(-3.0), there)
    np.testing.assert_allclose(back.spin, start.spin, atol=1e-12)
    np.testing.assert_allclose(back.position, start.position, atol=1e-12)
    np.testing.assert_allclose(back.attitude, start.attitude, atol=1e-12)


def test_crossed_edges_touch_where_and_when_they_cross():
    c = simulate(boxes(0.6), cross_boxes(aside=(0.0, 0.0)), TIMES)
    assert int(c.impacts.count) == 1
    np.testing.assert_allclose(c.impacts.time, 0.3 - np.sqrt(2) * SIDE, atol=1e-9)
    np.testing.assert_allclose(c.impacts.normal, [0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(c.impacts.point, [0, 0, SIDE / np.sqrt(2)], atol=1e-9)
    np.testing.assert_allclose(c.impacts.normal_restitution, 0.6, atol=1e-9)
    # Equal masses, in line: ½ (1 + e²) of the energy is left in the laboratory, e² in the other frame.
    np.testing.assert_allclose(c.impacts.energy_restitution, 0.5 * (1 + 0.36), atol=1e-9)
    np.testing.assert_allclose(c.impacts.energy_restitution_cm, 0.36, atol=1e-9)
    np.testing.assert_allclose(c.states.second.velocity[-1], [0, 0, -0.2], atol=1e-9)
    after = 1.0 - float(c.impacts.time)
    np.testing.assert_allclose(c.states.first.position[-1], [0, 0, -0.8 * after], atol=1e-9)


def test_points_alone_miss_the_edges():
    bare = Stone(stone().body, stone().points, stone().shape)
    sunk = cross_boxes(height=np.sqrt(2) * SIDE - 0.002)
    gap = jax.jit(least_gap)
    np.testing.assert_allclose(gap(boxes(), sunk, jnp.asarray(1e-3)), -0.002, atol=1e-12)
    assert gap(Pair(bare, bare, boxes().law), sunk, jnp.asarray(1e-3)) > 0.02


def test_hulls_are_apart_by_no_more_than_the_surfaces():
    up, aslant = jnp.array([0.0, 0.0, 1.0]), jnp.array([0.6, 0.0, 0.8])
    apart = jax.jit(separation)
    above = cross_boxes(height=0.3, aside=(0.0, 0.0))
    np.testing.assert_allclose(apart(boxes(), above, up), 0.3 - np.sqrt(2) * SIDE, atol=1e-12)
    # Side by side, the line of centres tells: neither axis given does.
    beside = PairState(body((0.0, 0, 0), (0.0, 0, 0)), body((0.0, 0.3, 0), (0.0, 0, 0)))
    for axis in (up, aslant):
        np.testing.assert_allclose(apart(boxes(), beside, axis), 0.3 - SIDE, atol=1e-12)
    bare = Stone(stone().body, stone().points, stone().shape)
    assert apart(Pair(bare, stone(), boxes().law), above, up) == -jnp.inf


def test_momentum_and_angular_momentum_are_kept_and_energy_falls():
    pair = boxes(0.7, 0.5)
    start = PairState(
        body((0.0, 0.01, 0.0), (0.1, 0.2, 0.3), turn_by(0.3, 0.5, 0.1), (0.5, -1.0, 2.0)),
        body((0.02, 0.0, 0.35), (0.0, 0.1, -0.9), turn_by(-0.4, 0.2, 0.8), (1.0, 0.3, -0.4)),
    )
    c = simulate(pair, start, TIMES, throw=False)
    assert c.impacts.count >= 1 and c.status in (Status.OK, Status.IMPACT_LIMIT)
    for kept in (pair.momentum, pair.angular_momentum):
        values = jax.vmap(kept)(c.states)
        np.testing.assert_allclose(values, np.broadcast_to(values[0], values.shape), atol=1e-13)
    assert c.impacts.energy_restitution_cm < 1
    energies = jax.vmap(pair.kinetic_energy)(c.states)
    assert np.all(np.diff(energies) < 1e-13)


def test_faces_that_meet_squarely_rebound_as_one_point_would():
    start = PairState(body((0.0, 0, 0), (0.0, 0, 0.0)), body((0.0, 0.0, 0.4), (0.0, 0, -1.0)))
    c = simulate(Pair(stone(), stone(2 * SIDE), boxes(0.6, 0.3).law), start, TIMES)
    np.testing.assert_allclose(c.impacts.time, 0.4 - 1.5 * SIDE, atol=1e-9)
    np.testing.assert_allclose(c.impacts.normal, [0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(c.states.second.velocity[-1], [0, 0, -0.2], atol=1e-9)
    np.testing.assert_allclose(c.states.second.spin[-1], 0, atol=1e-9)
    np.testing.assert_allclose(c.impacts.energy_restitution, 0.68, atol=1e-9)


def test_a_face_on_a_part_of_a_face_turns_both():
    start = PairState(body((0.0, 0, 0), (0.0, 0, 0.0)), body((0.02, 0.03, 0.4), (0.0, 0, -1.0)))
    c = simulate(boxes(0.6), start, TIMES)
    # The common part of the faces is off both centres: the blow turns the boxes, and takes less energy.
    np.testing.assert_allclose(c.impacts.time, 0.3, atol=1e-9)
    np.testing.assert_allclose(c.impacts.normal, [0, 0, 1], atol=1e-9)
    assert 0.68 < c.impacts.energy_restitution < 1
    assert abs(float(c.states.second.spin[-1, 0])) > 0.1


def test_several_points_that_do_not_touch_get_nothing():
    rng = np.random.default_rng(0)
    masses = rng.uniform(1, 2, 3)
    response = np.einsum("i,ij,ab->iajb", 1 / masses, np.eye(3), np.eye(3))
    normals = np.eye(3)[[2, 2, 2]]
    velocities = np.array([[0.0, 0, -1.0], [3.0, 0, -1.0], [0.0, 0, -1.0]])
    found = solve_simultaneous(*map(jnp.asarray, (response, normals, velocities, [1.0, 1.0, 0.0], 0.5, 0.1)))
    expected = masses[:, None] * np.array([[0, 0, 1.5], [-0.15, 0, 1.5], [0, 0, 0]])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def two_points(rng):
    """W, u₀, touching and energy of a body of 1 kg that meets the ground with two of its points."""
    arms = np.column_stack([rng.uniform(-0.8, 0.8, (2, 2)), np.full(2, -rng.uniform(0.3, 1.0))])
    moments = rng.uniform(0.3, 1, 3) @ (0.2 - 0.2 * np.eye(3))
    crosses = np.cross(np.eye(3)[None], arms[:, None])  # rows e × r
    response = np.eye(3)[None, :, None] + np.einsum("iqa,q,jqb->iajb", crosses, 1 / moments, crosses)
    spin, velocity = rng.standard_normal(3), np.append(1.5 * rng.standard_normal(2), -1.0)
    energy = 0.5 * (velocity @ velocity + spin @ (moments * spin))
    return response, velocity + np.cross(spin, arms), np.ones(2), energy


def slanted_rod():
    """The same of a rod at 60° to the ground that meets it with one end: Newton's law gains 0.066 J there."""
    response, (c, s) = np.zeros((2, 3, 2, 3)), (0.5, np.sqrt(0.75))
    response[0, :, 0] = response[1, :, 1] = [
        [1 + 3 * s * s, 0, -3 * s * c],
        [0, 1, 0],
        [-3 * s * c, 0, 1 + 3 * c * c],
    ]
    return response, np.array([[0.6, 0, -1]] * 2), np.array([1.0, 0.0]), 0.5 * 1.36


def test_a_batch_has_a_restitution_for_each_pair_that_met():
    energy = jnp.array([[4.0, 1.0], [2.0, 2.0]])
    contacts = jnp.full((2, 4), jnp.inf), *(jnp.zeros((2, 4, 3)),) * 3, jnp.array([1, 0])
    found = jax.vmap(Impacts)(*contacts, energy, 2 * energy, energy**0.5)
    for ratio, of_first in (
        (found.energy_restitution, 0.25),
        (found.energy_restitution_cm, 0.25),
        (found.normal_restitution, 0.5),
    ):
        np.testing.assert_allclose(ratio, [of_first, np.nan])


def test_several_points_at_once_gain_no_energy_and_obey_the_law():
    rng = np.random.default_rng(0)
    W, u, touching, energy = map(np.array, zip(slanted_rod(), *(two_points(rng) for _ in range(200)), strict=True))
    n = jnp.array([[0.0, 0.0, 1.0]] * 2)

    @jax.jit
    def impact(p):
        one = lambda W, u, on: solve_simultaneous(W, n, u, on, p[0], p[1])  # noqa: E731
        return jax.vmap(one)(*map(jnp.asarray, (W, u, touching)))

    for e, friction in ((1.0, 0.35), (0.9, 0.4), (1.0, 0.0), (0.0, 0.4)):
        P = np.asarray(impact(jnp.array([e, friction])))
        change = np.einsum("kiajb,kjb->kia", W, P)
        gained = np.einsum("kia,kia->k", P, u + 0.5 * change)
        assert np.max(gained / energy) < 1e-8
        assert np.min(P[:, :, 2]) >= 0
        assert np.min((u + change)[:, :, 2][touching > 0]) > -5e-3  # what is left after the sweeps, of 1 m/s
        assert np.max(np.linalg.norm(P[:, :, :2], axis=2) - friction * P[:, :, 2]) < 1e-12
    at = jnp.array([0.9, 0.4])
    for way in jnp.eye(2):
        differences = (impact(at + 1e-6 * way) - impact(at - 1e-6 * way)) / 2e-6
        np.testing.assert_allclose(jax.jvp(impact, (at,), (way,))[1], differences, atol=1e-7)


def test_a_miss_an_overlap_and_wrong_times_are_seen():
    away = cross_boxes(speed=-1.0)
    missed = simulate(boxes(), away, TIMES, throw=False)
    assert missed.status == Status.NO_CONTACT and np.isnan(missed.impacts.energy_restitution)
    with pytest.raises(RuntimeError, match="NO_CONTACT"):
        simulate(boxes(), away, TIMES)
    with pytest.raises(RuntimeError, match="INSIDE"):
        simulate(boxes(), cross_boxes(height=0.1), TIMES)
    nonfinite = eqx.tree_at(lambda s: s.first.spin, cross_boxes(), jnp.full(3, jnp.nan))
    assert simulate(boxes(), nonfinite, TIMES, throw=False).status == Status.NOT_FINITE
    with pytest.raises(ValueError, match="increase"):
        simulate(boxes(), cross_boxes(), jnp.array([0.0, 1.0, 0.5]))
    with pytest.raises(ValueError, match="count: 0 must be 1 or more"):
        simulate(boxes(), cross_boxes(), TIMES, until=MaxImpacts(0))
    with pytest.raises(ValueError, match="Pair: law: got an object Newton: give a PairLaw"):
        Pair(stone(), stone(), Newton(0.5))
