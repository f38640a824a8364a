"""`difsim hopper --stage cube`: the hopper paper's cube on a plane in three gravities, Figs 8-10.

Each release with two normal laws: the paper's own (a damper that starts with a jump: for values), and the default
one that is smoothed.
"""

import jax.numpy as jnp
import numpy as np
import xarray as xr

from difsim import Adaptive, AtRest, Ignore, Solution, Status, simulate
from difsim.body import RigidState
from difsim.dynamics import Hopper
from difsim.dynamics.hopper import HopperState
from experiments.geometry import line
from experiments.harness import Found
from experiments.hopper import cube_pictures
from experiments.hopper.observe import LOST, MECHANICAL, balance, observe
from experiments.hopper.scenes import GRAVITY, MASS, Ground, cube, jumping, smooth, throw_cube
from experiments.variables import describe

LAWS = {"smooth": smooth, "paper": jumping}
STILL = (1e-4, 1e-3, 10.0)  # m/s, rad/s, s
NEVER = (1e-12, 1e-12, 10.0)
LONGEST = 2e4  # s
SLIP_SPEEDS = (1e-2, 1e-3, 1e-4)  # m/s, of the regularisation
SLIDE = 60.0  # s
TOLERANCE = 1e-8
UNITS = {"steps_per_contact": "1", "slip_speed": "m/s"}
NAMES = {
    "slip_speed": "speed of the regularisation of friction",
    "touching": "whether the ground carries the cube",
}


def throw(quick: bool) -> Found:
    """Cubes thrown, one collision, one slide.

    `quick`: the default law alone, with a tenth of the samples.
    """
    laws = {"smooth": smooth} if quick else LAWS
    count = 401 if quick else 4001
    tables = {
        law: xr.concat(
            [_fall(cube(g, normal=normal), g, count) for g in GRAVITY.values()],
            xr.Variable("target", list(GRAVITY)),
        )
        for law, normal in laws.items()
    }
    names = xr.Variable("law", list(laws))
    falls = xr.concat(tables.values(), names)
    collisions = xr.concat(
        [_collision(cube(GRAVITY["phobos"], normal=normal), falls, law, count) for law, normal in laws.items()],
        names,
    )
    slides = xr.concat(
        [
            xr.concat(
                [_slide(speed, normal, count) for speed in SLIP_SPEEDS], xr.Variable("slip_speed", [*SLIP_SPEEDS])
            )
            for normal in laws.values()
        ],
        names,
    )
    result = describe(xr.merge([falls, collisions, slides]), "origin on the ground, z up", UNITS, NAMES)
    summary = {
        "thrown": {law: {t: _judge(falls.sel(law=law, target=t)) for t in GRAVITY} for law in laws},
        "collision": {law: _judge_collision(collisions.sel(law=law)) for law in laws},
        "sliding": {law: _judge_slide(slides.sel(law=law)) for law in laws},
    }
    return Found(summary, {"result": result}, cube_pictures.draw(result))


def _settle(model: Hopper, state: HopperState, times, still: tuple[float, ...] = STILL) -> Solution:
    solver = Adaptive(TOLERANCE, TOLERANCE, max_steps=100_000)
    until = AtRest(*still)
    return simulate(model, state, jnp.asarray(times), solver=solver, until=until, throw=False, trust=Ignore())


