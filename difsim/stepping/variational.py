"""What a solve steps: the state, and as further rows its tangents, so that they share the steps and their error.

A tangent that is taken through the steps of an adaptive solve is right as far as the steps suit it, and they were
chosen for the state alone. As a row of the solve it is under the same error control as the state. The rule of a
single tangent solves (y, ẏ) together. `jacfwd` batches that rule over the tangents with `vmap`; a `custom_vmap`
turns the batch into rows of one solve, [y, ẏ₁ ... ẏ_p], instead of p solves in lock-step that each repeat y.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from difsim import safe
from difsim.dynamics import AbstractModel
from difsim.typing import Scalar


class Scales(eqx.Module):
    """How a model's state becomes numbers [n] of size 1: from `origin` [n] on, in units of `unit` [n]."""

    origin: Float[Array, "n"]
    unit: Float[Array, "n"]
    unravel: Callable = eqx.field(static=True)

    @property
    def rounding(self) -> Scalar:
        """The rounding of a place, in m."""
        return jnp.finfo(self.unit.dtype).eps * (1 + jnp.max(jnp.abs(self.origin)))

    def state(self, numbers: Array) -> Any:
        return self.unravel(self.origin + numbers * self.unit)

    def numbers(self, state: Any) -> Array:
        return (ravel_pytree(state)[0] - self.origin) / self.unit


def scales_of(model: AbstractModel, t: Scalar, state: Any) -> Scales:
    """The scales of a motion that starts with `state`, without derivatives."""
    flat, unravel = ravel_pytree(state)
    flat = jnp.asarray(flat, flat.dtype)  # not weakly typed, as PointState((0, 0, 1)) would be
    origin, unit = (
        jax.lax.stop_gradient(ravel_pytree(x)[0].astype(flat.dtype))
        for x in model.scales(t, jax.lax.stop_gradient(state))
    )
    return Scales(origin, unit, unravel)


class Variational(eqx.Module):
    """A model over rows z [1 + p, n]: its flat state from `origin` on in units of `unit`, and p tangents of it.

    `moved`: the arrays of the model that have tangents, `t_moved`, with a leading axis of p; `still`: the rest.
    """

    still: Any
    moved: Any
    t_moved: Any
    scales: "Scales"

    @property
    def model(self) -> AbstractModel:
        return eqx.combine(self.moved, self.still)

    def state(self, z: Array) -> Any:
        """The model's own state."""
        return self.scales.state(z[0])

    @eqx.filter_jit  # diffrax traces it a dozen times, for its steps, rules and shapes: once is enough
    def field(self, t: Scalar, z: Array) -> Array:
        """dz/dt."""
        if len(z) == 1:
            return self._rate(t, z[0], self.moved)[None]
        dy, linear = jax.linearize(lambda y, moved: self._rate(t, y, moved), z[0], self.moved)
        # The barrier keeps XLA from computing the field's own roots and exponentials again for each tangent, and
        # tangents along the last axis fill its vectors: together three times faster.
        linear = jax.lax.optimization_barrier(linear)
        last = jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), (z[1:], self.t_moved))
        return jnp.concatenate([dy[None], jax.vmap(linear, in_axes=-1, out_axes=0)(*last)])

    def landed(self, t: Scalar, z: Array, function: Callable) -> tuple[Scalar, Array, Float[Array, "p"]]:
        """The time and rows where `function(model, t, state)` is zero, and how that time moves with each tangent,
        s.

        `t` is near that time. Two steps of Newton's along the rate, of which the second is all but nothing, give
        it to rounding, and make it an implicit function for derivatives that are taken through the steps.
        """

        def at(t, y, moved):
            return function(eqx.combine(moved, self.still), t, self.scales.state(y))

        for _ in range(2):
            rate = self.field(t, z)
            value, slope = jax.jvp(lambda t, y: at(t, y, self.moved), (t, z[0]), (jnp.ones_like(t), rate[0]))
            late = safe.divide(value, slope)
            t, z = t - late, z - late * rate
        if len(z) == 1:
            return t, z, jnp.zeros(0, t.dtype)
        change = jax.vmap(jax.linearize(lambda y, moved: at(t, y, moved), z[0], self.moved)[1])(
            z[1:], self.t_moved
        )
        return t, z, -safe.divide(change, jnp.broadcast_to(slope, change.shape))

    def slope(self, t: Scalar, z: Array, function: Callable) -> Scalar:
        """The rate of `function(model, t, state)` along the solution."""
        model = eqx.combine(self.moved, self.still)
        at = lambda t, y: function(model, t, self.scales.state(y))  # noqa: E731
        return jax.jvp(at, (t, z[0]), (jnp.ones_like(t), self._rate(t, z[0], self.moved)))[1]

    def carried(self, t: Scalar, z: Array, shift: Float[Array, "p"]) -> Array:
        """`z` with the tangents of the state at a time that moves by `shift`, no longer at a fixed one."""
        rate = self._rate(t, z[0], self.moved)
        return z.at[1:].add(shift[:, None] * rate[None])

    def jumped(self, t: Scalar, z: Array, shift: Float[Array, "p"]) -> Array:
        """`z` after the model's impact at `t`, a time that moves by `shift` with each tangent."""

        def impact(model, t, y):
            return self.scales.numbers(model.impact(t, self.scales.state(y)))

        y, tangents = self._pushed(impact, t, self.carried(t, z, shift), shift)
        return self.carried(t, jnp.concatenate([y[None], tangents]), -shift)

    def _rate(self, t: Scalar, y: Array, moved: Any) -> Array:
        model = eqx.combine(moved, self.still)
        return ravel_pytree(model.vector_field(t, self.scales.state(y)))[0] / self.scales.unit

    def _pushed(self, function: Callable, t: Scalar, z: Array, shift: Array | None = None) -> tuple[Array, Array]:
        """`function(model, t, y)` and its tangents [p, ...], with the time moving by `shift` (0)."""
        shift = jnp.zeros(len(z) - 1, t.dtype) if shift is None else shift
        at = lambda t, y, moved: function(eqx.combine(moved, self.still), t, y)  # noqa: E731
        if len(z) == 1:
            value = at(t, z[0], self.moved)
            return value, jnp.zeros((0, *value.shape), value.dtype)
        value, linear = jax.linearize(at, t, z[0], self.moved)
        return value, jax.vmap(linear)(shift, z[1:], self.t_moved)


