"""A posterior: draws with weights, the evidence, the probabilities of discrete choices, and how good all that is."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped
from tqdm import tqdm

from difsim.session import compile_sooner
from difsim.status import Status

from .cube import Cube
from .draws import Draws, resampled
from .groups import datatree
from .importance import K_HAT
from .information import SPLIT, ranges, verdict, verdict_of_choices
from .outcome import Calls
from .parameters import Discrete
from .problem import Problem
from .programs import in_threads
from .unknowns import AbstractUnknown

FEWEST = 100.0  # effective draws: fewer say nothing about the ends of an interval of 95 %
DRIFT = 4.0  # standard errors, of the largest of some ten means
BASIS, COVERED = 8, 0.45  # families that kernels may rest on if their draws have a smaller effective share
DIFFERENCE = 3.0  # standard errors of two log evidences
FAMILIES = 16  # fewer do not tell by their spread how far all of them are off


class Leaf(NamedTuple):
    """One combination of discrete values.

    `probability` with its standard `error`; `log_evidence` of the data if this combination is the true one, -infinity
    where no draw has fallen into it.
    """

    assignment: dict[str, float]
    probability: float
    error: float
    log_evidence: float


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
        if self.k_hat is not None and self.k_hat > K_HAT:
            return f"the importance weights cannot be trusted, k-hat {self.k_hat:.2f} > {K_HAT}: use Tempered()"
        if self.sampled.family_count < FAMILIES:
            return (
                f"the chains descend from {self.sampled.family_count} < {FAMILIES} particles of the prior, so their "
                "spread is no error: use more particles or steps, or a fit and its covariance"
            )
        if (few := self._rests_on_few()) is not None:
            return few
        if not self.effective_size >= FEWEST:
            return (
                f"an effective size of {self.effective_size:.0f} < {FEWEST:.0f}: "
                "ask for a larger effective_size, or raise the limit of simulations"
            )
        if (missed := self._missed()) is not None:
            return missed
        if self.drift > DRIFT:
            return f"the chains have not settled, drift {self.drift:.1f} > {DRIFT}: use more particles or steps"
        return None

    def _rests_on_few(self) -> str | None:
        """That kernels cover the posterior badly, at particles of a tempered run that are of few families.

        Weights of draws do not show the end of a curved arm at which no kernel is.
        """
        share = 1.0 / float(np.sum(self.weights**2)) / self.weights.size
        if self.k_hat is None or self.sampled.other is None or share >= COVERED:
            return None
        families = self.sampled.other[1] ** -2
        if families >= BASIS:
            return None
        return (
            f"the draws are worth {100 * share:.0f} % of their number, since their kernels are no likeness of the "
            f"posterior, and the particles that these are at are worth {families:.0f} < {BASIS} of the prior: use more "
            "particles"
        )

    def _missed(self) -> str | None:
        """That a second estimate found more evidence: only what both have seen may be trusted."""
        if self.sampled.other is None:
            return None
        value, error = self.sampled.other
        if not value - self.log_evidence > DIFFERENCE * math.hypot(self.log_evidence_error, error):
            return None
        second = "the tempered run" if self.k_hat is not None else "importance sampling"
        return (
            f"a part of the posterior is missed: its log evidence is {self.log_evidence:.2f} +- "
            f"{self.log_evidence_error:.2g}, by {second} {value:.2f} +- {error:.2g}: use more particles, or give the "
            "minima of a fit as guesses"
        )

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
        sample = "the sample is good" if self.fault is None else f"NO intervals: {self.fault}"
        size = f"effective size {self.effective_size:.0f} of {self.weights.size} draws"
        size += "" if self.k_hat is None else f", k-hat {self.k_hat:.2f}"
        model = "the model explains the data" if self.explains_data else "the model does NOT explain the data"
        return f"{sample}, {size}; {model}, p = {self.p_value:.2g}"

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
            raise ValueError(f"{name!r} is a choice among {self.component(name).labels}: see its probabilities")
        order = np.argsort(values, kind="stable")
        if name in self.probabilities:
            reached = np.searchsorted(np.cumsum(self.weights[order]), np.asarray(share) * (1.0 - 1e-12))
            return np.asarray(values[order][np.minimum(reached, values.size - 1)])
        below = np.cumsum(self.weights[order]) - 0.5 * self.weights[order]
        return np.asarray(np.interp(share, below, values[order]))

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
        return {name: self._verdict(name) for name in self.draws} if self.fault is None else {}

    def _verdict(self, name: str) -> str:
        q, size = self.component(name), self.effective_size
        if name in self.probabilities:
            order = np.argsort(np.asarray(q.values))
            shares = np.array([p for p, _ in self._marginal(name).values()])[order]
            return verdict_of_choices(shares, size, q.is_ordered)
        u = np.asarray(q.probability(q.scaled(jnp.asarray(self.draws[name]))))
        said = verdict(u, self.weights, size, ends=not np.isinf(q.limits[1]))
        if said != SPLIT:
            return said
        parts = np.asarray(q.physical(q.quantile(jnp.array(ranges(u, self.weights)))))
        return f"{said}: {', '.join(f'{low:.3g} to {high:.3g}' for low, high in parts)}"

    @property
    def probabilities(self) -> dict[str, dict[float, tuple[float, float]]]:
        """Discrete unknown -> value -> its probability and standard error."""
        names = self.leaves[0].assignment if self.leaves else {}
        return {name: self._marginal(name) for name in names}

    def _marginal(self, name: str) -> dict[float, tuple[float, float]]:
        values = np.asarray(self.problem.parameters[name].values)
        nearest = np.argmin(np.abs(self.draws[name][:, None] - values), axis=1)
        return {v: _probability(self.sampled, nearest == i) for i, v in enumerate(values.tolist())}

    def resample(self, key: Array, count: int) -> dict[str, np.ndarray]:
        """Equally weighted draws of all parameters, held and fixed ones included.

        **Arguments:** `key`; `count`. **Returns:** parameter -> values [count, ...].
        """
        order = jax.random.permutation(jax.random.fold_in(key, 1), count)
        rows = resampled(key, self.weights, count)[np.asarray(order)]
        p = np.repeat(np.asarray(self.problem.held)[None], count, axis=0)
        for label, values in self.draws.items():
            p[:, self.problem.index(label)] = values[rows]
        return {k: np.asarray(v) for k, v in jax.vmap(self.problem.named)(jnp.asarray(p)).items()}

    def predict(
        self, function: Callable[[dict[str, Array]], Any], *, key: Array, count: int = 200, progress: bool = False
    ) -> Any:
        """Predictions of a function for draws of the posterior, in as many threads as there are cores.

        **Arguments:** `function`: dict of all parameters -> pytree of arrays, traceable (it is compiled once); `key`;
        `count` of draws; `progress`: show a bar. **Returns:** the pytree with a leading axis [count], as numpy.
        """
        rows = self.resample(key, count)
        program = compile_sooner(function)
        dtype = self.problem.held.dtype
        cases = [{k: jnp.asarray(v[i], dtype) for k, v in rows.items()} for i in range(count)]
        first = jax.tree.map(np.asarray, program(cases[0]))  # compiled once, before threads ask for it
        with tqdm(total=count, initial=1, disable=not progress, desc="predictions") as bar:

            def one(case):
                found = jax.tree.map(np.asarray, program(case))
                bar.update()
                return found

            found = [first, *in_threads(one, cases[1:])] if count > 1 else [first]
        return jax.tree.map(lambda *leaves: np.stack(leaves), *found)

    def to_xarray(self) -> Any:  # xarray.DataTree
        """Groups with the names and dimensions of ArviZ, and those of weighted draws and of discrete choices.

        ArviZ knows no weights: its groups `posterior` and `sample_stats` have equally weighted draws, the chains, or
        as many resampled importance draws as these are worth. All draws are in `weighted_posterior`, and what they
        weigh is in `weights`. `posterior` has the attributes of the sample (log evidence, effective size, k-hat,
        method), `prior` and `observed_data` are as in ArviZ, and `leaves` has the probabilities of discrete choices.
        """
        return datatree(self)

    def __str__(self) -> str:
        width = max(len(name) for name in self.draws)
        lines = [f"posterior: {self.verdict}"]
        for name in self.draws:
            unit = self.component(name).unit
            if name in self.probabilities:
                labels = self.component(name).labels
                parts = zip(labels, self._marginal(name).values(), strict=True)
                shares = ", ".join(f"{label} {_share(*p)}" for label, p in parts)
                lines.append(f"  {name:{width}s}  probability of {shares}".rstrip())
            elif self.fault is None:
                narrow, wide = self.interval(name, 0.68), self.interval(name, 0.95)
                before = self.prior_range(name)
                ends = {"68 %": narrow, "95 %": wide, "prior": before}
                said = "   ".join(f"{k}: {low:.4g} ... {high:.4g}" for k, (low, high) in ends.items())
                lines.append(f"  {name:{width}s}  {float(self.quantile(name, 0.5)):.4g}   {said} {unit}".rstrip())
            else:
                lines.append(f"  {name:{width}s}  no interval")
        lines.append(
            f"  log evidence {self.log_evidence:.3f} +- {self.log_evidence_error:.2g}; {self.sampled.method}"
        )
        if set(self.statuses) - {Status.OK}:
            lines.append(Status.summary(self.statuses))
        return "\n".join(lines)

    def _values(self, name: str) -> np.ndarray:
        if name not in self.draws:
            raise ValueError(f"no unknown {name!r} was sampled: there are {list(self.draws)}")
        return self.draws[name]


def _probability(sampled: Draws, here: np.ndarray) -> tuple[float, float]:
    """The share of the posterior that lies here, and its error; for no draw at all what 95 % would exclude, 3 / n."""
    here = here.reshape(sampled.weights.shape).astype(float)
    if here.any():
        return sampled.mean(here)
    return 0.0, min(1.0, 3.0 * float(np.sum(sampled.weights**2)))


def _share(probability: float, error: float) -> str:
    return f"{probability:.3f} +- {error:.3f}" if probability > 0.0 else f"below {error:.2g}"


def reported(problem: Problem, cube: Cube, sampled: Draws) -> Posterior:
    """The posterior of draws in the unit cube of a problem's prior."""
    u = sampled.u.reshape(-1, sampled.u.shape[-1])
    selected, labels = cube.selected(u), cube.labels
    leaves = []
    for values in itertools.product(*map(range, cube.choices.values())) if cube.choices else ():
        here = np.all([selected[k] == value for k, value in zip(selected, values, strict=True)], axis=0)
        probability, error = _probability(sampled, here)
        share = probability * math.prod(cube.choices.values())  # by that of the prior
        evidence = sampled.log_evidence + float(np.log(share)) if share > 0.0 else -np.inf
        leaves.append(Leaf(cube.assignment(values), probability, error, evidence))
    by_name = lambda u: dict(zip(labels, cube.physical(u)[:, cube.active].T, strict=True))  # noqa: E731
    return Posterior(
        problem=problem,
        draws=by_name(u),
        prior=by_name(sampled.prior),
        leaves=tuple(sorted(leaves, key=lambda leaf: -leaf.probability)),
        calls=cube.calls,
        p_value=_p_value(problem, cube, sampled),
        sampled=sampled,
        statuses=Status.tally(cube.programs.statuses),
    )


def _p_value(problem: Problem, cube: Cube, sampled: Draws, count: int = 50) -> float:
    """The mean probability of chi-squared beyond the sum of squares of the data's scores at draws."""
    from scipy.special import gammaincc

    weights = sampled.weights.ravel()
    if problem.data.is_sum_of_squares:
        squares = np.maximum(-2.0 * sampled.log_likelihood.ravel(), 0.0)
        return float(np.sum(weights * gammaincc(0.5 * problem.data.size, 0.5 * squares)))
    rows = resampled(jax.random.PRNGKey(0), weights, count)
    squares = cube.squared_scores(sampled.u.reshape(-1, sampled.u.shape[-1])[rows])
    return float(np.mean(gammaincc(0.5 * problem.data.size, 0.5 * squares)))
