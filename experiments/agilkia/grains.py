"""`difsim agilkia --regolith grains`: the paper's touchdown on beds of grains, beside its values and the reduced
law's."""

import shutil
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from tqdm import tqdm

from difsim import rotation
from difsim.dem import LeggedClump, LeggedState
from difsim.dem.touching import Grain
from difsim.stepping import CourantStep, Evolution, evolve
from difsim.typing import Scalar
from experiments.agilkia import grains_pictures
from experiments.agilkia.baseline import OPTIMUM
from experiments.agilkia.files import DataSet
from experiments.agilkia.grains_scene import Scene, build
from experiments.agilkia.scenario import Experiment, experiment
from experiments.foot.grains import settled
from experiments.foot.scene import LAW
from experiments.records import provenance, write_json

FRAME = 0.02  # s, between looks
COURANT, SKIN = 0.7, 0.2
WIDTH = {"feet": 0.6, "drum": 3.4}  # m, of a bed
CLEAR = 0.1  # m above the mean surface and from the boulder: then it has left
SHOWN = 4  # times of the picture
PAPER = {  # paper 000 sec. 5, Figs 14 to 17
    "peak_force_N": 35.0,
    "later_force_N": 7.5,
    "contact_ends_s": 9.0,
    "rebound_speed_m_s": 0.3064,
    "spin_rad_s": 0.076,
    "energy_before_J": 49.188,
    "energy_after_J": 4.534,
    "stroke_m": 0.0426,
}


class Look(eqx.Module):
    """What is kept of one time: the lander, and where the grains are, in single precision: for pictures."""

    lander: LeggedState
    position: Float[Array, "3 m"]


def run(
    lander: dict[str, dict[str, Any]], data: DataSet, bed: str, diameter: float, out: Path, keep_checkpoint: bool
) -> None:
    """OUT/grains.nc, grains.json, grains.png and the table; an interrupted run goes on from OUT/grains_run."""
    if "pebbles" not in lander:
        raise ValueError("the lander's file has no table [pebbles], which grains need; data/philae.toml has one")
    known = experiment(lander, data)
    ground = settled(diameter, WIDTH[bed], float(LAW.cohesion))
    scene = build(known, OPTIMUM, lander["pebbles"], ground, bed == "drum")
    horizon = float(known.horizon)
    times = np.arange(0.0, horizon + FRAME, FRAME)
    with tqdm(total=len(times), desc=f"{scene.grains.radius.size} grains, to {horizon:g} s at the most") as bar:
        found = evolve(
            scene.grains,
            scene.state,
            times,
            CourantStep(COURANT),
            SKIN,
            checkpoint=out / "grains_run",
            watch=lambda time: bar.update(),
            keep=lambda s: Look(s.clumps[0], s.position.astype(jnp.float32)),
            until=lambda look: left(scene, look),
        )
    result = series(scene, found, ground.figures.height)
    result.attrs |= {"bed": bed, "diameter_m": diameter, "data": data.name, "steps": int(found.steps[-1])}
    result.to_netcdf(out / "grains.nc", engine="h5netcdf")
    grains_pictures.draw(result, out / "grains.png")
    columns = {"paper": PAPER, "grains": judge(known, result), "reduced": reduced(known)}
    about = {
        "bed": bed,
        "grains": scene.grains.radius.size,
        "diameter_m": diameter,
        "data": data.name,
        "figures": ground.figures._asdict(),
        "steps": int(found.steps[-1]),
    }
    write_json(out / "grains.json", about | provenance() | columns | {"contacts_s": contacts(result)})
    print(table(columns, contacts(result)))
    print(f"\nwritten to {out}/grains.nc, grains.json, grains.png")
    if not keep_checkpoint:
        shutil.rmtree(out / "grains_run", ignore_errors=True)


def left(scene: Scene, look: Look) -> bool:
    """Whether the lander goes up and is well clear of surface and boulder."""
    rises, clear = _leaving(scene, jax.tree.map(jnp.asarray, look.lander))
    return bool(rises > 0) and bool(clear > CLEAR)


@eqx.filter_jit
def _leaving(scene: Scene, state: LeggedState):
    """Speed upwards m/s, and m between the lander and what it can touch."""
    clear = jnp.minimum(jnp.min(_lowest(scene.lander, state)), _gap(scene, scene.lander.spheres(state)))
    return scene.lander.whole(state)[1][2], clear


def _gap(scene: Scene, pebbles: Grain) -> Scalar:
    """Between pebbles and the boulder, m."""
    return jnp.min(jax.vmap(scene.boulder.distance, in_axes=1)(pebbles.position) - pebbles.radius)


