"""One run of the tool: how much gets into the tray, and where the dust goes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import difsim
from difsim import Courant, Solution
from difsim.stepping.solution import failure
from experiments.geometry import spheres
from experiments.sampling.scene import BED, Case, Scene
from experiments.variables import describe

COURANT = 0.65  # of the longest step; from 0.8 on the bed does not rest
DUST = 0.01  # m: what of the bed is higher than that, and not in the tray, is dust

# Of the paper (Figs 5 and 8-11): who has more in the tray at the end.
ORDERS = (
    *(("E3", "E2"), ("E2", "E0"), ("E1", "E0")),
    *(("P0", "E0"), ("P1", "E1"), ("P5", "E3")),
    *(("P5", "P0"), ("P6", "P3"), ("P6", "P5")),
    *(("P0", "P3"), ("P3", "P1")),
    *(("P4", "P3"), ("P3", "P2")),
    *(("P0", "P7"), ("P8", "P7")),
)

# Of the paper's text: s when the first particle is in the tray; cm² at 1 s, of P0's 400 particles of 1.44 mm².
PAPER_ENTERS = {"E0": 0.75, "E2": 0.25, "P0": 0.35, "P1": 0.35, "P3": 0.35, "P5": 0.19, "P6": 0.19, "P7": 0.53}
PAPER_COLLECTS = {"P0": 5.8}


def collect(
    case: Case,
    scene: Scene,
    softening: float,
    times: np.ndarray,
    checkpoint: Path | None = None,
    watch: Callable[[float], None] | None = None,
) -> tuple[Solution, dict[str, Any]]:
    """Run a case through `times` s; what was found is in cm², s and m/s, up to where the run came."""
    model = scene.model(case, softening)
    solver = Courant(COURANT)
    run = difsim.run(
        model, scene.state(model), times, solver=solver, checkpoint=checkpoint, watch=watch, throw=False
    )
    soil = scene.bed.shape[1]
    inside = np.array([scene.is_in_tray(x, t) for x, t in zip(run.states.position, run.times, strict=True)])
    area = inside.sum(axis=1) * scene.spacing**2 * 1e4
    place, velocity = run.states.position[:, :, :soil], run.states.velocity[:, :, :soil]
    dust = (place[:, 1] > DUST) & ~inside
    speed = np.where(dust, np.hypot(velocity[:, 0], velocity[:, 1]), 0.0)
    entered = run.times[area > 0]
    return run, {
        "status": "OK" if run.ok else failure(run),
        "particles": scene.position.shape[1],
        "steps": int(run.progress.steps),
        "time_s": run.times.tolist(),
        "tray_cm2": area.tolist(),
        "tray_at_end_cm2": float(area[-1]),
        "first_entry_s": float(entered[0]) if entered.size else None,
        "fullest_s": float(run.times[np.argmax(area)]),
        "dust_at_end_cm2": float(dust[-1].sum() * scene.spacing**2 * 1e4),
        "fastest_dust_m_per_s": float(speed.max()),
        "median_dust_m_per_s": float(np.median(speed[-1, dust[-1]])) if dust[-1].any() else None,
        "settling_s": settling_time(place[-1, 1, dust[-1]], velocity[-1, 1, dust[-1]], case.gravity),
        "beside_the_bed": int((np.abs(place[-1, 0]) > BED[0] / 2).sum()),
    }


def motion(scene: Scene, run: Solution) -> xr.Dataset:
    """Where all particles of the soil and of the tool are at each time."""
    soil = scene.bed.shape[1]
    place, marks = run.states.position.astype(np.float32), {"units": "m"} | spheres(0.5 * scene.spacing)
    result = xr.Dataset(
        {
            "soil": (("time", "axis", "grain"), place[:, :, :soil], marks),
            "tool": (("time", "axis", "tool_particle"), place[:, :, soil:], marks),
        },
        coords={"time": ("time", run.times, {"units": "s"}), "axis": ["x", "y"]},
    )
    return describe(result, "x along the bed, y up from its surface")


def settling_time(height: np.ndarray, rising: np.ndarray, gravity: float) -> float:
    """The longest flight, s, of grains at `height` m that rise with `rising` m/s, if nothing is in their way."""
    flight = (rising + np.sqrt(rising**2 + 2 * gravity * np.maximum(height, 0.0))) / gravity
    return float(flight.max(initial=0.0))


def orderings(found: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The paper's orderings of what was run: whether they hold, and by which areas at the end."""
    verdicts = {}
    for more, less in ORDERS:
        if more in found and less in found:
            areas = [found[name]["tray_at_end_cm2"] for name in (more, less)]
            verdicts[f"{more} > {less}"] = {"holds": areas[0] > areas[1], "cm2": areas}
    return verdicts
