"""Forward sensitivities as the derivative rule of a solve: `jax.jacfwd` makes one augmented solve.

The rule of a single tangent solves (y, ẏ) together. `jacfwd` batches that rule over the tangents with `vmap`;
a `custom_vmap` turns this batch into rows of one solve, [y, ẏ₁ ... ẏ_p], which share their steps, instead of p
solves in lock-step that each repeat y.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array


def _is_none(x: Any) -> bool:
    return x is None


def forward_sensitivities(field: Callable, run: Callable, model: Any, state: Array, times: Array) -> Any:
    """Run a solve whose forward derivatives are augmented states.

    **Arguments:** `field(t, y, model)` over the flat state [n]; `run(field, model_of, args, y0, times)` solves
    any field over a state [n] or rows [1 + p, n] (with `model_of(args)` the model) and returns a module with
    `.states`; `model`, `state` and `times` of the solve.
    """

    @eqx.filter_custom_jvp
    def flow(model, state, times):
        return run(field, lambda args: args, model, state, times)

    @flow.def_jvp
    def flow_jvp(primals, tangents):
        model, state, times = primals
        t_model, t_state, t_times = tangents
        if t_times is not None:
            raise ValueError("simulate: a solution is not differentiated with respect to its times")
        if t_state is None:
            t_state = jnp.zeros_like(state)
        moved = jax.tree.map(lambda t, x: None if t is None else x, t_model, model, is_leaf=_is_none)
        still = jax.tree.map(lambda t, x: x if t is None else None, t_model, model, is_leaf=_is_none)
        still_arrays, still_static = eqx.partition(still, eqx.is_array)

        def rows(moved, still_arrays, state, times, t_moved, t_state):
            """One solve for all tangents: `t_moved` and `t_state` have a leading axis of p."""
            still = eqx.combine(still_arrays, still_static)
            size = relative_size((moved, state), (t_moved, t_state))
            scale = 1 / jnp.where(size > 0, size, 1.0)
            t_moved, t_state = jax.tree.map(
                lambda t: t * scale.reshape((-1,) + (1,) * (t.ndim - 1)), (t_moved, t_state)
            )

            @eqx.filter_jit  # as in methods.flat_field
            def augmented(t, z, args):
                still, moved, t_moved = args
                at = lambda y, moved: field(t, y, eqx.combine(moved, still))  # noqa: E731
                dy, linear = jax.linearize(at, z[0], moved)
                # The barrier keeps XLA from computing the field's own roots and exponentials again for each
                # tangent, and tangents along the last axis fill its vectors: together three times faster.
                linear = jax.lax.optimization_barrier(linear)
                last = jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), (z[1:], t_moved))
                return jnp.concatenate([dy[None], jax.vmap(linear, in_axes=-1, out_axes=0)(*last)])

            result = run(
                augmented,
                lambda args: eqx.combine(args[1], args[0]),
                (still, moved, t_moved),
                jnp.concatenate([state[None], t_state]),
                times,
            )
            t_states = jnp.moveaxis(result.states[:, 1:], 1, 0) / scale[:, None, None]
            return eqx.tree_at(lambda r: r.states, result, result.states[:, 0]), t_states

        def single(moved, still_arrays, state, times, t_moved, t_state):
            t_moved, t_state = jax.tree.map(lambda t: t[None], (t_moved, t_state))
            result, t_states = rows(moved, still_arrays, state, times, t_moved, t_state)
            return result, t_states[0]

        solve = jax.custom_batching.custom_vmap(single)

        @solve.def_vmap
        def solve_batch(size, batched, *args):
            batched = tuple(batched)
            if any(jax.tree.leaves(batched[:4])):
                out = jax.vmap(single, in_axes=jax.tree.map(lambda b: 0 if b else None, batched))(*args)
                return out, jax.tree.map(lambda _: True, out)
            tangents = jax.tree.map(
                lambda b, t: t if b else jnp.broadcast_to(t, (size, *t.shape)), batched[4:], args[4:]
            )
            result, t_states = rows(*args[:4], *tangents)
            return (result, t_states), (jax.tree.map(lambda _: False, result), True)

        result, t_states = solve(moved, still_arrays, state, times, t_model, t_state)
        zeros = jax.tree.map(lambda _: None, result)
        return result, eqx.tree_at(lambda r: r.states, zeros, t_states, is_leaf=_is_none)

    return flow(model, state, times)


def at_least_one(x: Array) -> Array:
    """max(1, |x|) over an array."""
    return jnp.maximum(1.0, jnp.max(jnp.abs(x)))


def relative_size(primals: Any, tangents: Any, size: Callable[[Array], Array] = at_least_one) -> Array:
    """[p] the largest relative change that each tangent makes in any array: max |t|/size(x).

    It makes d/dE with E in Pa as accurate as d/d ln E. An array that is small or zero counts as 1, since its
    own size says nothing about what a change of it does.
    """
    sizes = [
        jnp.max(jnp.abs(t.reshape(t.shape[0], -1)), axis=1) / size(x)
        for x, t in zip(jax.tree.leaves(primals), jax.tree.leaves(tangents), strict=True)
        if x.size > 0
    ]
    return jnp.max(jnp.stack(sizes), axis=0)
