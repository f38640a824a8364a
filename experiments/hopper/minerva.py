"""`difsim hopper --stage minerva`: MINERVA-II released over Imhotep on 67P, to rest (the hopper paper, Fig. 11)."""

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from scipy.spatial import ConvexHull

from difsim import Adaptive, Ignore, Outside, Solution, Status, simulate
from difsim.dynamics import Hopper
from difsim.rotation import Rotation
from difsim.session import CACHE
from experiments.geometry import line, relief, surface
from experiments.harness import Found
from experiments.hopper import minerva_pictures
from experiments.hopper.imhotep import SPACING, World, heights, minerva, prism, release_at, rest_rule, world
from experiments.hopper.observe import LOST, lost_energy, mechanical, observe, posture
from experiments.variables import describe

START = ((0.0, 0.0, 100.0), (0.02, 0.01, -0.02), (0.1, 0.2, 0.05))  # m, m/s, rad/s: east, north, up; ours
COARSE = 25.0  # m, the paper's grid
LONGEST, SEED = 2e4, 1
VALUES = {"solver": Adaptive(1e-7, 1e-7, max_steps=100_000), "trust": Ignore()}


def release(quick: bool, shape: str = "analogue") -> Found:
    """One release on the fine grid, and the same on the paper's 25 m."""
    count = 401 if quick else 4001
    place = world(shape, CACHE / "worlds", SPACING)
    model = minerva(place, SEED)
    found = _release(model, place, count)
    seen = observe(model, found)
    result = _table(model, place, found, seen, 61 if quick else 161)
    energy = {k: np.asarray(v) for k, v in seen["energy"].items()}
    total = mechanical(energy)
    given = total[0] - total[-1]
    summary = {
        "shape": shape,
        "site": {"position_m": np.asarray(place.site).tolist(), "gravity_m_s2": float(place.gravity)}
        | {"slope_deg": float(jnp.degrees(jnp.arccos(place.surface.normal(place.site) @ place.axes[2])))},
        "grid_m": SPACING,
        **_numbers(model, place, found),
        "paper_grid": None if quick else _tabulate_paper_grid(shape, count),
        "energy": {
            "lost_J": float(given),
            "lost_to": {k: float(energy[k][-1] / given) for k in LOST},
            "ledger_error": float(np.abs(total + lost_energy(energy) - total[0]).max() / given),
        },
    }
    return Found(summary, {"result": result}, minerva_pictures.draw(result))


def _tabulate_paper_grid(shape: str, count: int) -> dict:
    place = world(shape, CACHE / "worlds", COARSE)
    model = minerva(place, SEED)
    return {"grid_m": COARSE, **_numbers(model, place, _release(model, place, count))}


def _release(model: Hopper, place: World, count: int) -> Solution:
    """Until rest, sampled evenly from the release on."""
    state = release_at(model, place, *(jnp.asarray(v) for v in START))

    def follow(last: float) -> Solution:
        times = jnp.linspace(0.0, last, count)
        until = rest_rule(), Outside(place.surface.box)
        return simulate(model, state, times, **VALUES, until=until, throw=False)

    return follow(1.001 * float(follow(LONGEST).times[-1]))


def _numbers(model: Hopper, place: World, found: Solution) -> dict:
    touch, rest = (place.local(s.body.position) for s in (found.stats.contact_state, found.last))
    track = np.asarray(place.local(found.states.body.position))
    tilt, lever = posture(model, found.times[-1], found.last)
    after = np.asarray(found.times) >= float(found.stats.contact_time)
    return {
        "status": Status(int(found.status)).name,
        "touchdown_time_s": float(found.stats.contact_time),
        "touchdown_speed_m_s": float(jnp.linalg.norm(found.stats.contact_state.body.velocity)),
        "settling_time_s": float(found.stats.rest_time),
        "touchdown_m": np.asarray(touch).tolist(),
        "rest_m": np.asarray(rest).tolist(),
        "axis_to_normal_deg": float(jnp.degrees(tilt)),
        "lever_m": float(lever),
        "last_spin_rad_s": float(jnp.linalg.norm(found.last.body.spin)),
        "distance_from_touchdown_m": float(jnp.linalg.norm(rest - touch)),
        "path_from_touchdown_m": float(np.linalg.norm(np.diff(track[after], axis=0), axis=1).sum()),
        "contacts": int(found.stats.contacts),
        "steps": int(found.stats.steps),
        "steps_per_contact": float(found.stats.steps_per_contact),
    }


