"""A curve by its values and two derivatives at given times, such as an attitude or an orbit from a table."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.checks import host_numbers
from difsim.declarations import quantity, rule
from difsim.typing import Scalar

DEGREE = 5
OUTSIDE = 1e-9  # of the span, by which rounding may leave the table


class Curve(eqx.Module):
    """Polynomials of degree 5 between given times, with two continuous derivatives.

    The error falls as h⁶ with the distance h of the times, that of the second derivative as h⁴. Before the first time
    and after the last one the value is NaN, which ends a run with a status.
    """

    times: Float[Array, " T"] = quantity("s", "times, ascending")
    values: Float[Array, "T n"] = quantity("", "values at the times")
    slopes: Float[Array, "T n"] = quantity("", "first derivatives there, 1/s")
    curvatures: Float[Array, "T n"] = quantity("", "second derivatives there, 1/s²")

    @rule("times have shape {times.shape} and values {values.shape}: give [T] and [T, n], with T > 1")
    def _has_rows(self):
        shapes = {self.values.shape, self.slopes.shape, self.curvatures.shape}
        return len(shapes) == 1 and self.values.shape[:1] == self.times.shape and self.times.size > 1

    @rule("times do not ascend: sort them, and give each once")
    def _ascends(self):
        return jnp.diff(self.times) > 0

    def __call__(self, t: Scalar) -> Float[Array, " n"]:
        """The value [n] at the time `t` s; differentiate it with `jax.jvp`."""
        last = self.times.shape[0] - 2
        i = jnp.clip(jnp.searchsorted(self.times, jax.lax.stop_gradient(t), side="right") - 1, 0, last)
        h = self.times[i + 1] - self.times[i]
        s = (t - self.times[i]) / h
        start, slope, bend = self.values[i], h * self.slopes[i], h**2 * self.curvatures[i]
        # What the parabola at the start misses at the end: in the value, the slope and the curvature.
        a = self.values[i + 1] - start - slope - 0.5 * bend
        b = h * self.slopes[i + 1] - slope - bend
        c = h**2 * self.curvatures[i + 1] - bend
        rest = (10 * a - 4 * b + 0.5 * c) + s * ((-15 * a + 7 * b - c) + s * (6 * a - 3 * b + 0.5 * c))
        slack = OUTSIDE * (self.times[-1] - self.times[0])
        inside = (t >= self.times[0] - slack) & (t <= self.times[-1] + slack)
        return jnp.where(inside, start + s * (slope + s * (0.5 * bend + s * rest)), jnp.nan)

    @classmethod
    def fit(cls, times: Any, values: Any) -> "Curve":
        """On the host: the curve through values, as the spline of degree 5.

        **Arguments:** `times` [T] s, ascending, six at least; `values` [T, n]. **Returns:** the curve.
        **Raises:** `ValueError` for fewer times, those that do not ascend, and numbers that are not finite.
        """
        from scipy.interpolate import make_interp_spline

        times, values = (
            host_numbers("Curve.fit: times", times, "T"),
            host_numbers("Curve.fit: values", values, "T n"),
        )
        if len(times) != len(values) or len(times) <= DEGREE or (np.diff(times) <= 0).any():
            raise ValueError(
                f"Curve.fit: {len(times)} times and {len(values)} values: give as many of each, more than {DEGREE}, "
                "with ascending times"
            )
        spline = make_interp_spline(times, values, DEGREE)
        return cls(times, *(spline(times, order) for order in range(3)))
