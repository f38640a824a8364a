"""One wrench from many points: sums, potentials, what acts when, friction over points and its memory."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact import (
    AtEachPoint,
    AtEffectivePoint,
    Ball,
    ClippedDamping,
    Hooke,
    LinearCohesion,
    MindlinSpring,
    NormalForce,
    NoSmoothing,
    PowerLaw,
    RegularisedCoulomb,
    SpringAtEachPoint,
    StickSlip,
    SurfaceContact,
    TangentialSpring,
    TensileDamping,
    Vertices,
)
from difsim.contact.contact_points import BodyMotion
from difsim.contact.friction import TangentialHistory
from difsim.rotation import Rotation
from difsim.shape import Plane, Sphere
from tests.helpers import approx, check_finite

FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))

MASS, EDGE, WIDTH = 2.0, 0.4, 1e-3

CORNERS = Vertices.box((EDGE, EDGE, EDGE))

TURN = Rotation(jnp.array([0.8, 0.3, 0.4, 0.33])).normalise().as_matrix()

NONE = jnp.zeros((0, 3))

SPRINGS = [TangentialSpring(0.4, 5e4), MindlinSpring(0.4, 8e4, 1.0)]


def moving_body(centre, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0)) -> BodyMotion:
    centre, velocity, spin = (jnp.asarray(v, float) for v in (centre, velocity, spin))
    inertia = jnp.diag(jnp.array([0.05, 0.07, 0.09]))
    pull = jnp.array([1.0, 0.5, -9.81])
    return BodyMotion(centre, velocity, spin, jnp.array(MASS), inertia, pull, jnp.array([0.3, -0.2, 0.1]))


@eqx.filter_jit
def press(contact, ground, body, turn):
    return contact.wrench(ground, body, turn, NONE)


def test_the_wrench_is_the_sum_over_the_points():
    """Against a loop in numpy: springs at the corners below ground, and Coulomb's friction at each."""
    contact = SurfaceContact(
        CORNERS,
        NormalForce(Hooke(1e4), ClippedDamping(20.0), NoSmoothing()),
        AtEachPoint(RegularisedCoulomb(0.3, 1e-3)),
    )
    body = moving_body((0.1, 0.2, 0.25), (0.3, -0.1, -0.4), (0.5, 0.2, -0.3))
    got = press(contact, FLOOR, body, TURN)
    force, torque, stored = np.zeros(3), np.zeros(3), 0.0
    for corner in np.asarray(CORNERS.points):
        arm = np.asarray(TURN) @ corner
        velocity = np.array([0.3, -0.1, -0.4]) + np.cross([0.5, 0.2, -0.3], arm)
        depth = -(0.25 + arm[2])
        if depth > 0:
            size = max(0, 1e4 * depth - 20 * velocity[2])
            slip = velocity * [1, 1, 0]
            f = size * np.array([0, 0, 1.0]) - 0.3 * size * slip / np.sqrt(slip @ slip + 1e-6)
            force, torque, stored = force + f, torque + np.cross(arm, f), stored + 0.5e4 * depth**2
    assert force[2] > 100
    np.testing.assert_allclose(got.force, force, rtol=1e-12)
    np.testing.assert_allclose(got.torque, torque, rtol=1e-12)
    assert got.stored == approx(stored)


@pytest.mark.parametrize("ground", [FLOOR, Sphere((0.3, 0.1, -2.0), 2.0)], ids=["plane", "sphere"])
def test_static_wrench_is_minus_the_stored_energy_gradient(ground):
    """By moving and by turning the body; cohesion included, and no friction."""
    contact = SurfaceContact(
        CORNERS,
        NormalForce(PowerLaw(1e5, 1.5), ClippedDamping(30.0), WIDTH),
        AtEachPoint(RegularisedCoulomb(0.0, 1e-3)),
        cohesion=(LinearCohesion(3.0, 0.1),),
    )
    centre = jnp.array([0.1, 0.2, 0.28])

    @jax.jit
    def compare(contact, ground):
        def stored_energy(x, phi):
            turn = Rotation.from_rotation_vector(phi).as_matrix() @ TURN
            return contact.wrench(ground, moving_body(x), turn, NONE).stored

        slopes = jax.grad(stored_energy, argnums=(0, 1))(centre, jnp.zeros(3))
        return contact.wrench(ground, moving_body(centre), TURN, NONE), slopes

    wrench, (by_place, by_turn) = compare(contact, ground)
    assert np.abs(wrench.torque).max() > 0.1
    np.testing.assert_allclose(wrench.force, -by_place, atol=1e-10)
    np.testing.assert_allclose(wrench.torque, -by_turn, atol=1e-10)


