"""Pictures of the tracks and of the hop."""

import json
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from experiments.hopper.track import GRID, TRUTH, Track, follow

COLOURS = {
    "final state": "#D55E00",
    "whole track": "#E69F00",
    "progressive horizon": "#56B4E9",
    "multiple shooting": "#0072B2",
}
GREY = "#6E6E6E"


def draw(result: xr.Dataset, track: Track, truth: dict, fitted: dict, path: Path) -> None:
    """Share found against bounces; one track and its fit; how often the intervals hold the truth."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    _success(left, result)
    _track(middle, track, truth, fitted)
    _coverage(right, result)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _success(ax, result):
    trials = result.sizes["trial"]
    for loss, marker in zip(COLOURS, "sDo^", strict=True):
        share = result["found"].sel(loss=loss).mean("trial")
        error = np.sqrt(share * (1 - share) / trials)
        ax.errorbar(
            result["bounces"], 100 * share, 100 * error, color=COLOURS[loss], marker=marker, label=loss, capsize=2
        )
    five = 100 * float(result["repetition_found"].mean())
    count = result.sizes["repetition"]
    ax.plot(
        5, five, "*", color="black", markersize=11, label=f"multiple shooting, {count} more tracks: {five:.0f} %"
    )
    ax.axhline(95, color=GREY, linewidth=0.8, linestyle=":")
    ax.set(xlabel="bounces in the track", ylabel="found, % of random truths and starts", ylim=(-5, 108))
    ax.set_title(f"Which loss finds the ground ({trials} tracks each)", loc="left", fontsize=10)
    ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)


def _track(ax, track, truth, fitted):
    times = jnp.asarray(GRID[: int(np.searchsorted(GRID, float(track.times[-1, -1])))])
    for values, label, style in ((truth, "truth", "-"), (fitted, "fitted, from the release", "--")):
        body = follow({k: jnp.asarray(v) for k, v in values.items()}, track.release, times, TRUTH).states.body
        colour = "black" if label == "truth" else COLOURS["multiple shooting"]
        ax.plot(times, body.position[:, 2], style, color=colour, linewidth=1, label=label)
    ax.plot(
        track.times.ravel(), track.seen.position[..., 2].ravel(), ".", color=COLOURS["final state"], label="seen"
    )
    ax.set(xlabel="time, s", ylabel="height of the centre, m")
    ax.set_title("A track, and the fit over 5 bounces run from the release", loc="left", fontsize=10)
    ax.legend(fontsize=8)


def _coverage(ax, result):
    rows = json.loads(result.attrs["summary"])["coverage_at_5_bounces"]
    for i, (_name, row) in enumerate(rows.items()):
        for rate, colour in ((0.68, COLOURS["progressive horizon"]), (0.95, COLOURS["multiple shooting"])):
            if row[f"within_{rate:g}"] is not None:
                ax.errorbar(
                    i, row[f"within_{rate:g}"], row[f"error_{rate:g}"], color=colour, marker="o", capsize=3
                )
        ax.annotate(f"{row['stated']} of {row['of']}", (i, 0.12), ha="center", color=GREY, fontsize=8)
    for rate in (0.68, 0.95):
        ax.axhline(rate, color=GREY, linewidth=0.8, linestyle=":")
    ax.set(ylim=(0.1, 1.02), ylabel="share of intervals that hold the truth", xlim=(-0.5, len(rows) - 0.5))
    ax.set_xticks(range(len(rows)), list(rows))
    ax.set_title(
        "1 and 1.96 standard deviations, 5 bounces\n(intervals stated at the bottom)", loc="left", fontsize=10
    )


def draw_hop(result: xr.Dataset, path_flown: np.ndarray, target: tuple[float, float], path: Path) -> None:
    """Range against the wheel's momentum with its derivative; the hop to the target; the two searches."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    h, r, slope = 1e3 * result["momentum"].values, result["range"].values, 1e-3 * result["slope"].values
    left.plot(h, result["closed_form"], color=GREY, linewidth=1, label="rigid cube, stopped at once")
    left.plot(h, r, ".", color=COLOURS["multiple shooting"], label="simulated")
    for i in range(0, len(h), max(1, len(h) // 10)):
        d = 0.25 * np.array([-1, 1]) * (h[-1] - h[0]) / 10
        left.plot(
            h[i] + d, r[i] + slope[i] * d, color=COLOURS["final state"], label="derivative" if i == 0 else None
        )
    left.set(xlabel="momentum of the wheel, 10⁻³ N m s", ylabel="first touch, m from the start")
    left.set_title("Range over an edge", loc="left", fontsize=10)
    left.legend(fontsize=8)
    along = np.linalg.norm(path_flown[:, :2] - path_flown[0, :2], axis=1)
    middle.plot(along, path_flown[:, 2], color=COLOURS["multiple shooting"])
    middle.plot(np.linalg.norm(target), 0.0, "*", color=COLOURS["final state"], markersize=12, label="target")
    middle.set(xlabel="along the ground, m", ylabel="height of the centre, m")
    middle.set_title("The hop found", loc="left", fontsize=10)
    middle.legend(fontsize=8)
    right.semilogy(
        np.arange(len(result["misfit"])) + 1,
        result["misfit"] ** 0.5,
        "o-",
        color=COLOURS["multiple shooting"],
        label="gradient",
    )
    generations = np.arange(len(result["misfit_evolution"])) + 1
    right.semilogy(
        result.attrs["population"] * generations,
        result["misfit_evolution"] ** 0.5,
        "s-",
        color=COLOURS["whole track"],
        label="evolution",
        markersize=3,
    )
    right.axhline(1.0, color=GREY, linewidth=0.8, linestyle=":")
    right.set(xscale="log", xlabel="simulations", ylabel="miss, cm")
    right.set_title("Miss of the target", loc="left", fontsize=10)
    right.legend(fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)
