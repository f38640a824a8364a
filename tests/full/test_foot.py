"""A sole in a bed: its geometry, the reduced law solved for the force, bearing in the plane against Prandtl's."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from difsim import Status
from experiments.foot import grains, throws
from experiments.foot.run import FootStudy, push
from experiments.foot.scene import GRAVITY, LAW, Foot
from tests.results import assert_described


def test_grains_stop_the_sole(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.beds.CACHE", tmp_path)
    FootStudy(stage="grains", quick=True, out=tmp_path / "out").run()
    with xr.open_dataset(tmp_path / "out" / "5_cm_1_m_s.nc", engine="h5netcdf") as result:
        depth, speed, time = (result[name].values for name in ("penetration", "speed", "time"))
        impulse = float(np.sum(result["pressure"]) * grains.FRAME)
        assert_described(json.loads((tmp_path / "out" / "summary.json").read_text()), result)
    assert (tmp_path / "out" / "grains.png").exists() and (tmp_path / "out" / "summary.json").exists()
    # From the first grain, which stands 3 cm above the mean surface: a bed of other grains has another one there.
    assert speed[-1] <= 0 < speed[-2] and 0.02 < depth.max() - depth[0] < 0.2
    # What the bed and gravity have done is what it has lost; its path is the integral of its speed.
    assert impulse / 510.0 == pytest.approx(1.0 - speed[-1] + grains.GRAVITY * time[-1], rel=1e-9)
    assert np.trapezoid(speed, time) == pytest.approx(depth[-1] - depth[0], rel=1e-3)


def test_what_the_sole_loses_the_bed_has():
    """Until the shock is at the floor: the bed's own weight is next to nothing."""
    foot = Foot.build(2, 0.02)
    model = foot.model(1.0, 400.0, 0.1)
    mass = jnp.asarray(510.0 * foot.area)
    now = throws.fall(model, mass, throws.start_fall(model, foot.state(model)), jnp.asarray(0.022))
    assert now.progress.status == Status.OK
    momentum = jnp.sum(model.mass[: foot.soil] * now.progress.motion.state.velocity[-1, : foot.soil])
    lost = mass * (1.0 + now.velocity[-1] + GRAVITY * now.progress.motion.time)
    assert lost > 1.0
    assert float(now.impulse) == pytest.approx(float(lost), rel=1e-9)
    assert float(-momentum) == pytest.approx(float(lost), rel=0.01)


def test_bearing_of_a_strip_is_prandtls():
    """q = c N_c, with N_c of Prandtl (1921); a soil that does not dilate bears a little less."""
    foot = Foot.build(2, 0.0125)
    z, force = push(foot, FootStudy(depth=0.04, softening=25.0), 0.05).values()
    deep = z > 0.01
    N_q = np.exp(np.pi * 0.6) * (np.sqrt(1.36) + 0.6) ** 2
    prandtl = float(LAW.cohesion) * (N_q - 1) / 0.6
    assert np.mean(force[deep]) / foot.area == pytest.approx(prandtl, rel=0.1)
