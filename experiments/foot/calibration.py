"""The calibration of the reduced law by grains: factors on its bearing and its inertia, from soles thrown into both."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import least_squares

from difsim.declarations import quantity
from difsim.saving.texts import read_text
from difsim.typing import Scalar
from experiments.data_files import data_folder

TABLE = data_folder() / "sole_in_grains.json"
UNKNOWNS = "thickness", "grain_diameter", "grain_density", "grain_modulus", "friction"

LEAST = np.log(1e3)  # how far from 1 a factor may be, in ln


class Calibration(eqx.Module):
    """Factors on bearing and inertia of the reduced law, and the range of the UNKNOWNS in which they are known."""

    bearing: Scalar = quantity("", "factor on the bearing pressure", gt=0)
    inertia: Scalar = quantity("", "factor on the inertia", gt=0)
    sigma: Scalar = quantity("", "standard deviation of the natural logarithm of both", gt=0)
    low: Float[Array, "5"] = quantity("", "least of each of the UNKNOWNS")
    high: Float[Array, "5"] = quantity("", "greatest of each of the UNKNOWNS")

    def factors(self, error: Scalar) -> dict[str, Scalar]:
        """For `Regolith`, where ln of all that resists is off by `error`."""
        off = jnp.exp(error)
        return {"bearing_factor": off * self.bearing, "inertia_factor": off * self.inertia}

    def list_uncalibrated(self, p: Mapping[str, Any]) -> list[str]:
        """Which of the unknowns were not calibrated. On the host."""
        ends = zip(UNKNOWNS, self.low, self.high, strict=True)
        return [name for name, low, high in ends if not low <= p[name] <= high]


def energy_by_law(work: Float[np.ndarray, "*k 3"], factors: Float[np.ndarray, "2"]) -> Float[np.ndarray, "*k"]:
    """J/m² that the law with these factors takes from soles, by the `work` of its bearing, its inertia and its
    viscosity, which has no factor."""
    return work[..., :2] @ factors + work[..., 2]


def fit_factors(lost: Float[np.ndarray, " k"], work: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "2"]:
    """The factors on bearing and inertia with which the law takes what soles have `lost` to grains, J/m², on the
    same ways at the same speeds: least squares of ln. Neither is less than a thousandth."""

    def log_errors(logs):
        return np.log(energy_by_law(work, np.exp(logs)) / lost)

    return np.exp(least_squares(log_errors, np.zeros(2), bounds=(-LEAST, LEAST)).x)


def cross_validate(lost: Float[np.ndarray, " k"], work: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, " k"]:
    """ln of what each sole lost over what the law with factors from all others takes."""
    others = [np.arange(len(lost)) != i for i in range(len(lost))]
    return np.array(
        [
            np.log(lost[i] / energy_by_law(work[i], fit_factors(lost[rest], work[rest])))
            for i, rest in enumerate(others)
        ]
    )


def read(path: Path = TABLE) -> Calibration:
    """The calibration of a table. **Raises:** ValueError for a file that is none."""
    try:
        table = json.loads(read_text(path))
        if table["unknowns"] != list(UNKNOWNS):
            raise ValueError(f"its unknowns are {table['unknowns']}, not {list(UNKNOWNS)}")
        points, factors = np.array(table["points"], float), table["factors"]
        ends = points.min(axis=0), points.max(axis=0)
        return Calibration(factors["bearing"], factors["inertia"], table["sigma"]["total"], *ends)
    except (OSError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} is no table of `difsim foot --stage calibrate`: {error!r}") from error
