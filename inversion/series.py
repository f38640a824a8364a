"""Time series as data: readings of a sensor at its own times, compared with a solution at times of its own."""

import inspect
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.checks import host_numbers, numbers
from difsim.typing import as_float, describe

from .noise.independent import Normal
from .noise.law import AbstractNoise, Compared
from .observe import AbstractObservation, Observation
from .reading import read_columns
from .signals import interpolate, low_pass

COLUMNS = ("time", "value", "sigma")
ROUNDED = 0.01  # of a step of time, which an interpolation still takes as the same signal


class Series(AbstractObservation):
    """A time series that a sensor measured: `predict` returns a pair of arrays (times, values) for it.

    The times are those of the solution, increasing, and need not be those of the data: values between them are
    interpolated by cubics. The sensor reads bias + gain u(t - delay) of the signal u, after a filter of first order
    if it has a bandwidth (half the power at that frequency). Each of the four is a known number, or the name of a
    parameter of the problem. A reading that the solution does not reach makes the simulation a failed one.

    **Arguments:** `times` [k], s, increasing; `values` [k] in `unit`: NaN where there is a gap, which is left out;
    `sigma`: scalar or [k], in `unit`; `delay`, s; `gain`; `bias`, in `unit`; `bandwidth`, Hz: None for a sensor that is
    faster than the signal; `noise`: the law of the errors (`inversion.noise`), by default normal; `source`.
    **Raises:** ValueError for shapes that do not match, times that do not increase or are not finite, no values but
    gaps, sigma that is not positive and finite where there is a value, and numbers of the sensor that are not finite.
    """

    times: Float[Array, " k"]
    observed: Observation
    noise: AbstractNoise
    sensor: dict[str, Array | str]
    gaps: int = eqx.field(static=True)

    def __init__(
        self,
        times: Any,
        values: Any,
        sigma: Any,
        unit: str = "",
        source: str = "",
        *,
        delay: Any = 0.0,
        gain: Any = 1.0,
        bias: Any = 0.0,
        bandwidth: Any = None,
        noise: AbstractNoise | None = None,
    ):
        times, values, sigma = _check(
            *(
                host_numbers(f"Series: {name}", x, is_finite=False)
                for name, x in (("times", times), ("values", values), ("sigma", sigma))
            )
        )
        there = ~np.isnan(values)
        self.times, self.gaps = jnp.asarray(times[there]), int(np.sum(~there))
        # In single precision a time far from t = 0 is rounded: 4.7e8 s, J2000 to 2014, to 32 s.
        lost = np.abs(times.astype(self.times.dtype) - times).max()
        if lost > ROUNDED * np.diff(times).min(initial=np.inf):
            raise ValueError(
                f"Series: times up to {times[-1]:g} s are rounded by {lost:.2g} s, much of their steps: count them "
                "from an epoch that is near, or use double precision, `difsim.configure()`"
            )
        law = noise or Normal()
        self.noise = law.at(self.times)
        self.observed = Observation(values[there], sigma[there], unit, source, noise=self.noise)
        sensor = {"delay": delay, "gain": gain, "bias": bias, "bandwidth": bandwidth}
        self.sensor = {
            k: _check_number(k, given) for k, given in sensor.items() if (k, given) != ("bandwidth", None)
        }

    @classmethod
    def read(
        cls,
        source: Any,
        columns: Sequence[str] = COLUMNS,
        sigma: Any = None,
        epoch: Any = None,
        **options: Any,
    ) -> "Series":
        """A series from a CSV file, or from an object of pandas or xarray.

        **Arguments:** `source`: path of a CSV file with a header (what follows a # is left out), a pandas DataFrame or
        Series, or an xarray Dataset or DataArray of one dimension; `columns`: names of time, value and sigma in it (the
        index of a pandas object and a coordinate of an xarray one count); `sigma`: the standard deviation, where
        there is no such column; `epoch`: the date of t = 0, where times are dates; both are of ISO 8601 and in UTC, and
        leap seconds count; `options` of `Series`.
        **Returns:** Series.
        **Raises:** ValueError for a column that is missing, there twice or not of numbers, rows of more or fewer fields
        than the header, units that differ, dates without an epoch or in another form, and as `Series`.
        """
        columns = _names(columns, count=3 if sigma is None else 2)
        known = set(inspect.signature(cls).parameters) - {"times", "values", "sigma"}
        if unknown := sorted(options.keys() - known):
            raise ValueError(f"Series.read: {unknown} are no arguments of Series: give those of {sorted(known)}")
        try:
            times, values, *found = read_columns(source, columns, epoch, options.get("unit", ""))
            return cls(times, values, found[0] if sigma is None else sigma, **options)
        except (ValueError, OverflowError) as error:
            where = f"{source}: " if isinstance(source, str | PathLike) else ""
            raise ValueError(f"Series.read: {where}{error}") from None

    @property
    def size(self) -> int:
        return self.observed.size

    @property
    def rows(self) -> int:
        return self.observed.rows

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(x for x in self.sensor.values() if isinstance(x, str)) + self.observed.parameters

    @property
    def least_misfit(self) -> float:
        return self.observed.least_misfit

    def compare(self, prediction: Any, p: Mapping[str, Array]) -> Compared:
        return self.observed.compare(self.readings(prediction, p), p)

    def scores(self, prediction: Any, p: Mapping[str, Array]) -> Float[Array, " size"]:
        return self.observed.scores(self.readings(prediction, p), p)

    def readings(self, prediction: Any, p: Mapping[str, Any]) -> Float[Array, " k"]:
        """The readings of the sensor at the times of the data; NaN where the solution does not reach.

        **Arguments:** `prediction`: increasing times [n], s, and values [n]; `p`, the parameters.
        **Returns:** readings [k].
        **Raises:** ValueError for anything but a pair of arrays of one length, two or more.
        """
        if not isinstance(prediction, tuple | list) or len(prediction) != 2:
            raise ValueError("a Series is compared with a pair (times, values): return both from `predict`")
        times, values = (numbers("the pair (times, values)", x, is_finite=False) for x in prediction)
        if times.ndim != 1 or times.shape != values.shape or times.size < 2:
            raise ValueError(
                f"predicted {times.shape} times and {values.shape} values: return two or more, one value for each time"
            )
        known = {name: as_float(p[x]) if isinstance(x, str) else x for name, x in self.sensor.items()}
        if "bandwidth" in known:
            values = low_pass(times, values, known["bandwidth"])
        return known["bias"] + known["gain"] * interpolate(self.times - known["delay"], times, values)


