"""By what factor grains resist a sole more than the reduced law says: the table of `difsim foot --stage calibrate`
as a smooth function of the unknowns."""

import json
from collections.abc import Mapping
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.typing import Scalar, number, require
from inversion import ResponseSurface, response_surface

TABLE = Path(__file__).resolve().parents[2] / "data" / "sole_in_grains.json"
UNKNOWNS = "thickness", "grain_diameter", "grain_density", "grain_modulus", "friction"
LOGARITHMIC = np.array([False, True, False, True, False])  # lengths of grains and moduli act by their order


class Calibration(eqx.Module):
    """ln of the factor as a `surface` over the unknowns, good to `sigma`; on the edge of its box outside of it."""

    surface: ResponseSurface
    sigma: Scalar = number()

    def __check_init__(self):
        require(self.sigma > 0, f"Calibration: sigma = {self.sigma} must be positive")

    def factor(self, p: Mapping[str, Array], error: Scalar) -> Scalar:
        """Of what the reduced law of the unknowns `p` resists; `error`: by how much the surface's ln is off."""
        at = jnp.clip(coordinates(self._of(p)), self.surface.low, self.surface.high)
        return jnp.exp(self.surface(at)[0] + error)

    def outside(self, p: Mapping[str, Array]) -> list[str]:
        """Which of the unknowns lie outside the box. On the host."""
        at = coordinates(self._of(p))
        out = np.asarray((at < self.surface.low) | (at > self.surface.high))
        return [name for name, off in zip(UNKNOWNS, out, strict=True) if off]

    @staticmethod
    def _of(p: Mapping[str, Array]) -> Float[Array, "5"]:
        return jnp.stack([jnp.asarray(p[name]) for name in UNKNOWNS])


def coordinates(unknowns: Float[Array, "*k 5"]) -> Float[Array, "*k 5"]:
    """Of the surface: the UNKNOWNS, two of them by their logarithm."""
    return jnp.where(LOGARITHMIC, jnp.log(unknowns), unknowns)


def fitted(points: Float[Array, "k 5"], factors: Float[Array, " k"]) -> ResponseSurface:
    """ln of the factors over the unknowns; **raises** as `response_surface`."""
    return response_surface(coordinates(jnp.asarray(points)), jnp.log(jnp.asarray(factors))[:, None])


def read(path: Path = TABLE) -> Calibration:
    """The calibration of a table. **Raises:** ValueError for a file that is none."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        points, factors, sigma = table["points"], table["factor"], table["sigma"]["total"]
        if table["unknowns"] != list(UNKNOWNS):
            raise ValueError(f"its unknowns are {table['unknowns']}, not {list(UNKNOWNS)}")
        return Calibration(fitted(np.array(points, float), np.array(factors, float)), sigma)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no table of `difsim foot --stage calibrate`: {error!r}") from error
