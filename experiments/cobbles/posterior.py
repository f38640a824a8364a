"""The posterior of restitution and friction from the pixels of one collision, with the states integrated out.

A sampler in all 26 dimensions ends beside the posterior: from what the arc before the impact tells of the states to
what all pixels tell is a way of two powers of ten. The states are linear there, as a fit through the impact says. So
they are integrated out: what of the pixels a change of the states can make is left out of the data.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool, Float, Int

from experiments import posteriors, ranks
from experiments.cobbles import paper
from experiments.cobbles.impact import PIXEL, noise_keys, observe, truth
from experiments.cobbles.through import (
    FRICTION,
    RESTITUTION,
    STATES,
    TIMES,
    Setup,
    collide,
    columns,
    images,
    sensitivity,
)
from experiments.harness import Found
from inversion import Bounded, Importance, Observation, Observations, Problem, Tempered, sample
from inversion.pairs import draw_pairs, pairs_of
from inversion.posterior import Posterior
from inversion.progress import show_progress

TRUTH = {"restitution": paper.RESTITUTION, "friction": paper.FRICTION}
FEW, FEW_DRAWS = Importance(Tempered(160), generation=200), 100  # of a smoke test, and of each of many posteriors
UNKNOWNS = {"restitution": Bounded(0.0, 1.0), "friction": Bounded(0.0, 1.5)}
AT = (RESTITUTION, FRICTION)  # their places in θ


class Pixels(eqx.Module):
    """The data of the pixels on restitution and friction whatever the states are, as a function of the two.

    `states` [24]: those of the fit; `mirrors` [24, rows] and `twice` [24]: the reflections I - twice v vᵀ after which a
    change of the states moves the first 24 numbers alone; `at` [rows]: the pixels that are seen, in the flat array.
    """

    known: Setup
    states: Float[Array, "24"]
    mirrors: Float[Array, "24 rows"]
    twice: Float[Array, "24"]
    at: Int[Array, " rows"]

    def __call__(self, contact: Mapping[str, Array]) -> tuple[dict[str, Array], Bool[Array, ""]]:
        theta = jnp.concatenate([self.states, jnp.stack([contact[name] for name in UNKNOWNS])])
        path = collide(self.known.stone, self.known.law, theta, jnp.asarray(TIMES)).states
        told = self.reduce(images(self.known.view, path))
        return {"pixels": told}, jnp.all(jnp.isfinite(told))

    def reduce(self, pixels: Float[Array, "2 T C M 2"]) -> Float[Array, " kept"]:
        """The part of all pixels that the states do not move, in standard deviations."""
        reflect = lambda x, mirror: (x - mirror[1] * mirror[0] * (mirror[0] @ x), None)  # noqa: E731
        turned, _ = jax.lax.scan(reflect, jnp.ravel(pixels)[self.at] / PIXEL, (self.mirrors, self.twice))
        return turned[STATES:]


def problem(known: Setup, seen: Bool[Array, "2 T C M"], measured: Array, fit: Float[np.ndarray, "26"]) -> Problem:
    """Restitution and friction from measured pixels, with the states linear about a fit through the impact.

    **Arguments:** `known`, with a view that is known; `seen`, `measured`: all pixels; `fit`, θ. **Returns:** Problem.
    """
    theta = jnp.asarray(fit)
    at = np.flatnonzero(np.broadcast_to(np.asarray(seen)[..., None], measured.shape))
    moved = sensitivity(known.stone, known.law, theta, jnp.asarray(TIMES))
    by_states = np.asarray(columns(known, jnp.zeros(0), moved))[..., :STATES].reshape(-1, STATES)[at]
    model = Pixels(known, theta[:STATES], *reflections(by_states), jnp.asarray(at))
    data = Observation(np.asarray(model.reduce(measured)), 1.0, "sigma")
    return Problem(UNKNOWNS, model, Observations({"pixels": data}))


def reflections(columns: Float[np.ndarray, "rows n"]) -> tuple[Float[Array, "n rows"], Float[Array, " n"]]:
    """The reflections, one after the other, that turn what the columns span into the first n directions."""
    # Columns differ by many powers of ten; what they span does not depend on their lengths.
    mirrors, twice = np.linalg.qr(columns / np.linalg.norm(columns, axis=0), mode="raw")
    return jnp.asarray(np.triu(mirrors, 1) + np.eye(*mirrors.shape)), jnp.asarray(twice)


def with_posterior(found: Found, known: Setup, quick: bool, count: int) -> Found:
    """Add the posterior by the pixels of the first fit to what `impact.estimate` found.

    The posteriors of `count` fits, the others from fewer draws, tell how often intervals hold the truth.
    """
    result = found.data["result"]
    case = truth(known, paper.INCLINATION)
    keys = noise_keys(result.sizes["sample"])

    def posterior(i: int, size: int, method: Importance) -> tuple[Posterior, Float[np.ndarray, "26"]]:
        fits = result.isel(sample=i)
        best = fits["fit"].isel(start=int(fits["misfit"].values.argmin())).values
        measured, _ = observe(known, case, jnp.asarray(PIXEL), keys[i])
        posed = problem(known, case.seen, measured, best)
        at = {name: np.clip(best[k], q.lower, q.upper) for (name, q), k in zip(UNKNOWNS.items(), AT, strict=True)}
        key, shown = jax.random.PRNGKey(i), count == 1
        return sample(posed, key=key, method=method, effective_size=size, guesses=[at], progress=shown), best

    drawn, best = posterior(0, *((FEW_DRAWS, FEW) if quick else (1000, Importance(Tempered(400)))))
    told = judge(drawn, best)
    if count > 1:
        others = [posterior(i, FEW_DRAWS, FEW)[0] for i in show_progress(range(1, count), "posteriors")]
        told["coverage"] = coverage([drawn, *others])
    shown = pairs_of(drawn, {name: row["value"] for name, row in told["unknowns"].items()})
    groups = {"/shown": shown} | {f"/{k}": v for k, v in posteriors.samples(drawn).items()}
    title = "Restitution and friction by the pixels of one collision, states integrated out"
    return Found(
        dict(found.summary) | {"posterior": told},
        {"result": xr.DataTree.from_dict({"/": result} | groups)},
        dict(found.figures) | {"posterior": draw_pairs(shown, title)},
    )


def coverage(several: Sequence[Posterior]) -> dict[str, Any]:
    """Count the posteriors that state intervals, and find the share of these at 95 % that hold the truth."""
    good = [drawn for drawn in several if drawn.fault is None]
    below = [ranks.probability_below(drawn, TRUTH) for drawn in good]
    holds = {name: ranks.holds(np.array([row[name] for row in below])) if good else None for name in TRUTH}
    return {"count": len(several), "with_intervals": len(good), "holds_95": holds}


def judge(drawn: Posterior, best: Float[np.ndarray, "26"]) -> dict[str, Any]:
    """Rows of the unknowns, each with its truth, and the quality of the sample."""
    values = {"restitution": float(best[RESTITUTION]), "friction": float(best[FRICTION])}
    rows = posteriors.rows(drawn, values)
    for name, true in TRUTH.items():
        rows[name]["truth"] = true
    return {"unknowns": rows, "posterior": posteriors.quality(drawn)}
