"""Coefficients of a contact from noisy tracks over 1 to 6 bounces: which loss finds them, and how well."""

import json
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREY, ORANGE, RED, SKY
from experiments.harness import Found
from experiments.hopper.losses import KNOWN, LOSSES, UNKNOWN, relinearise
from experiments.hopper.track import BOUNCES, GRID, NOISE, SAMPLES, TRUTH, Track, follow, track
from experiments.variables import describe
from inversion import Checkpoint, Problem, fit, identify
from inversion.leastsq import Fit
from inversion.progress import show_progress

NAMES = ("restitution", "friction", "rolling")
# Found: within these of the truth; restitution and friction as they are, rolling resistance by its logarithm.
BOUNDS = {"restitution": 0.02, "friction": 0.1, "rolling": 0.2}
RECOMMENDED = "multiple shooting"
FIVE = 5
TRUTHS = {"restitution": (0.5, 0.8), "friction": (0.15, 0.5), "rolling": (5e-4, 5e-3)}
GUESSES = {"restitution": (0.35, 0.9), "friction": (0.1, 0.9), "rolling": (1.5e-4, 7e-3)}

DRAWN = {
    "final state": (RED, "s"),
    "whole track": (ORANGE, "D"),
    "progressive horizon": (SKY, "o"),
    "multiple shooting": (BLUE, "^"),
}
RATES = {0.68: SKY, 0.95: BLUE}


def draw(ranges: dict[str, tuple[float, float]], rng: np.random.Generator) -> dict[str, float]:
    """Uniform in the ranges, rolling resistance in its logarithm."""
    e, mu = (rng.uniform(*ranges[k]) for k in NAMES[:2])
    return {
        "restitution": e,
        "friction": mu,
        "rolling": float(np.exp(rng.uniform(*np.log(ranges["rolling"])))),
    } | KNOWN


def case(seed: int) -> tuple[dict[str, float], dict[str, float], Track, int]:
    """Truth, a random start of the search, a track, and how many launches bounced too seldom before it."""
    rng = np.random.default_rng(seed)
    rejected = 0
    while True:
        truth = draw(TRUTHS, rng)
        made = track(truth, rng.standard_normal(9), rng)
        if made is not None:
            return truth, draw(GUESSES, rng), made, rejected
        rejected += 1


def attempt(loss: str, bounces: int, seed: int) -> dict[str, np.ndarray]:
    """One fit of one track from one random start."""
    truth, guess, made, rejected = case(seed)
    with warnings.catch_warnings():
        # That it misleads a search over many bounces is what is compared here.
        warnings.filterwarnings("ignore", "fit: the derivative disagrees")
        found: Fit = LOSSES[loss](made, bounces, guess, jax.random.PRNGKey(seed))
    error = np.array([found.values[k] - truth[k] for k in NAMES])
    error[2] = np.log(found.values["rolling"] / truth["rolling"])
    return {
        "truth": np.array([truth[k] for k in NAMES]),
        "guess": np.array([guess[k] for k in NAMES]),
        "value": np.array([found.values[k] for k in NAMES]),
        "sigma": np.array([found.sigma[k] for k in NAMES]),
        "found": np.array(np.isfinite(found.misfit) and bool((np.abs(error) <= list(BOUNDS.values())).all())),
        "misfit": np.array(found.misfit),
        "rejected": np.array(rejected),
    }