def _table(model: Hopper, place: World, found: Solution, seen: dict, nodes: int) -> xr.Dataset:
    """The track in local axes, and the ground's height under all of it and about the place of rest."""
    track = np.asarray(place.local(found.states.body.position))
    gap = jax.jit(jax.vmap(model.surface.distance))(found.states.body.position)
    corners, local = prism(), Rotation.from_matrix(place.axes)
    attitudes = jax.vmap(lambda t: model.frame.at(t).attitude.quaternion)(found.times)
    turned = jax.vmap(lambda q: (local @ Rotation(q)).quaternion)(found.states.body.attitude)
    maps = {}
    middle = (track[:, :2].min(axis=0) + track[:, :2].max(axis=0)) / 2
    wide = 0.65 * np.ptp(track[:, :2], axis=0).max() + 5.0
    for name, centre, half in (("wide", middle, wide), ("near", track[-1, :2], 2.0)):
        axis = np.linspace(-half, half, nodes)
        east, north = np.meshgrid(centre[0] + axis, centre[1] + axis)
        marks = relief(f"{name}_east", f"{name}_north")
        height = heights(model.surface, place, jnp.asarray(east), jnp.asarray(north), 150.0)
        maps |= {
            f"{name}_east": ((f"{name}_i", f"{name}_j"), east, {"units": "m"}),
            f"{name}_north": ((f"{name}_i", f"{name}_j"), north, {"units": "m"}),
            f"{name}_height": ((f"{name}_i", f"{name}_j"), np.asarray(height), {"units": "m"} | marks),
        }
    result = xr.Dataset(
        {
            "track": (("time", "axis"), track, {"units": "m"} | line()),
            "speed": ("time", np.asarray(seen["speed"]), {"units": "m/s"}),
            "spin": ("time", np.asarray(seen["spin"]), {"units": "rad/s"}),
            "clearance": ("time", np.asarray(gap), {"units": "m"}),
            "attitude": (("time", "quaternion"), np.asarray(found.states.body.attitude), {"units": "1"}),
            "target": (("time", "quaternion"), np.asarray(attitudes), {"units": "1"}),
            "local_attitude": (("time", "quaternion"), np.asarray(turned), {"units": "1"}),
            "vertices": (
                ("vertex", "axis"),
                corners,
                {"units": "m"} | surface("faces", "track", "local_attitude"),
            ),
            "faces": (("face", "corner"), ConvexHull(corners).simplices),
            **maps,
        },
        coords={"time": ("time", np.asarray(found.times), {"units": "s"}), "axis": ["east", "north", "up"]},
        attrs={
            "status": Status(int(found.status)).name,
            "settling_time_s": float(found.stats.rest_time),
            "touch_time_s": float(found.stats.contact_time),
            "contacts": int(found.stats.contacts),
            "site": np.asarray(place.site),
        },
    )
    names = {
        "attitude": "attitude, a quaternion from the body to the comet's frame",
        "target": "attitude of the comet, a quaternion from its frame to the inertial one",
        "local_attitude": "attitude, a quaternion from the body to the local axes",
        "spin": "size of the spin against the comet",
        "track": "centre of mass",
        "clearance": "distance of the centre of mass from the ground",
    }
    return describe(result, "origin at the site; east, north, up against effective gravity", names=names)
