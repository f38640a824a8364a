"""`difsim cobbles --stage estimate`: how well cameras tell the motion of the cobbles, and CoR_E; and a user's
tracks."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array
from scipy.stats import chi2

from difsim import Status
from experiments.cobbles import estimation_pictures
from experiments.cobbles.arcs import ArcFit, ArcProblem, Known
from experiments.cobbles.cameras import stack
from experiments.cobbles.first_guess import BOX, WRONG, first_guess, fit_unknown
from experiments.cobbles.montecarlo import (
    Disturbances,
    Sample,
    World,
    consider_parameters,
    covariance,
    energy_ratio,
    ratio_sigma,
    samples,
    table_13,
    world,
)
from experiments.cobbles.paper_estimation import (
    MAP_MARKER,
    MAP_PIXEL,
    MARKER_NOISE,
    MONTE_CARLO,
    PIXEL_NOISE,
    POSITION_RMS,
    SPIN_RMS,
)
from experiments.cobbles.stones import Cobble
from experiments.cobbles.tracks_file import read_experiment, read_tracks
from experiments.harness import Found
from experiments.variables import describe
from inversion import Checkpoint
from inversion.sweeps import compute_parts

FORM = 1  # counts the ways in which samples are made: older ones are not read as these
SCENARIOS = (1, 2, 3)
NAMES = ("position", "velocity", "mrp", "spin")  # of three components each
UNITS = ("m", "m/s", "1", "rad/s")
# Of a χ² with 12 and 3 degrees of freedom: the share that a right covariance holds.
HOLDS = {"all_95": chi2.ppf(0.95, 12), "position_3_sigma": 9.0, "spin_3_sigma": 9.0}
EXPECTED = {"all_95": 0.95, "position_3_sigma": float(chi2.cdf(9.0, 3)), "spin_3_sigma": float(chi2.cdf(9.0, 3))}
RESULT_UNITS = {"energy_ratio": "1", "nees": "1", "converged": "1", "map_converged": "1"}
RESULT_UNITS |= {"marker": "m", "pixel": "px", "noise": "px"}
OUTLIER = 4.0  # σ: images further off than this count less (a tracker that slipped)


def estimate(quick: bool, cobble: Cobble, out: Path, executor: Executor | None) -> Found:
    """Tables 10 to 12 (noise of pixels and markers), 14 to 16 (all of Table 13) and Figs 17, 18, beside the
    paper's; `executor` makes the samples."""
    count, batches = (8, 1) if quick else (100, 10)
    truth = {which: world(which, cobble) for which in SCENARIOS}
    kept, tasks = Checkpoint(out / "checkpoint", [FORM, count, truth]), {}

    def add(name: str, which: int, disturbances: Disturbances, keys: Array) -> None:
        tasks[name] = partial(_arrays, truth[which], disturbances, np.asarray(keys))

    cases = [(which, pixel) for which in SCENARIOS for pixel in PIXEL_NOISE]
    for i, (which, pixel) in enumerate(cases):
        # In equal batches: one compiled function for all.
        keys = jax.random.split(jax.random.PRNGKey(i), (batches, count))
        for b, batch in enumerate(keys):
            add(f"all_{which}_{pixel:g}_{b}", which, table_13(pixel, MARKER_NOISE), batch)
        add(f"noise_{which}_{pixel:g}", which, Disturbances(pixel, MARKER_NOISE), keys[0])
    for marker in MAP_MARKER:
        for pixel in MAP_PIXEL:
            keys = jax.random.split(jax.random.PRNGKey(7), count)
            add(f"map_{marker:g}_{pixel:g}", 2, table_13(pixel, marker), keys)
    made = {name: Sample(**x) for name, x in compute_parts(tasks, kept, executor, label="samples").items()}
    noise = {(w, p): made[f"noise_{w}_{p:g}"] for w, p in cases}
    disturbed = {
        (w, p): jax.tree.map(
            lambda *parts: np.concatenate(parts), *(made[f"all_{w}_{p:g}_{b}"] for b in range(batches))
        )
        for w, p in cases
    }
    accuracy = accuracy_map(made)
    summary = {
        "energy_ratio": float(truth[1].energy_ratio),
        "seen": {w: [np.asarray(s.sum((1, 3))).tolist() for s in truth[w].seen] for w in SCENARIOS},
        "rms": {w: {p: _rms(noise[w, p], w, k) for k, p in enumerate(PIXEL_NOISE)} for w in SCENARIOS},
        "monte_carlo": {
            w: {p: _row(disturbed[w, p], truth[w], MONTE_CARLO[w][k]) for k, p in enumerate(PIXEL_NOISE)}
            for w in SCENARIOS
        },
        "accuracy_map": {
            "marker_m": MAP_MARKER,
            "pixel_px": MAP_PIXEL,
            "residual_px": accuracy["residual"].values.tolist(),
            **{
                f"sigma_{name}": np.linalg.norm(
                    accuracy["deviation"].values[..., 3 * i : 3 * i + 3], axis=-1
                ).tolist()
                for i, name in enumerate(NAMES)
            },
        },
    }
    result = describe(
        _dataset(disturbed, accuracy), units=RESULT_UNITS, names={"nees": "normalised error squared"}
    )
    result.attrs["summary"] = json.dumps(summary)
    figures = {
        "energy_ratio": estimation_pictures.energy_ratios(disturbed, truth[1]),
        "ellipsoids": estimation_pictures.ellipsoids(disturbed[2, 3.0]),
        "accuracy": estimation_pictures.accuracy(accuracy),
        "images": estimation_pictures.draw_images(truth[2]),
    }
    return Found(summary, {"estimation": result}, figures)


