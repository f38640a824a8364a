"""Parameters: their priors, and the coordinates of a search.

Three coordinates of one number: p, physical, in its unit; s, scaled by the prior (a fraction of an interval, or a
number of standard deviations), in which derivatives and information are compared; and x, unbounded, for least
squares. p = physical(s), s = fold(x).
"""

import abc
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.typing import Scalar, number


def _require_finite(what: str, value: Array) -> None:
    if value.ndim != 0 or not np.isfinite(value):
        raise ValueError(f"{what} must be one finite number, got {value}: give each component its own name")


class AbstractParameter(eqx.Module):
    """One number among the arguments of `predict`."""

    unit: eqx.AbstractVar[str]

    @abc.abstractmethod
    def check(self, value: float) -> float:
        """The value, snapped to a discrete one, or a ValueError if the parameter cannot take it."""


class AbstractUnknown(AbstractParameter):
    """An unknown number, with its prior and its coordinates."""

    @abc.abstractmethod
    def physical(self, s: Scalar) -> Scalar:
        """The physical value p at the prior-scaled s."""

    @abc.abstractmethod
    def scaled(self, p: Scalar) -> Scalar:
        """The prior-scaled s at the physical p."""

    @abc.abstractmethod
    def fold(self, x: Scalar) -> Scalar:
        """The prior-scaled s at the unbounded x."""

    @abc.abstractmethod
    def unfold(self, s: Scalar) -> Scalar:
        """An unbounded x near s as the start of a search, away from the bounds, where `fold` is stationary."""

    @abc.abstractmethod
    def quantile(self, u: Scalar) -> Scalar:
        """The s below which the prior has the probability u: uniform u sample the prior."""

    @abc.abstractmethod
    def prior_residual(self, s: Scalar) -> Float[Array, " rows"]:
        """The prior's rows in the residual: none for a uniform prior, one for a Gaussian."""

    @property
    @abc.abstractmethod
    def prior_width(self) -> float:
        """The standard deviation of the prior in s."""

    @property
    @abc.abstractmethod
    def limits(self) -> tuple[float, float]:
        """The range of s."""


class AbstractInterval(AbstractUnknown):
    """A prior that is uniform in s on [0, 1]; s = (1 + sin x) / 2 reaches both bounds at a finite x."""

    def fold(self, x: Scalar) -> Scalar:
        return 0.5 * (1.0 + jnp.sin(x))

    def unfold(self, s: Scalar) -> Scalar:
        # 0.995 keeps ds/dx at a tenth of its largest value, so that a warm start on a bound can leave it.
        return jnp.arcsin(jnp.clip(2.0 * s - 1.0, -0.995, 0.995))

    def quantile(self, u: Scalar) -> Scalar:
        return u

    def prior_residual(self, s: Scalar) -> Float[Array, " rows"]:
        return jnp.zeros((0,), s.dtype)

    @property
    def prior_width(self) -> float:
        return 12.0**-0.5

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, 1.0


def _check_inside(lower: Array, upper: Array, value: float, unit: str) -> float:
    slack = 1e-12 * float(upper - lower)
    if not float(lower) - slack <= value <= float(upper) + slack:
        raise ValueError(f"{value} {unit} is outside [{lower}, {upper}]: widen the bounds or hold it inside")
    return float(value)


class Bounded(AbstractInterval):
    """A number between two bounds, all values equally likely: p = lower + (upper - lower) s.

    **Arguments:** `lower`, `upper`: scalars in `unit`. **Raises:** ValueError unless lower < upper, finite.
    """

    lower: Scalar = number()
    upper: Scalar = number()
    unit: str = eqx.field(static=True, default="")

    def __check_init__(self):
        _require_finite("Bounded: lower", self.lower)
        _require_finite("Bounded: upper", self.upper)
        if self.lower >= self.upper:
            raise ValueError(
                f"Bounded: lower {self.lower} is not below upper {self.upper}: swap them, or use Fixed"
            )

    def physical(self, s: Scalar) -> Scalar:
        return self.lower + (self.upper - self.lower) * s

    def scaled(self, p: Scalar) -> Scalar:
        return (p - self.lower) / (self.upper - self.lower)

    def check(self, value: float) -> float:
        return _check_inside(self.lower, self.upper, value, self.unit)


class Log(AbstractInterval):
    """A positive number of unknown order of magnitude: log p = log lower + log(upper / lower) s.

    **Arguments:** `lower`, `upper`: scalars in `unit`.
    **Raises:** ValueError unless 0 < lower < upper, finite.
    """

    lower: Scalar = number()
    upper: Scalar = number()
    unit: str = eqx.field(static=True, default="")

    def __check_init__(self):
        _require_finite("Log: lower", self.lower)
        _require_finite("Log: upper", self.upper)
        if self.lower <= 0:
            raise ValueError(f"Log: lower {self.lower} is not positive: use Bounded for a range through zero")
        if self.lower >= self.upper:
            raise ValueError(f"Log: lower {self.lower} is not below upper {self.upper}: swap them, or use Fixed")

    def physical(self, s: Scalar) -> Scalar:
        return self.lower * jnp.exp(s * jnp.log(self.upper / self.lower))

    def scaled(self, p: Scalar) -> Scalar:
        return jnp.log(p / self.lower) / jnp.log(self.upper / self.lower)

    def check(self, value: float) -> float:
        return _check_inside(self.lower, self.upper, value, self.unit)