def test_force_is_zero_far_away_and_tiny_where_it_sets_in():
    contact = SurfaceContact(
        CORNERS, NormalForce(Hooke(1e4), ClippedDamping(20.0), WIDTH), AtEachPoint(RegularisedCoulomb(0.3, 1e-3))
    )
    radius = float(contact.outline.radius)
    assert radius == approx(EDGE / 2 * np.sqrt(3))

    @jax.jit
    def wrench(height):
        return contact.wrench(FLOOR, moving_body((0, 0, height), (1.0, 0, -1.0)), TURN, NONE)

    far, near = wrench(2 * radius + 21 * WIDTH), wrench(2 * radius + 19 * WIDTH)
    assert all((np.asarray(leaf) == 0).all() for leaf in jax.tree.leaves(far))
    assert np.abs(near.force).max() < 1e-14
    touching = jax.jit(jax.grad(lambda h: wrench(h).force[2]))
    assert touching(2 * radius + 21 * WIDTH) == 0
    assert touching(0.25) < -1e3


def test_a_ball_touches_at_its_lowest_point():
    contact = SurfaceContact(
        Ball(0.5),
        NormalForce(Hooke(1e4), ClippedDamping(0.0), NoSmoothing()),
        AtEachPoint(RegularisedCoulomb(0.3, 1e-6)),
    )
    ground = Sphere((0.0, 0.0, 0.0), 2.0)
    way = np.array([2.0, -1.0, 2.0]) / 3
    wrench = press(contact, ground, moving_body(2.49 * way, spin=(0.0, 0.0, 4.0)), TURN)
    slip = np.cross([0, 0, 4.0], -0.5 * way)
    expected = 100.0 * way - 30.0 * slip / np.linalg.norm(slip)
    np.testing.assert_allclose(wrench.force, expected, rtol=1e-9)
    np.testing.assert_allclose(wrench.torque, np.cross(-0.5 * way, expected), rtol=1e-9, atol=1e-12)
    assert contact.gap(ground, jnp.asarray(2.6 * way), TURN) == approx(0.1)


def test_nothing_rubs_where_a_law_pulls():
    """A law that may pull, moving out: its friction would drive the slip."""
    contact = SurfaceContact(
        CORNERS,
        NormalForce(Hooke(1e4), TensileDamping(500.0), NoSmoothing()),
        AtEachPoint(RegularisedCoulomb(0.3, 1e-3)),
    )
    wrench = press(contact, FLOOR, moving_body((0, 0, EDGE / 2 - 1e-3), (1.0, 0, 1.0)), jnp.eye(3))
    assert wrench.force[2] < -100
    assert wrench.force[0] == 0
    assert wrench.powers["friction"] == 0


def test_sticking_at_the_effective_point_keeps_its_slip():
    """Below the bound the point that stands still stays so: P (a + K F) = 0 with all forces and torques."""
    law = NormalForce(Hooke(1e4), ClippedDamping(20.0), NoSmoothing())
    contact = SurfaceContact(CORNERS, law, AtEffectivePoint(StickSlip(50.0, 50.0, 1e-2)))
    body = moving_body((0.1, 0.2, 0.25))
    wrench = press(contact, FLOOR, body, TURN)
    pushed = body.accelerate(wrench.force, wrench.torque)
    arms = CORNERS.points @ TURN.T
    depths = np.maximum(0, -(0.25 + np.asarray(arms)[:, 2]))
    arm = jnp.asarray(depths @ np.asarray(arms) / depths.sum())
    assert np.linalg.norm(wrench.force[:2]) > 10
    np.testing.assert_allclose(pushed.acceleration_at(arm)[:2], 0, atol=1e-10)


def spring_point(law, width=WIDTH):
    """One point that carries a spring, as a function of its state."""
    contact = SurfaceContact(
        Vertices(np.zeros((1, 3))), NormalForce(Hooke(1e5), ClippedDamping(0.0), width), SpringAtEachPoint(law)
    )

    def wrench(height, velocity, stretch):
        body = moving_body((0.0, 0.0, 0.0), velocity)
        body = eqx.tree_at(lambda b: b.centre, body, jnp.stack([0 * height, 0 * height, height]))
        return contact.wrench(FLOOR, body, jnp.eye(3), stretch[None])

    return wrench


