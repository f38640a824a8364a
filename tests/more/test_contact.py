"""`difsim contact`: synthetic readings, and wrong options."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.contact.case import EXAMPLE, read_case
from experiments.contact.coverage import observe
from experiments.contact.model import pose
from experiments.data_files import data_folder

DROP, SERIES = data_folder() / EXAMPLE, data_folder() / "cases" / "drop.csv"
TRUTH = {"speed": 2.45, "hardening": 1.42e5, "drag": 1570.0, "bias": 0.4, "noise": 1.5}


@pytest.fixture(scope="module")
def drop():
    return pose(read_case(DROP, SERIES))


def test_synthetic_readings_end_at_the_range_and_are_bounds(drop):
    truth = TRUTH | {"delay": 5e-3, "speed": 2.6}
    p = drop.to_dict(jnp.array([truth[name] for name in drop.names]))
    seen = observe(drop, p, eqx.filter_jit(drop.predict)(p)[0], np.random.default_rng(1))["series"]
    limit = float(drop.parameters["range"].value)
    beyond = np.asarray(seen.noise.beyond)
    np.testing.assert_array_equal(beyond != 0, np.abs(seen.value) == limit)
    assert 0 < np.sum(beyond) < beyond.size / 2
