"""The pages on Basilisk and MuJoCo: their code runs, and both programs agree."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, Ignore, Status, simulate
from difsim.body import RigidState
from difsim.rotation import Rotation
from tests.helpers import python_blocks

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


def test_state_is_handed_over_to_1e9():
    pytest.importorskip("Basilisk", reason="Basilisk is not installed: pip install bsk")
    known = {}
    exec(*python_blocks(PAGES / "basilisk.md"), known)
    assert known["run"].status == Status.OK
    given = known["craft"].hub
    r, v, sigma, spin = (
        jnp.ravel(jnp.asarray(x))
        for x in (given.r_CN_NInit, given.v_CN_NInit, given.sigma_BNInit, given.omega_BN_BInit)
    )
    begin = known["frame"].at(jnp.zeros(())).enter(RigidState(r, v, Rotation.from_mrp(sigma).quaternion, spin))
    start = known["model"].start(begin)
    flown = simulate(known["model"], start, [0.0, 600.0], solver=Adaptive(1e-12, 1e-12), trust=Ignore()).last.body
    handed = known["state"]
    np.testing.assert_allclose(flown.position, handed.position, rtol=0, atol=1e-9 * 100)
    np.testing.assert_allclose(flown.velocity, handed.velocity, rtol=0, atol=1e-9 * 0.1)
    turned = flown.rotation.inverse @ handed.rotation
    assert float(jnp.linalg.norm(turned.as_rotation_vector())) < 5e-9  # Basilisk's steps of 0.5 s
    np.testing.assert_allclose(flown.spin, handed.spin, rtol=0, atol=5e-9 * 0.03)


def test_exported_law_has_its_restitution():
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    known = {}
    exec(*python_blocks(PAGES / "mujoco.md"), known)
    assert abs(known["data"].qvel[2] / known["SPEED"] - 0.4) < 2e-3
    assert float(known["law"].restitution(mass=known["MASS"])) == pytest.approx(0.4)
