"""One step of the classical method of Runge and Kutta."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from difsim.typing import Scalar

# For each stage: its place in the step, and its weight.
STAGES = ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6))


def runge_kutta4(
    rate: Callable[[Any], tuple[Any, Any]], y: Any, h: Scalar, unroll: bool = True
) -> tuple[Any, Any]:
    """One step of order 4 of y' = rate(y).

    **Arguments:** `rate(y)`: the rate, of the structure of y, and anything else that is wanted of the last stage,
    which stands where the step ends; `y`; `h`, the step, s; `unroll`: whether the four stages are written out, or
    are a loop, which compiles a long `rate` once. **Returns:** y at the end of the step, and what else `rate`
    gave in the last stage.
    """

    def stage(carry, shares):
        slope, end = carry
        slope, seen = rate(add_scaled(y, slope, shares[0] * h))
        return (slope, add_scaled(end, slope, shares[1] * h)), seen

    still = jax.tree.map(jnp.zeros_like, y)
    stages = jnp.asarray(STAGES, jnp.result_type(h))
    (_, end), seen = jax.lax.scan(stage, (still, y), stages, unroll=len(STAGES) if unroll else 1)
    return end, jax.tree.map(lambda x: x[-1], seen)


def add_scaled(y: Any, rate: Any, h: Scalar) -> Any:
    """y + h rate, leaf by leaf.

    **Arguments:** `y`; `rate`, of the structure of y; `h`, s. **Returns:** the sum, of the structure of y.
    """
    return jax.tree.map(lambda a, b: a + h * b, y, rate)
