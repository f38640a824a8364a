"""Four losses of one track: its final state, all of it, a growing horizon, and multiple shooting."""

from collections.abc import Mapping
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.stats import chi2

from difsim import Adaptive, Forward, Status
from experiments.hopper.track import (
    BOUNCES,
    NOISE,
    Estimates,
    Track,
    change,
    change_state,
    estimate,
    fly,
    follow,
    rotation_between,
)
from inversion import Bounded, Log, Observation, Observations, Problem, Stops, fit
from inversion.leastsq import Fit
from inversion.shooting import Chain, progressive

UNKNOWN = {
    "restitution": Bounded(0.3, 0.95, "1"),
    "friction": Bounded(0.05, 1.0, "1"),
    "rolling": Log(1e-4, 1e-2, "m"),
    "depth": Log(5e-4, 8e-3, "m"),
}
KNOWN = {"depth": 2e-3}  # m at 0.1 m/s: the stiffness, which a track hardly sees
SEARCH = Adaptive(1e-7, 1e-7, resolve=0.0), Forward(weight=0.1)
STOPS = Stops(misfit=1e-4, step=1e-4, iterations=30)
# What a solver at 1e-7 may miss an arc's end by: m, m/s, rad, rad/s.
SLACK = np.repeat([1e-5, 1e-6, 1e-5, 1e-6], 3)

Used = Bool[np.ndarray, "arcs"]


class Whole(eqx.Module):
    """The motion from the release, which is known, at the times of the track, or at the last of them alone."""

    track: Track
    final: bool = eqx.field(static=True)

    def __call__(self, values: dict[str, Array]) -> tuple[dict[str, Array], Int[Array, ""]]:
        times = jnp.concatenate([jnp.zeros(1), self.track.times.ravel()])
        solution = follow(values, self.track.release, times, *SEARCH)
        body, seen = jax.tree.map(lambda x: x[1:], solution.states.body), self.track.seen.attitude.reshape(-1, 4)
        turned = jax.vmap(rotation_between)(seen, body.attitude)
        motion = {"position": body.position, "attitude": turned, "spin": body.spin}
        return jax.tree.map(lambda x: x[-1] if self.final else x, motion), solution.status


class Arcs(eqx.Module):
    """From a state in the middle of each flight through a bounce to the middle of the next flight.

    The starts are the estimated states, each shifted by so many standard deviations (columns of its spread). The
    simulated part goes from the last sample before the bounce to the first one after it; the rest of the two
    flights is in closed form.
    """

    track: Track
    estimates: Estimates
    shifts: Float[Array, "flights 12"]
    used: Bool[Array, "arcs"]

    def miss(self, values: dict[str, Array], arc: Array, shift: Float[Array, "12"]) -> tuple[Array, Array]:
        """How one arc with its start at `shift` misses the next estimate [12], and the status of its run."""
        state, after = (jax.tree.map(lambda x, i=i: x[arc + i], self.estimates.states) for i in (0, 1))
        middles = self.estimates.times[arc], self.estimates.times[arc + 1]
        span = jnp.stack([self.track.times[arc, -1], self.track.times[arc + 1, 0]])
        begun = fly(change_state(state, self.estimates.spreads[arc] @ shift), span[0] - middles[0])
        solution = follow(values, begun, span, *SEARCH)
        return change(fly(solution.last.body, middles[1] - span[1]), after), solution.status

    def map(self, do, empty):
        """`do(arc)` of each arc in turn; `empty` of those that are not used."""
        return jax.lax.map(lambda i: jax.lax.cond(self.used[i], do, lambda _: empty, i), jnp.arange(BOUNCES))

    def __call__(self, values: dict[str, Array]) -> tuple[dict[str, Array], Int[Array, ""]]:
        nothing = (jnp.zeros(12), jnp.int32(Status.OK))
        missed, statuses = self.map(lambda i: self.miss(values, i, self.shifts[i]), nothing)
        return {"miss": missed.ravel()}, jnp.max(statuses)

    @eqx.filter_jit
    def slopes(self, values: dict[str, Array]) -> Float[Array, "arcs 12 12"]:
        """How each arc's miss answers to the shift of its start."""

        def arc(i):
            return jax.jacfwd(lambda u: self.miss(values, i, u)[0])(self.shifts[i])

        return self.map(arc, jnp.zeros((12, 12)))


