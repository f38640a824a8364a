"""A posterior: draws with weights, the evidence, the probabilities of discrete choices, and how good all that is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from difsim.status import Status

from .draws import Draws, resample_draws, weighted_quantile
from .faults import fault_of
from .groups import datatree
from .outcome import Calls, Leaf
from .parameters import Discrete
from .predicting import predictions
from .problem import Problem
from .progress import Progress
from .tables import quality_of, table_of
from .unknowns import AbstractUnknown
from .verdicts import verdict_of


@dataclass(frozen=True)
class Posterior:
    """Weighted draws of the unknowns of a problem given its data; arrays of numpy, in physical units.

    `draws`: unknown -> values [draws], an array's numbers by their labels, such as `field[3]`; `prior`: the same of
    draws of the prior [rows]; `leaves`: all combinations of
    undecided discrete values, the most probable first; `calls`: simulations of this call (stored ones are not
    repeated); `p_value`: the probability that new data miss the model by more than these, over the posterior (Gelman,
    Meng and Stern 1996); `sampled`: the draws as the sampler left them; `statuses`: the number of simulations of this
    call that ended with each status.

    `print(posterior)` shows the answer. Intervals are refused where the diagnostics fail, see `fault`.
    """

    problem: Problem
    draws: dict[str, np.ndarray]
    prior: dict[str, np.ndarray]
    leaves: tuple[Leaf, ...]
    calls: Calls
    p_value: float
    sampled: Draws
    statuses: dict[Status, int]

    @property
    def weights(self) -> Float[np.ndarray, " draws"]:
        """The weights of the draws, with a sum of 1."""
        return self.sampled.weights.ravel()

    @property
    def log_likelihood(self) -> Float[np.ndarray, " draws"]:
        return self.sampled.log_likelihood.ravel()

    @property
    def log_evidence(self) -> float:
        """The logarithm of the mean likelihood over the prior."""
        return self.sampled.log_evidence

    @property
    def log_evidence_error(self) -> float:
        """The standard error of the log evidence."""
        return self.sampled.error

    @property
    def k_hat(self) -> float | None:
        """The shape of the tail of the importance weights; None for chains."""
        return self.sampled.k_hat

    def estimate(self, values: Shaped[np.ndarray, " draws"]) -> tuple[float, float]:
        """The posterior mean of a quantity, and its standard error.

        **Arguments:** `values` of it at each of the `draws`. **Returns:** mean and error.
        """
        return self.sampled.mean(np.reshape(values, self.sampled.weights.shape).astype(float))

    @property
    def sizes(self) -> dict[str, float]:
        """Unknown -> the number of independent draws whose mean would have the same error.

        It is that of the unknown's prior probability, on which a prior over orders of magnitude weighs all of them.
        """
        u, shape = self.sampled.u, self.sampled.weights.shape
        columns = {name: u[..., k] for k, name in enumerate(self.draws)}
        columns |= {name: self.draws[name].reshape(shape) for name in self.probabilities}
        return {k: self.sampled.effective_size(v) for k, v in columns.items() if np.ptp(v) > 0.0}

    @property
    def drift(self) -> float:
        """The largest change of a mean along the chains, in its standard errors; 0 for independent draws.

        The log-likelihood is among them: it changes where chains fall into a narrow peak whose middle is theirs.
        """
        shape = self.sampled.weights.shape
        columns = [values.reshape(shape) for values in self.draws.values()]
        return max(map(self.sampled.drift, [*columns, self.sampled.log_likelihood]))

    @property
    def effective_size(self) -> float:
        """The number of independent draws that these are worth, for the mean of the unknown that has the fewest."""
        return min(self.sizes.values(), default=0.0)

    @property
    def fault(self) -> str | None:
        """Why no interval is given, and the remedy; None where the diagnostics pass."""
        return fault_of(self.sampled, self.effective_size, self.drift)

    @property
    def explains_data(self) -> bool:
        """True if the misfit may be due to chance, with a `p_value` of 1e-3 or more."""
        return self.p_value >= 1e-3

    @property
    def ok(self) -> bool:
        """Whether the diagnostics pass and the model explains the data."""
        return self.fault is None and self.explains_data

    @property
    def verdict(self) -> str:
        """The quality of the sample, and the agreement with the data, in words."""
        return quality_of(self)

    def interval(self, name: str, probability: float = 0.95) -> tuple[float, float]:
        """The interval that holds this probability, with equal parts below and above.

        **Arguments:** `name` of an unknown; `probability`. **Returns:** its two ends.
        **Raises:** ValueError for an unknown name, a probability out of range, or diagnostics that fail.
        """
        if not 0.0 < probability < 1.0:
            raise ValueError(f"interval: a probability of {probability} must be between 0 and 1")
        if self.fault is not None:
            raise ValueError(f"no interval: {self.fault}")
        low, high = self.quantile(name, [0.5 - 0.5 * probability, 0.5 + 0.5 * probability])
        return float(low), float(high)

    def quantile(self, name: str, share: Any) -> Float[np.ndarray, "..."]:
        """The values below which shares of the posterior lie; of a discrete unknown one of its values.

        **Arguments:** `name` of an unknown; `share` [...]. **Returns:** values [...] in its unit.
        **Raises:** ValueError for an unknown name, and for choices with names, which have no order.
        """
        values = self._values(name)
        if name not in self.numbers:
            labels = self.problem.parameters[name].labels
            raise ValueError(f"{name!r} is a choice among {labels}: see its probabilities")
        if name in self.probabilities:
            order = np.argsort(values, kind="stable")
            reached = np.searchsorted(np.cumsum(self.weights[order]), np.asarray(share) * (1.0 - 1e-12))
            return np.asarray(values[order][np.minimum(reached, values.size - 1)])
        return weighted_quantile(values, self.weights, share)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The unknowns that are numbers, which all but choices with names are."""
        unknown = {name: self.component(name) for name in self.draws}
        return tuple(k for k, q in unknown.items() if not isinstance(q, Discrete) or q.is_ordered)

    def component(self, name: str) -> AbstractUnknown:
        """The unknown of a label, with its prior."""
        return self.problem.component(name)

    @property
    def median(self) -> dict[str, float]:
        """The medians of the unknowns that are numbers."""
        return {name: float(self.quantile(name, 0.5)) for name in self.numbers}

    @property
    def mean(self) -> dict[str, float]:
        """The means of the unknowns that are numbers."""
        return {name: float(self.weights @ self.draws[name]) for name in self.numbers}

    @property
    def sigma(self) -> dict[str, float]:
        """The standard deviations of the unknowns that are numbers."""
        mean = self.mean
        return {k: float(np.sqrt(self.weights @ (self.draws[k] - mean[k]) ** 2)) for k in mean}

    def prior_range(self, name: str) -> tuple[float, float]:
        """The range of an unknown's prior; of a normal one its interval of 95 %.

        **Arguments:** `name` of an unknown. **Returns:** its two ends.
        """
        q = self.component(name)
        ends = jnp.array([0.025, 0.975]) if np.isinf(q.limits[1]) else jnp.array([0.0, 1.0])
        low, high = np.asarray(q.physical(q.quantile(ends)))
        return float(low), float(high)

    @property
    def verdicts(self) -> dict[str, str]:
        """Unknown -> what the data say of it: a distance between posterior and prior, and where the posterior lies.

        See `information`. No verdict where the diagnostics fail (`fault`).
        """
        return {name: verdict_of(self, name) for name in self.draws} if self.fault is None else {}

    @property
    def probabilities(self) -> dict[str, dict[float, tuple[float, float]]]:
        """Discrete unknown -> value -> its probability and standard error."""
        names = self.leaves[0].assignment if self.leaves else {}
        return {name: self.marginal(name) for name in names}

    def marginal(self, name: str) -> dict[float, tuple[float, float]]:
        """Value of a discrete unknown -> its probability and standard error. **Arguments:** its `name`."""
        values = np.asarray(self.problem.parameters[name].values)
        nearest = np.argmin(np.abs(self.draws[name][:, None] - values), axis=1)
        return {v: self.sampled.probability(nearest == i) for i, v in enumerate(values.tolist())}

    def resample(self, key: Array, count: int) -> dict[str, np.ndarray]:
        """Equally weighted draws of all parameters, held and fixed ones included.

        **Arguments:** `key`; `count`. **Returns:** parameter -> values [count, ...].
        """
        order = jax.random.permutation(jax.random.fold_in(key, 1), count)
        rows = resample_draws(key, self.weights, count)[np.asarray(order)]
        p = np.repeat(np.asarray(self.problem.held)[None], count, axis=0)
        for label, values in self.draws.items():
            p[:, self.problem.index(label)] = values[rows]
        return {k: np.asarray(v) for k, v in jax.vmap(self.problem.to_dict)(jnp.asarray(p)).items()}

    def predict(
        self,
        function: Callable[[dict[str, Array]], Any],
        *,
        key: Array,
        count: int = 200,
        progress: Progress = False,
    ) -> Any:
        """Predictions of a function for draws of the posterior, in as many threads as there are cores.

        **Arguments:** `function`: dict of all parameters -> pytree of arrays, traceable (it is compiled once); `key`;
        `count` of draws; `progress`: as of `fit`. **Returns:** the pytree with a leading axis [count], as numpy.
        """
        return predictions(self.problem.held.dtype, function, self.resample(key, count), progress)

    def to_xarray(self) -> Any:  # xarray.DataTree
        """Groups with the names and dimensions of ArviZ, and those of weighted draws and of discrete choices.

        ArviZ knows no weights: its groups `posterior` and `sample_stats` have equally weighted draws, the chains, or
        as many resampled importance draws as these are worth. All draws are in `weighted_posterior`, and what they
        weigh is in `weights`. `posterior` has the attributes of the sample (log evidence, effective size, k-hat,
        method), `prior` and `observed_data` are as in ArviZ, and `leaves` has the probabilities of discrete choices.
        """
        return datatree(self)

    def __str__(self) -> str:
        return table_of(self)

    def _values(self, name: str) -> np.ndarray:
        if name not in self.draws:
            raise ValueError(f"no unknown {name!r} was sampled: there are {list(self.draws)}")
        return self.draws[name]
