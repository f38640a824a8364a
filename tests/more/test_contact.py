"""`difsim contact`: synthetic readings, and wrong options."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.contact.case import EXAMPLE, read_case
from experiments.contact.coverage import observe
from experiments.contact.model import pose
from experiments.contact.run import Contact
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


def test_wrong_options_are_refused(tmp_path):
    with pytest.raises(ValueError, match="--repetitions 0 must be at least 1"):
        Contact(repetitions=0)
    known = tmp_path / "case.toml"
    text = DROP.read_text(encoding="utf-8")
    known.write_text(text.replace("log_uniform", "lognormal"), encoding="utf-8")
    with pytest.raises(ValueError, match="must be one of"):
        Contact(case=known, out=tmp_path / "out").run()
