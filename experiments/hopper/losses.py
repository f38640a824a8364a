"""Four losses of one track: its final state, all of it, a growing horizon, and multiple shooting."""

from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.stats import chi2

from difsim.stepping import AbstractMethod, Sensitivities
from difsim.typing import Scalar, number
from experiments.hopper.track import (
    BOUNCES,
    NOISE,
    SAMPLES,
    Estimates,
    Track,
    change,
    estimate,
    flown,
    follow,
    moved,
    turned,
)
from inversion import Bounded, Fit, Log, Observation, Observations, Problem, Stops, fit
from inversion.shooting import expected_misses, progressive

UNKNOWN = {
    "restitution": Bounded(0.3, 0.95, "1"),
    "friction": Bounded(0.05, 1.0, "1"),
    "rolling": Log(1e-4, 1e-2, "m"),
    "depth": Log(5e-4, 8e-3, "m"),
}
KNOWN = {"depth": 2e-3}  # m at .1 m/s: the stiffness, which a track hardly sees
SEARCH = Sensitivities(1e-7, 1e-7, weight=0.1, resolve=0.0)
STOPS = Stops(misfit=1e-4, step=1e-4, iterations=30)
# What a solver at 1e-7 may miss an arc's end by: m, m/s, rad, rad/s.
SLACK = np.repeat([1e-5, 1e-6, 1e-5, 1e-6], 3)
UNSEEN = (
    1e9  # standard deviation of what a loss leaves out: one shape, so one compilation, for any number of bounces
)


class Whole(eqx.Module):
    """The motion from the release, which is known, to the `horizon` s, at the times of the track."""

    track: Track
    horizon: Scalar = number()
    method: AbstractMethod = SEARCH

    def __call__(self, values: dict[str, Array]) -> tuple[dict[str, Array], Bool[Array, ""]]:
        times = jnp.minimum(jnp.concatenate([jnp.zeros(1), self.track.times.ravel()]), self.horizon)
        solution = follow(values, self.track.release, times, self.method)
        body = jax.tree.map(lambda x: x[1:], solution.states.body)
        seen = self.track.seen.attitude.reshape(-1, 4)
        return {
            "position": body.position,
            "attitude": jax.vmap(turned)(seen, body.attitude),
            "spin": body.spin,
        }, solution.ok


class Arcs(eqx.Module):
    """From the estimated state in the middle of each flight through a bounce to the middle of the next flight.

    The simulated part goes from the last sample before the bounce to the first one after it; the rest of the two
    flights is in closed form.
    """

    track: Track
    estimates: Estimates
    count: Int[Array, ""]
    method: AbstractMethod = SEARCH

    def miss(self, values: dict[str, Array], arc: Array, start: Float[Array, "12"]) -> tuple[Array, Array]:
        """F(s) - s_next [12] of one arc whose start is changed by `start` [12], and whether it is valid."""
        state, after = (jax.tree.map(lambda x, i=i: x[arc + i], self.estimates.states) for i in (0, 1))
        middles = self.estimates.times[arc], self.estimates.times[arc + 1]
        span = jnp.stack([self.track.times[arc, -1], self.track.times[arc + 1, 0]])
        begun = flown(moved(state, start), span[0] - middles[0])
        solution = follow(values, begun, span, self.method)
        return change(flown(solution.last.body, middles[1] - span[1]), after), solution.ok

    def each(self, do, empty):
        """`do(arc)` of each arc in turn; `empty` beyond the `count` that are used."""
        return jax.lax.map(lambda i: jax.lax.cond(i < self.count, do, lambda _: empty, i), jnp.arange(BOUNCES))

    def __call__(self, values: dict[str, Array]) -> tuple[dict[str, Array], Bool[Array, ""]]:
        nothing = (jnp.zeros(12), jnp.array(True))
        missed, ok = self.each(lambda i: self.miss(values, i, jnp.zeros(12)), nothing)
        return {"miss": missed.ravel()}, jnp.all(ok)

    @eqx.filter_jit
    def responses(self, values: dict[str, Array]) -> tuple[Float[Array, "arcs 12 12"], Float[Array, "arcs 12 12"]]:
        """How each arc's end answers to its start along each column of the start's spread: slopes, curvatures.

        By differences over √3 standard deviations: where a second corner is about to touch, the derivative at
        the estimate says little of what happens within its error.
        """
        h = jnp.sqrt(3.0)

        def arc(i):
            steps = h * self.estimates.spreads[i].T
            starts = jnp.concatenate([steps, -steps, jnp.zeros((1, 12))])
            end, _ = jax.vmap(lambda d: self.miss(values, i, d))(starts)
            plus, minus, middle = end[:12], end[12:24], end[24]
            return (plus - minus).T / (2 * h), (plus + minus - 2 * middle[None]).T / h**2

        return self.each(arc, (jnp.zeros((12, 12)), jnp.zeros((12, 12))))