@pytest.mark.parametrize("law", SPRINGS, ids=["constant", "Mindlin"])
def test_a_spring_keeps_coulombs_bound_and_never_gives_energy(law, key):
    """-F·v - d(stored)/dt ≥ 0 in any state: loaded, unloading, beyond the bound, without a push."""
    wrench = spring_point(law)
    a, b, c = jax.random.split(key, 3)
    heights = jax.random.uniform(a, (2000,), minval=-0.01, maxval=0.01)
    velocities = jax.random.normal(b, (2000, 3))
    stretches = jax.random.normal(c, (2000, 3)) * jnp.array([[3e-3, 3e-3, 0.0]])
    found = jax.jit(jax.vmap(wrench))(heights, velocities, stretches)
    pushes = found.force[:, 2]
    rubbed = np.linalg.norm(found.force[:, :2], axis=1)
    assert (rubbed <= 0.4 * pushes + 1e-11).all()
    assert (rubbed < 0.39 * pushes).any() and (rubbed > 0.399 * pushes).any()
    assert (found.powers["friction"] >= -1e-12 * np.abs(found.powers["friction"]).max()).all()


@pytest.mark.parametrize("law", SPRINGS, ids=["constant", "Mindlin"])
def test_stored_energy_rate_is_the_one_in_the_energy_account(law):
    """Power and store are two halves of one sum: store' = -F·v - power, along the motion."""
    wrench = spring_point(law)

    @jax.jit
    def compare(height, velocity, stretch):
        now = wrench(height, velocity, stretch)
        rates = velocity[2], jnp.zeros(3), now.memory_rate[0]
        return now, jax.jvp(lambda *s: wrench(*s).stored, (height, velocity, stretch), rates)[1]

    velocity = jnp.array([0.05, 0.1, -0.2])
    now, growth = compare(jnp.array(-2e-3), velocity, jnp.array([3e-4, -2e-4, 0.0]))
    np.testing.assert_allclose(growth, -now.force @ velocity - now.powers["friction"], rtol=1e-10)


@eqx.filter_jit
def cycle(law, depths, slips):
    """A point led along depths [n] m and slips [n] m, once by the rate law and once by steps of `advance`:
    its tangential force [n]."""
    wrench = spring_point(law, 2e-5)
    up = jnp.array([0.0, 0.0, 1.0])
    steps = jnp.stack([jnp.diff(depths), jnp.diff(slips)], axis=1)

    def follow(carry, here):
        stretch, history = carry
        depth, step = here

        def rate(stretch, share):
            velocity = jnp.stack([step[1], 0.0 * step[1], -step[0]])  # per step
            found = wrench(-(depth + share * step[0]), velocity, stretch)
            return found.memory_rate[0], found.force

        k1, _ = rate(stretch, 0.0)
        k2, middle = rate(stretch + 0.5 * k1, 0.5)
        after = depth + step[0]
        history = law.advance(history, after, 1e5 * after, jnp.stack([step[1], 0.0, 0.0]), up, 1.0)
        return (stretch + k2, history), (middle[0], history.force[0])

    start = jnp.zeros(3), TangentialHistory.zeros()
    return jax.lax.scan(follow, start, (depths[:-1], steps))[1]


@pytest.mark.parametrize("law", SPRINGS, ids=["constant", "Mindlin"])
def test_the_rate_law_follows_the_incremental_one(law):
    """A sticking impact, with a slip that turns about and crosses the bound as the load falls."""
    phase = jnp.linspace(0.0, jnp.pi, 8001)
    depths = 4e-3 * jnp.sin(phase) + 1e-6
    slips = 1.5e-3 * jnp.sin(1.6 * phase)
    ours, theirs = cycle(law, depths, slips)
    assert np.abs(theirs).max() > 20
    np.testing.assert_allclose(ours, theirs, atol=0.12 * np.abs(theirs).max())
    assert np.sqrt(np.mean((ours - theirs) ** 2)) < 0.05 * np.abs(theirs).max()


@pytest.mark.parametrize("law", SPRINGS, ids=["constant", "Mindlin"])
def test_springs_have_derivatives_at_touch_and_at_rest(law):
    heights = jnp.array([0.0, -1e-3, -1e-3])
    velocities = jnp.array([[0.0, 0, 0], [0.0, 0, 0], [0.1, 0, 0]])
    stretches = jnp.array([[0.0, 0, 0], [0.0, 0, 0], [1e-4, 0, 0]])

    def all_of(*state):
        found = jax.vmap(spring_point(law))(*state)
        return found.force, found.memory_rate

    slopes = check_finite(all_of, heights, velocities, stretches)
    if isinstance(law, TangentialSpring):
        # Not stretched yet, it resists the first stretch with its whole stiffness.
        np.testing.assert_allclose(slopes[3, 3 + 9 + 3], 5e4, rtol=1e-12)
