"""Powers of speed and gravity in depth and duration of slow impacts, beside those that Murdoch et al. found."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array

from difsim import Courant, allocate, simulate
from difsim.beds.specification import Bed
from difsim.dem import Grains
from difsim.dem.state import GrainsState
from experiments.harness import Found
from experiments.intruder.friction import PLACES, ROOM, Depths
from experiments.intruder.pictures import draw_exponents
from experiments.intruder.scene import COURANT, GAP, throw_ball
from experiments.variables import describe
from inversion import map_batched

SPEEDS, GRAVITIES = (0.1, 0.2, 0.4), (0.2, 0.45, 1.0)  # m/s, m/s²: the experiment's, which goes down to 0.02 m/s
RELAXES, LASTS, FRAME = 0.15, 0.25, 1e-3  # s: the bed to a lower gravity, a throw, between looks
SLOW = 0.1  # of the speed of impact, below which a ball counts as stopped: it creeps on in low gravity
# Murdoch et al. 2017 (doi 10.1093/mnras/stw3391), a ball of 10 cm on quartz sand: (by speed, by gravity).
PUBLISHED = {"depth": (1.0, 0.0), "duration": (0.0, 0.0)}


def compare(bed: Bed, repeats: int, lasts: float = LASTS, seed: int = 0) -> Found:
    """The powers of speed and gravity in depth and duration, and how far they are from the published ones.

    **Arguments:** `bed`; `repeats`: places of each speed and gravity; `lasts`, s of a throw; `seed`.
    **Returns:** what the harness writes.
    """
    found = _throw(bed, repeats, lasts, seed)
    powers = {
        name: fit_powers(found["speed"].values, found["gravity"].values, found[name].values) for name in PUBLISHED
    }
    tests = {
        name: [
            {"by": by, "power": float(p), "sigma": float(s), "published": of, "distance": float((p - of) / s)}
            for by, p, s, of in zip(("speed", "gravity"), *powers[name], PUBLISHED[name], strict=True)
        ]
        for name in PUBLISHED
    }
    units = {"depth": "m", "duration": "s", "speed": "m/s", "gravity": "m/s2"}
    names = {
        "depth": "depth below the first touch when the ball is slow",
        "duration": "time from the first touch until the ball is slow",
    }
    is_slow = np.isfinite(found["depth"].values)
    summary = {"throws": int(is_slow.size), "still_fast": int(np.sum(~is_slow)), "powers": tests}
    found = describe(found, units=units, names=names)
    return Found(summary, {"result": found}, {"exponents": draw_exponents(found)})


def fit_powers(speed: np.ndarray, gravity: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The powers a, b of a value that goes with v^a g^b, and their standard errors from the scatter of the throws.

    **Arguments:** `speed` m/s, `gravity` m/s², `values` [throws] in any unit; NaN ones are left out.
    **Returns:** powers [2], errors [2].
    """
    good = np.isfinite(values)
    if good.sum() < 4:
        raise ValueError(
            f"{good.sum()} of {good.size} balls are slow at the end, and three numbers follow from them"
        )
    design = np.stack([np.ones(good.sum()), np.log(speed[good]), np.log(gravity[good])], axis=1)
    best, *_ = np.linalg.lstsq(design, np.log(values[good]))
    rest = np.log(values[good]) - design @ best
    spread = np.linalg.inv(design.T @ design) * (rest @ rest) / (good.sum() - 3)
    return best[1:], np.sqrt(np.diag(spread))[1:]


def _with_gravity(grains: Grains, gravity: Array) -> Grains:
    return eqx.tree_at(lambda g: g.gravity, grains, jnp.array([0.0, 0.0, -1.0]) * gravity)


def _throw(bed: Bed, repeats: int, lasts: float, seed: int) -> xr.Dataset:
    """Depth m and duration s of each throw, NaN where the ball is still too fast at the end."""
    rows = np.array([(g, v) for g in GRAVITIES for v in SPEEDS for _ in range(repeats)])
    places = PLACES * np.random.default_rng(seed).standard_normal((len(rows), 2))
    above, alone = Depths.above(bed, lasts), allocate(bed.grains, bed.state, slack=ROOM)
    times = jnp.arange(0.0, lasts, FRAME)

    def relax(gravity: Array) -> GrainsState:
        lower, solver = _with_gravity(bed.grains, gravity), Courant(COURANT, neighbours=alone)
        run = simulate(lower, bed.state, jnp.array([0.0, min(RELAXES, lasts)]), solver=solver, throw=False)
        return jax.tree.map(lambda x: x[-1], run.states)

    def throw(row: tuple) -> dict[str, Array]:
        number, gravity, speed, place = row
        grains = _with_gravity(above.grains, gravity)
        state = grains.with_clumps(jax.tree.map(lambda x: x[number], relaxed), above.state.clumps)
        (path,) = throw_ball(grains, state, above.near, speed, place, times).states.clumps
        return {"height": path.position[:, 2], "speed": path.velocity[:, 2]}

    mapped = eqx.filter_jit(map_batched)
    # By numpy: what lies on several devices is no constant of a program.
    relaxed = jax.tree.map(lambda x: jnp.asarray(np.asarray(x)), mapped(relax, jnp.asarray(GRAVITIES)))
    numbers = np.searchsorted(GRAVITIES, rows[:, 0])
    paths = mapped(throw, tuple(map(jnp.asarray, (numbers, *rows.T, places))))
    height, speed, at = np.asarray(paths["height"]), np.asarray(paths["speed"]), np.asarray(times)
    gravity, thrown = rows.T
    touched = (np.sqrt(thrown**2 + 2.0 * gravity * GAP) - thrown) / gravity  # s: GAP is fallen freely
    depth, duration = np.full((2, len(rows)), np.nan)
    is_slow = -speed <= SLOW * thrown[:, None]
    for i in np.flatnonzero(is_slow.any(axis=1)):
        end = int(np.argmax(is_slow[i]))
        part = (speed[i, end - 1] + SLOW * thrown[i]) / (speed[i, end - 1] - speed[i, end])
        duration[i] = at[end - 1] + part * FRAME - touched[i]
        depth[i] = height[i, 0] - GAP - (1.0 - part) * height[i, end - 1] - part * height[i, end]
    columns = {"depth": depth, "duration": duration, "speed": thrown, "gravity": gravity}
    return xr.Dataset({name: ("throw", values) for name, values in columns.items()})
