"""Mass concentrations: many point masses as one field."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.gravity.field import AbstractField
from difsim.typing import Scalar, Vec3, number, require


class Mascons(AbstractField):
    """Point masses rᵢ, U = Σ GMᵢ/|x - rᵢ|.

    A point that lies exactly on a mascon does not feel that mascon.

    **Arguments:** `GM` [n], m³/s², none negative; `position` [n,3], m.
    **Raises:** `ValueError` for a negative GM or unequal numbers of masses and positions.
    """

    GM: Float[Array, " n"] = number()
    position: Float[Array, "n 3"] = number()

    def __check_init__(self):
        require(
            self.GM.ndim == 1 and self.position.shape == (*self.GM.shape, 3),
            f"Mascons: GM {self.GM.shape} and position {self.position.shape} must be [n] and [n,3].",
        )
        require(self.GM >= 0, "Mascons: a GM is negative; masses attract, give GM ≥ 0.")

    def potential(self, x: Vec3) -> Scalar:
        return jnp.sum(safe.divide(self.GM, safe.norm(x[None] - self.position)))
