"""The posterior of the soil's three unknowns from the surface of its heap, through a response surface.

A posterior takes thousands of values, and a collapse takes a second: a polynomial through the heights of collapses
all over the prior stands in for them. Its errors at the places are unknowns beside those of the soil, with a normal
prior by collapses that are left out. They are integrated out: their covariance is added to that of the data.
"""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from difsim import Status
from experiments import posteriors, ranks
from experiments.cliff.inverse import SEED, STATIONS, UNKNOWNS, Fall
from experiments.cliff.measurements import RESOLUTION
from experiments.harness import Found
from inversion import (
    Checkpoint,
    Importance,
    Observation,
    Observations,
    Problem,
    Tempered,
    fit,
    response_surface,
    sample,
    sweep,
)
from inversion.leastsq import Fit, latin_hypercube
from inversion.pairs import draw_pairs, pairs_of
from inversion.posterior import Posterior
from inversion.response import ResponseSurface

COLLAPSES, QUICK_COLLAPSES = 120, 24
DRAWS = 20_000  # of the prior, to weigh by their likelihoods
# Data that the three unknowns are told by.
OF = {"three": "the synthetic surface", "experiment": "the measured surface"}


def collapses(fall: Fall, count: int, out: Path) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "n k"]]:
    """Soils all over the prior, and the heights at STATIONS of their heaps, NaN where one failed.

    An interrupted run goes on from its checkpoint.
    """
    soils = draw_soils(latin_hypercube(jax.random.PRNGKey(0), count, len(UNKNOWNS)))

    def heap(soil: Mapping[str, Array]) -> dict[str, Array]:
        ended = fall(soil)
        return {"height": jnp.where(ended.status == Status.OK, fall.heights(ended.last, STATIONS), jnp.nan)}

    kept = Checkpoint(out / "collapses.checkpoint", (fall.near, fall.steps, fall.dt, STATIONS))
    found = sweep(heap, dict(zip(UNKNOWNS, soils.T, strict=True)), chunk=8, checkpoint=kept, progress=True)
    return soils, found["height"].values


def draw_soils(shares: Float[Array, "n 3"]) -> Float[np.ndarray, "n 3"]:
    """The soils below which such shares of the prior lie."""
    quantiles = (jax.vmap(lambda u, q=q: q.physical(q.quantile(u))) for q in UNKNOWNS.values())
    return np.stack([of(u) for of, u in zip(quantiles, shares.T, strict=True)], axis=1)


def coordinates(soil: Float[Array, "*n 3"]) -> Float[Array, "*n 3"]:
    """Those of the surface: the stiffness by its logarithm."""
    return soil.at[..., 2].set(jnp.log(soil[..., 2]))


class Heap(eqx.Module):
    """Heights at STATIONS by the response surface, as a function of the soil."""

    surface: ResponseSurface

    def __call__(self, soil: Mapping[str, Array]) -> tuple[dict[str, Array], bool]:
        return {"surface": self.surface(coordinates(jnp.stack([soil[name] for name in UNKNOWNS])))}, True


def problem(
    surface: ResponseSurface, heights: Float[np.ndarray, " k"], covariance: Float[np.ndarray, "k k"]
) -> Problem:
    """The three unknowns from heights at STATIONS with the covariance of their errors and the surface's."""
    data = Observation(heights, covariance=covariance, unit="m")
    return Problem(UNKNOWNS, Heap(surface), Observations({"surface": data}))


def errors_of(
    surfaces: list[ResponseSurface], soils: Float[np.ndarray, "n 3"], heights: Float[np.ndarray, "n k"]
) -> Float[np.ndarray, "n k"]:
    """The error of each surface at the collapse that it was made without."""
    at = coordinates(jnp.asarray(soils))
    return np.stack([np.asarray(surface(x)) for surface, x in zip(surfaces, at, strict=True)]) - heights


def coverage_left_out(
    surfaces: list[ResponseSurface],
    soils: Float[np.ndarray, "n 3"],
    heights: Float[np.ndarray, "n k"],
    covariance: Float[np.ndarray, "k k"],
) -> dict[str, float]:
    """The shares of 95 % intervals that hold the truth, with each collapse as data of 2 mm and not as a point.

    The posteriors are the prior's draws by their likelihoods, which suffice for three unknowns.
    """
    rng, below = np.random.default_rng(SEED), []
    drawn = draw_soils(jnp.asarray(rng.random((DRAWS, len(UNKNOWNS)))))
    predicted = eqx.filter_jit(lambda surface, x: jax.vmap(surface)(coordinates(x)))
    whitening = np.linalg.inv(np.linalg.cholesky(covariance)).T
    for surface, soil, seen in zip(surfaces, soils, heights, strict=True):
        seen = seen + RESOLUTION * rng.standard_normal(seen.size)
        misfit = np.sum(((np.asarray(predicted(surface, jnp.asarray(drawn))) - seen) @ whitening) ** 2, axis=1)
        weights = np.exp(-0.5 * (misfit - misfit.min()))
        below.append(weights @ (drawn < soil) / weights.sum())
    return {name: ranks.holds(column) for name, column in zip(UNKNOWNS, np.transpose(below), strict=True)}