class Gaussian(AbstractUnknown):
    """A number with a Gaussian prior: p = mean + sigma s, with s itself as a residual.

    **Arguments:** `mean`, `sigma`: scalars in `unit`. **Raises:** ValueError unless sigma > 0, both finite.
    """

    mean: Scalar = number()
    sigma: Scalar = number()
    unit: str = eqx.field(static=True, default="")

    def __check_init__(self):
        _require_finite("Gaussian: mean", self.mean)
        _require_finite("Gaussian: sigma", self.sigma)
        if self.sigma <= 0:
            raise ValueError(f"Gaussian: sigma {self.sigma} is not positive: use Fixed for a known number")

    def physical(self, s: Scalar) -> Scalar:
        return self.mean + self.sigma * s

    def scaled(self, p: Scalar) -> Scalar:
        return (p - self.mean) / self.sigma

    def fold(self, x: Scalar) -> Scalar:
        return x

    def unfold(self, s: Scalar) -> Scalar:
        return s

    def quantile(self, u: Scalar) -> Scalar:
        # The ends of the unit interval are infinite in s; 1e-7 cuts the prior at 5.2 sigma.
        return jax.scipy.special.ndtri(jnp.clip(u, 1e-7, 1.0 - 1e-7))

    def prior_residual(self, s: Scalar) -> Float[Array, " rows"]:
        return s[None]

    @property
    def prior_width(self) -> float:
        return 1.0

    @property
    def limits(self) -> tuple[float, float]:
        return -np.inf, np.inf

    def check(self, value: float) -> float:
        if not np.isfinite(value):
            raise ValueError(f"{value} {self.unit} is not a finite number")
        return float(value)


class Fixed(AbstractParameter):
    """A known number; an array leaf, so that another value does not compile again.

    **Arguments:** `value`: scalar in `unit`. **Raises:** ValueError unless finite.
    """

    value: Scalar = number()
    unit: str = eqx.field(static=True, default="")

    def __check_init__(self):
        _require_finite("Fixed: value", self.value)

    def check(self, value: float) -> float:
        raise ValueError(f"a Fixed parameter cannot be held at {value}: build the problem with that value")


class Discrete(AbstractInterval):
    """A number with a few possible values; values between them exist only relaxed, for branch and bound.

    **Arguments:** `values`: at least two different numbers in `unit`; `relaxed`: the prior over their hull,
    `Bounded` or `Log` (numbers that are orders of magnitude apart); `labels`: one name per value.
    **Raises:** ValueError for fewer than two values, repeated or non-finite ones, or unmatched labels.
    """

    values: Float[Array, " choices"]
    hull: AbstractInterval
    labels: tuple[str, ...] = eqx.field(static=True)
    unit: str = eqx.field(static=True)

    def __init__(
        self,
        values: Sequence[float],
        unit: str = "",
        relaxed: Callable[..., AbstractInterval] = Bounded,
        labels: Sequence[str] | None = None,
    ):
        array = np.asarray(values, float)
        if array.ndim != 1 or array.size < 2 or np.unique(array).size != array.size:
            raise ValueError(f"Discrete needs two or more different values, got {values}: for one, use Fixed")
        if not np.isfinite(array).all():
            raise ValueError(f"Discrete: values {values} are not all finite")
        labels = tuple(f"{v:g}" for v in array) if labels is None else tuple(labels)
        if len(labels) != array.size:
            raise ValueError(f"Discrete: {len(labels)} labels for {array.size} values: give one for each")
        self.values = jnp.asarray(array)
        self.hull = relaxed(array.min(), array.max(), unit)
        self.labels, self.unit = labels, unit

    def relaxed(self) -> AbstractInterval:
        """The continuous parameter over the hull of the values."""
        return self.hull

    def fixed(self, index: int) -> Fixed:
        """The parameter fixed at its value number `index`."""
        return Fixed(self.values[index], self.unit)

    def nearest_first(self, value: float) -> list[float]:
        """All values, the nearest to `value` on the relaxed scale first."""
        s = jax.vmap(self.hull.scaled)(self.values) - self.hull.scaled(jnp.asarray(value, self.values.dtype))
        return self.values[jnp.argsort(jnp.abs(s))].tolist()

    def physical(self, s: Scalar) -> Scalar:
        return self.hull.physical(s)

    def scaled(self, p: Scalar) -> Scalar:
        return self.hull.scaled(p)

    def check(self, value: float) -> float:
        snapped = self.nearest_first(value)[0] if np.isfinite(value) else np.nan
        # 1e-6: 0.6 in float32 equals the value 0.6.
        if not abs(snapped - value) <= 1e-6 * abs(snapped):
            raise ValueError(f"{value} {self.unit} is not one of {self.values}: hold it at one, or relax it")
        return snapped
