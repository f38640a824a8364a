"""Cohesion: a potential, the exact force that tears a point off, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.contact import (
    AtEachPoint,
    ClippedDamping,
    ConstantCohesion,
    Hooke,
    LinearCohesion,
    NormalForce,
    NoSmoothing,
    PowerLaw,
    RegularisedCoulomb,
    SurfaceContact,
    Vertices,
)
from difsim.contact.contact_points import BodyMotion
from difsim.contact.regularisation import Smoothing
from difsim.shape import Plane
from tests.catalogue import COHESIONS
from tests.helpers import approx, check_gradients, rows, to_single

GAPS = np.linspace(-0.5e-3, 1.5e-3, 4001)


@pytest.mark.parametrize(("law", "share"), [(ConstantCohesion(2.0, 1e-3), 0.9), (LinearCohesion(2.0, 1e-3), 0.5)])
def test_force_and_work_of_separation(law, share):
    """F_c inside, 0 from the range on, never more than F_c, monotone; W = 0.9 and 0.5 F_c range."""
    force, energy = rows(law.force, GAPS), rows(law.energy, GAPS)
    np.testing.assert_allclose(force[GAPS <= 0], 2.0, rtol=1e-13)
    assert np.abs(force[GAPS >= 1e-3]).max() < 1e-20 and np.abs(energy[GAPS >= 1e-3]).max() < 1e-20
    assert (np.diff(force) <= 1e-12).all()
    assert np.abs(np.diff(force)).max() < 2.0 * 0.5e-6 / 1e-4 * 1.2  # no jump: the steepest fall takes a tenth
    assert -law.energy(jnp.array(0.0)) == approx(share * 2.0 * 1e-3)
    np.testing.assert_allclose(
        energy, energy[0] + np.cumsum(np.r_[0, 0.5 * (force[1:] + force[:-1])]) * 0.5e-6, atol=1e-9
    )


def test_linear_cohesion_is_linear_but_for_its_corners():
    law = LinearCohesion(2.0, 1e-3)
    middle = jnp.linspace(0.2e-3, 0.8e-3, 7)
    slope = rows(jax.grad(law.force), middle)
    np.testing.assert_allclose(slope, slope[0], rtol=1e-10)
    np.testing.assert_allclose(law.force(jnp.array(0.5e-3)), 1.0, rtol=1e-12)
    off = np.abs(rows(law.force, GAPS) - 2.0 * np.clip(1 - GAPS / 1e-3, 0, 1))
    assert off.max() / 2.0 == approx(0.075, abs=0.05)


@pytest.mark.parametrize("regularisation", [NoSmoothing(), Smoothing(1e-4)], ids=["none", "smoothing"])
@pytest.mark.parametrize("cohesion", [ConstantCohesion(2.0, 1e-3), LinearCohesion(2.0, 1e-3)])
@pytest.mark.parametrize("elastic", [Hooke(1e5), PowerLaw(1e6, 1.5)])
def test_the_pull_off_force_is_exact(elastic, cohesion, regularisation):
    """Four points on a plane, drawn off slowly: the greatest pull is 4 F_c, whatever the smoothing."""
    normal = NormalForce(elastic, ClippedDamping(10.0), regularisation)
    feet = Vertices([[0.1, 0.1, 0.0], [0.1, -0.1, 0.0], [-0.1, 0.1, 0.0], [-0.1, -0.1, 0.0]])
    friction_law = AtEachPoint(RegularisedCoulomb(0.3, 1e-3))
    contact = SurfaceContact(feet, normal, friction_law, cohesion=(cohesion,))
    ground = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    zero = jnp.zeros(3)

    def pull(gap):
        body = BodyMotion(jnp.stack([0 * gap, 0 * gap, gap]), zero, zero, jnp.array(1.0), jnp.eye(3), zero, zero)
        return -contact.wrench(ground, body, jnp.eye(3), jnp.zeros((0, 3))).force[2]

    pulls = jax.jit(jax.vmap(pull))(jnp.linspace(-1e-3, 3e-3, 4001))
    assert pulls[0] < 0  # pressed in, it pushes
    assert pulls.max() == approx(8.0, rel=1e-6)
    assert abs(pulls[-1]) < 1e-20


@pytest.mark.parametrize("name", COHESIONS)
def test_derivatives_and_float32(name):
    law = COHESIONS[name]

    def differentiate(law, gaps):
        return jax.vmap(law.energy)(gaps), jax.vmap(law.force)(gaps)

    gaps = jnp.array([-1e-4, 5e-5, 4.3e-4, 8.5e-4, 9.3e-4, 2e-3])
    check_gradients(differentiate, law, gaps, step=1e-6, rtol=1e-5)
    narrow, force = rows(to_single(law).force, to_single(gaps)), rows(law.force, gaps)
    assert narrow.dtype == jnp.float32
    np.testing.assert_allclose(narrow, force, atol=2e-5 * float(law.pull_off))