def _fall(model: Hopper, gravity: float, count: int) -> xr.Dataset:
    """A throw until rest: sampled evenly to the end in its first half, and the last 40 % of it in the second."""
    state = throw_cube(model)
    ended = _settle(model, state, np.linspace(0.0, LONGEST, count))
    end = float(ended.times[-1])
    early = np.linspace(0.0, 0.6 * end, count // 2, endpoint=False)
    # A little longer than the end: it is rest that ends it again.
    found = _settle(model, state, np.append(early, np.linspace(0.6 * end, 1.001 * end, count - len(early))))
    seen = observe(model, found)
    body = found.states.body
    path = np.linalg.norm(np.diff(np.asarray(body.position), axis=0), axis=1).sum()
    return xr.Dataset(
        {
            "time": _row("sample", found.times, "s"),
            "position": (("sample", "axis"), np.asarray(body.position), {"units": "m"} | line()),
            "speed": _row("sample", seen["speed"], "m/s"),
            "spin": _row("sample", seen["spin"], "rad/s"),
            "touching": ("sample", np.asarray(seen["push"]) > 0.01 * MASS * gravity),
            **{f"energy_{k}": _row("sample", v, "J") for k, v in seen["energy"].items()},
            "status": Status(int(found.status)).name,
            "settling_time": ((), float(found.stats.rest_time), {"units": "s"}),
            "touch_time": ((), float(found.stats.contact_time), {"units": "s"}),
            "contacts": int(found.stats.contacts),
            "steps": int(found.stats.steps),
            "steps_per_contact": float(found.stats.steps_per_contact),
            "path": ((), path, {"units": "m"}),
            "gravity": ((), gravity, {"units": "m/s2"}),
        },
        coords={"axis": ["x", "y", "z"]},
    )


def _collision(model: Hopper, falls: xr.Dataset, law: str, count: int) -> xr.Dataset:
    """The first contact of the throw on Phobos, from 10 ms before it to 110 ms after its start."""
    touch = float(falls["touch_time"].sel(law=law, target="phobos"))
    times = np.append(0.0, touch + np.linspace(-0.01, 0.11, count - 1))
    energy = _settle(model, throw_cube(model), times, NEVER).energy
    return xr.Dataset(
        {"collision_time": _row("instant", times[1:] - touch, "s")}
        | {f"collision_{k}": _row("instant", v[1:], "J") for k, v in energy.items()}
    )


def _slide(slip_speed: float, normal, count: int) -> xr.Dataset:
    """A cube that comes down on a face, sliding, turning and a little tilted: all four corners touch in turn."""
    gravity = GRAVITY["phobos"]
    model = cube(gravity, Ground(slip_speed=slip_speed), normal)
    tilt = np.array([1.0, 0.02, 0.03, 0.0])
    state = model.start(
        RigidState((0.0, 0.0, 0.112), (0.02, 0.01, -0.005), tilt / np.linalg.norm(tilt), (0, 0, 0.05))
    )
    times = np.linspace(0.0, SLIDE, count)
    found = _settle(model, state, times, NEVER)
    seen = observe(model, found)
    return xr.Dataset(
        {
            "slide_time": _row("moment", times, "s"),
            "slide_slip": _row("moment", seen["slip"], "m/s"),
            "slide_touching": ("moment", np.asarray(seen["push"]) > 0.01 * MASS * gravity),
            "slide_status": Status(int(found.status)).name,
        }
    )


def _row(dim: str, values, unit: str) -> tuple:
    return dim, np.asarray(values), {"units": unit}


def _energy(table: xr.Dataset, prefix: str) -> dict[str, np.ndarray]:
    return {k: table[f"{prefix}_{k}"].values for k in (*MECHANICAL, *LOST)}


def _judge(fall: xr.Dataset) -> dict:
    place = fall["position"].values[-1]
    return {
        "status": fall["status"].item(),
        "settling_time_s": float(fall["settling_time"]),
        "distance_m": float(np.hypot(*place[:2])),
        "path_m": float(fall["path"]),
        "highest_m": float(fall["position"].values[:, 2].max()),
        "contacts": int(fall["contacts"]),
        "steps": int(fall["steps"]),
        "steps_per_contact": float(fall["steps_per_contact"]),
        **balance(_energy(fall, "energy")),
    }


def _judge_collision(table: xr.Dataset) -> dict:
    energy = _energy(table, "collision")
    total = sum(energy[k] for k in MECHANICAL)
    turn, found = int(np.argmax(energy["elastic"])), balance(energy)
    in_compression = {k: float(energy[k][turn] / found["energy_lost_J"]) for k in LOST}
    return {
        "energy_lost_J": found["energy_lost_J"],
        "share_lost_in_compression": float((total[0] - total[turn]) / found["energy_lost_J"]),
        "lost_in_compression_and_restitution": {
            k: (v, found["lost_to"][k] - v) for k, v in in_compression.items()
        },
        "largest_rise_of_energy": found["largest_rise_of_energy"],
    }


def _judge_slide(slide: xr.Dataset) -> dict:
    time, late = slide["slide_time"].values[0], {}
    for at in (20.0, 40.0, SLIDE):
        here = np.abs(time - at) < 1.0
        late[f"slip_m_s_at_{at:g}_s"] = [float(np.median(row[here])) for row in slide["slide_slip"].values]
    return {"regularisation_m_s": list(SLIP_SPEEDS), "status": slide["slide_status"].values.tolist(), **late}
