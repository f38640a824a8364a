"""`difsim hera`: landings of small landers on small bodies, forecast before they happen, and scored afterwards."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import tyro
import xarray as xr

from difsim import Status
from experiments.data_files import data_folder
from experiments.harness import SEED, Found, Study
from experiments.hera import pictures, sensors
from experiments.hera.ensemble import TOLERANCE, land_all
from experiments.hera.inputs import Inputs, read_inputs
from experiments.hera.landing import film, rests
from experiments.hera.probabilities import (
    by_assumption,
    by_mass,
    by_pull,
    compare_halves,
    compare_pairs,
    forecast,
    sensitivities,
)
from experiments.hera.score import score
from experiments.hera.world import librate, tumble_freely
from experiments.records import file_hash

STAMP = Path(__file__).parent / "stamp_a.json"
USUAL = {"land": 4096, "sensors": 384, "score": 4096}
QUICK_MEMBERS, FEWEST = 24, 8
AGAIN = 128  # members of the first lander that are released again in other worlds
SHALLOWER = 4  # impacts, in another world: contacts of a quarter of the duration
TIGHTER = 1e-6  # of the solver


@dataclass
class Hera(Study):
    """Landings of small landers on small bodies, by default Hera's CubeSats: the forecast, and its score afterwards."""

    stage: Literal["land", "sensors", "score"] = "land"
    """"land": releases of each lander until rest, by the laws of the inputs; "sensors": what an accelerometer and a
    gyro tell of the ground; "score": the score of what happened."""
    numbers: Annotated[Path, tyro.conf.arg(name="inputs")] = field(
        default_factory=lambda: data_folder() / "hera.toml"
    )
    """The numbers, with their laws and sources. Another mission is another file."""
    members: int | None = None
    """Releases of each lander (4096), or approaches of "sensors" (384)."""
    seed: int = 1
    """Seed of the draws."""
    score: Path | None = None
    """A file of what happened to one lander, as experiments/hera/outcome.toml: its score by the forecast of --stamp."""
    stamp: Path = STAMP
    """The forecast that is scored: a summary.json of the stage "land"."""

    cluster_stages = ("land", "sensors")
    ranges: ClassVar = {"seed": SEED}

    def __post_init__(self):
        if self.members is None:
            self.members = USUAL[self.stage]
        if self.members < FEWEST:
            raise ValueError(f"--members {self.members} must be at least {FEWEST}")
        if self.score is not None:
            self.stage = "score"
        elif self.stage == "score":
            raise ValueError("--stage score needs --score OUTCOME.toml")


def _land(options: Hera, out: Path) -> Found:
    inputs = read_inputs(options.numbers)
    members = QUICK_MEMBERS if options.quick else options.members
    names = list(inputs.landers)[: 1 if options.quick else None]
    tables = {
        name: land_all(inputs, name, members, options.seed + i, out, options.executor)
        for i, name in enumerate(names)
    }
    found = {
        "title": inputs.title,
        "stamp": inputs.stamp,
        "date": inputs.date,
        "inputs_sha256": file_hash(options.numbers),
        "results_sha256": digest(tables),
        "assumed": [name for name, unknown in inputs.unknowns.items() if unknown.assumed],
        "landers": {name: summarise(inputs, name, table) for name, table in tables.items()},
    }
    if not options.quick:
        few = tables[names[0]].isel(case=slice(min(members, AGAIN)))
        shallow = inputs.unknowns["impact_depth_m"].numbers[0] / SHALLOWER
        others = {
            f"impact depth of {shallow:g} m": (inputs.replace("impact_depth_m", shallow), librate, TOLERANCE),
            f"solver's tolerance of {TIGHTER:g}": (inputs, librate, TIGHTER),
        }
        if "tumbling_tilt_deg" in inputs.unknowns:
            others["tumbling target"] = inputs, tumble_freely, TOLERANCE
        found["other_worlds"] = {
            world: compare_pairs(
                few, land_all(given, names[0], few.sizes["case"], options.seed, out, options.executor, *rest)
            )
            for world, (given, *rest) in others.items()
        }
    decides = {name: one["sensitivities"] for name, one in found["landers"].items()}
    films = {f"{name}_film": film(inputs, name, table) for name, table in tables.items() if rests(table).any()}
    return Found(found, tables | films, pictures.draw(tables, inputs, decides))


def summarise(inputs: Inputs, name: str, table: xr.Dataset) -> dict[str, Any]:
    """All that is said of one lander."""
    return {
        "title": inputs.landers[name].title,
        "forecast": forecast(table),
        "halves": compare_halves(table),
        "by_assumption": by_assumption(table),
        "by_pull": by_pull(table),
        "by_mass": by_mass(table),
        "sensitivities": sensitivities(table),
        "shares_of_runs": {
            "energy open by more than 1e-3": float(np.mean(~(table["energy_error"].values < 1e-3))),
            "ended by the limit of steps": float(np.mean(table["status"].values == Status.STEP_LIMIT)),
            "not finite": float(np.mean(table["status"].values == Status.NOT_FINITE)),
        },
        "steps_mean_and_most": [float(table["steps"].mean()), int(table["steps"].max())],
        "energy_error_95_percent": float(np.nanquantile(table["energy_error"], 0.95)),
    }


def digest(tables: dict[str, xr.Dataset]) -> str:
    """SHA-256 of all numbers of the tables, in the order of their names."""
    sha = hashlib.sha256()
    for name, table in sorted(tables.items()):
        for key in sorted(map(str, table.variables)):
            sha.update(f"{name}.{key}".encode() + np.ascontiguousarray(table[key].values).tobytes())
    return sha.hexdigest()


def _sense(options: Hera, out: Path) -> Found:
    inputs = read_inputs(options.numbers)
    name = next(iter(inputs.landers))
    members = QUICK_MEMBERS if options.quick else options.members
    table = sensors.read_all(inputs, name, members, options.seed, out, options.executor)
    found = {"title": inputs.landers[name].title, "date": inputs.date} | sensors.compare(table)
    return Found(found, {"sensors": table}, {"sensors": pictures.draw_sensors(table)}, record="sensors")


def _score(options: Hera, out: Path) -> Found:
    return Found(score(options.stamp, options.score))


Hera.stages = {"land": _land, "sensors": _sense, "score": _score}
