"""An inversion: parameters with priors, a simulator, and data."""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from difsim.checks import CallError, explain_errors, numbers, require_function
from difsim.status import Status
from difsim.typing import Scalar, describe

from .coordinates import AbstractCoordinates, abbreviate, initial_fields, strip_weak_types
from .observe import Observations
from .unknowns import AbstractParameter

Vector = Float[Array | np.ndarray, " n"] | Sequence[float]
Predict = Callable[[dict[str, Array]], tuple[dict[str, Any], Array]]


class Evaluation(eqx.Module):
    """One simulation compared with the data; if it failed, `misfit` is infinite and `residual` NaN.

    `status`, a `difsim.Status`, is OK or tells why it failed. `log_likelihood` is that of the data alone, relative to a
    fit that hits all data under Gaussian errors of the stated size; -infinity for a failed simulation.
    """

    residual: Float[Array, " rows"]
    misfit: Scalar
    log_likelihood: Scalar
    status: Int[Array, ""]
    predictions: Mapping[str, Any]

    @property
    def ok(self) -> Bool[Array, ""]:
        return self.status == Status.OK


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


class Problem(AbstractCoordinates, AbstractProblem):
    """Parameters, a simulator and data: r(x) of the unknowns, and the misfit that a fit minimises.

    misfit = sum over data of (predicted - observed)^2 / sigma^2 + sum over Gaussian priors of s^2.

    With another law of errors (`inversion.noise`) the sum over data is -2 ln of the likelihood, relative to that of a
    perfect fit under Gaussian errors of the stated size; it may be negative.

    The free unknowns are given by an array, not by the structure: `hold` and `relax` return the same problem with
    another mask, and every compiled function serves all of them.

    **Arguments:** `parameters`: name -> Bounded, Log, Gaussian, Fixed or Discrete; `predict`: dict of name ->
    number or array to (dict of observable -> array, status), one simulation that JAX can trace and `jax.jacfwd` can
    differentiate (pass the same function each time: another one compiles again); the status is that of the solution,
    or a Boolean, which gives no reason of a failure; `data`: Observations.
    **Raises:** ValueError when no parameter is unknown, and when the data need one that is missing. What `predict`
    returns is checked where it is first called.

    **Example:**

    ```python
    from inversion import Bounded, Observation, Observations, Problem

    data = Observations({"fall": Observation(4.9, 0.1, "m")})
    problem = Problem({"g": Bounded(1.0, 20.0, "m/s2")}, lambda p: ({"fall": 0.5 * p["g"]}, True), data)
    print(problem.evaluate(problem.to_prior_scale({"g": 9.8})).misfit)
    ```
    """

    parameters: dict[str, Any]
    predict: Predict
    data: Observations
    free_mask: Bool[Array, " n"]
    held: Float[Array, " n"]
    names: tuple[str, ...] = eqx.field(static=True)

    def __init__(self, parameters: Mapping[str, AbstractParameter], predict: Predict, data: Observations):
        self.parameters, self.free_mask, self.held, self.names = initial_fields(parameters)
        self.predict, self.data = require_function("Problem: predict", predict), strip_weak_types(data)
        if missing := [name for name in data.parameters if name not in parameters]:
            raise ValueError(
                f"Problem: the data need {missing}, which are no parameters: there are {sorted(parameters)}"
            )

    @property
    def rows(self) -> int:
        """The length of the residual: data, then priors."""
        return self.data.rows + sum(q.prior_residual(jnp.zeros(q.shape)).size for q in self.unknowns)

    def evaluate(self, s: Vector) -> Evaluation:
        """One simulation at prior-scaled s; a failed or non-finite one is marked and has no finite misfit.

        **Arguments:** `s` [n], also as a list. **Returns:** Evaluation. **Raises:** ValueError for another shape.
        """
        p = self.physical(self._vector(s))
        named = self.to_dict(p)
        predictions, status = _outcome(explain_errors("Problem: predict", self.predict)(named))
        compared, prior = self.data.compare(predictions, named), self.prior_residual(p)
        residual = jnp.concatenate([compared.residual, prior])
        finite = jnp.all(jnp.isfinite(residual)) & jnp.isfinite(compared.misfit)
        status = jnp.where((status == Status.OK) & ~finite, int(Status.NOT_FINITE), status)
        ok = status == Status.OK
        residual = jnp.where(ok, residual, jnp.nan)
        misfit = jnp.where(ok, compared.misfit + jnp.sum(prior**2), jnp.inf)
        log_likelihood = jnp.where(ok, -0.5 * compared.misfit, -jnp.inf)
        return Evaluation(residual, misfit, log_likelihood, status, predictions)

    def _vector(self, s: Any) -> Float[Array, " n"]:
        """The scaled s as an array. **Raises:** ValueError unless it has one number for each coordinate."""
        if isinstance(s, Mapping):
            raise ValueError(
                "Problem: s: got a dict: use problem.to_prior_scale(values) to make a vector of values by name"
            )
        s = numbers("Problem: s", s, is_finite=False)
        if s.shape != (self.size,):
            raise ValueError(
                f"Problem: s has shape {s.shape}: give one number for each of {abbreviate(self.labels)}"
            )
        return s

    def log_likelihood(self, s: Vector) -> Scalar:
        """The logarithm of the likelihood of the data at prior-scaled s; -infinity if the simulation failed."""
        return self.evaluate(s).log_likelihood

    def linearise(self, s: Vector) -> Float[Array, "rows n"]:
        """The derivative dr/ds by forward mode; NaN if the simulation failed."""
        return self.evaluate_and_linearise(s)[1]

    def evaluate_and_linearise(self, s: Vector) -> tuple[Evaluation, Float[Array, "rows n"]]:
        """One simulation at the scaled s with its derivative dr/ds, for the cost of the derivative alone."""

        def residual(s):
            found = self.evaluate(s)
            return found.residual, found

        jacobian, found = jax.jacfwd(residual, has_aux=True)(self._vector(s))
        return found, jacobian


def _outcome(given: Any) -> tuple[Mapping[str, Any], Int[Array, ""]]:
    """The result of `predict`, after a check: the predictions, and a `Status`.

    **Raises:** ValueError unless it is a dict, and one Boolean or one status.
    """
    if not (isinstance(given, tuple | list) and len(given) == 2 and isinstance(given[0], Mapping)):
        raise CallError(
            f"Problem: predict returned {describe(given)}: return a pair, the predictions by name and whether the "
            "simulation succeeded, such as ({'height': h}, solution.status) or ({'height': h}, True)"
        )
    predictions, ended = given
    if ended is None or jnp.shape(ended) != () or jnp.result_type(ended).kind not in "bi":
        raise CallError(
            f"Problem: predict returned {describe(ended)} as its second value: return one status, such as "
            "solution.status, or one Boolean, such as True"
        )
    ended = jnp.asarray(ended)
    if ended.dtype == bool:
        ended = jnp.where(ended, int(Status.OK), int(Status.UNEXPLAINED))
    return predictions, ended.astype(jnp.int32)
