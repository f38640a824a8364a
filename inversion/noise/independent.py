"""Independent errors: normal, or Student's t for data with outliers, with a known or a fitted scale."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, gammaln, ndtri
from jaxtyping import Array, Float

from difsim.typing import Scalar, as_float, require

from .law import AbstractNoise, Compared, Quantity, parameter_names, score_rows, whiten


class AbstractScaled(AbstractNoise):
    """Independent errors: the stated ones, times a scale that is known or fitted."""

    scale: eqx.AbstractVar[Quantity]

    @property
    def parameters(self) -> tuple[str, ...]:
        return parameter_names(self.scale)

    def rows(self, count: int) -> int:
        return count * (1 + len(self.parameters))

    def at(self, times: Float[Array, " k"]) -> "AbstractScaled":
        return self

    def standardise(
        self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]
    ) -> tuple[Array, Array, Array]:
        """The differences in units of their error [k], the same with the scale held in derivatives, and ln scale [k].

        **Arguments:** as `compare`. **Returns:** the three.
        """
        z, scale = whiten(d, factor), jnp.broadcast_to(jnp.ravel(self.scale(p)), d.shape)
        return z / scale, z / jax.lax.stop_gradient(scale), jnp.log(scale)


class Normal(AbstractScaled):
    """Normal errors: the stated ones, times a scale.

    **Arguments:** `scale`: a factor of the stated errors, or the name of the parameter that it is. With a stated
    sigma of 1 the scale is the standard deviation itself.
    **Raises:** ValueError unless the scale is positive.
    """

    scale: Quantity

    def __init__(self, scale: Any = 1.0):
        self.scale = Quantity(scale, "Normal: scale")

    @property
    def is_sum_of_squares(self) -> bool:
        return not self.parameters

    def compare(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Compared:
        r, moved, log = self.standardise(d, factor, p)
        misfit = jnp.sum(r**2) + 2.0 * jnp.sum(log)
        rows = [moved, score_rows(1.0 - r**2, 2.0, log)] if self.parameters else [moved]
        return Compared(jnp.concatenate(rows), misfit)

    def scores(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Float[Array, " k"]:
        return self.standardise(d, factor, p)[0]


class StudentT(AbstractScaled):
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
    def is_sum_of_squares(self) -> bool:
        return False

    def compare(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Compared:
        nu, (r, moved, log) = self.dof, self.standardise(d, factor, p)
        slope = (nu + 1.0) * r / (nu + r**2)  # of -ln L by r
        # ln of the normal density over that of t, both at 0.
        lower = 0.5 * jnp.log(nu / 2.0) + gammaln(0.5 * nu) - gammaln(0.5 * (nu + 1.0))
        misfit = jnp.sum((nu + 1.0) * jnp.log1p(r**2 / nu) + 2.0 * log + 2.0 * lower)
        rows = [score_rows(slope, (nu + 1.0) / (nu + 3.0), moved)]
        if self.parameters:
            rows.append(score_rows(1.0 - slope * r, 2.0 * nu / (nu + 3.0), log))
        return Compared(jnp.concatenate(rows), misfit)

    def scores(self, d: Float[Array, " k"], factor: Array, p: Mapping[str, Array]) -> Float[Array, " k"]:
        r, _, _ = self.standardise(d, factor, p)
        beyond = 0.5 * betainc(0.5 * self.dof, 0.5, self.dof / (self.dof + r**2))  # probability above |r|
        return -jnp.sign(r) * ndtri(beyond)