def _names(columns: Any, count: int) -> tuple[str, ...]:
    """The names of so many columns of a table, the first of which are time and value."""
    what = "time, value and sigma, or time and value with sigma=..."
    if not isinstance(columns, tuple | list) or not all(isinstance(name, str) for name in columns):
        raise ValueError(f"Series.read: columns: got {describe(columns)}: give a tuple of texts, {what}")
    if len(columns) < count or (len(columns) > count and tuple(columns) != COLUMNS):
        raise ValueError(f"Series.read: columns: got {list(columns)}: give the names of {what}")
    return tuple(columns[:count])


def _check_number(name: str, given: Any) -> Array | str:
    if isinstance(given, str):
        return given
    number = numbers(f"Series: {name}", given, is_finite=False)
    if number.ndim or not np.isfinite(number) or (name == "bandwidth" and number <= 0):
        raise ValueError(
            f"Series: {name} = {given} must be one finite number (a bandwidth > 0), or a parameter's name"
        )
    return number


def _check(times: np.ndarray, values: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if times.ndim != 1 or times.shape != values.shape:
        raise ValueError(f"Series: {times.shape} times and {values.shape} values: give one value for each time")
    if sigma.shape not in ((), times.shape):
        raise ValueError(f"Series: sigma has shape {sigma.shape}, values {values.shape}: they must match")
    if not np.isfinite(times).all():
        raise ValueError(f"Series: times of rows {_rows(~np.isfinite(times))} are not finite: remove the rows")
    if (back := np.append(False, np.diff(times) <= 0)).any():
        raise ValueError(f"Series: times do not increase at rows {_rows(back)}: sort them, and leave none twice")
    there = ~np.isnan(values)
    if not there.any():
        raise ValueError(f"Series: none of {values.size} rows has a value: leave the series out")
    sigma = np.broadcast_to(sigma, times.shape)
    if (wrong := there & ~(np.isfinite(sigma) & (sigma > 0))).any():
        raise ValueError(
            f"Series: sigma of rows {_rows(wrong)} is not positive and finite: a row without weight is a gap, give "
            "it the value NaN"
        )
    return times, values, sigma


def _rows(wrong: np.ndarray) -> str:
    rows = np.flatnonzero(wrong)
    return f"{rows[:5].tolist()}{' ...' if rows.size > 5 else ''}"
