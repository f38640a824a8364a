"""`difsim cobbles --stage estimate`: how well cameras tell the motion of the cobbles, and CoR_E."""

from collections.abc import Mapping
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from scipy.stats import chi2

from experiments.cobbles import estimation_pictures, paper
from experiments.cobbles.arcs import NAMES
from experiments.cobbles.montecarlo import Disturbances, Sample, World, samples, table_13, world
from experiments.cobbles.stones import Cobble
from experiments.harness import Found
from experiments.variables import describe
from inversion import Checkpoint
from inversion.sweeps import compute_parts

FORM = 2  # counts the ways in which samples are made: older ones are not read as these
SCENARIOS = (1, 2, 3)
CASES = [(which, pixel) for which in SCENARIOS for pixel in paper.PIXEL_NOISE]
CELLS = [(marker, pixel) for marker in paper.MAP_MARKER for pixel in paper.MAP_PIXEL]
# Of a χ² with 12 and 3 degrees of freedom: a right covariance holds 95, 97.1 and 97.1 %.
HOLDS = {"all_95": chi2.ppf(0.95, 12), "position_3_sigma": 9.0, "spin_3_sigma": 9.0}
RESULT_UNITS = {"energy_ratio": "1", "nees": "1", "converged": "1", "map_converged": "1", "residual": "px"}
RESULT_UNITS |= {"marker": "m", "pixel": "px", "noise": "px"}
RESULT_UNITS |= dict.fromkeys(("error", "deviation"), ", ".join(NAMES.values()))


def estimate(quick: bool, cobble: Cobble, out: Path, executor: Executor | None) -> Found:
    """Tables 10 to 12 (noise of pixels and markers), 14 to 16 (all of Table 13) and Figs 17, 18, beside the
    paper's; `executor` makes the samples."""
    count, batches = (8, 1) if quick else (100, 10)
    truth = {which: world(which, cobble) for which in SCENARIOS}
    tasks = {}
    for i, (which, pixel) in enumerate(CASES):
        # In equal batches: one compiled function for all.
        keys = np.asarray(jax.random.split(jax.random.PRNGKey(i), (batches, count)))
        all_errors, noise_alone = table_13(pixel, paper.MARKER_NOISE), Disturbances(pixel, paper.MARKER_NOISE)
        tasks |= {
            f"all_{which}_{pixel:g}_{b}": partial(_arrays, truth[which], all_errors, batch)
            for b, batch in enumerate(keys)
        }
        tasks[f"noise_{which}_{pixel:g}"] = partial(_arrays, truth[which], noise_alone, keys[0])
    keys = np.asarray(jax.random.split(jax.random.PRNGKey(7), count))
    for marker, pixel in CELLS:
        tasks[f"map_{marker:g}_{pixel:g}"] = partial(_arrays, truth[2], table_13(pixel, marker), keys)
    kept = Checkpoint(out / "checkpoint", [FORM, count, truth])
    made = {name: Sample(**x) for name, x in compute_parts(tasks, kept, executor, label="samples").items()}
    disturbed = {
        (w, p): jax.tree.map(
            lambda *parts: np.concatenate(parts), *(made[f"all_{w}_{p:g}_{b}"] for b in range(batches))
        )
        for w, p in CASES
    }
    accuracy = accuracy_map(made)
    sigma = accuracy["deviation"].values.reshape(len(paper.MAP_MARKER), len(paper.MAP_PIXEL), len(NAMES), 3)
    summary = {
        "energy_ratio": float(truth[1].energy_ratio),
        "rms": {
            w: {p: _rms(made[f"noise_{w}_{p:g}"], w, k) for k, p in enumerate(paper.PIXEL_NOISE)}
            for w in SCENARIOS
        },
        "monte_carlo": {
            w: {p: _row(disturbed[w, p], truth[w], row) for p, row in zip(paper.PIXEL_NOISE, rows, strict=True)}
            for w, rows in paper.MONTE_CARLO.items()
        },
        "accuracy_map": {
            "marker_m": paper.MAP_MARKER,
            "pixel_px": paper.MAP_PIXEL,
            "residual_px": accuracy["residual"].values.tolist(),
            **{f"sigma_{k}": np.linalg.norm(sigma[:, :, i], axis=-1).tolist() for i, k in enumerate(NAMES)},
        },
    }
    names = {"nees": "normalised error squared"}
    figures = {
        "energy_ratio": estimation_pictures.energy_ratios(disturbed, truth[1]),
        "ellipsoids": estimation_pictures.ellipsoids(disturbed[2, 3.0]),
        "accuracy": estimation_pictures.accuracy(accuracy),
        "images": estimation_pictures.draw_images(truth[2]),
    }
    result = describe(_dataset(disturbed, accuracy), units=RESULT_UNITS, names=names)
    return Found(summary, {"estimation": result}, figures)


