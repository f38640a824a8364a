"""Loops that XLA must not compile as one function.

`difsim.configure` has it compile an adaptive solve as one function. LLVM's time grows faster than the length of a
function, so a loop that is long and turns seldom compiles sooner as a list of operations.
"""

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir


def apart(x: jax.Array) -> jax.Array:
    """`x`, by way of a sort: no loop around it is compiled as one function, only the loops within that.

    Its derivatives go by a sort as well, so that the same holds for the loop that goes back in reverse mode.
    """
    return _apart.bind(x)


def _sorted(x: jax.Array) -> jax.Array:
    return jnp.sort(jnp.stack([x, x]), axis=0)[0]


_apart = Primitive("apart")
_apart.def_impl(jax.jit(_sorted))
_apart.def_abstract_eval(lambda x: x)
ad.deflinear2(_apart, lambda cotangent, _: [_apart.bind(cotangent)])
batching.defvectorized(_apart)
mlir.register_lowering(_apart, mlir.lower_fun(_sorted, multiple_results=False))
