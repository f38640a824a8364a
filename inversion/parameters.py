"""Parameters: what is known of a number before the data, as a range, a Gaussian, a few values, or one value."""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.checks import host_numbers, integer, numbers
from difsim.declarations import quantity, rule
from difsim.typing import as_tuple_of, describe

from .unknowns import START, AbstractParameter, AbstractUnknown, Numbers

END = 1e-15  # probability beyond which a sampler sees no more of a Gaussian prior, at 7.9 sigma


def _require_finite(what: str, value: Array) -> None:
    if not np.isfinite(value).all():
        raise ValueError(f"{what} must be finite, got {value}")


def _sizes(name: str, shape: Any) -> tuple[int, ...] | None:
    """The shape of a parameter; one integer is the length of a vector, as in NumPy."""
    if shape is None:
        return None
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return tuple(integer(name, size) for size in sizes)


def _broadcast(what: str, shape: Any, **given: Any) -> tuple[Array, ...]:
    """The numbers that define a parameter, each in the shape of the parameter."""
    shape = _sizes(f"{what}: shape", shape)
    arrays = [numbers(f"{what}: {name}", value, is_finite=False) for name, value in given.items()]
    try:
        common = np.broadcast_shapes(*(array.shape for array in arrays), shape or ())
    except ValueError:
        common = None
    if common is None or math.prod(common) == 0 or (shape is not None and common != shape):
        found = ", ".join(f"{name} {array.shape}" for name, array in zip(given, arrays, strict=True))
        raise ValueError(f"{what}: {found} do not fit the shape {shape}: give scalars, or arrays of that shape")
    return tuple(jnp.broadcast_to(array, common) if array.shape != common else array for array in arrays)


class AbstractInterval(AbstractUnknown):
    """A prior that is uniform in s on [0, 1]; s = (1 + sin x) / 2 reaches both bounds at a finite x."""

    def fold(self, x: Numbers) -> Numbers:
        return 0.5 * (1.0 + jnp.sin(x))

    def unfold(self, s: Numbers, margin: float = START) -> Numbers:
        return jnp.arcsin(jnp.clip(2.0 * s - 1.0, 2.0 * margin - 1.0, 1.0 - 2.0 * margin))

    def quantile(self, u: Numbers) -> Numbers:
        return u

    def probability(self, s: Numbers) -> Numbers:
        return s

    def prior_residual(self, s: Numbers) -> Float[Array, " rows"]:
        return jnp.zeros((0,), s.dtype)

    @property
    def prior_width(self) -> float:
        return 12.0**-0.5

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, 1.0


def _to_plain(value: Any, shape: tuple[int, ...], unit: str) -> Any:
    """The value as a float, or as an array of the parameter's shape."""
    value = host_numbers("a value", value, is_finite=False)
    if value.shape not in ((), shape):
        raise ValueError(
            f"a value of shape {value.shape} {unit} for a parameter of shape {shape}: they must match"
        )
    return np.broadcast_to(value, shape) if shape else float(value)