def _arrays(truth: World, disturbances: Disturbances, keys: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.asarray(x) for name, x in vars(samples(truth, disturbances, jnp.asarray(keys))).items()}


def accuracy_map(samples: Mapping[str, Sample]) -> xr.Dataset:
    """Figs 17 and 18: mean residual, and spread of the estimates of body 1 on the second arc, over the noise of
    markers and pixels, from the samples of Table 13 of each cell."""
    rows = []
    for marker in MAP_MARKER:
        for pixel in MAP_PIXEL:
            made = samples[f"map_{marker:g}_{pixel:g}"]
            good = np.asarray(made.converged)
            error = np.asarray(made.error)[good, 1, 0]
            rows.append((np.asarray(made.residual)[good].mean(), error.std(axis=0), good.mean()))
    shape = len(MAP_MARKER), len(MAP_PIXEL)
    residual, deviation, converged = (np.array(column) for column in zip(*rows, strict=True))
    dims = ("marker", "pixel")
    return xr.Dataset(
        {
            "residual": (dims, residual.reshape(shape), {"units": "px"}),
            "deviation": ((*dims, "component"), deviation.reshape(*shape, 12), {"units": "m, m/s, 1, rad/s"}),
            "converged": (dims, converged.reshape(shape)),
        },
        coords={"marker": list(MAP_MARKER), "pixel": list(MAP_PIXEL)},
    )


