"""Friction and restitution of grains from mean rebounds: a stochastic descent, beside a response surface.

Nobody knows where among the grains a ball comes down, so that only the mean over places can be compared. Its squared
distance from the data is the expectation of a product of two independent throws, (y - d)(y' - d), which is what the
descent minimises: the square of one throw would favour grains that scatter less.
"""

from collections.abc import Mapping
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool, Float

from difsim import Status
from difsim.typing import Scalar
from experiments.harness import Found
from experiments.intruder.pictures import draw_descent
from experiments.intruder.scene import BASE, SCATTER, Drop
from experiments.variables import describe
from inversion import (
    Bounded,
    Checkpoint,
    Observation,
    Observations,
    descend,
    fit,
    map_batched,
    response_problem,
)

SOUGHT = {"friction": Bounded(0.2, 0.8), "restitution": Bounded(0.3, 0.8)}
OUTCOMES = "depth", "rebound"  # m, how far it comes down; m/s, how fast it comes up at the most
SPREAD = 0.4  # of the smoothing, in coordinates in which an interval is 3.14 wide
GUESS = {"friction": 0.3, "restitution": 0.7}
WINDOW = 20  # steps


def compare(drop: Drop, out: Path, throws: int, samples: int, steps: int, seeds: int, seed: int = 0) -> Found:
    """SOUGHT from the mean of `throws`: by a descent, and by a surface from `samples` throws.

    A step of the descent takes four throws for each of its `seeds`.
    """
    base = jnp.array(list(BASE.values()))
    seen = np.asarray(throw(drop, jnp.tile(base, (throws, 1)), seed + 1))
    seen = seen[np.isfinite(seen).all(axis=1)]
    data, scatter = seen.mean(axis=0), seen.std(axis=0, ddof=1)

    def point(values: Mapping[str, Array]) -> Float[Array, "4"]:
        return jnp.stack([values.get(name, jnp.asarray(number)) for name, number in BASE.items()])

    def objective(values: Mapping[str, Array], key: Array) -> Scalar:
        places = SCATTER * jax.random.normal(key, (2, 2))
        one, other = (outcome(drop, point(values), place) - data for place in places)
        return jnp.sum(one * other / scatter**2)

    store = Checkpoint(out / "descent.checkpoint", [data, scatter, drop.steps, drop.parts, SPREAD])
    found = descend(
        objective,
        SOUGHT,
        key=jax.random.key(seed),
        guess=GUESS,
        steps=steps,
        window=WINDOW,
        seeds=seeds,
        spread=SPREAD,
        checkpoint=store,
        progress=True,
    )
    means = Observations({"mean": Observation(data, scatter / np.sqrt(len(seen)))})

    def simulate(values: Mapping[str, Array], key: Array) -> tuple[dict[str, Array], Bool[Array, ""]]:
        mean = outcome(drop, point(values), SCATTER * jax.random.normal(key, (2,)))
        return {"mean": mean}, jnp.all(jnp.isfinite(mean))

    key = jax.random.key(seed + 2)
    posed, surface = response_problem(SOUGHT, simulate, means, key=key, samples=samples, has_scatter=False)
    fitted = fit(posed, key=key, starts=16, keep=2)
    summary = {
        "throws": len(seen),
        "data": dict(zip(OUTCOMES, data.tolist(), strict=True)),
        "scatter_of_a_throw": dict(zip(OUTCOMES, scatter.tolist(), strict=True)),
        "status": found.status.name,
        "steps": found.steps,
        "throws_of_the_descent": 4 * seeds * found.steps,
        "throws_of_the_surface": samples,
        "failed": found.failed,
        "value": found.value,
        "error_of_the_value": found.error,
        "error_of_the_surface": dict(zip(OUTCOMES, np.asarray(surface.error).tolist(), strict=True)),
        "unknowns": {
            name: {
                "truth": BASE[name],
                "descent": found.values[name],
                "surface": fitted.values[name],
                "surface_sigma": fitted.sigma[name],
            }
            for name in SOUGHT
        },
    }
    grid = jnp.stack(jnp.meshgrid(*(jnp.linspace(*_ends(q), 41) for q in SOUGHT.values()), indexing="ij"), axis=-1)
    scaled = [q.to_prior_scale(grid[..., i]) for i, q in enumerate(SOUGHT.values())]
    drawn = np.asarray(jax.vmap(jax.vmap(surface))(jnp.stack(scaled, axis=-1)))
    result = xr.Dataset(
        {
            "distance": (("friction", "restitution"), np.sum(((drawn - data) / scatter) ** 2, axis=-1)),
            "history": ("window", found.history),
            "seen": (("throw", "outcome"), seen),
            "descent": ("unknown", [found.values[name] for name in SOUGHT]),
            "surface": ("unknown", [fitted.values[name] for name in SOUGHT]),
            "sigma": ("unknown", [fitted.sigma[name] for name in SOUGHT]),
            "truth": ("unknown", [BASE[name] for name in SOUGHT]),
        },
        coords={"friction": np.asarray(grid[:, 0, 0]), "restitution": np.asarray(grid[0, :, 1])}
        | {"unknown": [*SOUGHT], "outcome": [*OUTCOMES]},
    )
    units = dict.fromkeys(("distance", "history", "descent", "surface", "sigma", "truth", *SOUGHT), "1")
    names = {"distance": "squared distance of the surface from the data, in scatters of a throw"}
    units["seen"] = "m (depth), m/s (rebound)"
    return Found(
        summary, {"result": describe(result, units=units, names=names)}, {"descent": draw_descent(result)}
    )


def throw(drop: Drop, points: Float[Array, "k 4"], seed: int) -> Float[Array, "k 2"]:
    """OUTCOMES of throws of speed, friction, modulus and restitution, each at another place."""
    places = SCATTER * jax.random.normal(jax.random.key(seed), (points.shape[0], 2))

    return eqx.filter_jit(map_batched)(lambda row: outcome(drop, *row), (points, places))


def outcome(drop: Drop, point: Float[Array, "4"], place: Float[Array, "2"]) -> Float[Array, "2"]:
    """OUTCOMES of one throw; NaN if it failed."""
    seen, status = drop(point / jnp.array(list(BASE.values())), place)
    return jnp.where(status == Status.OK, jnp.stack([-jnp.min(seen[:, 1]), jnp.max(seen[:, 0])]), jnp.nan)


def _ends(unknown) -> tuple[float, float]:
    return float(unknown.lower), float(unknown.upper)
