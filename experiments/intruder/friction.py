"""The friction of grains from the depths of five balls, through a response surface, since no derivative goes there."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool

from difsim import allocate
from difsim.beds import BedSpecification
from difsim.beds.specification import Bed
from difsim.dem import Grains
from difsim.dem.state import GrainsState
from difsim.stepping.marching import NeighbourList
from experiments.beds import falling_state
from experiments.harness import Found
from experiments.intruder.pictures import draw_friction
from experiments.intruder.scene import (
    DENSITY,
    ball,
    box_of_glass,
    place_above,
    throw_ball,
)
from experiments.variables import describe
from inversion import Bounded, Observation, Observations, fit, map_batched, response_problem

SPEEDS = 0.3, 0.45, 0.6, 0.75, 0.9  # m/s
UNKNOWN = {"friction": Bounded(0.1, 0.6)}
TRUTHS = 0.2, 0.35, 0.5
READ = 2e-4  # m, error of a depth as it is read
BALL, GRAIN, WIDTH, DEEP = 0.0125, 0.005, 0.08, 0.04  # m: radius of the ball, diameter of grains, the bed
PLACES = 0.5 * GRAIN  # m, scatter of where a ball comes down: other grains are hit
LASTS, ROOM = 0.07, 1.5  # s: the ball has stopped; room for a denser bed than at the start
SAMPLES = 10


class Depths(eqx.Module):
    """The depths of a ball after throws at SPEEDS, as a function of the friction and of where it comes down.

    **Arguments:** by `above`.
    """

    grains: Grains
    state: GrainsState
    near: NeighbourList
    surface: Array  # m, the mean height of the bed
    lasts: Array  # s, the time of a throw

    @classmethod
    def above(cls, bed: Bed, lasts: float) -> "Depths":
        """The ball above a bed. **Arguments:** `bed`; `lasts`, s of a throw. **Returns:** Depths."""
        grains = replace(bed.grains, clumps=(ball(BALL, DENSITY),), clump_laws=(None,))
        start = place_above(bed.state.position, bed.grains.radius, jnp.zeros(2), BALL)
        state = grains.with_clumps(bed.state, (falling_state(start, 0.0),))
        near = allocate(grains, state, slack=ROOM)
        return cls(grains, state, near, jnp.asarray(bed.figures.height), jnp.asarray(lasts))

    def __call__(self, values: dict[str, Array], key: Array) -> tuple[dict[str, Array], Bool[Array, ""]]:
        """The depths below the mean surface, m. **Arguments:** `values`; `key` of the places."""
        grains = eqx.tree_at(lambda g: g.law.friction, self.grains, values["friction"])

        def throw(row):
            run = throw_ball(grains, self.state, self.near, *row, jnp.stack([0.0 * self.lasts, self.lasts]))
            (path,) = run.states.clumps
            return self.surface + BALL - path.position[-1, 2], run.ok

        places = PLACES * jax.random.normal(key, (len(SPEEDS), 2))
        depth, ok = jax.lax.map(throw, (jnp.asarray(SPEEDS), places))
        return {"depth": depth}, jnp.all(ok)


def recipe() -> BedSpecification:
    """The specification of the bed, 2294 grains of glass."""
    return box_of_glass(GRAIN, WIDTH, DEEP)


def estimate(bed: Bed, repeats: int, samples: int = SAMPLES, lasts: float = LASTS, seed: int = 0) -> Found:
    """The friction from new throws at each of TRUTHS, `repeats` times each.

    **Arguments:** `bed`; `repeats`; `samples` of the surface; `lasts`, s; `seed`. **Returns:** what the harness writes.
    """
    depths, key = Depths.above(bed, lasts), jax.random.key(seed)
    truths = jnp.repeat(jnp.asarray(TRUTHS), repeats)
    keys = jax.random.key_data(jax.random.split(jax.random.fold_in(key, 1), truths.size))

    def throw(row):
        return depths({"friction": row[0]}, jax.random.wrap_key_data(row[1]))[0]["depth"]

    seen = np.asarray(eqx.filter_jit(map_batched)(throw, (truths, keys)))
    posed, surface = response_problem(
        UNKNOWN, depths, Observations({"depth": Observation(seen[0], READ, "m")}), key=key, samples=samples
    )
    fits = []
    for one in seen:
        problem = eqx.tree_at(lambda p: p.data["depth"].value, posed, jnp.asarray(one))
        fits.append(fit(problem, key=key, starts=4, keep=2))
    found, sigma = (
        np.array([x["friction"] for x in of]) for of in ([f.values for f in fits], [f.sigma for f in fits])
    )
    result = xr.Dataset(
        {
            "depth": (("throw", "ball"), seen),
            "found": ("throw", found),
            "sigma": ("throw", sigma),
            "truth": ("throw", np.asarray(truths)),
            "scatter": ("ball", np.asarray(surface.error)),
        },
        coords={"speed": ("ball", np.asarray(SPEEDS))},
    )
    units = dict.fromkeys(("depth", "scatter"), "m") | dict.fromkeys(("found", "sigma", "truth"), "1")
    names = {"scatter": "scatter of the depth of one throw"}
    result = describe(result, units=units | {"speed": "m/s"}, names=names)
    summary = {
        "failed": int(np.sum(~np.asarray(surface.ok))),
        "scatter_mm": (1e3 * result["scatter"].values).tolist(),
        "fits": [
            {"friction": float(t), "found": float(x), "sigma": float(s), "inside_95": bool(abs(x - t) < 1.96 * s)}
            for t, x, s in zip(truths, found, sigma, strict=True)
        ],
    }
    return Found(summary, {"result": result}, {"friction": draw_friction(result)})
