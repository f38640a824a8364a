"""The state and its tangents as rows of one solve, so that they share the steps and the error control.

The steps of an adaptive solve are chosen for the state alone, so that a tangent that is propagated through them is
only as accurate as these steps allow. A tangent that is a row of the solve is under the same error control as the
state. The rule of a single tangent solves (y, ẏ) together. `jacfwd` batches that rule over the tangents with `vmap`;
`call_for_all` turns the batch into rows of one solve, [y, ẏ₁ ... ẏ_p], instead of p solves that each repeat y.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from difsim import safe
from difsim.dynamics import AbstractModel
from difsim.stepping.derivatives import without_derivative
from difsim.stepping.tangents import call_for_all
from difsim.typing import Scalar


class Scales(eqx.Module):
    """The map between the state of a model and numbers [n] of size 1: state = `origin` + numbers × `unit`, all [n]."""

    origin: Float[Array, "n"]
    unit: Float[Array, "n"]
    unravel: Callable = eqx.field(static=True)

    @property
    def rounding(self) -> Scalar:
        """The rounding error of a position, m."""
        return jnp.finfo(self.unit.dtype).eps * (1 + jnp.max(jnp.abs(self.origin)))

    def state(self, numbers: Array) -> Any:
        return self.unravel(self.origin + numbers * self.unit)

    def numbers(self, state: Any) -> Array:
        return (ravel_pytree(state)[0] - self.origin) / self.unit


def scales_of(model: AbstractModel, t: Scalar, state: Any) -> Scales:
    """The scales of a motion that starts at `t` s with `state`: units, which have no derivative by any of them."""
    flat, unravel = ravel_pytree(state)
    flat = jnp.asarray(flat, flat.dtype)  # the state PointState((0, 0, 1)) would be weakly typed
    model, t, state = without_derivative((model, t, state))
    origin, unit = (ravel_pytree(x)[0].astype(flat.dtype) for x in model.scales(t, state))
    return Scales(origin, unit, unravel)


class Variational(eqx.Module):
    """A model that acts on rows z [1 + p, n]: its flat state in `scales`, and p tangents of that state.

    `moved`, the arrays of the model that have tangents; `t_moved`, these tangents, with a leading axis of p;
    `still`, the rest of the model.
    """

    still: Any
    moved: Any
    t_moved: Any
    scales: "Scales"

    @property
    def model(self) -> Any:
        return eqx.combine(self.moved, self.still)

    def state(self, z: Array) -> Any:
        """The state in the structure of the model."""
        return self.scales.state(z[0])

    @eqx.filter_jit  # diffrax would trace it a dozen times, for its steps, rules and shapes
    def field(self, t: Scalar, z: Array) -> Array:
        """The rate of the rows. **Arguments:** `t`, s; `z` [1 + p, n]. **Returns:** dz/dt [1 + p, n], 1/s."""
        if len(z) == 1:
            return self._rate(t, z[0], self.moved)[None]
        dy, linear = jax.linearize(lambda y, moved: self._rate(t, y, moved), z[0], self.moved)
        # The barrier keeps XLA from computing the roots and exponentials of the field again for each tangent, and
        # tangents along the last axis fill its vector registers. Together these make it three times faster.
        linear = jax.lax.optimization_barrier(linear)
        last = jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), (z[1:], self.t_moved))
        return jnp.concatenate([dy[None], jax.vmap(linear, in_axes=-1, out_axes=0)(*last)])

    def find_landing(
        self, t: Scalar, z: Array, function: Callable, there: Bool[Array, ""]
    ) -> tuple[Scalar, Array, Float[Array, "p"]]:
        """Find the time at which a function of the solution is zero, by two Newton steps along the rate.

        The second step is at the level of rounding. The two make the time an implicit function, for derivatives
        that are taken through the steps.

        **Arguments:** `t`, s, near that time; `z` [1 + p, n]; `function(model, t, state)`; whether such a time is
        `there`.
        **Returns:** the time, s; the rows at that time; the tangents [p] of the time, s. If none is there, `t` and
        `z` unchanged, and tangents of zero.
        """

        def evaluate(t, y, moved):
            return function(eqx.combine(moved, self.still), t, self.scales.state(y))

        def newton(before, _):
            t, z = before
            rate = self.field(t, z)
            value, slope = jax.jvp(lambda t, y: evaluate(t, y, self.moved), (t, z[0]), (jnp.ones_like(t), rate[0]))
            # Where no root is near, a step could lead to 1e20 s from here, and the derivative there be NaN.
            slope = jnp.where(there, slope, 0.0)
            # No derivative of the slope is needed: the second step corrects what the first lacks of the time's.
            late = safe.divide(value, jax.lax.stop_gradient(slope))
            return (t - late, z - late * rate), slope

        (t, z), slopes = jax.lax.scan(newton, (t, z), length=2)  # one copy of the field for both
        slope = slopes[-1]
        if len(z) == 1:
            return t, z, jnp.zeros(0, t.dtype)
        change = jax.vmap(jax.linearize(lambda y, moved: evaluate(t, y, moved), z[0], self.moved)[1])(
            z[1:], self.t_moved
        )
        return t, z, -safe.divide(change, jnp.broadcast_to(slope, change.shape))

    def slope(self, t: Scalar, z: Array, function: Callable) -> Scalar:
        """The rate of a function along the solution.

        **Arguments:** `t`, s; `z` [1 + p, n]; `function(model, t, state)`. **Returns:** its total time derivative.
        """
        model = eqx.combine(self.moved, self.still)
        at = lambda t, y: function(model, t, self.scales.state(y))  # noqa: E731
        return jax.jvp(at, (t, z[0]), (jnp.ones_like(t), self._rate(t, z[0], self.moved)))[1]

    def shift_tangents(self, t: Scalar, z: Array, shift: Float[Array, "p"]) -> Array:
        """Turn the tangents at a fixed time into tangents at a time that has tangents itself.

        **Arguments:** `t`, s; `z` [1 + p, n]; `shift` [p], the tangents of the time, s. **Returns:** the rows.
        """
        if len(z) == 1:
            return z
        rate = self._rate(t, z[0], self.moved)
        return z.at[1:].add(shift[:, None] * rate[None])

    def apply_impact(self, t: Scalar, z: Array, shift: Float[Array, "p"]) -> Array:
        """The rows after the impact of the model.

        **Arguments:** `t`, the time of the impact, s; `z` [1 + p, n], just before; `shift` [p], the tangents of the
        time, s. **Returns:** the rows just after.
        """

        def impact(model, t, y):
            return self.scales.numbers(model.impact(t, self.scales.state(y)))

        y, tangents = self._push_forward(impact, t, self.shift_tangents(t, z, shift), shift)
        return self.shift_tangents(t, jnp.concatenate([y[None], tangents]), -shift)

    def _rate(self, t: Scalar, y: Array, moved: Any) -> Array:
        model = eqx.combine(moved, self.still)
        return ravel_pytree(model.vector_field(t, self.scales.state(y)))[0] / self.scales.unit

    def _push_forward(
        self, function: Callable, t: Scalar, z: Array, shift: Float[Array, "p"]
    ) -> tuple[Array, Array]:
        """The value of `function(model, t, y)` and its tangents [p, ...]; `shift`, the tangents of the time, s."""
        at = lambda t, y, moved: function(eqx.combine(moved, self.still), t, y)  # noqa: E731
        if len(z) == 1:
            value = at(t, z[0], self.moved)
            return value, jnp.zeros((0, *value.shape), value.dtype)
        value, linear = jax.linearize(at, t, z[0], self.moved)
        return value, jax.vmap(linear)(shift, z[1:], self.t_moved)


def build_plain(model: AbstractModel, scales: Scales) -> Variational:
    """The model without tangents, for values and for derivatives that are taken through the steps."""
    nothing = jax.tree.map(lambda _: None, model)
    return Variational(model, nothing, nothing, scales)


def forward(run: Callable, given: Any, state: Array, times: Array) -> tuple[Array, Array, Any]:
    """Run a solve whose forward derivatives are rows of it.

    **Arguments:**

    * `run(rows, extra, z, times, shifts)` solves from `z` [1 + p, n], with the tangents `shifts` [p, T] of the
      times, or None where they have none. It returns the states [T, 1 + p, n], their times [T], the tangents [p, T]
      of these times, and anything without a derivative. The tangents of the states include the change of the times.
    * `given`: the model, its scales, and `extra`, anything else that `run` needs and `jit` may trace, such as
      tolerances. A custom rule must not close over such values.
    * `state` [n], in these scales.
    * `times` [T], the requested times, s.

    **Returns:** the states [T, n], their times [T] and the rest.
    """

    @eqx.filter_custom_jvp
    def flow(given, state, times):
        model, scales, extra = given
        states, now, _, rest = run(build_plain(model, scales), extra, state[None], times, None)
        return states[:, 0], now, rest

    @flow.def_jvp
    def flow_jvp(primals, tangents):
        (model, *others), state, times = primals
        t_model = tangents[0][0]
        t_state, t_times = (
            jnp.zeros_like(x) if t is None else t for x, t in zip(primals[1:], tangents[1:], strict=True)
        )
        moving = tangents[2] is not None
        moved = jax.tree.map(lambda t, x: None if t is None else x, t_model, model, is_leaf=_is_none)
        still = jax.tree.map(lambda t, x: x if t is None else None, t_model, model, is_leaf=_is_none)
        still_arrays, still_static = eqx.partition((still, others), eqx.is_array)

        def rows(given, tangents):
            """One solve for all tangents, which have a leading axis of p."""
            moved, still_arrays, state, times = given
            t_moved, t_state, t_times = tangents
            still, (scales, extra) = eqx.combine(still_arrays, still_static)
            size = relative_size((moved, state), (t_moved, t_state))
            unit = jnp.where(size > 0, size, 1.0)
            t_moved, t_state, t_times = jax.tree.map(
                lambda t: t / unit.reshape((-1,) + (1,) * (t.ndim - 1)), (t_moved, t_state, t_times)
            )
            system = Variational(still, moved, t_moved, scales)
            z = jnp.concatenate([state[None], t_state])
            z = system.shift_tangents(times[0], z, -t_times[:, 0]) if moving else z
            states, now, shifts, rest = run(system, extra, z, times, t_times if moving else None)
            t_states = jnp.moveaxis(states[:, 1:], 1, 0) * unit[:, None, None]
            return (states[:, 0], now, rest), (t_states, shifts * unit[:, None])

        out, moves = call_for_all(rows, (moved, still_arrays, state, times), (t_model, t_state, t_times))
        return out, (*moves, jax.tree.map(lambda _: None, out[2]))

    return flow(given, state, times)


def _is_none(x: Any) -> bool:
    return x is None


def scale_of(x: Array) -> Array:
    """The larger of 1 and the largest |x| of an array."""
    return jnp.maximum(1.0, jnp.max(jnp.abs(x)))


def relative_size(primals: Any, tangents: Any, size: Callable[[Array], Array] = scale_of) -> Array:
    """The largest relative change max |t|/size(x) that each tangent makes in any array.

    Divided by it, a tangent d/dE with E in Pa is as accurate as d/d ln E. An array that is small or zero has the
    size 1, since its own size says nothing about the effect of its change.

    **Arguments:** `primals`, arrays x in any structure; `tangents`, in the same structure, with a leading axis of p;
    `size`, a function of an array. **Returns:** the changes [p].
    """
    sizes = [
        jnp.max(jnp.abs(t.reshape(t.shape[0], -1)), axis=1) / size(x)
        for x, t in zip(jax.tree.leaves(primals), jax.tree.leaves(tangents), strict=True)
        if x.size > 0
    ]
    return jnp.max(jnp.stack(sizes), axis=0)
