"""An inversion: parameters with priors, a simulator, and data."""

import abc
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from difsim.typing import Scalar

from .observe import Observations
from .parameters import AbstractParameter, AbstractUnknown, Discrete, Fixed

Predict = Callable[[dict[str, Array]], tuple[dict[str, Array], Array]]


class Evaluation(eqx.Module):
    """One simulation compared with the data; if it failed, `misfit` is infinite and `residual` NaN.

    `log_likelihood` is that of the data alone, without priors and constants; -infinity for a failed simulation.
    """

    residual: Float[Array, " rows"]
    misfit: Scalar
    log_likelihood: Scalar
    ok: Bool[Array, ""]
    predictions: dict[str, Array]


def strip_weak_types(tree: Any) -> Any:
    """`tree` without weak types: 1.0 and np.float64(1.0) would each be compiled for."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, leaf.dtype) if eqx.is_array(leaf) else leaf, tree)


class AbstractProblem(eqx.Module):
    """The interface of Levenberg-Marquardt to a problem: r(s) with s = fold(x), and the mask of free unknowns."""

    free_mask: eqx.AbstractVar[Bool[Array, " n"]]

    @property
    @abc.abstractmethod
    def rows(self) -> int:
        """The length of the residual."""

    @abc.abstractmethod
    def fold(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """The prior-scaled s [n] at the unbounded x [n]."""

    @abc.abstractmethod
    def evaluate(self, s: Float[Array, " n"]) -> Evaluation:
        """One simulation at the scaled s."""

    @abc.abstractmethod
    def linearise(self, s: Float[Array, " n"]) -> Float[Array, "rows n"]:
        """The derivative dr/ds of the residual at the scaled s."""


class Problem(AbstractProblem):
    """Parameters, a simulator and data: r(x) of the unknowns, whose sum of squares a fit minimises.

    misfit = sum over data of (predicted - observed)^2 / sigma^2 + sum over Gaussian priors of s^2.

    The free unknowns are given by an array, not by the structure: `hold` and `relax` return the same problem with
    another mask, and every compiled function serves all of them.

    **Arguments:** `parameters`: name -> Bounded, Log, Gaussian, Fixed or Discrete; `predict`: dict of name ->
    scalar to (dict of observable -> array, ok), one simulation that JAX can trace and `jax.jacfwd` can
    differentiate (pass the same function each time: another one compiles again); `data`: Observations.
    **Raises:** ValueError when no parameter is unknown.
    """

    parameters: dict[str, AbstractParameter]
    predict: Predict
    data: Observations
    free_mask: Bool[Array, " n"]
    held: Float[Array, " n"]  # physical values of parameters that are not free; NaN for an undecided Discrete
    names: tuple[str, ...] = eqx.field(static=True)  # the unknowns in order, one coordinate each: jit sorts a dict

    def __init__(self, parameters: Mapping[str, AbstractParameter], predict: Predict, data: Observations):
        self.parameters = {name: strip_weak_types(parameter) for name, parameter in parameters.items()}
        self.predict, self.data = predict, strip_weak_types(data)
        self.names = tuple(k for k, v in parameters.items() if isinstance(v, AbstractUnknown))
        if not self.names:
            raise ValueError("Problem: every parameter is Fixed: nothing to find")
        self.free_mask = jnp.asarray([not isinstance(parameters[k], Discrete) for k in self.names])
        self.held = strip_weak_types(jnp.full(len(self.names), jnp.nan))

    @property
    def unknowns(self) -> tuple[AbstractUnknown, ...]:
        return tuple(self.parameters[name] for name in self.names)

    @property
    def discrete(self) -> tuple[str, ...]:
        """The names of the Discrete parameters, in order."""
        return tuple(name for name in self.names if isinstance(self.parameters[name], Discrete))

    @property
    def free(self) -> tuple[str, ...]:
        """The names of the parameters that a search may change, in order."""
        return tuple(name for name, free in zip(self.names, np.asarray(self.free_mask), strict=True) if free)

    def hold(self, assignment: Mapping[str, float]) -> "Problem":
        """This problem with unknowns held at physical values.

        **Raises:** ValueError for an unknown name, or a value that its parameter cannot take.
        """
        mask, held = np.array(self.free_mask), np.array(self.held)
        for name, value in assignment.items():
            if name not in self.parameters:
                raise ValueError(f"no parameter {name!r}: there are {sorted(self.parameters)}")
            value = self.parameters[name].check(value)
            mask[self.names.index(name)], held[self.names.index(name)] = False, value
        return self._with(mask, held)

    def relax(self) -> "Problem":
        """This problem with all undecided Discrete parameters free over the hull of their values."""
        return self._with(np.asarray(self.free_mask) | np.isnan(self.held), np.asarray(self.held))

    def _with(self, mask: np.ndarray, held: np.ndarray) -> "Problem":
        new = (jnp.asarray(mask), jnp.asarray(held, self.held.dtype))
        return eqx.tree_at(lambda p: (p.free_mask, p.held), self, new)

    def require_decided(self) -> None:
        """Check that every Discrete is held or relaxed, since no continuous search can decide it.

        **Raises:** ValueError otherwise.
        """
        undecided = np.isnan(self.held) & ~np.asarray(self.free_mask)
        if undecided.any():
            names = [name for name, u in zip(self.names, undecided, strict=True) if u]
            raise ValueError(
                f"discrete and undecided: {names}: use branch_and_bound, problem.hold({{name: value}}) "
                "or problem.relax()"
            )

    @property
    def rows(self) -> int:
        """The length of the residual: data, then priors."""
        return self.data.size + sum(q.prior_residual(jnp.zeros(())).size for q in self.unknowns)

    # Coordinates: x unbounded, s scaled by the prior, p physical (parameters.py).

    def fold(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """The prior-scaled s at the unbounded x."""
        return jnp.stack([q.fold(x[i]) for i, q in enumerate(self.unknowns)])

    def quantile(self, u: Float[Array, " n"]) -> Float[Array, " n"]:
        """The prior-scaled s of prior probabilities u: uniform u in the unit cube sample the prior."""
        return jnp.stack([q.quantile(u[i]) for i, q in enumerate(self.unknowns)])

    def unfold(self, s: Float[Array, " n"]) -> Float[Array, " n"]:
        """An unbounded x near s from which a search can start."""
        return jnp.stack([q.unfold(s[i]) for i, q in enumerate(self.unknowns)])

    def physical(self, s: Float[Array, " n"]) -> Float[Array, " n"]:
        """The physical values of all unknowns, with held values unchanged."""
        p = jnp.stack([q.physical(s[i]) for i, q in enumerate(self.unknowns)])
        return jnp.where(self.free_mask, p, self.held)

    def scaled(self, values: Mapping[str, float]) -> Float[Array, " n"]:
        """The prior-scaled s of a dict of physical values."""
        dtype = self.held.dtype
        return jnp.stack([self.parameters[k].scaled(jnp.asarray(values[k], dtype)) for k in self.names])

    def scale(self, s: Float[Array, " n"]) -> Float[Array, " n"]:
        """The derivative dp/ds [unit], zero for held parameters."""
        return jax.jvp(self.physical, (s,), (jnp.ones_like(s),))[1]

    def values(self, x: Float[Array, " n"]) -> dict[str, Array]:
        """The physical values of all parameters, including fixed and held ones."""
        return self.named(self.physical(self.fold(x)))

    def named(self, p: Float[Array, " n"]) -> dict[str, Array]:
        """All parameters by name, from the physical values p of the unknowns."""
        found = {name: p[i] for i, name in enumerate(self.names)}
        return {k: v.value if isinstance(v, Fixed) else found[k] for k, v in self.parameters.items()}

    # Simulation

    def evaluate(self, s: Float[Array, " n"]) -> Evaluation:
        """One simulation at prior-scaled s; a failed or non-finite one is marked and has no finite misfit."""
        p = self.physical(s)
        predictions, ok = self.predict(self.named(p))
        measured = self.data.residual(predictions)
        rows = [q.prior_residual(q.scaled(p[i])) for i, q in enumerate(self.unknowns)]
        residual = jnp.concatenate([measured, *rows])
        ok = jnp.asarray(ok) & jnp.all(jnp.isfinite(residual))
        residual = jnp.where(ok, residual, jnp.nan)
        misfit = jnp.where(ok, jnp.sum(residual**2), jnp.inf)
        log_likelihood = jnp.where(ok, -0.5 * jnp.sum(measured**2), -jnp.inf)
        return Evaluation(residual, misfit, log_likelihood, ok, predictions)

    def log_likelihood(self, s: Float[Array, " n"]) -> Scalar:
        """The logarithm of the likelihood of the data at prior-scaled s; -infinity if the simulation failed."""
        return self.evaluate(s).log_likelihood

    def linearise(self, s: Float[Array, " n"]) -> Float[Array, "rows n"]:
        """The derivative dr/ds by forward mode; NaN if the simulation failed."""
        return jax.jacfwd(lambda s: self.evaluate(s).residual)(s)

    def residual(self, x: Float[Array, " n"]) -> Float[Array, " rows"]:
        """The whitened residuals, data first, then Gaussian priors; NaN if the simulation failed."""
        return self.evaluate(self.fold(x)).residual
