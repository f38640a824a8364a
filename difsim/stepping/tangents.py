"""One call for all tangents: a function whose `vmap` over tangents is one call with all of them.

`jax.jacfwd` batches the rule of a single tangent by `vmap`. `jax.custom_batching.custom_vmap` would do as well, but it
traces the function for a single tangent first, and a batch throws that away: half of the time to trace a Jacobian. A
primitive of its own learns of the batch at once.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from difsim.stepping.modes import FORWARD, refuse_unknown


class _Rows:
    """A function of flat arrays, those of the tangents with a leading axis of p; and that of a single tangent."""

    def __init__(self, function: Callable, structure: Any, shared: int):
        self.function, self.structure, self.shared = function, structure, shared
        self.results: Any = None  # structures of both, known once it has been traced
        self.single = jax.jit(self._call_one, inline=True)  # abstract evaluation and lowering share one trace

    def call_all(self, *flat: Any) -> tuple[list[Any], list[Any]]:
        """Call the function for all tangents: the results that they share, and those of each."""
        arrays = map(jnp.asarray, flat)  # a number that stands in the program itself comes as a float
        found = self.function(*jax.tree.unflatten(self.structure, arrays))
        (shared, shared_structure), (own, own_structure) = map(jax.tree.flatten, found)
        self.results = shared_structure, own_structure
        return shared, own

    def _call_one(self, *flat: Any) -> list[Any]:
        shared, own = self.call_all(*flat[: self.shared], *(x[None] for x in flat[self.shared :]))
        return [*shared, *(x[0] for x in own)]


def call_for_all(function: Callable, given: Any, tangents: Any) -> tuple[Any, Any]:
    """Call `function(given, tangents)` for a tangent, or under `vmap` once for all of them.

    **Arguments:** `function`, which must close over no traced value, of `given` and of tangents that have a leading
    axis of p; it returns two pytrees of arrays: what all tangents have in common, and what each has, with that leading
    axis; `given`, arrays that the tangents share; `tangents`, arrays without the axis.
    **Returns:** both, without the axis.
    """
    flat, structure = jax.tree.flatten((given, tangents))
    rows = _Rows(function, structure, len(jax.tree.leaves(given)))
    found = _together.bind(*flat, rows=rows)
    shared, own = rows.results
    count = shared.num_leaves
    return jax.tree.unflatten(shared, found[:count]), jax.tree.unflatten(own, found[count:])


_together = Primitive("together")
_together.multiple_results = True
_together.def_impl(lambda *flat, rows: rows.single(*flat))


@_together.def_abstract_eval
def _(*flat, rows):
    return [ShapedArray(x.shape, x.dtype) for x in jax.eval_shape(rows.single, *flat)]


def _batch(flat, axes, *, rows):
    if any(axis is not None for axis in axes[: rows.shared]):
        found = jax.vmap(rows.single, tuple(axes))(*flat)
        return found, [0] * len(found)
    size = next(x.shape[axis] for x, axis in zip(flat, axes, strict=True) if axis is not None)
    tangents = zip(flat[rows.shared :], axes[rows.shared :], strict=True)
    shared, own = rows.call_all(
        *flat[: rows.shared], *(batching.bdim_at_front(x, axis, size) for x, axis in tangents)
    )
    return [*shared, *own], [None] * len(shared) + [0] * len(own)


def _differentiate(primals, tangents, *, rows):
    return jax.jvp(rows.single, primals, tuple(map(ad.instantiate_zeros, tangents)))


refuse_unknown(_together, FORWARD)  # values and tangents are one solve
batching.primitive_batchers[_together] = _batch
ad.primitive_jvps[_together] = _differentiate
mlir.register_lowering(_together, mlir.lower_fun(lambda *flat, rows: rows.single(*flat), multiple_results=True))
