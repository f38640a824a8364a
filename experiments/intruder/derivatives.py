"""Until when derivatives through grains are right, and what stands in for them after that."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from difsim import Status
from experiments.cliff.derivatives import central_differences
from experiments.harness import Found
from experiments.intruder.pictures import draw
from experiments.intruder.scene import BASE, SCATTER, Drop
from experiments.variables import describe
from inversion import pathwise_gradient, smoothed_gradient
from inversion.smoothed import Smoothed

STEPS = 1e-7, 1e-5, 1e-3, 1e-1  # of differences, relative
SPREAD = np.array([*[0.1] * len(BASE), SCATTER, SCATTER])  # of factors, and of the place, m
AGREES = 0.1  # derivatives that differ by less than this share say the same
SPEED = 0  # of the two columns that a `Drop` gives


def compare(drop: Drop, samples: int, seed: int = 0) -> Found:
    """Derivatives of the ball's speed by the logarithms of BASE: of one path, by differences, and of an ensemble's
    mean, and where they part."""
    ones, middle = jnp.ones(len(BASE)), jnp.zeros(2)
    value = eqx.filter_jit(lambda factors: drop(factors, middle))
    seen, status = value(ones)
    forward = eqx.filter_jit(jax.jacfwd(lambda factors: value(factors)[0][:, SPEED]))(ones)
    later = [drop.parts // 4 - 1, drop.parts - 1]
    back = eqx.filter_jit(jax.grad(lambda factors, i: value(factors)[0][i, SPEED]))
    reverse = np.stack([back(ones, i) for i in later])
    differences = np.stack([central_differences(lambda x: value(x)[0][:, SPEED], ones, step) for step in STEPS])
    smooth, paths = _ensemble(drop, samples, seed)
    result = xr.Dataset(
        {
            "speed": ("time", np.asarray(seen[:, SPEED]), {"units": "m/s"}),
            "mean_speed": ("time", np.asarray(smooth.value), {"units": "m/s"}),
            "forward": (("time", "parameter"), np.asarray(forward)),
            "difference": (("step", "time", "parameter"), differences),
            "smoothed": (("time", "parameter"), _drop_place(smooth.gradient)),
            "smoothed_error": (("time", "parameter"), _drop_place(smooth.error)),
            "pathwise": (("time", "parameter"), _drop_place(paths.gradient)),
            "pathwise_error": (("time", "parameter"), _drop_place(paths.error)),
        },
        coords={"time": ("time", drop.times, {"units": "s"}), "parameter": [*BASE], "step": [*STEPS]},
        attrs={"samples": samples},
    )
    slopes = ("forward", "difference", "smoothed", "smoothed_error", "pathwise", "pathwise_error")
    names = {
        "forward": "derivative of the speed by the logarithm of the parameter, forward mode",
        "difference": "the same by central differences",
        "smoothed": "derivative of the mean speed by the logarithm of the parameter, from values",
        "pathwise": "the same, mean of the derivatives of single throws",
    }
    result = describe(result, units=dict.fromkeys(slopes, "m/s") | {"step": "1"}, names=names)
    summary = {
        "status": Status(int(status)).name,
        "grains": int(drop.grains.radius.size),
        "steps": drop.steps * drop.parts,
        "failed": {"smoothed": int(np.sum(~smooth.ok)), "pathwise": int(np.sum(~paths.ok))},
        "reverse_from_forward": _relative_difference(reverse, np.asarray(forward)[later]),
        "right_until_s": {f"{step:g}": _valid_until(result, step) for step in STEPS},
        "error_of_the_mean": {
            name: {f"{t:.3g} s": _bars(result, name, i) for i, t in enumerate(drop.times)} for name in BASE
        },
    }
    return Found(summary, {"result": result}, {"derivatives": draw(result)})


def _ensemble(drop: Drop, samples: int, seed: int) -> tuple[Smoothed, Smoothed]:
    """Gradients of the mean over SPREAD: from `samples` values, and from a quarter as many derivatives."""

    def speeds(x: Float[Array, "6"]) -> Float[Array, " part"]:
        seen, status = drop(*jnp.split(x, [len(BASE)]))
        return jnp.where(status == Status.OK, seen[:, SPEED], jnp.nan)

    point, key = jnp.append(jnp.ones(len(BASE)), jnp.zeros(2)), jax.random.key(seed)
    spread = jnp.asarray(SPREAD)
    smooth = eqx.filter_jit(lambda: smoothed_gradient(speeds, point, spread, samples, key))()
    return smooth, eqx.filter_jit(lambda: pathwise_gradient(speeds, point, spread, samples // 4, key))()


def _drop_place(rows: Float[Array, "part 6"]) -> Float[np.ndarray, "part p"]:
    """Without those by the place."""
    return np.asarray(rows[:, : len(BASE)])


def _relative_difference(rows: Float[np.ndarray, "t p"], others: Float[np.ndarray, "t p"]) -> float:
    """The largest difference, over the largest derivative at its time: before the ball touches most are 0."""
    return float(np.max(np.max(np.abs(rows - others), axis=1) / np.max(np.abs(others), axis=1)))


def _valid_until(result: xr.Dataset, step: float) -> dict[str, float]:
    """The last time s up to which the derivative of a path is that by differences over `step`; 0 where none is."""
    forward, other = result["forward"], result["difference"].sel(step=step)
    right = np.abs(forward - other) <= AGREES * np.abs(other)
    kept = np.logical_and.accumulate(right.values, axis=0)
    times = np.append(0.0, result["time"].values)
    return {name: float(times[kept[:, i].sum()]) for i, name in enumerate(BASE)}


def _bars(result: xr.Dataset, name: str, part: int) -> dict[str, float]:
    """Both gradients of the mean with their standard errors, m/s."""
    at = result.isel(time=part).sel(parameter=name)
    return {key: float(at[key]) for key in ("smoothed", "smoothed_error", "pathwise", "pathwise_error")}
