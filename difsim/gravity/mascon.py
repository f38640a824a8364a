"""Mass concentrations: many point masses as one field."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.gravity.field import AbstractField
from difsim.typing import Scalar, Vec3, number, require


class Mascons(AbstractField):
    """Point masses rᵢ, U = Σ GMᵢ/|x - rᵢ|, g = Σ GMᵢ (rᵢ - x)/|x - rᵢ|³.

    A point that lies exactly on a mascon does not feel that mascon. Some 2 ns a mascon for U as for g in
    batches of 16 to 64 points, `jax.lax.map(field.acceleration, points, batch_size=64)`: their distances to
    thousands of mascons stay in the cache of a core.

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
        return _potential(x, self)


@eqx.filter_custom_jvp
def _potential(x: Vec3, mascons: Mascons) -> Scalar:
    return jnp.dot(mascons.GM, _inverse_distance(x, mascons.position))


@_potential.def_jvp
def _(primals, tangents):
    """∂U/∂x = g as one matrix product: five times faster than what autodiff makes of the sum."""
    (x, mascons), (dx, dmascons) = primals, tangents
    U, dU = _potential(x, mascons), jnp.zeros_like(x[0])
    inverse = _inverse_distance(x, mascons.position)
    weights = mascons.GM * inverse**3
    if dx is not None:
        dU += jnp.dot(weights @ mascons.position - jnp.sum(weights) * x, dx)
    if dmascons.GM is not None:
        dU += jnp.dot(inverse, dmascons.GM)
    if dmascons.position is not None:
        dU += jnp.dot(weights, jnp.sum((x[None] - mascons.position) * dmascons.position, axis=1))
    return U, dU


def _inverse_distance(x: Vec3, position: Float[Array, "n 3"]) -> Float[Array, " n"]:
    """1/|x - r| [n], 0 where x = r; coordinate by coordinate, for the loop over mascons to vectorise."""
    a, b, c = (x[i] - position[:, i] for i in range(3))
    return safe.divide(jnp.ones_like(a), safe.sqrt(a * a + b * b + c * c))
