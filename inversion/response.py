"""Response surfaces: the mean of a noisy or chaotic model as a smooth, cheap function, and problems posed by one."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from difsim.checks import numbers
from difsim.status import Status

from .batches import map_batched
from .leastsq import latin_hypercube
from .observe import Observation, Observations
from .problem import Problem
from .unknowns import AbstractParameter


class ResponseSurface(eqx.Module):
    """A polynomial of second degree in n numbers, by least squares; `surface(x)` [m], differentiable.

    `low` and `high` [n]: the box of its points, the range of validity; `terms` [t, m] of t = (n + 1)(n + 2)/2;
    `error` [m]: rms error of leave-one-out predictions, with the scatter of the model: the sigma of one
    prediction; `ok` [k]: the points that were used.
    """

    low: Float[Array, " n"]
    high: Float[Array, " n"]
    terms: Float[Array, "t m"]
    error: Float[Array, " m"]
    ok: Bool[Array, " k"]

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " m"]:
        return _monomials(self.scale(x)) @ self.terms

    def is_inside(self, x: Float[Array, " n"]) -> Bool[Array, ""]:
        """True if `x` is in the box of the points."""
        x = self._point(x)
        return jnp.all((x >= self.low) & (x <= self.high))

    def scale(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """The numbers scaled so that the box is ±1."""
        return (2 * self._point(x) - self.low - self.high) / (self.high - self.low)

    def _point(self, x: Any) -> Float[Array, " n"]:
        return numbers("ResponseSurface: x", x, str(self.low.shape[0]), is_finite=False)


def response_surface(points: Float[Array, "k n"], values: Float[Array, "k m"]) -> ResponseSurface:
    """On the host: the response surface through noisy values at points.

    Points with values that are not finite are left out, and are not `ok`.

    **Arguments:** `points` [k, n]; `values` [k, m]. **Returns:** the surface.
    **Raises:** ValueError for fewer than 1.5 times as many points as there are terms, or points that do not
    determine one of the n numbers or a product of two.
    **Source:** Box & Wilson (1951), J. R. Stat. Soc. B 13, 1; the error: Allen (1974), Technometrics 16, 125.
    """
    points = numbers("response_surface: points", points, "k n")
    values = numbers("response_surface: values", values, "k m", is_finite=False)
    if len(points) != len(values):
        raise ValueError(
            f"response_surface: {len(points)} points and {len(values)} values: give values for each point"
        )
    ok = np.isfinite(np.asarray(values)).all(axis=1)
    low, high = jnp.min(points, axis=0), jnp.max(points, axis=0)
    n = points.shape[1]
    count = (n + 1) * (n + 2) // 2
    if ok.sum() < 1.5 * count:
        raise ValueError(
            f"response_surface: {ok.sum()} points with finite values are too few for {count} terms of {n} numbers"
        )
    if not bool(jnp.all(high > low)):
        raise ValueError("response_surface: a number that is the same in all points cannot be determined")
    none = jnp.zeros((count, values.shape[1]))
    surface = ResponseSurface(low, high, none, none[0], jnp.asarray(ok))
    design = np.asarray(jax.vmap(lambda x: _monomials(surface.scale(x)))(points[ok]))
    left, size, right = np.linalg.svd(design, full_matrices=False)
    if size[-1] < 1e-8 * size[0]:
        raise ValueError("response_surface: the points lie on a conic section, and do not determine all terms")
    y = np.asarray(values)[ok]
    terms = right.T @ ((left.T @ y) / size[:, None])
    lever = np.sum(left**2, axis=1)
    off = (y - design @ terms) / (1 - lever)[:, None]
    error = np.sqrt(np.mean(off**2, axis=0))
    return eqx.tree_at(lambda s: (s.terms, s.error), surface, (jnp.asarray(terms), jnp.asarray(error)))


def response_problem(
    parameters: Mapping[str, AbstractParameter],
    simulate: Callable[[dict[str, Array], Array], tuple[dict[str, Any], Any]],
    data: Observations,
    *,
    key: Array,
    samples: int = 64,
    has_scatter: bool = True,
    map_rows: Callable[[Callable, Any], Any] = map_batched,
) -> tuple[Problem, ResponseSurface]:
    """Pose a problem whose simulator is the response surface of a chaotic one, for a fit without its derivatives.

    `simulate` runs at `samples` points of a Latin hypercube in the prior. Its scatter, as the surface's own error tells
    it, is added to the variance of the data: each datum is one outcome among those that are possible.

    **Arguments:** `parameters` and `data`, of `Observation` with a sigma, as of `Problem`; `simulate(values, key)`, as
    its `predict`, where the random `key` draws what is not known of a run, such as the place where a ball lands; `key`;
    `samples`, the number of simulations; `has_scatter`: False for data that are means of many outcomes, to which only
    the error of the surface's mean is added; `map_rows(f, rows)`, which gives f of each row: a loop, for a `simulate`
    that JAX cannot trace. **Returns:** the problem, for `fit`, `identify` or `sample`, and the
    surface, as a function of the unknowns scaled by their priors.
    **Raises:** ValueError for data without a sigma, and as `Problem` and `response_surface`.
    """
    whole = Problem(parameters, lambda values: simulate(values, key), data)
    seen: dict[str, Observation] = {}
    for name in data.names:
        one = data[name]
        if not isinstance(one, Observation) or one.sigma is None:
            raise ValueError(f"response_problem: data {name!r}: give Observation(value, sigma)")
        seen[name] = one
    shuffle, draws = jax.random.split(key)
    points = jax.vmap(whole.quantile)(latin_hypercube(shuffle, samples, whole.size))

    def outcome(row: tuple[Float[Array, " n"], Array]) -> Float[Array, " m"]:
        drawn = jax.random.wrap_key_data(row[1])
        run = Problem(parameters, lambda values: simulate(values, drawn), data).evaluate(row[0])
        found = jnp.concatenate([jnp.ravel(run.predictions[name]) for name in seen])
        return jnp.where(run.status == Status.OK, found, jnp.nan)

    keys = jax.random.key_data(jax.random.split(draws, samples))
    surface = response_surface(points, map_rows(outcome, (points, keys)))
    ends = np.cumsum([one.size for one in seen.values()])[:-1]

    def by_name(flat: Float[Array, " m"]) -> dict[str, Array]:
        parts = zip(seen.items(), jnp.split(flat, ends), strict=True)
        return {name: jnp.reshape(part, one.value.shape) for (name, one), part in parts}

    def predict(values: dict[str, Array]) -> tuple[dict[str, Array], Array]:
        scaled = [jnp.ravel(q.to_prior_scale(values[n])) for n, q in zip(whole.names, whole.unknowns, strict=True)]
        return by_name(surface(jnp.concatenate(scaled))), jnp.asarray(True)

    share = 1.0 if has_scatter else np.sqrt(len(surface.terms) / int(surface.ok.sum()))
    errors = by_name(share * surface.error)
    wider = [jnp.hypot(jnp.asarray(one.sigma), errors[name]) for name, one in seen.items()]
    data = eqx.tree_at(lambda d: [d[name].sigma for name in seen], data, wider)
    return Problem(parameters, predict, data), surface


def _monomials(x: Float[Array, " n"]) -> Float[Array, " t"]:
    """The monomials 1, x_i, x_i x_j for i ≤ j."""
    i, j = np.triu_indices(x.shape[0])
    return jnp.concatenate([jnp.ones(1), x, x[i] * x[j]])
