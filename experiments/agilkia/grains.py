"""`difsim agilkia --regolith grains`: the paper's touchdown on beds of grains, beside its values and the reduced
law's."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

import difsim
from difsim import Courant, Solution, allocate
from experiments.agilkia import grains_pictures, report
from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.files import DataSet
from experiments.agilkia.grains_scene import Scene, build
from experiments.agilkia.grains_series import PAPER, Look, has_left, observe, outline, sequence, series
from experiments.agilkia.keys import PHILAE
from experiments.agilkia.scenario import Experiment, experiment
from experiments.foot.grains import settle
from experiments.foot.scene import LAW
from experiments.harness import Found
from inversion.progress import Bar

FRAME = 0.02  # s, between looks
COURANT, SKIN = 0.7, 0.1
WIDTH = {"feet": 0.9, "drum": 3.4}  # m, of a bed; under feet in one of 0.6 m soles go in half as deep
TOUCH = 1.0  # N: with less the lander has left, but for grains that fly along
TOLD = {  # the observables in the table, which has forces besides
    "rebound_speed_m_s": "rebound_speed",
    "spin_rad_s": "spin",
    "energy_before_J": "initial_energy",
    "energy_after_J": "kinetic_energy",
    "stroke_m": "damper_stroke",
    "deepest_sole_m": "penetration_deepest",
    "rebound_velocity_m_s": "rebound_velocity",
}


def touch_down(
    lander: dict[str, dict[str, Any]], data: DataSet, bed: str, diameter: float, seed: int, out: Path
) -> Found:
    """The touchdown, its table and its picture; an interrupted run goes on from OUT/grains.checkpoint.

    Beds of one `seed` are one bed: under each foot the same grains lie.
    """
    known = experiment(require_tables(lander), data)
    ground = settle(diameter, WIDTH[bed], float(LAW.cohesion), seed)
    scene = build(known, OPTIMUM, lander["sub_spheres"], ground, bed == "drum")
    found = run(scene, float(known.horizon), out / "grains.checkpoint")
    result = series(scene, found)
    place = report.place(lander, data, known)
    result.attrs |= {"leg": known.leg, "boulder_m": outline(known, scene), "lander": place["lander"]}
    columns = {"grains": judge(known, result), "reduced": evaluate_reduced_law(known)}
    if place["lander"] == PHILAE:
        columns = {"paper": PAPER} | columns
    contact, step = scene.grains.shortest_contact, scene.grains.stable_time_step
    end = found.progress.motion
    about = {
        "bed": bed,
        "grains": scene.grains.radius.size,
        "diameter_m": diameter,
        "seed": seed,
        "data": data.name,
        "figures": ground.figures._asdict(),
        "steps": int(found.stats.steps[-1]),
        "steps_of_shortest_contact": float(contact(end) / (COURANT * step(end))),
    }
    summary = place | about | {"ground": OPTIMUM} | columns | {"sequence_s": sequence(result)}
    figures = {"grains": grains_pictures.draw(result)}
    return Found(summary, {"grains": result}, figures, record="grains", report="grains")


def require_tables(lander: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The lander's file, if it has what grains need."""
    needed = {"sub_spheres": "which grains need", "obstacle": "and there is no scene without a boulder"}
    for table, why in needed.items():
        if table not in lander:
            raise ValueError(f"the lander's file has no table [{table}], {why}; data/philae.toml has one")
    return lander


def run(scene: Scene, horizon: float, checkpoint: Path) -> Solution:
    """The motion until the lander has left, for `horizon` s at the most; an interrupted run goes on.

    **Arguments:** `scene`; `horizon` s; `checkpoint`, a folder. **Returns:** a solution with a `Look` at each time.
    """
    times = np.arange(0.0, horizon + FRAME, FRAME)
    with Bar(f"{scene.grains.radius.size} grains, to {horizon:g} s at the most", len(times)) as bar:
        return difsim.run(
            scene.grains,
            scene.state,
            times,
            solver=Courant(COURANT, neighbours=allocate(scene.grains, scene.state, skin=SKIN)),
            checkpoint=checkpoint,
            watch=lambda time: bar.reach(round(time / FRAME) + 1),
            save=lambda s: Look(s.clumps[0], s.position.astype(jnp.float32)),
            until=lambda look: has_left(scene, look),
        )


def judge(known: Experiment, result: xr.Dataset) -> dict[str, Any]:
    """The numbers that the paper tells of its own touchdown, of this one."""
    observed = observe(known, result)
    return _tell(result["time"].values, result["force"].values, observed) | {
        "left": bool(result["velocity"].values[-1, 2] > 0)
    }


def evaluate_reduced_law(known: Experiment) -> dict[str, Any]:
    """The same by the reduced law, at the same values."""
    values = {k: jnp.asarray(v, float) for k, v in OPTIMUM.items()}
    times = jnp.linspace(0.0, known.horizon, 2001)
    model, solution = known.follow(values, times)
    force = np.asarray(jax.jit(jax.vmap(model.contact_force))(solution.states))
    # But for the spin of 4 s, all is of the last time.
    return _tell(np.asarray(times), force, known.observe(model, solution))


def _tell(time: np.ndarray, force: np.ndarray, observed: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers by the `force` [t, 3] N and the observables of a touchdown."""
    size = np.linalg.norm(force, axis=1)
    felt = time[size > TOUCH]
    forces = {"peak_force_N": float(size.max()), "contact_ends_s": float(felt[-1]) if felt.size else 0.0}
    return forces | {name: np.asarray(observed[of]).tolist() for name, of in TOLD.items()}
