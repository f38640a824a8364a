"""One wrench from many points: sums, potentials, what acts when, friction over points and its memory."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact import (
    ClippedDamping,
    Hooke,
    MindlinSpring,
    NormalForce,
    SpringAtEachPoint,
    SurfaceContact,
    TangentialSpring,
    Vertices,
)
from difsim.contact.contact_points import BodyMotion
from difsim.contact.friction import TangentialHistory
from difsim.shape import Plane
from tests.helpers import approx, check_finite

FLOOR = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))

MASS, EDGE, WIDTH = 2.0, 0.4, 1e-3

SPRINGS = [TangentialSpring(0.4, 5e4), MindlinSpring(0.4, 8e4, 1.0)]


def moving_body(centre, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0)) -> BodyMotion:
    centre, velocity, spin = (jnp.asarray(v, float) for v in (centre, velocity, spin))
    inertia = jnp.diag(jnp.array([0.05, 0.07, 0.09]))
    pull = jnp.array([1.0, 0.5, -9.81])
    return BodyMotion(centre, velocity, spin, jnp.array(MASS), inertia, pull, jnp.array([0.3, -0.2, 0.1]))


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


@eqx.filter_jit
def cycle(law, depths, slips):
    """A point led along depths [n] m and slips [n] m, once by the rate law and once by steps of `advance`:
    its tangential force [n], and the work that the motion does against it."""
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
        return (stretch + k2, history), (middle[0], history.force[0], step[1])

    start = jnp.zeros(3), TangentialHistory.zeros()
    _, (ours, theirs, step) = jax.lax.scan(follow, start, (depths[:-1], steps))
    return ours, theirs, -jnp.sum(ours * step), -jnp.sum(theirs * step)


@pytest.mark.parametrize("law", SPRINGS, ids=["constant", "Mindlin"])
@pytest.mark.parametrize("lag", [0.0, 1.0, 2.5, 4.0])
def test_closed_loops_of_load_and_slip_lose(law, lag):
    """Loops of depth and slip, in and out of phase: a total-form spring gains in half of them."""
    phase = jnp.linspace(0.0, 4 * jnp.pi, 16001)
    depths = 3e-3 + 1.5e-3 * jnp.sin(phase + lag)
    slips = 2e-4 * jnp.sin(phase)
    _, _, work, advanced = cycle(law, depths, slips)
    assert work > -1e-9
    if isinstance(law, MindlinSpring):
        assert work > 1e-5 and work == approx(advanced, rel=0.2)


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
