"""Loops that XLA must not compile as one function.

`difsim.configure` has it compile an adaptive solve as one function. LLVM's time grows faster than the length of a
function, so a loop that is long and turns seldom compiles sooner as a list of operations.
"""

import jax
import jax.numpy as jnp

from difsim.particles.transposed import linear


def prevent_fusion(x: jax.Array) -> jax.Array:
    """`x`, by way of a sort: no loop around it is compiled as one function, only the loops within that.

    Its derivatives go by a sort as well, so that the same holds for the loop that goes back in reverse mode.
    """
    return linear(_sort_copy, _sort_copy, (), x)


def _sort_copy(_, x: jax.Array) -> jax.Array:
    return jnp.sort(jnp.stack([x, x]), axis=0)[0]