def series(scene: Scene, found: Evolution, height: float) -> xr.Dataset:
    """Motion, force and energy of the lander against time, s, and the grains at `SHOWN` of the times."""
    clump, looks = scene.lander, found.states

    @jax.jit
    @jax.vmap
    def of(state: LeggedState):
        centre, velocity, momentum = clump.whole(state)
        energy = clump.energy(state, jnp.zeros(3))
        pebbles = clump.spheres(state)
        depth = -_lowest(clump, state)
        stroke = jnp.max(clump.gear.strokes(state.gear, len(clump.legs)))
        return (
            centre,
            velocity,
            rotation.inverse_rotate(state.body.attitude, momentum),
            state.body.spin,
            energy["kinetic"] + energy["rotation"],
            energy["elastic"],
            _gap(scene, pebbles),
            depth,
            stroke,
            pebbles.position,
        )

    centre, velocity, momentum, spin, moving, stored, gap, depth, stroke, pebbles = (
        np.asarray(x) for x in of(jax.tree.map(jnp.asarray, looks.lander))
    )
    force = float(clump.mass) * (np.gradient(velocity, found.times, axis=0) - np.asarray(scene.grains.gravity))
    shown = np.unique(np.linspace(0, len(found.times) - 1, SHOWN).round().astype(int))
    columns = {
        "position": (("time", "axis"), centre, "m"),
        "velocity": (("time", "axis"), velocity, "m/s"),
        "momentum": (("time", "axis"), momentum, "N m s"),
        "spin": (("time", "axis"), spin, "rad/s"),
        "force": (("time", "axis"), force, "N"),
        "kinetic_energy": (("time",), moving, "J"),
        "spring_energy": (("time",), stored, "J"),
        "boulder_gap": (("time",), gap, "m"),
        "sole_depth": (("time", "foot"), depth, "m"),
        "stroke": (("time",), stroke, "m"),
        "pebbles": (("shown", "axis", "pebble"), pebbles[shown], "m"),
        "grains": (("shown", "axis", "grain"), looks.position[shown], "m"),
        "pebble_radius": (("pebble",), np.asarray(clump.radius), "m"),
        "grain_radius": (("grain",), np.asarray(scene.grains.radius), "m"),
        "shown_time": (("shown",), found.times[shown], "s"),
    }
    return xr.Dataset(
        {k: (dims, v, {"unit": unit}) for k, (dims, v, unit) in columns.items()},
        coords={"time": ("time", found.times, {"unit": "s"}), "axis": list("xyz")},
        attrs={"bed_height_m": height},
    )


def contacts(result: xr.Dataset) -> dict[str, list[float]]:
    """First and last time, s, at which the boulder was touched and each sole was below the mean surface."""
    time, touched = result["time"].values, {"boulder": result["boulder_gap"].values < 0}
    touched |= {f"sole {i}": depth > 0 for i, depth in enumerate(result["sole_depth"].values.T)}
    return {name: [float(t) for t in time[where][[0, -1]]] for name, where in touched.items() if where.any()}


def judge(known: Experiment, result: xr.Dataset) -> dict[str, Any]:
    """What the paper tells of its own touchdown, of this one."""
    force, time = np.linalg.norm(result["force"].values, axis=1), result["time"].values
    velocity, spans = result["velocity"].values[-1], contacts(result).values()
    ends = max((last for _, last in spans), default=0.0)
    rebound = known.frame.comet_velocity(jnp.asarray(velocity))
    later = force[(time > 4) & (time < ends)]
    return {
        "peak_force_N": float(force.max()),
        "later_force_N": float(later.mean()) if later.size else float("nan"),
        "contact_ends_s": ends,
        "rebound_speed_m_s": float(np.linalg.norm(velocity)),
        "spin_rad_s": float(result["spin"].values[-1, 2]),
        "energy_before_J": float(result["kinetic_energy"][0]),
        "energy_after_J": float(result["kinetic_energy"][-1]),
        "stroke_m": float(result["stroke"].max()),
        "deepest_sole_m": float(result["sole_depth"].max()),
        "rebound_velocity_m_s": np.asarray(rebound).tolist(),
        "left": bool(velocity[2] > 0),
    }


def reduced(known: Experiment) -> dict[str, Any]:
    """The same by the reduced law, at the same values."""
    values = {k: jnp.asarray(v, float) for k, v in OPTIMUM.items()}
    times = jnp.linspace(0.0, known.horizon, 2001)
    model, solution = known.follow(values, times)
    force = np.linalg.norm(np.asarray(jax.jit(jax.vmap(model.contact_force))(solution.states)), axis=1)
    observed, _ = known(values)
    touches = np.asarray(times)[force > 0.5]
    return {
        "peak_force_N": float(force.max()),
        "later_force_N": float("nan"),
        "contact_ends_s": float(touches[-1]) if touches.size else 0.0,
        "rebound_speed_m_s": float(observed["rebound_speed"]),
        "spin_rad_s": float(observed["spin"]),
        "energy_before_J": float(observed["initial_energy"]),
        "energy_after_J": float(observed["kinetic_energy"]),
        "stroke_m": float(observed["damper_stroke"]),
        "deepest_sole_m": float(observed["penetration_deepest"]),
        "rebound_velocity_m_s": np.asarray(observed["rebound_velocity"]).tolist(),
    }


def table(columns: dict[str, dict[str, Any]], spans: dict[str, list[float]]) -> str:
    """What was found, beside the paper's and the reduced law's."""
    rows = [f"{'':24}" + "".join(f"{name:>12}" for name in columns)]
    for key in columns["grains"]:
        values = [column.get(key) for column in columns.values()]
        if isinstance(values[1], float):
            rows.append(f"{key:24}" + "".join(f"{'' if v is None else f'{v:.4g}':>12}" for v in values))
    rows += [f"{name}: touched from {first:.2f} to {last:.2f} s" for name, (first, last) in spans.items()]
    return "\n".join(rows)


def _lowest(lander: LeggedClump, state: LeggedState) -> Float[Array, " n"]:
    """z of the lowest pebble of each leg, m."""
    spheres = (leg.spheres(at) for leg, at in zip(lander.legs, state.legs, strict=True))
    return jnp.stack([jnp.min(s.position[2] - s.radius) for s in spheres])
