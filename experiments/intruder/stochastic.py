"""Friction and restitution of grains from mean rebounds: a stochastic descent, beside a response surface.

Nobody knows where among the grains a ball comes down, so that only the mean over places can be compared. Its squared
distance from the data is the expectation of a product of two independent throws, (y - d)(y' - d), which is what the
descent minimises: the square of one throw would favour grains that scatter less.
"""

from collections.abc import Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from difsim.typing import Scalar
from experiments.harness import Found
from experiments.intruder.pictures import draw_descent
from experiments.intruder.scene import BASE, SCATTER, Drop
from experiments.intruder.surrogate import OUTCOMES, UNKNOWNS, outcome, throw
from experiments.variables import describe
from inversion import Checkpoint, Observation, Observations, Problem, descend, fit, response_surface
from inversion.leastsq import latin_hypercube

SOUGHT = {name: UNKNOWNS[name] for name in ("friction", "restitution")}
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
    surface, fitted = _fit_through_surface(drop, samples, data, scatter / np.sqrt(len(seen)), seed + 2)
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
    means = np.asarray(jax.vmap(jax.vmap(surface))(grid))
    result = xr.Dataset(
        {
            "distance": (("friction", "restitution"), np.sum(((means - data) / scatter) ** 2, axis=-1)),
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


def _ends(unknown) -> tuple[float, float]:
    return float(unknown.lower), float(unknown.upper)


def _fit_through_surface(drop: Drop, samples: int, data: np.ndarray, error: np.ndarray, seed: int):
    """A surface over SOUGHT at the speed and modulus of BASE, and the fit of the data through it."""
    cube = latin_hypercube(jax.random.key(seed), samples, len(SOUGHT))
    points = jnp.stack([q.physical(cube[:, i]) for i, q in enumerate(SOUGHT.values())], axis=1)
    every = [points[:, list(SOUGHT).index(k)] if k in SOUGHT else jnp.full(samples, v) for k, v in BASE.items()]
    surface = response_surface(points, throw(drop, jnp.stack(every, axis=1), seed))
    # The surface's own mean is uncertain too: its scatter over the throws for each of its terms.
    sigma = np.hypot(error, np.asarray(surface.error) * np.sqrt(len(surface.terms) / samples))

    def predict(values):
        return {"mean": surface(jnp.stack([values[name] for name in SOUGHT]))}, True

    problem = Problem(SOUGHT, predict, Observations({"mean": Observation(data, sigma)}))
    return surface, fit(problem, key=jax.random.key(seed), starts=16, keep=2)
