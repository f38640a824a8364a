"""A ball in grains: until when derivatives agree, the three stages whole, bad options."""

import numpy as np
import xarray as xr

from experiments.intruder.derivatives import _valid_until
from experiments.intruder.scene import BASE


def test_a_derivative_is_right_until_it_first_parts():
    other = np.ones((4, 4))
    forward = other * np.array([[1.0, 1.05, 0.5, 1.0]])  # by parameter
    forward[2, 0], forward[3] = 1.2, 1.0  # right again later does not count
    result = xr.Dataset(
        {"forward": (("time", "parameter"), forward), "difference": (("step", "time", "parameter"), other[None])},
        coords={"time": [0.1, 0.2, 0.3, 0.4], "parameter": [*BASE], "step": [1e-3]},
    )
    assert list(_valid_until(result, 1e-3).values()) == [0.2, 0.4, 0.0, 0.4]