def whole_problem(track: Track, bounces: int, final: bool = False) -> Problem:
    """All samples over so many bounces, or only the last of them."""
    times, seen = jax.tree.map(lambda x: x[: bounces + 1], (track.times, track.seen))
    rows = jax.tree.map(lambda x: np.asarray(x).reshape(times.size, -1)[-1 if final else slice(None)], seen)
    value = {"position": rows.position, "attitude": np.zeros_like(rows.position), "spin": rows.spin}
    data = Observations({k: Observation(value[k], sigma) for k, sigma in NOISE.items()})
    return Problem(UNKNOWN, Whole(Track(track.release, times, seen), final), data).hold(KNOWN)


def build_chain(
    track: Track, used: Used, values: Mapping[str, float], shifts: Float[np.ndarray, "flights 12"]
) -> tuple[Problem, Chain]:
    """The `used` arcs, linear in their starts about `shifts` and weighed as on the ground of `values`; less those
    that fail there."""
    arcs = Arcs(track, estimate(track), jnp.asarray(shifts), jnp.asarray(used))
    slopes = np.asarray(arcs.slopes({k: jnp.asarray(v) for k, v in values.items()}))
    valid = np.isfinite(slopes).all(axis=(1, 2))
    slopes = np.where(valid[:, None, None], slopes, 0.0)
    chain = Chain(np.asarray(arcs.estimates.spreads), slopes, shifts, SLACK, used & valid)
    arcs = eqx.tree_at(lambda a: a.used, arcs, jnp.asarray(chain.used))
    data = Observations({"miss": Observation(chain.mean, covariance=chain.covariance)})
    return Problem(UNKNOWN, arcs, data).hold(KNOWN), chain


def fit_whole(track: Track, bounces: int, guess, key, final: bool = False) -> Fit:
    return fit(whole_problem(track, bounces, final), key=key, guesses=[guess], **ONE)


def fit_progressive(track: Track, bounces: int, guess, key) -> Fit:
    return progressive(
        [whole_problem(track, n) for n in range(1, bounces + 1)], key=key, guess=guess, stops=STOPS
    )[-1]


def fit_shooting(track: Track, bounces: int, guess, key) -> Fit:
    """From the guess, and from random starts where the fit misses its data; the best of what was found.

    Where a fit misses its data the strangest arc is dropped, as long as more than half of them remain: two corners
    that touch at nearly the same time, or roll over, answer to the start's error with a fold that no slope holds.
    """
    best = None
    for start in range(STARTS):
        if start:
            u = jax.random.uniform(jax.random.fold_in(key, start), (len(UNKNOWN),))
            guess = {k: float(q.physical(u[i])) for i, (k, q) in enumerate(UNKNOWN.items())} | KNOWN
        used = np.arange(BOUNCES) < bounces
        while 2 * used.sum() > bounces:
            found, inverse, chi_squared = relinearise(track, used, guess, key)
            used = np.asarray(inverse.predict.used)
            if best is None or found.misfit < best.misfit:
                best = found
            if 2 * used.sum() > bounces and found.misfit < chi2.isf(RARE, 12 * used.sum()):
                return found
            used = used & (np.arange(BOUNCES) != np.argmax(chi_squared))
    return best


def relinearise(track: Track, used: Used, guess, key) -> tuple[Fit, Problem, Float[np.ndarray, "arcs"]]:
    """Fits of the ground and of the arcs' starts in turn until the starts stand still: the last fit, or the best
    one where they do not; with its problem, which knows the arcs used, and their strangeness."""
    shifts, best = np.zeros((BOUNCES + 1, 12)), None
    for _ in range(ROUNDS):
        inverse, chain = build_chain(track, used, guess, shifts)
        used = chain.used
        found = fit(inverse, key=key, guesses=[guess], **ONE)
        missed = chain.mean + np.asarray(inverse.data["miss"].cholesky) @ found.residual[: 12 * BOUNCES]
        estimated = np.clip(chain.estimate(missed), -FARTHEST, FARTHEST)
        if np.abs(estimated - shifts).max() < STILL:
            return found, inverse, chain.chi_squared(missed)
        if best is None or found.misfit < best[0].misfit:
            best = found, inverse, chain.chi_squared(missed)
        if not found.misfit < WORSE * best[0].misfit:
            break
        guess, shifts = found.values, estimated
    return best


ROUNDS, STARTS = 6, 4
FARTHEST = 4.0  # standard deviations of a start: farther than chance, where arcs are not linear
WORSE = 10.0  # a misfit that grows so much no longer converges
STILL = 0.2  # standard deviations: the solver's errors move the starts by 0.1
RARE = 1e-3
ONE = {"starts": 0, "keep": 1, "stops": STOPS, "throw": False}
LOSSES = {
    "final state": partial(fit_whole, final=True),
    "whole track": fit_whole,
    "progressive horizon": fit_progressive,
    "multiple shooting": fit_shooting,
}