def whole(track: Track, bounces: int, final: bool = False) -> Problem:
    """All samples over so many bounces, or only the last of them."""
    used = np.zeros((BOUNCES + 1, SAMPLES), bool)
    used[: bounces + 1] = True
    if final:
        used[:] = False
        used[bounces, -1] = True
    used = used.ravel()
    sigma = {k: np.where(used, s, UNSEEN)[:, None] * np.ones(3) for k, s in NOISE.items()}
    seen = jax.tree.map(lambda x: np.asarray(x).reshape(BOUNCES * SAMPLES + SAMPLES, -1), track.seen)
    value = {"position": seen.position, "attitude": np.zeros_like(seen.position), "spin": seen.spin}
    data = Observations({k: Observation(value[k], sigma[k]) for k in NOISE})
    return Problem(UNKNOWN, Whole(track, track.times[bounces, -1]), data).hold(KNOWN)


def shooting(track: Track, bounces: int, values: Mapping[str, float], dropped: tuple[int, ...] = ()) -> Problem:
    """Arcs over so many bounces less the `dropped` ones, weighed as if the ground were that of `values`."""
    arcs = Arcs(track, estimate(track), jnp.asarray(bounces))
    answers = arcs.responses({k: jnp.asarray(v) for k, v in values.items()})
    slopes, curvatures = (np.asarray(x)[:bounces] for x in answers)
    mean, covariance = np.zeros(12 * BOUNCES), np.eye(12 * BOUNCES)
    used = slice(0, 12 * bounces)
    spreads = np.asarray(arcs.estimates.spreads)[: bounces + 1]
    mean[used], covariance[used, used] = expected_misses(spreads, slopes, curvatures, SLACK)
    for i in dropped:
        rows = slice(12 * i, 12 * i + 12)
        covariance[rows, :], covariance[:, rows] = 0.0, 0.0
        covariance[rows, rows] = UNSEEN**2 * np.eye(12)
    data = Observations({"miss": Observation(mean, covariance=covariance)})
    return Problem(UNKNOWN, arcs, data).hold(KNOWN)


def fit_final(track: Track, bounces: int, guess, key) -> Fit:
    return fit(whole(track, bounces, final=True), key=key, guesses=[guess], **ONE)


def fit_whole(track: Track, bounces: int, guess, key) -> Fit:
    return fit(whole(track, bounces), key=key, guesses=[guess], **ONE)


def fit_progressive(track: Track, bounces: int, guess, key) -> Fit:
    return progressive([whole(track, n) for n in range(1, bounces + 1)], key=key, guess=guess, stops=STOPS)[-1]


def fit_shooting(track: Track, bounces: int, guess, key) -> Fit:
    """From the guess, and from random starts where the fit misses its data; the best of what was found.

    In rounds: an arc's answer to its start depends on the ground, and so do the weights. An arc whose own miss no
    longer fits its covariance is dropped, as long as half of them remain: two corners that touch at nearly the
    same time answer to the start's error with a kink, which no covariance holds.
    """
    best = None
    for start in range(STARTS):
        if start:
            u = jax.random.uniform(jax.random.fold_in(key, start), (len(UNKNOWN),))
            guess = {k: float(q.physical(u[i])) for i, (k, q) in enumerate(UNKNOWN.items())} | KNOWN
        dropped: tuple[int, ...] = ()
        for i in range(ROUNDS):
            inverse = shooting(track, bounces, guess, dropped)
            found = fit(inverse, key=key, guesses=[guess], **ONE)
            if not np.isfinite(found.misfit):
                break
            guess = found.values
            if i:  # the first weights are those of a guess
                dropped = _strange(inverse, found, bounces, dropped)
        if best is None or found.misfit < best.misfit:
            best = found
        if found.misfit < chi2.isf(RARE, 12 * (bounces - len(dropped))):
            return found
    return best


def _strange(inverse: Problem, found: Fit, bounces: int, dropped: tuple[int, ...]) -> tuple[int, ...]:
    """The arcs whose own misses are rarer than RARE, if they are fewer than half."""
    seen = inverse.data["miss"]
    missed = np.asarray(seen.cholesky) @ found.residual[: 12 * BOUNCES]
    covariance = np.asarray(seen.cholesky @ seen.cholesky.T)
    strange = list(dropped)
    for i in set(range(bounces)) - set(dropped):
        rows = slice(12 * i, 12 * i + 12)
        if missed[rows] @ np.linalg.solve(covariance[rows, rows], missed[rows]) > chi2.isf(RARE, 12):
            strange.append(i)
    return tuple(strange) if 2 * len(strange) < bounces else dropped


ROUNDS, STARTS = 4, 4
RARE = 1e-3
ONE = {"starts": 0, "keep": 1, "stops": STOPS, "throw": False}
LOSSES = {
    "final state": fit_final,
    "whole track": fit_whole,
    "progressive horizon": fit_progressive,
    "multiple shooting": fit_shooting,
}
