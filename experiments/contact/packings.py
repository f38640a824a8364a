"""`difsim contact --stage packings`: the plate of a case in dry grains, and what the law leaves of its paths.

Beds and grains are shares of the plate's radius. What the law leaves is added to the sigmas of the case.
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from difsim import Status
from difsim.contact import Poncelet
from experiments.beds import settle
from experiments.contact.assumptions import Row, weigh
from experiments.contact.case import read_case
from experiments.contact.grains import GrainBed
from experiments.contact.model import pose
from experiments.contact.pictures import draw_packings
from experiments.contact.shapes import PLATE, SHAPES
from experiments.contact.throws import Thrown, end_at_stop, follow_path
from experiments.contact.world import Plunge
from experiments.harness import Found
from experiments.variables import describe
from inversion import Log, Observation, Observations, Problem, fit
from inversion.cube import Cube
from inversion.progress import show_progress

GRAIN, WIDTH, DEEP = 0.3, 7.5, 5.0  # diameter of grains, width and depth of the bed: over the plate's radius
COARSE = 0.8  # diameter of the grains of a smoke test
MODULUS, POISSON, RESTITUTION, DENSITY = 1e6, 0.25, 0.5, 1800.0  # Pa: grains overlap by 1 % at 1 kPa; kg/m³
POURED = {"loose": 1.0, "dense": 0.02}  # friction while they are poured
FRICTIONS = 0.3, 0.7  # and while the plate is pressed in
PARTS, CLOSE = 40, 0.01  # speeds of a path that the law is fitted to, and how closely, over that of touch
PRIORS = {"strength": Log(1e-3, 1e4, "Pa"), "hardening": Log(1e-3, 1e5, "Pa/m"), "drag": Log(0.1, 1e5, "kg/m3")}


def compare(case_file: Path, count: int, seed: int, is_quick: bool) -> Found:
    """Paths of the plate in grains, the law's fits to them, and the posterior of the case with what these leave.

    **Arguments:** `case_file`, whose numbers are read at times; `count` of draws of its prior; `seed`;
    `is_quick`: one bed of coarse grains. **Returns:** what the harness writes.
    """
    case = read_case(case_file)
    cube = Cube(pose(case))
    medians = cube.problem.to_dict(jnp.asarray(cube.physical(np.full((1, cube.active.size), 0.5))[0]))
    plate = Thrown(SHAPES["plate"].solid, *(float(medians[name]) for name in Thrown._fields[1:]))
    read = {name: case.times[name] for name in case.data.names if 0 < case.times.get(name, 0.0) < np.inf}
    if not read or any(shape is not SHAPES["plate"] for shape in case.shapes):
        raise ValueError(f"{case_file}: --stage packings takes a plate with a depth or a speed at a time (time_s)")
    times = np.linspace(0.0, max(read.values()), 1 + PARTS)
    rows, paths, left, lists = [], [], [], {}
    plates = [(name, friction) for name in list(POURED)[: 1 if is_quick else None] for friction in FRICTIONS]
    for name, friction in show_progress(plates, "plates"):
        ground = specify(plate.radius, POURED[name], friction, COARSE if is_quick else GRAIN)
        bed = settle(ground.specify(plate.gravity))
        track = ground.throw(plate, np.append(times, 1.2 * times[-1]), np.zeros(2), lists)
        motion = follow_path(end_at_stop(track), plate.gravity)
        path = {k: np.asarray(jax.vmap(getattr(motion, f"{k}_at"))(times)) for k in ("depth", "speed")}
        path["depth"] = path["depth"] - path["depth"][0]  # from the touch, as the law has it
        law, fitted = fit_law(plate, times, path["speed"])
        seen = {k: float(np.interp(t, times, path[k])) for k, t in read.items()}
        left.append([float(getattr(fitted, f"{k}_at")(jnp.asarray(t))) - seen[k] for k, t in read.items()])
        about = {"packing": name, "solid_fraction": bed.figures.solid_fraction, "friction": friction}
        rows.append(about | seen | law)
        paths.append(xr.Dataset({k: ("time", x) for k, x in path.items()}, {"time": times} | about))
    discrepancy = dict(zip(read, np.sqrt(np.mean(np.square(left), axis=0)).tolist(), strict=True))
    wider = {f"observations.{k}.sigma": float(np.hypot(case.data[k].sigma, off)) for k, off in discrepancy.items()}
    both = Row("as the file has it", {}), Row("with what the law leaves", wider, False)
    posteriors = {row.name: weigh(case_file, row, count, seed)["unknowns"] for row in both}
    units = {"depth": "m", "speed": "m/s", "time": "s", "solid_fraction": "1", "friction": "1"}
    result = describe(xr.concat(paths, "run", coords="all"), units=units)
    measured = {
        k: {"time_s": t, "value": float(case.data[k].value), "sigma": float(case.data[k].sigma)}
        for k, t in read.items()
    }
    summary = {
        "title": case.title,
        "measured": measured,
        "runs": rows,
        "discrepancy": discrepancy,
        "posteriors": {name: {k: v.tolist() for k, v in row.items()} for name, row in posteriors.items()},
    }
    return Found(summary, {"result": result}, {"packings": draw_packings(result, measured)})


def specify(radius: float, poured: float, friction: float, grain: float = GRAIN) -> GrainBed:
    """The ground under a plate of `radius` m, of grains that were poured with a friction and now have another."""
    size, wide, deep = grain * radius, WIDTH * radius, DEEP * radius
    return GrainBed(size, friction, poured, MODULUS, wide, deep, DENSITY, RESTITUTION, POISSON)


def fit_law(plate: Thrown, times: np.ndarray, speed: np.ndarray) -> tuple[dict[str, float], Any]:
    """The constants of `Poncelet` whose speeds are nearest to those of a path, and its motion.

    **Arguments:** `plate`; `times`, s; `speed` [times], m/s. **Returns:** the constants by name; `Motion`.
    """

    def fall(p):
        return Plunge(Poncelet(**p), *plate[1:], PLATE).fall()

    def predict(p):
        motion = fall(p)
        return {"speed": jax.vmap(motion.speed_at)(jnp.asarray(times[1:]))}, Status.OK

    seen = Observations({"speed": Observation(speed[1:], CLOSE * plate.speed, "m/s")})
    found = fit(Problem(PRIORS, predict, seen), key=jax.random.PRNGKey(0), starts=16, keep=2, throw=False)
    return {name: float(value) for name, value in found.values.items()}, fall(found.values)
