"""One fit through the impact: what is unknown, what is hidden, derivatives, and whether the intervals hold."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.body import RigidState
from difsim.dynamics import CompliantPair, HardPair
from difsim.rotation import Rotation
from experiments.cobbles.cameras import SHIFT, scenario
from experiments.cobbles.paper import MARKER_NOISE
from experiments.cobbles.run import Cobbles
from experiments.cobbles.through import is_occluded, setup
from tests.collision_toy import RADIUS, ball, theta

MARKERS = RADIUS * np.array([[[0.6, 0.0, 0.8], [0.0, 0.6, 0.8]], [[-0.6, 0.0, 0.8], [0.0, -0.6, 0.8]]])


@pytest.fixture(scope="module")
def rig():
    return scenario(3)


def test_the_unknowns_are_those_that_were_asked_for(rig):
    assert setup(ball(), rig, MARKERS).loose == ()
    known = setup(ball(), rig, MARKERS, ("calibration", "markers"))
    assert len(known.loose) == 2 * 13 + 12  # fx, fy, cx, cy, three of distortion, turn and shift; 4 markers
    off = known.perturb(jnp.ones(len(known.loose)))
    np.testing.assert_allclose(off.rig.translation - rig.translation, SHIFT / np.sqrt(3))
    np.testing.assert_allclose(off.markers - MARKERS, MARKER_NOISE)
    np.testing.assert_array_equal(off.rig.size, rig.size)  # nobody is in doubt of the image's size
    nominal = known.perturb(jnp.zeros(len(known.loose)))
    assert jax.tree.all(jax.tree.map(lambda a, b: bool(jnp.all(a == b)), nominal, known.view))


def test_compliance_is_one_unknown_more_and_another_law(rig):
    hard, compliant = setup(ball(), rig, MARKERS), setup(ball(), rig, MARKERS, ("compliance",))
    assert (hard.centre.size, compliant.centre.size) == (26, 27)
    assert isinstance(hard.law(theta()), HardPair)
    law = compliant.law(jnp.append(theta(), np.log(1e-6)))
    assert isinstance(law, CompliantPair) and float(law.compliance) == pytest.approx(1e-6)


def test_unknowns_are_refused_where_nothing_would_read_them():
    with pytest.raises(ValueError, match="--unknowns belongs to --stage impact or design"):
        Cobbles(stage="collision", unknowns=("markers",))


def test_a_ball_hides_what_is_behind_it_and_nothing_else(rig):
    """Lines of sight from a camera past a ball: one through its middle, others that pass it within and beyond its
    radius, and one to a marker in front of it."""
    camera = jax.tree.map(lambda leaf: leaf[:1], rig)
    eye = np.asarray(jax.vmap(lambda c: c.position)(camera))[0]
    towards, aside = np.asarray(Rotation(jnp.array([0.9, 0.1, -0.3, 0.2])).as_matrix() / 0.95)[:2]
    middle = eye + 0.5 * towards / np.linalg.norm(towards)
    aside = aside / np.linalg.norm(aside)
    behind = lambda d: eye + 2 * (middle + d * aside - eye)  # noqa: E731
    places = np.array([behind(0.0), behind(0.98 * RADIUS), behind(1.02 * RADIUS), eye + 0.5 * (middle - eye)])
    still = lambda r: RigidState(  # noqa: E731
        np.array([r]), np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros((1, 3))
    )
    found = jax.jit(is_occluded)(ball(), camera, jnp.asarray(places), still(np.zeros(3)), still(middle))
    np.testing.assert_array_equal(found[0, 0], [True, True, False, False])
