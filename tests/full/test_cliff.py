"""The cliff study: its block, surface and measures, a small collapse, derivatives by the soil, the real one."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.cliff import collapse, inverse
from experiments.cliff.measurements import load_measurements


def test_derivative_of_the_surface_by_friction():
    fall = inverse.Fall(4, end=0.06)
    x = np.array([0.05, 0.1, 0.15])

    def evaluate(friction):
        ended = fall({"friction": friction, "cohesion": jnp.asarray(10.0), "young": jnp.asarray(0.84e6)})
        return fall.heights(ended.last, x), ended.status

    # One compilation for values and derivatives.
    forward = eqx.filter_jit(lambda at: jax.jvp(evaluate, (at,), (jnp.ones_like(at),), has_aux=True))
    at, step = jnp.asarray(19.8), 1e-4
    _, slope, status = forward(at)
    assert status == 0
    difference = (forward(at + step)[0] - forward(at - step)[0]) / (2 * step)
    assert np.abs(difference).max() > 1e-6  # m per degree
    np.testing.assert_allclose(slope, difference, rtol=1e-4, atol=1e-9)


def test_the_papers_collapse_meets_the_experiment(tmp_path):
    result = collapse.collapse(38, None, tmp_path)
    found = collapse.judge(result, load_measurements())
    assert found["surface_rms_m"] < 2.5e-3
    assert found["front_m"] == pytest.approx(0.442, abs=0.02)
    assert found["scattered"] < 0.01
    assert found["failure_slope_deg"][0] == pytest.approx(31.9, abs=5)