def _rms(made: Sample, which: int, column: int) -> dict[str, Any]:
    """Median and 90 % range of the rms of the way over the repeats, beside the paper's one draw; σ of CoR_E."""
    way = np.asarray(made.way)[np.asarray(made.converged)]
    ratio = np.asarray(made.energy_ratio)[np.asarray(made.converged)]
    table = {"converged": float(np.mean(made.converged)), "energy_ratio_sigma": float(ratio.std(ddof=1))}
    for i, (name, paper) in enumerate((("position", POSITION_RMS), ("spin", SPIN_RMS))):
        low, middle, high = np.percentile(way[..., i], [5, 50, 95], axis=0).reshape(3, 4)
        theirs = np.array(paper[which])[:, column] * (1e-4 if name == "position" else 1.0)
        table[name] = [
            {"arc": k // 2 + 1, "body": k % 2 + 1, "median": m, "5_percent": a, "95_percent": b, "paper": t}
            for k, (m, a, b, t) in enumerate(zip(middle, low, high, theirs.tolist(), strict=True))
        ]
    return table


def _row(made: Sample, truth: World, paper: tuple[float, float, float]) -> dict[str, Any]:
    """A row of Tables 14 to 16, and whether the covariances tell the truth."""
    good = np.asarray(made.converged)
    nees, bare = np.asarray(made.nees)[good], np.asarray(made.nees_noise)[good]
    ratio, stated = np.asarray(made.energy_ratio)[good], np.asarray(made.energy_ratio_sigma)[good]
    error = (ratio - float(truth.energy_ratio)) / stated
    limits, residual = np.array(list(HOLDS.values())), np.asarray(made.residual)[good]
    return {
        "samples": int(good.size),
        "converged": float(good.mean()),
        "failed": int((~good).sum()),
        "needed_another_start": int(np.any(np.asarray(made.starts) > 1, axis=(1, 2)).sum()),
        "energy_ratio": float(ratio.mean()),
        "sigma": float(ratio.std(ddof=1)),
        "sigma_stated": float(np.sqrt(np.mean(stated**2))),
        "sigma_stated_median": float(np.median(stated)),
        "sigma_of_68_percent": float(np.diff(np.percentile(ratio, [15.87, 84.13]))[0] / 2),
        "error_over_stated_rms": float(np.sqrt(np.mean(error**2))),
        "truth_within_3_sigma": float(np.mean(np.abs(error) < 3)),
        "paper": dict(zip(("converged", "energy_ratio", "sigma"), paper, strict=True)),
        "nees_over_12": (nees[..., 0].mean(axis=0) / 12).tolist(),
        "holds": dict(zip(HOLDS, np.mean(nees <= limits, axis=(0, 1, 2)).tolist(), strict=True)),
        "holds_noise_alone": dict(zip(HOLDS, np.mean(bare <= limits, axis=(0, 1, 2)).tolist(), strict=True)),
        "should_hold": EXPECTED,
        "residual_px": {"median": float(np.median(residual)), "greatest": float(residual.max())},
    }


def _dataset(disturbed: dict[tuple[int, float], Sample], accuracy: xr.Dataset) -> xr.Dataset:
    """Every sample of the Monte Carlo, and the map."""

    def stacked_field(name):
        return np.array([[np.asarray(getattr(disturbed[w, p], name)) for p in PIXEL_NOISE] for w in SCENARIOS])

    dims = ("scenario", "noise", "sample")
    table = {
        "energy_ratio": (dims, stacked_field("energy_ratio")),
        "converged": (dims, stacked_field("converged")),
    }
    table["error"] = ((*dims, "arc", "body", "component"), stacked_field("error"), {"units": "m, m/s, 1, rad/s"})
    table["nees"] = ((*dims, "arc", "body", "part"), stacked_field("nees"))
    return xr.Dataset(table, coords={"scenario": list(SCENARIOS), "noise": list(PIXEL_NOISE)}).merge(
        accuracy.rename({"converged": "map_converged"})
    )


def estimate_tracks(
    tracks: str | PathLike,
    calibration: str | PathLike,
    meshes: Sequence[str | PathLike],
    errors: Disturbances | None = None,
) -> Found:
    """The motion of two bodies before and after their impact, and CoR_E, from a user's tracked markers.

    **Arguments:** the files, see tracks_file.py; `errors`: standard deviations of
    what is not known, by default 1 px and 0.67 mm of marker placement; the calibration is then taken as exact.
    **Returns:** states with standard deviations, CoR_E with its own, residuals by camera.
    **Raises:** ValueError for faulty files, and for tracks that no motion fits.
    """
    errors = errors or Disturbances(1.0, MARKER_NOISE)
    experiment = read_experiment(calibration, list(meshes))
    measured = read_tracks(tracks, experiment)
    cameras = list(experiment.cameras.values())
    rig = stack(cameras)
    known = [Known(rig, body, markers) for body, markers in experiment.bodies.values()]
    fits: list[list] = [[], []]
    slopes: list[list] = [[], []]
    table = []
    for b, name in enumerate(experiment.bodies):
        for a, (arc, track) in enumerate(zip(experiment.arcs, measured[name], strict=True)):
            where = f"{tracks}: body {name!r}, arc {arc[0]:g} to {arc[1]:g} s"
            try:
                guess = first_guess(cameras, track)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
            problem = ArcProblem(known[b], track, errors.pixel, OUTLIER, guess, BOX)
            fit = fit_unknown(problem)
            slope = eqx.filter_jit(consider_parameters)(fit, problem)
            if not (float(fit.rms) <= WRONG and Status(int(fit.status)).is_converged):
                raise ValueError(
                    f"{where}: no motion fits: rms {float(fit.rms) * float(errors.pixel):.1f} px, "
                    f"{Status(int(fit.status)).name}: check the calibration, the markers' names and the arcs"
                )
            fits[a].append(fit)
            slopes[a].append(slope)
            total = covariance(fit, slope, known[b], errors)
            if not np.isfinite(total).all():
                instants = int(np.count_nonzero(np.any(track.seen, axis=(1, 2))))
                raise ValueError(
                    f"{where}: {int(np.sum(track.seen))} marker images at {instants} instants do not fix the "
                    "twelve numbers of a motion: give more instants, or more markers in each"
                )
            table.append(_state(name, a, problem, fit, np.sqrt(np.diag(total)), list(experiment.cameras)))
    means = tuple(jnp.stack([f.x for f in arc]) for arc in fits)
    noise = jnp.stack([jnp.stack([f.covariance for f in arc]) for arc in fits])
    found = {
        "pixel_px": float(errors.pixel),
        "marker_m": float(errors.marker),
        "energy_ratio": float(energy_ratio(means, tuple(k.body for k in known))),
        "energy_ratio_sigma": float(ratio_sigma(means, known, noise, slopes, errors)),
        "states": table,
    }
    return Found(found, record="estimate", report="tracks")


def _state(name: str, arc: int, problem: ArcProblem, fit: ArcFit, sigma: np.ndarray, cameras: list[str]) -> dict:
    """One fitted state, for the report."""
    seen = np.asarray(problem.tracks.seen)
    residual = np.asarray(problem.residual(fit.x, problem.known, None)).reshape(*seen.shape, 2)
    pixel = float(problem.sigma)
    by_camera = {
        camera: pixel * float(np.sqrt(np.mean(residual[:, i][seen[:, i]] ** 2))) if seen[:, i].any() else None
        for i, camera in enumerate(cameras)
    }
    x = np.asarray(fit.x).reshape(4, 3).tolist()
    values = {
        f"{quantity}, {unit}": {"value": x[i], "sigma": sigma.reshape(4, 3)[i].tolist()}
        for i, (quantity, unit) in enumerate(zip(NAMES, UNITS, strict=True))
    }
    return {
        "body": name,
        "arc": arc + 1,
        "time_s": float(problem.tracks.times[0]),
        "images": int(seen.sum()),
        "rms_px": pixel * float(fit.rms),
        "rms_px_by_camera": by_camera,
        **values,
    }
