"""Pictures of the tracks and of the hop."""

import json

import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREY, ORANGE, RED, SKY
from experiments.hopper.track import GRID, TRUTH, Track, follow

LOSSES = {
    "final state": (RED, "s"),
    "whole track": (ORANGE, "D"),
    "progressive horizon": (SKY, "o"),
    "multiple shooting": (BLUE, "^"),
}
RATES = {0.68: SKY, 0.95: BLUE}


def draw(result: xr.Dataset, track: Track, truth: dict, fitted: dict) -> Figure:
    """Share found against bounces; one track and its fit; how often the intervals hold the truth."""
    figure = Figure(figsize=(13, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _success(left, result)
    _track(middle, track, truth, fitted)
    _coverage(right, result)
    return figure


def _success(ax: Axes, result: xr.Dataset) -> None:
    trials = result.sizes["trial"]
    for i, (loss, (colour, marker)) in enumerate(LOSSES.items()):
        share = result["found"].sel(loss=loss).mean("trial").values
        # Wilson's interval of one standard deviation: it has a width where all or none are found.
        middle, half = (share + 0.5 / trials), np.sqrt(share * (1 - share) / trials + 0.25 / trials**2)
        errors = np.stack([share - (middle - half) / (1 + 1 / trials), (middle + half) / (1 + 1 / trials) - share])
        beside = result["bounces"] + 0.06 * (i - 1.5)  # so that equal shares stay visible
        ax.errorbar(beside, 100 * share, 100 * np.abs(errors), color=colour, marker=marker, label=loss, capsize=2)
    five, count = 100 * float(result["repetition_found"].mean()), result.sizes["repetition"]
    label = f"multiple shooting, {count} more tracks: {five:.0f} %"
    ax.plot(5, five, "*", color=BLACK, markersize=11, label=label)
    ax.axhline(95, color=GREY, linewidth=0.8, linestyle=":")
    ax.set(xlabel="bounces in the track", ylabel=f"found [% of {trials} random truths and starts]", ylim=(-5, 108))
    ax.set_title("Which loss finds the ground")
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)


def _track(ax: Axes, track: Track, truth: dict, fitted: dict) -> None:
    times = jnp.asarray(GRID[: int(np.searchsorted(GRID, float(track.times[-1, -1])))])
    for values, label, colour, style in (
        (truth, "truth", BLACK, "-"),
        (fitted, "fit, run from the release", BLUE, "--"),
    ):
        body = follow({k: jnp.asarray(v) for k, v in values.items()}, track.release, times, TRUTH).states.body
        ax.plot(times, body.position[:, 2], style, color=colour, linewidth=1, label=label)
    ax.plot(track.times.ravel(), track.seen.position[..., 2].ravel(), ".", color=RED, label="seen")
    ax.set(xlabel="time [s]", ylabel="height of the centre [m]")
    ax.set_title("A track and its fit over 5 bounces")
    ax.legend(frameon=False)


def _coverage(ax: Axes, result: xr.Dataset) -> None:
    rows = json.loads(result.attrs["summary"])["coverage_at_5_bounces"]
    for i, row in enumerate(rows.values()):
        for rate, colour in RATES.items():
            share = row[f"within_{rate:g}"]
            if share is not None:
                ax.errorbar(i, 100 * share, 100 * row[f"error_{rate:g}"], color=colour, marker="o", capsize=3)
        ax.annotate(f"{row['stated']} of {row['of']}", (i, 12), ha="center", color=GREY)
    ax.annotate("intervals stated:", (0, 18), ha="center", color=GREY)
    for rate, colour in RATES.items():
        ax.axhline(100 * rate, color=colour, linewidth=0.8, linestyle=":", label=f"{100 * rate:.0f} % intervals")
    ax.set(ylim=(5, 104), ylabel="intervals that hold the truth [%]", xlim=(-0.5, len(rows) - 0.5))
    ax.set_xticks(range(len(rows)), list(rows))
    ax.set_title("Intervals from 5 bounces, and their rates")
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)


def draw_hop(result: xr.Dataset) -> Figure:
    """Range against the wheel's momentum with its derivative; the hop to the target; the two searches."""
    figure = Figure(figsize=(13, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _range(left, result)
    _flight(middle, result)
    _searches(right, result)
    return figure


def _range(ax: Axes, result: xr.Dataset) -> None:
    h, r, slope = 1e3 * result["momentum"].values, result["range"].values, 1e-3 * result["slope"].values
    ax.plot(
        h, result["closed_form"], color=GREY, linewidth=1, label="closed form: rigid cube, wheel stopped at once"
    )
    ax.plot(h, r, ".", color=BLUE, label="simulated")
    d = 0.025 * np.array([-1, 1]) * (h[-1] - h[0])
    shown = np.flatnonzero(result["valid"].values)[:: max(1, len(h) // 10)]
    ax.plot(h[shown] + d[:, None], r[shown] + slope[shown] * d[:, None], color=RED)
    ax.plot([], [], color=RED, label="derivative")
    ax.set_ylim(min(0.0, 1.1 * r.min()), 1.1 * max(r.max(), result["closed_form"].values.max()))
    ax.set(xlabel="angular momentum of the wheel [mN m s]", ylabel="distance of the first touch [m]")
    ax.set_title("Range over an edge")
    ax.legend(frameon=False)


def _flight(ax: Axes, result: xr.Dataset) -> None:
    path, target = result["path"].values, result.attrs["target_m"]
    along = path[:, :2] @ target / np.linalg.norm(target)
    ax.plot(along, path[:, 2], color=BLUE)
    away = float(np.linalg.norm(target))
    ax.plot(away, 0.0, "*", color=RED, markersize=12)
    ax.annotate("target ", (away, 0.0), ha="right", va="center", xytext=(-6, 0), textcoords="offset points")
    ax.set(xlabel="along the ground towards the target [m]", ylabel="height of the centre [m]")
    ax.set_title("The hop found")


def _searches(ax: Axes, result: xr.Dataset) -> None:
    sigma = 100 * result.attrs["sigma_m"]
    misses = sigma * result["misfit"].values ** 0.5, sigma * result["misfit_evolution"].values ** 0.5
    counts = np.arange(len(misses[0])) + 1, result.attrs["population"] * (np.arange(len(misses[1])) + 1)
    for x, y, label, colour, style in zip(
        counts, misses, ("gradient", "evolution"), (BLUE, ORANGE), "os", strict=True
    ):
        ax.loglog(x, y, style + "-", color=colour, label=label, markersize=3)
    ax.axhline(sigma, color=GREY, linewidth=0.8, linestyle=":", label="σ of the target")
    ax.set(
        xlabel="simulations (gradient: iterations, each with derivative)", ylabel="distance from the target [cm]"
    )
    ax.set_title("Miss of the target")
    ax.legend(frameon=False)