def add_posteriors(found: Found, fall: Fall, out: Path, quick: bool) -> Found:
    """The findings of `inverse.fits`, and the posteriors of the three unknowns by the data among OF that it fitted."""
    result = found.data["result"]
    names = [name for name in OF if f"{name}_data" in result]
    if not names:
        raise ValueError(f"--posterior: the posterior is of the fits {' or '.join(OF)}: name one with --fits")
    soils, heights = collapses(fall, QUICK_COLLAPSES if quick else COLLAPSES, out)
    ok = np.isfinite(heights).all(axis=1)
    points, heights = soils[ok], heights[ok]
    surface, *without = (
        response_surface(coordinates(jnp.asarray(points[kept])), jnp.asarray(heights[kept]))
        for kept in [np.full(len(points), True), *~np.eye(len(points), dtype=bool)]
    )
    off = errors_of(without, points, heights)
    covariance = RESOLUTION**2 * np.eye(STATIONS.size) + off.T @ off / len(off)
    told, groups, figures = {}, {}, {}
    for name in names:
        local, drawn = draw(problem(surface, result[f"{name}_data"].values, covariance), quick)
        told[name] = judge(local, drawn)
        shown = pairs_of(drawn, {name: local.values[name] for name in local.names})
        shown = shown.assign_coords(parameter_2=list(local.names))
        products = {"units": "products of unit_of"}
        shown["local_covariance"] = ("parameter", "parameter_2"), local.covariance, products
        groups |= {f"/{name}": shown} | {f"/{name}/{k}": v for k, v in posteriors.samples(drawn).items()}
        figures[f"posterior_{name}"] = draw_pairs(
            shown, f"The soil by {OF[name]}: posterior of all three unknowns"
        )
    result = result.assign(collapse_height=(("collapse", "x"), heights, {"units": "m"}))
    named = {"units": "m", "long_name": "error of the response surface"}
    result["surface_error"] = "x", np.sqrt(np.mean(off**2, axis=0)), named
    for i, (unknown, q) in enumerate(UNKNOWNS.items()):
        result[f"collapse_{unknown}"] = "collapse", points[:, i], {"units": q.unit}
    summary = {
        "collapses": len(soils),
        "failed_collapses": int(np.sum(~ok)),
        "left_out_hold_95": coverage_left_out(without, points, heights, covariance),
        "posteriors": told,
    }
    tree = xr.DataTree.from_dict({"/": result} | groups)
    figures = dict(found.figures) | figures
    return Found(dict(found.summary) | summary, {"result": tree}, figures)


def draw(posed: Problem, quick: bool) -> tuple[Fit, Posterior]:
    """The best fit of all three unknowns, with its local covariance, and their posterior."""
    key = jax.random.PRNGKey(0)
    method = Importance(Tempered(320), generation=400) if quick else Importance()
    size = 200 if quick else 4000
    local = fit(posed, key=key, starts=64, keep=8)
    return local, sample(
        posed, key=key, method=method, effective_size=size, batch_size=256, guesses=local.solutions
    )


def judge(local: Fit, drawn: Posterior) -> dict[str, Any]:
    """Rows of the unknowns, each with the `local95` interval of the fit; correlations, and the sample's quality."""
    rows = posteriors.rows(drawn, {name: local.values[name] for name in local.names})
    for name, row in rows.items():
        half = 1.96 * local.sigma[name]
        row["local95"] = [row["value"] - half, row["value"] + half] if np.isfinite(half) else None
    return {
        "unknowns": rows,
        "correlations": correlations({k: drawn.draws[k] for k in UNKNOWNS}, drawn.weights),
        "posterior": posteriors.quality(drawn),
    }


def correlations(draws: Mapping[str, np.ndarray], weights: np.ndarray) -> dict[str, float]:
    """Correlations of unknowns over the posterior, by pairs."""
    matrix, names = np.cov(np.stack(list(draws.values())), aweights=weights), list(draws)
    return {
        f"{names[i]}, {names[j]}": float(matrix[i, j] / np.sqrt(matrix[i, i] * matrix[j, j]))
        for i, j in combinations(range(len(names)), 2)
    }
