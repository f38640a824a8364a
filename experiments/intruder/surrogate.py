"""The properties of grains from balls thrown into them, through a response surface where no derivative goes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from difsim import Status
from difsim.typing import Scalar
from experiments.harness import Found
from experiments.intruder.pictures import draw_surrogate
from experiments.intruder.scene import BASE, SCATTER, Drop
from experiments.variables import describe
from inversion import (
    Bounded,
    Log,
    Observation,
    Observations,
    Problem,
    fit,
    identify,
    map_batched,
    response_surface,
)
from inversion.leastsq import latin_hypercube
from inversion.problem import strip_weak_types
from inversion.progress import show_progress
from inversion.response import ResponseSurface

SPEEDS = 0.35, 0.45, 0.55, 0.65, 0.75, 0.85  # m/s, of the balls that are thrown to find what the grains are
RANGE = 0.3, 0.9  # m/s
UNKNOWNS = {
    "friction": Bounded(0.2, 0.8, ""),
    "modulus": Log(5e6, 2e7, "Pa"),
    "restitution": Bounded(0.3, 0.8, ""),
}
OUTCOMES = "depth", "rebound"  # m, how far it comes down; m/s, how fast it comes up at the most


def estimate(drop: Drop, samples: int, repeats: int, seed: int = 0) -> Found:
    """A surface from `samples` throws; then UNKNOWNS from new ones at BASE, `repeats` times."""
    key = jax.random.key(seed)
    cube = latin_hypercube(key, samples, 1 + len(UNKNOWNS))
    scaled = [jax.vmap(_quantile, (None, 0))(q, cube[:, 1 + i]) for i, q in enumerate(UNKNOWNS.values())]
    points = jnp.stack([RANGE[0] + (RANGE[1] - RANGE[0]) * cube[:, 0], *scaled], axis=1)
    outcomes = throw(drop, points, seed + 1)
    surface = response_surface(_coordinates(points), outcomes)
    truth = jnp.array([BASE[name] for name in UNKNOWNS])
    of = jnp.stack([jnp.append(speed, truth) for speed in SPEEDS])
    seen = throw(drop, jnp.tile(of, (repeats, 1)), seed + 2).reshape(repeats, len(SPEEDS), len(OUTCOMES))
    general = _problem(surface, seen[0])
    guess = {name: float(q.physical(jnp.asarray(0.5))) for name, q in UNKNOWNS.items()}
    fits = []
    for i, one in enumerate(show_progress(seen, "fits")):
        posed = eqx.tree_at(lambda p: p.data, general, strip_weak_types(_data(surface, one)))
        fits.append(fit(posed, key=jax.random.key(i), starts=0, keep=1, guesses=[guess]))
    values = np.array([[f.values[name] for name in UNKNOWNS] for f in fits])
    sigma = np.array([[f.sigma[name] for name in UNKNOWNS] for f in fits])
    result = xr.Dataset(
        {
            "came": (("throw", "outcome"), np.asarray(outcomes)),
            "told": (("throw", "outcome"), np.asarray(jax.vmap(surface)(_coordinates(points)))),
            "found": (("repeat", "unknown"), values),
            "sigma": (("repeat", "unknown"), sigma),
            "truth": ("unknown", np.asarray(truth)),
        },
        coords={"outcome": [*OUTCOMES], "unknown": [*UNKNOWNS]},
    )
    outcome, unknown = "m (depth), m/s (rebound)", "1 (friction, restitution), Pa (modulus)"
    units = {"came": outcome, "told": outcome} | dict.fromkeys(("found", "sigma", "truth"), unknown)
    names = {"came": "outcome of the simulation", "told": "outcome by the response surface"}
    result = describe(result, units=units, names=names)
    told = identify(eqx.tree_at(lambda p: p.data, general, strip_weak_types(_data(surface, seen[-1]))), fits[-1])
    spread = np.std(np.asarray(outcomes), axis=0)
    summary = {
        "failed": int(jnp.sum(~surface.ok)),
        "error": dict(zip(OUTCOMES, np.asarray(surface.error).tolist(), strict=True)),
        "error_over_spread": dict(zip(OUTCOMES, (np.asarray(surface.error) / spread).tolist(), strict=True)),
        "misfit_per_number": float(np.mean([f.misfit for f in fits])) / seen[0].size,
        "fits_that_converged_and_explain_their_data": float(np.mean([f.ok for f in fits])),
        **{
            name: {
                "truth": BASE[name],
                "mean": float(values[:, i].mean()),
                "scatter": float(values[:, i].std(ddof=1)),
                "stated_sigma": float(np.median(sigma[:, i])),
                "within_1.96_sigma": float(np.mean(np.abs(values[:, i] - BASE[name]) <= 1.96 * sigma[:, i])),
                "verdict": told.verdicts[name],
            }
            for i, name in enumerate(UNKNOWNS)
        },
    }
    return Found(summary, {"result": result}, {"surrogate": draw_surrogate(result)})


def _quantile(quantity: Bounded | Log, share: Scalar) -> Scalar:
    """Of its prior, in its own unit."""
    return quantity.physical(quantity.quantile(share))


def throw(drop: Drop, points: Float[Array, "k 4"], seed: int) -> Float[Array, "k 2"]:
    """OUTCOMES of throws of speed, friction, modulus and restitution, each at another place."""
    places = SCATTER * jax.random.normal(jax.random.key(seed), (points.shape[0], 2))

    return eqx.filter_jit(map_batched)(lambda row: outcome(drop, *row), (points, places))


def outcome(drop: Drop, point: Float[Array, "4"], place: Float[Array, "2"]) -> Float[Array, "2"]:
    """OUTCOMES of one throw; NaN if it failed."""
    seen, status = drop(point / jnp.array(list(BASE.values())), place)
    return jnp.where(status == Status.OK, jnp.stack([-jnp.min(seen[:, 1]), jnp.max(seen[:, 0])]), jnp.nan)


def _coordinates(points: Float[Array, "*k 4"]) -> Float[Array, "*k 4"]:
    """Of the surface: the modulus by its logarithm."""
    return points.at[..., 2].set(jnp.log(points[..., 2]))


def _problem(surface: ResponseSurface, seen: Float[Array, "throw 2"]) -> Problem:
    def predict(values):
        unknown = jnp.stack([values[name] for name in UNKNOWNS])
        points = jnp.stack([jnp.append(speed, unknown) for speed in SPEEDS])
        return {"outcomes": jax.vmap(surface)(_coordinates(points))}, True

    return Problem(UNKNOWNS, predict, _data(surface, seen))


def _data(surface: ResponseSurface, seen: Float[Array, "throw 2"]) -> Observations:
    sigma = np.broadcast_to(np.asarray(surface.error), seen.shape)
    return Observations({"outcomes": Observation(np.asarray(seen), sigma)})