def _arrays(truth: World, disturbances: Disturbances, keys: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.asarray(x) for name, x in vars(samples(truth, disturbances, jnp.asarray(keys))).items()}


def accuracy_map(samples: Mapping[str, Sample]) -> xr.Dataset:
    """Figs 17 and 18: mean residual, and spread of the estimates of body 1 on the second arc, over the noise of
    markers and pixels, from the samples of Table 13 of each cell."""
    cells = [samples[f"map_{marker:g}_{pixel:g}"] for marker, pixel in CELLS]
    columns = {
        "residual": [made.good.residual.mean() for made in cells],
        "deviation": [made.good.error[:, 1, 0].std(axis=0) for made in cells],
        "converged": [np.mean(made.converged) for made in cells],
    }
    shape, dims = (len(paper.MAP_MARKER), len(paper.MAP_PIXEL)), ("marker", "pixel", "component")
    tables = {k: np.reshape(v, (*shape, *np.shape(v)[1:])) for k, v in columns.items()}
    return xr.Dataset(
        {k: (dims[: v.ndim], v) for k, v in tables.items()},
        coords={"marker": list(paper.MAP_MARKER), "pixel": list(paper.MAP_PIXEL)},
    )


def _rms(made: Sample, which: int, column: int) -> dict[str, Any]:
    """Median and 90 % range of the rms of the way over the repeats, beside the paper's one draw; σ of CoR_E."""
    table = {
        "converged": float(np.mean(made.converged)),
        "energy_ratio_sigma": float(made.good.energy_ratio.std(ddof=1)),
    }
    tables = {"position": 1e-4 * np.array(paper.POSITION_RMS[which]), "spin": np.array(paper.SPIN_RMS[which])}
    for i, (name, theirs) in enumerate(tables.items()):
        ours = np.percentile(made.good.way[..., i], [5, 50, 95], axis=0).reshape(3, 4)
        columns = dict(
            zip(("5_percent", "median", "95_percent", "paper"), (*ours, theirs[:, column]), strict=True)
        )
        table[name] = [
            {"arc": k // 2 + 1, "body": k % 2 + 1} | {key: float(values[k]) for key, values in columns.items()}
            for k in range(4)
        ]
    return table


def _row(made: Sample, truth: World, theirs: tuple[float, float, float]) -> dict[str, Any]:
    """A row of Tables 14 to 16, and whether the covariances tell the truth."""
    good, limits = made.good, np.array(list(HOLDS.values()))
    ratio, stated = good.energy_ratio, good.energy_ratio_sigma
    error = (ratio - float(truth.energy_ratio)) / stated
    holds, holds_noise = (
        np.mean(nees <= limits, axis=(0, 1, 2)).tolist() for nees in (good.nees, good.nees_noise)
    )
    return {
        "samples": len(made.converged),
        "converged": float(np.mean(made.converged)),
        "needed_another_start": int(np.any(made.starts > 1, axis=(1, 2)).sum()),
        "energy_ratio": float(ratio.mean()),
        "sigma": float(ratio.std(ddof=1)),
        "sigma_stated": float(np.sqrt(np.mean(stated**2))),
        "error_over_stated_rms": float(np.sqrt(np.mean(error**2))),
        "truth_within_3_sigma": float(np.mean(np.abs(error) < 3)),
        "paper": dict(zip(("converged", "energy_ratio", "sigma"), theirs, strict=True)),
        "nees_over_12": (good.nees[..., 0].mean(axis=0) / 12).tolist(),
        "holds": dict(zip(HOLDS, holds, strict=True)),
        "holds_noise_alone": dict(zip(HOLDS, holds_noise, strict=True)),
        "greatest_residual_px": float(good.residual.max()),
    }


def _dataset(disturbed: dict[tuple[int, float], Sample], accuracy: xr.Dataset) -> xr.Dataset:
    """Every sample of the Monte Carlo, and the map."""
    dims = {
        "energy_ratio": (),
        "converged": (),
        "error": ("arc", "body", "component"),
        "nees": ("arc", "body", "part"),
    }
    table = {
        name: (
            ("scenario", "noise", "sample", *of_sample),
            np.array([[getattr(disturbed[w, p], name) for p in paper.PIXEL_NOISE] for w in SCENARIOS]),
        )
        for name, of_sample in dims.items()
    }
    return xr.Dataset(table, coords={"scenario": list(SCENARIOS), "noise": list(paper.PIXEL_NOISE)}).merge(
        accuracy.rename({"converged": "map_converged"})
    )