def coverage(rows: dict[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """Share of truths within 1 and 1.96 standard deviations with its binomial error, where the interval lies
    within the prior: elsewhere none is stated. There too the mean error with its own error, in standard
    deviations, and the median standard deviation."""
    table = {}
    for i, name in enumerate(NAMES):
        q = UNKNOWN[name]
        low, high = (float(q.physical(jnp.asarray(s))) for s in q.limits)
        value, sigma, truth = (rows[k][:, i] for k in ("value", "sigma", "truth"))
        stated = (value - 1.96 * sigma > low) & (value + 1.96 * sigma < high)
        z = ((value - truth) / sigma)[stated]
        row = {"stated": len(z), "of": len(stated)}
        for rate, width in ((0.68, 1.0), (0.95, 1.96)):
            row[f"within_{rate:g}"] = float(np.mean(np.abs(z) < width)) if len(z) else None
            row[f"error_{rate:g}"] = float(np.sqrt(rate * (1 - rate) / len(z))) if len(z) else None
        row["bias"] = float(np.mean(z)) if len(z) else None
        row["bias_error"] = float(np.std(z, ddof=1) / np.sqrt(len(z))) if len(z) > 1 else None
        row["median_sigma"] = float(np.median(sigma[stated])) if len(z) else None
        table[name] = row
    return table


def stack(rows: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {k: np.stack([row[k] for row in rows]) for k in rows[0]}


def identifiable(seed: int) -> dict[str, Any]:
    """What a track over FIVE bounces fixes when the depth, and so the stiffness, is unknown too; and one with
    friction above what sticking needs."""
    verdicts = {}
    rng = np.random.default_rng(seed)
    for name, friction in (("sliding", 0.25), ("sticking", 0.9)):
        made = None
        while made is None:
            truth = draw(TRUTHS, rng) | {"friction": friction}
            made = track(truth, rng.standard_normal(9), rng)
        _, held, _ = relinearise(made, np.arange(BOUNCES) < FIVE, truth, jax.random.PRNGKey(0))
        free = Problem(held.parameters, held.predict, held.data)  # nothing held: the depth is unknown too
        found = fit(free, key=jax.random.PRNGKey(0), starts=0, keep=1, guesses=[truth], throw=False)
        told = identify(free, found, threshold=1e-4)
        verdicts[name] = {
            k: {"verdict": told.verdicts[k], "sigma_over_prior": told.shrinkage[k], "sigma": found.sigma[k]}
            for k in told.labels
        }
    return verdicts


def compare(out: Path, quick: bool) -> Found:
    """Success of the four losses against the number of bounces, coverage of the recommended one's intervals, and
    what a track does not tell."""
    trials, repetitions = (2, 2) if quick else (12, 100)
    counts = (1, 3) if quick else tuple(range(1, BOUNCES + 1))
    store = Checkpoint(out / "tracks.checkpoint", json.dumps([NOISE, SAMPLES, BOUNDS, TRUTHS, GUESSES, KNOWN]))

    def is_done(loss, bounces, seed):
        return store.get_or(f"{loss.replace(' ', '_')}-{bounces}-{seed}", lambda: attempt(loss, bounces, seed))

    repeated = stack(
        [is_done(RECOMMENDED, FIVE, 1000 + i) for i in show_progress(range(repetitions), "repetitions")]
    )
    jobs = [(loss, n) for loss in LOSSES for n in counts]
    table = {job: stack([is_done(*job, seed) for seed in range(trials)]) for job in show_progress(jobs, "losses")}
    found = np.array([[table[loss, n]["found"] for n in counts] for loss in LOSSES])

    summary = {
        "noise": NOISE,
        "bounds": BOUNDS,
        "trials": trials,
        "found": {
            loss: dict(zip(counts, row.mean(axis=1).tolist(), strict=True))
            for loss, row in zip(LOSSES, found, strict=True)
        },
        "recommended": RECOMMENDED,
        "found_at_5_bounces": float(repeated["found"].mean()),
        "repetitions": repetitions,
        "coverage_at_5_bounces": coverage(repeated),
        "launches_that_bounced_too_seldom": int(repeated["rejected"].sum()),
        "identifiability": identifiable(7),
    }
    result = xr.Dataset(
        {"found": (("loss", "bounces", "trial"), found)}
        | {k: (("repetition", "unknown"), repeated[k]) for k in ("truth", "guess", "value", "sigma")}
        | {f"repetition_{k}": ("repetition", repeated[k]) for k in ("found", "misfit", "rejected")},
        coords={"loss": list(LOSSES), "bounces": list(counts), "unknown": list(NAMES)},
    )
    units = dict.fromkeys(("truth", "guess", "value", "sigma"), "1 (restitution, friction), m (rolling)")
    names = {"found": "whether all three unknowns are within their bounds", "sigma": "standard deviation"}
    result = describe(result, units=units | {"repetition_misfit": "1"}, names=names)
    truth, _, made, _ = case(1000)
    fitted = {k: float(v) for k, v in zip(NAMES, repeated["value"][0], strict=True)} | KNOWN
    figure = draw_tracks(result, summary["coverage_at_5_bounces"], made, truth, fitted)
    return Found(summary, {"result": result}, {"tracks": figure})


def draw_tracks(result: xr.Dataset, rows: dict, made: Track, truth: dict, fitted: dict) -> Figure:
    """Share found against bounces; one track and its fit; how often the intervals hold the truth."""
    figure = Figure(figsize=(13, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    _draw_success(left, result)
    _draw_track(middle, made, truth, fitted)
    _draw_coverage(right, rows)
    return figure


def _draw_success(ax: Axes, result: xr.Dataset) -> None:
    trials = result.sizes["trial"]
    for i, (loss, (colour, marker)) in enumerate(DRAWN.items()):
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


def _draw_track(ax: Axes, track: Track, truth: dict, fitted: dict) -> None:
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


def _draw_coverage(ax: Axes, rows: dict) -> None:
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
