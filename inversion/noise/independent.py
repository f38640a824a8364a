"""Independent errors: normal, or Student's t for data with outliers, with a known or a fitted scale."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, gammaln, ndtri
from jaxtyping import Array, Float

from difsim.typing import Scalar, as_float, require

from .law import AbstractNoise, Compared, Quantity, parameter_names, score_rows, whiten


class Normal(AbstractNoise):
    """Normal errors: the stated ones, times a scale.

    **Arguments:** `scale`: a factor of the stated errors, or the name of the parameter that it is. With a stated
    sigma of 1 the scale is the standard deviation itself.
    **Raises:** ValueError unless the scale is positive.
    """

    scale: Quantity

    def __init__(self, scale: Any = 1.0):
        self.scale = Quantity(scale, "Normal: scale")

    @property
    def parameters(self) -> tuple[str, ...]:
        return parameter_names(self.scale)

    @property
    def is_sum_of_squares(self) -> bool:
        return not self.parameters

    def rows(self, count: int) -> int:
        return count * (1 + len(self.parameters))

    def at(self, times: Float[Array, " k"]) -> "Normal":
        return self

    def compare(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Compared:
        z, scale = whiten(d, factor), scale_each(self.scale(p), d)
        r, log = z / scale, jnp.log(scale)
        misfit = jnp.sum(r**2) + 2.0 * jnp.sum(log)
        if not self.parameters:
            return Compared(r, misfit)
        return Compared(
            jnp.concatenate([z / jax.lax.stop_gradient(scale), score_rows(1.0 - r**2, 2.0, log)]), misfit
        )

    def scores(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Float[Array, " k"]:
        return whiten(d, factor) / scale_each(self.scale(p), d)


class StudentT(AbstractNoise):
    """Student's t: errors with outliers, which then have a bounded influence.

    **Arguments:** `dof`: degrees of freedom, known (4 is a common choice; a large number is normal); `scale` as of
    `Normal`: the scale of the distribution, not its standard deviation.
    **Raises:** ValueError unless both are positive.
    **Source:** Lange, Little & Taylor (1989), J. Am. Stat. Assoc. 84, 881, with the information.
    """

    dof: Scalar
    scale: Quantity

    def __init__(self, dof: Any, scale: Any = 1.0):
        self.dof = as_float(dof)
        self.scale = Quantity(scale, "StudentT: scale")
        require(np.isfinite(dof) and dof > 0, f"StudentT: dof = {dof} must be positive: 4 is a common choice")

    @property
    def parameters(self) -> tuple[str, ...]:
        return parameter_names(self.scale)

    @property
    def is_sum_of_squares(self) -> bool:
        return False

    def rows(self, count: int) -> int:
        return count * (1 + len(self.parameters))

    def at(self, times: Float[Array, " k"]) -> "StudentT":
        return self

    def compare(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Compared:
        nu, z, scale = self.dof, whiten(d, factor), scale_each(self.scale(p), d)
        r, log = z / scale, jnp.log(scale)
        slope = (nu + 1.0) * r / (nu + r**2)  # of -ln L by r
        # ln of the normal density over that of t, both at 0.
        lower = 0.5 * jnp.log(nu / 2.0) + gammaln(0.5 * nu) - gammaln(0.5 * (nu + 1.0))
        misfit = jnp.sum((nu + 1.0) * jnp.log1p(r**2 / nu) + 2.0 * log + 2.0 * lower)
        rows = [score_rows(slope, (nu + 1.0) / (nu + 3.0), z / jax.lax.stop_gradient(scale))]
        if self.parameters:
            rows.append(score_rows(1.0 - slope * r, 2.0 * nu / (nu + 3.0), log))
        return Compared(jnp.concatenate(rows), misfit)

    def scores(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Float[Array, " k"]:
        r = whiten(d, factor) / scale_each(self.scale(p), d)
        beyond = 0.5 * betainc(0.5 * self.dof, 0.5, self.dof / (self.dof + r**2))  # probability above |r|
        return -jnp.sign(r) * ndtri(beyond)


def scale_each(scale: Array, d: Array) -> Array:
    """The scale of each of the differences."""
    return jnp.broadcast_to(jnp.ravel(scale), d.shape)
