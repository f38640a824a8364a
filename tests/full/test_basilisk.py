"""The page on Basilisk: its code runs, and both programs agree at the hand-over."""

import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, Ignore, Status, simulate
from difsim.body import RigidState
from difsim.rotation import Rotation

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "basilisk.md"


def test_state_is_handed_over_to_1e9():
    pytest.importorskip("Basilisk", reason="Basilisk is not installed: pip install bsk")
    known = {}
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1], known)
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