def plain(model: AbstractModel, scales: Scales) -> Variational:
    """The model alone, without tangents: for values, and for derivatives that are taken through the steps."""
    nothing = jax.tree.map(lambda _: None, model)
    return Variational(model, nothing, nothing, scales)


def forward(run: Callable, given: Any, state: Array, times: Array) -> tuple[Array, Array, Any]:
    """Run a solve whose forward derivatives are rows of it.

    **Arguments:** `run(rows, extra, z, times, shifts)` solves from `z` [1 + p, n] and returns `states` [T, 1 + p,
    n], their times [T], the `shifts` [p, T] of these, and whatever else has no derivative; the tangents of the
    states are those at the times that move. `given`: the model, its scales, and what else `run` needs that `jit`
    may trace (`extra`, such as tolerances): a custom rule must not close over that. `state` [n], in these scales;
    `times` [T] wanted, which `shifts` [p, T] moves. **Returns** states [T, n], times and the rest.
    """

    @eqx.filter_custom_jvp
    def flow(given, state, times):
        model, scales, extra = given
        states, now, _, rest = run(plain(model, scales), extra, state[None], times, jnp.zeros((0, *times.shape)))
        return states[:, 0], now, rest

    @flow.def_jvp
    def flow_jvp(primals, tangents):
        (model, *others), state, times = primals
        t_model = tangents[0][0]
        t_state, t_times = (
            jnp.zeros_like(x) if t is None else t for x, t in zip(primals[1:], tangents[1:], strict=True)
        )
        moved = jax.tree.map(lambda t, x: None if t is None else x, t_model, model, is_leaf=_is_none)
        still = jax.tree.map(lambda t, x: x if t is None else None, t_model, model, is_leaf=_is_none)
        still_arrays, still_static = eqx.partition((still, others), eqx.is_array)

        def rows(moved, still_arrays, state, times, t_moved, t_state, t_times):
            """One solve for all tangents: the last three have a leading axis of p."""
            still, (scales, extra) = eqx.combine(still_arrays, still_static)
            size = relative_size((moved, state), (t_moved, t_state))
            unit = jnp.where(size > 0, size, 1.0)
            t_moved, t_state, t_times = jax.tree.map(
                lambda t: t / unit.reshape((-1,) + (1,) * (t.ndim - 1)), (t_moved, t_state, t_times)
            )
            system = Variational(still, moved, t_moved, scales)
            z = system.carried(times[0], jnp.concatenate([state[None], t_state]), -t_times[:, 0])
            states, now, shifts, rest = run(system, extra, z, times, t_times)
            t_states = jnp.moveaxis(states[:, 1:], 1, 0) * unit[:, None, None]
            return (states[:, 0], now, rest), (t_states, shifts * unit[:, None])

        def single(*args):
            out, moves = rows(*args[:4], *jax.tree.map(lambda t: t[None], args[4:]))
            return out, jax.tree.map(lambda t: t[0], moves)

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
            out, moves = rows(*args[:4], *tangents)
            return (out, moves), (jax.tree.map(lambda _: False, out), (True, True))

        out, moves = solve(moved, still_arrays, state, times, t_model, t_state, t_times)
        return out, (*moves, jax.tree.map(lambda _: None, out[2]))

    return flow(given, state, times)


def _is_none(x: Any) -> bool:
    return x is None


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
