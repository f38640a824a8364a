"""The unknowns of a search as flat vectors: x unbounded, s scaled by the prior, p physical (`parameters`).

Each parameter owns a slice of these vectors, an array of 200 unknowns one slice of 200. A name means a parameter. A
label means one number of it: the name itself, or `name[3]`, `name[1,2]` for arrays.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from difsim.checks import numbers
from difsim.typing import convert_named

from .parameters import Discrete, Fixed
from .unknowns import START, AbstractParameter, AbstractUnknown

OUTSIDE = 1e-3  # of the prior's range, that a guess may be outside by rounding


def strip_weak_types(tree: Any) -> Any:
    """`tree` without weak types: 1.0 and np.float64(1.0) would each be compiled for."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, leaf.dtype) if eqx.is_array(leaf) else leaf, tree)


def to_plain(value: Any) -> Any:
    """A number as a float, an array as one of NumPy."""
    value = np.asarray(value)
    return value if value.ndim else float(value)


class AbstractCoordinates(eqx.Module):
    """Parameters by name, and the coordinates of their unknowns.

    The free unknowns are given by an array, not by the structure: `hold` and `relax` return the same object with
    another mask, and every compiled function serves all of them.
    """

    parameters: eqx.AbstractVar[dict[str, Any]]  # of `AbstractParameter`
    free_mask: eqx.AbstractVar[Bool[Array, " n"]]
    held: eqx.AbstractVar[Float[Array, " n"]]  # physical values of those not free; NaN for an undecided Discrete
    names: eqx.AbstractVar[tuple[str, ...]]  # of the unknown parameters in order: jit sorts a dict

    @property
    def unknowns(self) -> tuple[AbstractUnknown, ...]:
        return tuple(self.parameters[name] for name in self.names)

    @property
    def size(self) -> int:
        """The number n of coordinates."""
        return sum(math.prod(q.shape) for q in self.unknowns)

    @property
    def slices(self) -> dict[str, slice]:
        """Each unknown parameter's part of a flat vector."""
        ends = np.cumsum([math.prod(q.shape) for q in self.unknowns]).tolist()
        return {name: slice(a, b) for name, a, b in zip(self.names, [0, *ends], ends, strict=False)}

    @property
    def labels(self) -> tuple[str, ...]:
        """One label for each coordinate."""
        return tuple(
            f"{name}[{','.join(map(str, index))}]" if index else name
            for name, q in zip(self.names, self.unknowns, strict=True)
            for index in np.ndindex(*q.shape)
        )

    @property
    def discrete(self) -> tuple[str, ...]:
        """The names of the Discrete parameters, in order."""
        return tuple(name for name in self.names if isinstance(self.parameters[name], Discrete))

    @property
    def free(self) -> tuple[str, ...]:
        """The names of the parameters that a search may change, wholly or in part, in order."""
        mask = np.asarray(self.free_mask)
        return tuple(name for name, where in self.slices.items() if mask[where].any())

    @property
    def free_labels(self) -> tuple[str, ...]:
        """The labels of the coordinates that a search may change, in order."""
        return tuple(label for label, free in zip(self.labels, np.asarray(self.free_mask), strict=True) if free)

    def index(self, label: str) -> int:
        """The coordinate of one number.

        **Raises:** ValueError for a label of no number, such as the name of an array.
        """
        name, which = self._split(label)
        shape = self.parameters[name].shape if name in self.names else None
        if shape is None or len(which) != len(shape) or any(i >= n for i, n in zip(which, shape, strict=True)):
            raise ValueError(f"{label!r} is no single unknown: there are {abbreviate(self.labels)}")
        return self.slices[name].start + int(np.ravel_multi_index(which, shape) if shape else 0)

    def component(self, label: str) -> AbstractUnknown:
        """The unknown that is one number, with its own prior. **Raises:** ValueError as `index`."""
        self.index(label)
        name, which = self._split(label)
        return self.parameters[name].component(which)

    def _split(self, label: str) -> tuple[str, tuple[int, ...]]:
        match = re.fullmatch(r"(.+)\[([\d,]+)\]", label)
        if label in self.parameters or match is None:
            return label, ()
        return match[1], tuple(int(i) for i in match[2].split(",") if i)

    def hold(self, assignment: Mapping[str, Any]) -> Any:
        """The same with unknowns held at physical values; a label holds one number of an array.

        **Raises:** ValueError for an unknown name, or a value that its parameter cannot take.
        """
        mask, held = np.array(self.free_mask), np.array(self.held)
        for name, value in assignment.items():
            if name in self.parameters:
                value, where = self.parameters[name].check(value), self.slices[name]
            elif self._split(name)[0] in self.parameters:
                value, where = self.component(name).check(value), self.index(name)
            else:
                raise ValueError(f"no parameter {name!r}: give one of {sorted(self.parameters)}")
            mask[where], held[where] = False, np.ravel(value) if np.ndim(value) else value
        return self._replace(mask, held)

    def relax(self) -> Any:
        """The same with all undecided Discrete parameters free over the hull of their values."""
        return self._replace(np.asarray(self.free_mask) | np.isnan(self.held), np.asarray(self.held))

    def _replace(self, mask: np.ndarray, held: np.ndarray) -> Any:
        new = (jnp.asarray(mask), jnp.asarray(held, self.held.dtype))
        return eqx.tree_at(lambda p: (p.free_mask, p.held), self, new)

    def require_decided(self) -> None:
        """Check that every Discrete is held or relaxed, since no continuous search can decide it.

        **Raises:** ValueError otherwise.
        """
        undecided = np.isnan(self.held) & ~np.asarray(self.free_mask)
        if undecided.any():
            names = [name for name, where in self.slices.items() if undecided[where].any()]
            raise ValueError(
                f"discrete and undecided: {names}: use branch_and_bound, problem.hold({{name: value}}) "
                "or problem.relax()"
            )

    def fold(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """The prior-scaled s at the unbounded x."""
        return self._map(lambda q, x: q.fold(x), x)

    def unfold(self, s: Float[Array, " n"], margin: float = START) -> Float[Array, " n"]:
        """An unbounded x of s, from which a search can start.

        **Arguments:** `s` [n]; `margin` in s that is kept from bounds; 0 gives the exact x. **Returns:** x [n].
        """
        return self._map(lambda q, s: q.unfold(s, margin), s)

    def quantile(self, u: Float[Array, " n"]) -> Float[Array, " n"]:
        """The prior-scaled s of prior probabilities u: uniform u in the unit cube sample the prior."""
        return self._map(lambda q, u: q.quantile(u), u)

    def scale_probabilities(self, u: Float[Array, " n"]) -> Float[Array, " n"]:
        """The prior-scaled s of prior probabilities u, with undecided Discrete parameters at one of their values."""
        chosen = self._map(lambda q, u: q.choose(u) if isinstance(q, Discrete) else u, u)
        return jnp.where(jnp.isnan(self.held) & ~self.free_mask, chosen, self.quantile(u))

    def physical(self, s: Float[Array, " n"]) -> Float[Array, " n"]:
        """The physical values of all unknowns, with held values unchanged."""
        return jnp.where(self.free_mask, self._map(lambda q, s: q.physical(s), s), self.held)

    def to_prior_scale(self, values: Mapping[str, Any]) -> Float[Array, " n"]:
        """The prior-scaled s of a dict of physical values.

        **Raises:** ValueError for an unknown without a value, and an array of another shape than its parameter's.
        """
        if missing := [name for name in self.names if name not in values]:
            raise ValueError(f"values of {missing} are missing: give one for each unknown, {list(self.names)}")
        p = []
        for name, q in zip(self.names, self.unknowns, strict=True):
            value = numbers(f"the value of {name!r}", values[name], is_finite=False).astype(self.held.dtype)
            if value.shape not in ((), q.shape):
                raise ValueError(f"{name!r} has shape {q.shape}, and its value {value.shape}: they must match")
            p.append(jnp.ravel(jnp.broadcast_to(value, q.shape)))
        return self._map(lambda q, p: q.to_prior_scale(p), jnp.concatenate(p))

    def scale_given(self, what: str, values: Mapping[str, Any]) -> Float[Array, " n"]:
        """The prior-scaled s of what a user gave.

        **Arguments:** `what` it is, for errors; `values`, physical values by name. **Returns:** s [n].
        **Raises:** ValueError for names that are no parameters or are missing, and what `to_prior_scale` refuses.
        """
        if unknown := [name for name in values if name not in self.parameters]:
            raise ValueError(f"{what} names {unknown}, which are no parameters: give those of {list(self.names)}")
        return convert_named(what, self.to_prior_scale, values)

    def start(self, name: str, guess: Mapping[str, Any]) -> Float[Array, " n"]:
        """The unbounded x of a guess, from which a search starts.

        **Arguments:** `name`, the function's name; `guess`, physical values by name. **Returns:** x [n].
        **Raises:** ValueError for names that are no parameters or are missing, and values that the prior excludes.
        """
        s = self.scale_given(f"{name}: a guess", guess)
        for label, value, (low, high), free in zip(
            self.labels, np.asarray(s), self._limits, np.asarray(self.free_mask), strict=True
        ):
            # A rounding outside is moved in by `unfold`.
            if free and not (low - OUTSIDE <= value <= high + OUTSIDE and np.isfinite(value)):
                raise ValueError(
                    f"{name}: a guess of {label!r} is outside of its prior, at {value:.4g} of [{low:g}, {high:g}] in "
                    "its coordinate: give a value inside, or widen the bounds"
                )
        return self.unfold(s)

    @property
    def _limits(self) -> list[tuple[float, float]]:
        return [q.limits for q in self.unknowns for _ in range(math.prod(q.shape))]

    def prior_residual(self, p: Float[Array, " n"]) -> Float[Array, " rows"]:
        """The rows of Gaussian priors at physical values."""
        return self._map(lambda q, p: q.prior_residual(q.to_prior_scale(p)), p)

    def scale(self, s: Float[Array, " n"]) -> Float[Array, " n"]:
        """The derivative dp/ds [unit], zero for held parameters."""
        return jax.jvp(self.physical, (s,), (jnp.ones_like(s),))[1]

    def values(self, x: Float[Array, " n"]) -> dict[str, Array]:
        """The physical values of all parameters, including fixed and held ones."""
        return self.to_dict(self.physical(self.fold(x)))

    def to_dict(self, p: Float[Array, " n"]) -> dict[str, Array]:
        """All parameters by name, from the physical values p of the unknowns."""
        found = self.split(p)
        return {k: v.value if isinstance(v, Fixed) else found[k] for k, v in self.parameters.items()}

    def split(self, vector: Any) -> dict[str, Any]:
        """Each unknown parameter's part of a vector [n], in its shape."""
        return {name: vector[where].reshape(self.parameters[name].shape) for name, where in self.slices.items()}

    def repeat_by_coordinate(self, of: Callable[[AbstractUnknown], Any]) -> Float[np.ndarray, " n"]:
        """A number of each parameter, repeated for its coordinates. **Arguments:** `of`, a function of it."""
        return np.concatenate([np.full(math.prod(q.shape), float(of(q))) for q in self.unknowns])

    def _map(self, function: Callable[[AbstractUnknown, Array], Array], vector: Array) -> Float[Array, " m"]:
        """The results of a function of each unknown parameter and its part of a vector, side by side."""
        parts = self.split(vector)
        return jnp.concatenate([jnp.ravel(function(self.parameters[name], parts[name])) for name in self.names])


class Coordinates(AbstractCoordinates):
    """The coordinates of parameters without a simulator.

    **Arguments:** `parameters`: name -> parameter. **Raises:** ValueError when no parameter is unknown.
    """

    parameters: dict[str, AbstractParameter]
    free_mask: Bool[Array, " n"]
    held: Float[Array, " n"]
    names: tuple[str, ...] = eqx.field(static=True)

    def __init__(self, parameters: Mapping[str, AbstractParameter]):
        self.parameters, self.free_mask, self.held, self.names = initial_fields(parameters)


def initial_fields(
    parameters: Mapping[str, AbstractParameter],
) -> tuple[dict[str, AbstractParameter], Any, Any, Any]:
    """The fields of coordinates in which all but Discrete parameters are free.

    **Arguments:** `parameters`: name -> parameter. **Returns:** parameters, free_mask, held and names.
    **Raises:** ValueError when no parameter is unknown.
    """
    unknown = {k: v for k, v in parameters.items() if isinstance(v, AbstractUnknown)}
    if not unknown:
        raise ValueError("Problem: every parameter is Fixed: nothing to find: give one of them a prior")
    mask = np.concatenate([np.full(math.prod(q.shape), not isinstance(q, Discrete)) for q in unknown.values()])
    return (
        {name: strip_weak_types(parameter) for name, parameter in parameters.items()},
        jnp.asarray(mask),
        strip_weak_types(jnp.full(mask.size, jnp.nan)),
        tuple(unknown),
    )


def abbreviate(labels: tuple[str, ...]) -> str:
    """Labels in a message: all of them, or the first and the last.

    **Arguments:** `labels`. **Returns:** a text.
    """
    return str(list(labels)) if len(labels) <= 12 else f"{list(labels[:6])} ... {list(labels[-3:])}"