class AbstractRange(AbstractInterval):
    """A number or an array of numbers between a `lower` and an `upper` bound, in `unit`."""

    lower: Numbers
    upper: Numbers
    unit: str = eqx.field(static=True)

    def __init__(self, lower: Any, upper: Any, unit: str = "", shape: int | Sequence[int] | None = None):
        name = type(self).__name__
        self.lower, self.upper = _broadcast(name, shape, lower=lower, upper=upper)
        self.unit = unit
        _require_finite(f"{name}: lower", self.lower)
        _require_finite(f"{name}: upper", self.upper)
        if np.any(self.lower >= self.upper):
            raise ValueError(
                f"{name}: lower {self.lower} is not below upper {self.upper}: swap them, or use Fixed"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lower.shape

    def check(self, value: Any) -> Any:
        value = _to_plain(value, self.shape, self.unit)
        low, high = np.asarray(self.lower), np.asarray(self.upper)
        slack = 1e-12 * (high - low)
        if not np.all((low - slack <= value) & (value <= high + slack)):
            raise ValueError(
                f"{value} {self.unit} is outside [{self.lower}, {self.upper}]: widen the bounds or hold it inside"
            )
        return value


class Bounded(AbstractRange):
    """A number between two bounds, all values equally likely: p = lower + (upper - lower) s.

    **Arguments:** `lower`, `upper`: numbers or arrays in `unit`; `shape` of an array of unknowns, or its length, by
    default that of the bounds.
    **Raises:** ValueError unless lower < upper, finite; for bounds that do not fit the shape.
    """

    def physical(self, s: Numbers) -> Numbers:
        return self.lower + (self.upper - self.lower) * s

    def to_prior_scale(self, p: Numbers) -> Numbers:
        return (p - self.lower) / (self.upper - self.lower)


class Log(AbstractRange):
    """A positive number of unknown order of magnitude: log p = log lower + log(upper / lower) s.

    **Arguments:** `lower`, `upper`, `unit`, `shape` as of `Bounded`.
    **Raises:** ValueError unless 0 < lower < upper, finite; for bounds that do not fit the shape.
    """

    @rule("lower = {lower} is not positive: use Bounded for a range through zero")
    def _has_positive_numbers(self):
        return self.lower > 0

    def physical(self, s: Numbers) -> Numbers:
        return self.lower * jnp.exp(s * jnp.log(self.upper / self.lower))

    def to_prior_scale(self, p: Numbers) -> Numbers:
        return jnp.log(p / self.lower) / jnp.log(self.upper / self.lower)


class Gaussian(AbstractUnknown):
    """A number with a Gaussian prior: p = mean + sigma s, with s itself as a residual.

    A sampler sees it to 7.9 sigma: data that ask for more are not explained.

    **Arguments:** `mean`, `sigma`: numbers or arrays in `unit`; `shape` of an array of independent unknowns, by
    default that of `mean` and `sigma`.
    **Raises:** ValueError unless sigma > 0, all finite; for arrays that do not fit the shape.
    """

    mean: Numbers
    sigma: Numbers
    unit: str = eqx.field(static=True)

    def __init__(self, mean: Any, sigma: Any, unit: str = "", shape: int | Sequence[int] | None = None):
        self.mean, self.sigma = _broadcast("Gaussian", shape, mean=mean, sigma=sigma)
        self.unit = unit
        _require_finite("Gaussian: mean", self.mean)
        _require_finite("Gaussian: sigma", self.sigma)
        if np.any(self.sigma <= 0):
            raise ValueError(f"Gaussian: sigma {self.sigma} is not positive: use Fixed for a known number")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.mean.shape

    def physical(self, s: Numbers) -> Numbers:
        return self.mean + self.sigma * s

    def to_prior_scale(self, p: Numbers) -> Numbers:
        return (p - self.mean) / self.sigma

    def fold(self, x: Numbers) -> Numbers:
        return x

    def unfold(self, s: Numbers, margin: float = START) -> Numbers:
        return s

    def quantile(self, u: Numbers) -> Numbers:
        # The ends of the unit interval are infinite in s.
        end = max(END, float(jnp.finfo(u.dtype).eps))
        return jax.scipy.special.ndtri(jnp.clip(u, end, 1.0 - end))

    def probability(self, s: Numbers) -> Numbers:
        return jax.scipy.special.ndtr(s)

    def prior_residual(self, s: Numbers) -> Float[Array, " rows"]:
        return jnp.ravel(s)

    @property
    def prior_width(self) -> float:
        return 1.0

    @property
    def limits(self) -> tuple[float, float]:
        return -np.inf, np.inf

    def check(self, value: Any) -> Any:
        value = _to_plain(value, self.shape, self.unit)
        if not np.isfinite(value).all():
            raise ValueError(f"{value} {self.unit} is not finite: give a finite value")
        return value


class Fixed(AbstractParameter):
    """A known number or array; an array leaf, so that another value does not compile again."""

    value: Numbers = quantity("", "number or array in `unit`")
    unit: str = eqx.field(static=True, default="")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def check(self, value: Any) -> Any:
        raise ValueError(f"a Fixed parameter cannot be held at {value}: build the problem with that value")


def _format(values: Any) -> tuple[str, ...]:
    return tuple(f"{v:g}" for v in np.asarray(values))


class Discrete(AbstractInterval):
    """A number with a few possible values; values between them exist only relaxed, for branch and bound.

    **Arguments:** `values`: at least two different numbers in `unit`; `relax`: the prior over their hull,
    `Bounded` or `Log` (numbers that are orders of magnitude apart); `labels`: one name per value, for choices that
    are no numbers of one scale.
    **Raises:** ValueError for fewer than two values, repeated or non-finite ones, unmatched labels, or another hull.
    """

    values: Float[Array, " choices"]
    hull: AbstractInterval
    labels: tuple[str, ...] = eqx.field(static=True)
    unit: str = eqx.field(static=True)

    def __init__(
        self,
        values: Sequence[float | int],
        unit: str = "",
        relaxed: type[AbstractRange] = Bounded,
        labels: Sequence[str] | None = None,
    ):
        array = host_numbers("Discrete: values", values, is_finite=False)
        if array.ndim != 1 or array.size < 2 or np.unique(array).size != array.size:
            raise ValueError(f"Discrete needs two or more different values, got {values}: for one, use Fixed")
        if not np.isfinite(array).all():
            raise ValueError(f"Discrete: values {values} are not all finite")
        labels = _format(array) if labels is None else as_tuple_of("Discrete: labels", labels, str)
        if len(labels) != array.size:
            raise ValueError(f"Discrete: {len(labels)} labels for {array.size} values: give one for each")
        self.values = jnp.asarray(array)
        if not (isinstance(relaxed, type) and issubclass(relaxed, AbstractRange)):
            raise ValueError(
                f"Discrete: relaxed: got {describe(relaxed)}: give Bounded or Log, without calling it"
            )
        self.labels, self.unit = labels, unit
        self.hull = relaxed(array.min(), array.max(), unit)

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def is_ordered(self) -> bool:
        """Whether the values are numbers of one scale; choices with names have nothing in between."""
        return self.labels == _format(self.values)

    def label_of(self, value: float) -> str:
        """The label of the value that is nearest to a number. **Arguments:** `value`."""
        return self.labels[self._find_nearest(value)]

    def _find_nearest(self, value: float) -> int:
        """The number of the value that is nearest. On the host: in a tree each node asks for it."""
        return int(np.argmin(np.abs(np.asarray(self.values) - value)))

    def choose(self, u: Numbers) -> Numbers:
        """The s of the value that the prior probability u selects, all values being equally likely."""
        count = self.values.size
        return self.hull.to_prior_scale(self.values[jnp.clip((u * count).astype(int), 0, count - 1)])

    def relax(self) -> AbstractInterval:
        """The continuous parameter over the hull of the values."""
        return self.hull

    def nearest_first(self, value: float) -> list[float]:
        """All values, the nearest to `value` on the relaxed scale first."""
        s = jax.vmap(self.hull.to_prior_scale)(self.values) - self.hull.to_prior_scale(
            jnp.asarray(value, self.values.dtype)
        )
        return self.values[jnp.argsort(jnp.abs(s))].tolist()

    def physical(self, s: Numbers) -> Numbers:
        # A value comes back from its s with all digits: `predict` may compare it, or take its integer.
        p, selected = self.hull.physical(s), jax.vmap(self.hull.to_prior_scale)(self.values)
        apart = jnp.abs(jnp.subtract.outer(s, selected))
        is_value = apart.min(axis=-1) <= 64.0 * jnp.finfo(selected.dtype).eps
        return p + jax.lax.stop_gradient(jnp.where(is_value, self.values[apart.argmin(axis=-1)] - p, 0.0))

    def to_prior_scale(self, p: Numbers) -> Numbers:
        return self.hull.to_prior_scale(p)

    def check(self, value: Any) -> float:
        value = _to_plain(value, (), self.unit)
        snapped = float(self.values[self._find_nearest(value)])
        # 1e-6: 0.6 in float32 equals the value 0.6.
        if not abs(snapped - value) <= 1e-6 * abs(snapped):
            raise ValueError(f"{value} {self.unit} is not one of {self.values}: hold it at one, or relax it")
        return snapped
