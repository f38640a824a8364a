"""The record of a touchdown on grains, and the series that are computed from it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Int
from scipy.spatial import cKDTree

from difsim import Solution
from difsim.dem import LeggedClump
from difsim.dem.legged import LeggedState
from difsim.dem.touching import Grain
from difsim.shape import Posed
from difsim.typing import Scalar
from experiments.agilkia.grains_scene import Scene
from experiments.agilkia.scenario import SITE, Experiment
from experiments.geometry import spheres, surface
from experiments.variables import BODY, describe

FRAMES = 101  # of an animation
UNITS = {  # of the lander's numbers against time
    **{"position": "m", "velocity": "m/s", "momentum": "N m s", "spin": "rad/s", "force": "N"},
    **{"kinetic_energy": "J", "spring_energy": "J", "boulder_gap": "m", "stroke": "m"},
}
CLEAR = 0.1  # m above the mean surface and from the boulder: then it has left
PAPER = {  # Wu et al. (2019), sec. 5, Figs 14 to 17
    "peak_force_N": 35.0,
    "contact_ends_s": 9.0,
    "rebound_speed_m_s": 0.3064,
    "spin_rad_s": 0.076,
    "energy_before_J": 49.188,
    "energy_after_J": 4.534,
    "stroke_m": 0.0426,
}


class Look(eqx.Module):
    """The record of one time: the lander, and where the grains are, in single precision: for pictures."""

    lander: LeggedState
    position: Float[Array, "3 m"]


def has_left(scene: Scene, look: Look) -> bool:
    """Whether the lander goes up and is well clear of surface and boulder."""
    rises, clear = _departure(scene, jax.tree.map(jnp.asarray, look.lander))
    return bool(rises > 0) and bool(clear > CLEAR)


@eqx.filter_jit
def _departure(scene: Scene, state: LeggedState):
    """Speed upwards m/s, and m between the lander and what it can touch."""
    clear = jnp.minimum(jnp.min(_lowest(scene.lander, state)), _gap(scene, scene.lander.spheres(state)))
    return scene.lander.total_motion(state)[1][2], clear


def _gap(scene: Scene, sub_spheres: Grain) -> Scalar:
    """Between pebbles and the boulder, m."""
    return jnp.min(jax.vmap(scene.boulder.distance, in_axes=1)(sub_spheres.position) - sub_spheres.radius)


def series(scene: Scene, found: Solution) -> xr.Dataset:
    """Motion, force and energy of the lander against time, s.

    And all spheres at the start, when the first leg is in the grains, when one is deepest, and at the end; and at
    FRAMES instants in single precision, with the boulder, to be looked at.
    """
    clump, looks = scene.lander, found.states

    @jax.jit
    @jax.vmap
    def look(state: LeggedState):
        centre, velocity, momentum = clump.total_motion(state)
        energy = clump.energy(state, jnp.zeros(3))
        sub_spheres = clump.spheres(state)
        return {
            "position": centre,
            "velocity": velocity,
            "momentum": state.body.rotation.inverse @ momentum,
            "spin": state.body.spin,
            "kinetic_energy": energy["kinetic"] + energy["rotation"],
            "spring_energy": energy["elastic"],
            "boulder_gap": _gap(scene, sub_spheres),
            "sole_depth": -_lowest(clump, state),
            "stroke": jnp.max(clump.gear.strokes(state.gear, len(clump.legs))),
            "sub_spheres": sub_spheres.position,
        }

    seen = {name: np.asarray(x) for name, x in look(jax.tree.map(jnp.asarray, looks.lander)).items()}
    sub_spheres, depth = (seen.pop(name) for name in ("sub_spheres", "sole_depth"))
    # Its mean since the look before.
    pushed = np.diff(seen["velocity"], axis=0) / np.diff(found.times)[:, None] - np.asarray(scene.grains.gravity)
    seen["force"] = float(clump.mass) * np.concatenate([0 * pushed[:1], pushed])
    feet = np.stack([np.asarray(leg.position[0]) for leg in looks.lander.legs])
    touches = _touches(scene, looks.position, sub_spheres)
    first = touches.any(axis=1).argmax()
    shown = np.array([0, first, depth.max(axis=1).argmax(), len(depth) - 1])
    frames = np.unique(np.linspace(0, len(depth) - 1, FRAMES).round().astype(int))
    corners, faces = corners_of(scene.boulder)
    dims = {1: ("time",), 2: ("time", "axis")}
    columns = {name: (dims[x.ndim], x, UNITS[name]) for name, x in seen.items()} | {
        "sole_depth": (("time", "leg"), depth, "m"),
        "leg_touches": (("time", "leg"), touches, "1"),
        "foot": (("leg", "axis"), feet, "m"),
        "sub_spheres": (("shown", "axis", "sub_sphere"), sub_spheres[shown], "m"),
        "grains": (("shown", "axis", "grain"), looks.position[shown], "m"),
        "sub_sphere_radius": (("sub_sphere",), np.asarray(clump.radius), "m"),
        "grain_radius": (("grain",), np.asarray(scene.grains.radius), "m"),
        "shown_time": (("shown",), found.times[shown], "s"),
        "lander_in_time": (("frame", "axis", "sub_sphere"), sub_spheres[frames].astype(np.float32), "m"),
        "grains_in_time": (("frame", "axis", "grain"), looks.position[frames], "m"),
        "frame_time": (("frame",), found.times[frames], "s"),
        "boulder": (("vertex", "axis"), corners, "m"),
        "boulder_faces": (("face", "corner"), faces, "1"),
    }
    result = xr.Dataset(
        {k: (dims, v, {"units": unit}) for k, (dims, v, unit) in columns.items()},
        coords={"time": ("time", found.times, {"units": "s"}), "axis": list("xyz")},
    )
    result["lander_in_time"].attrs |= spheres("sub_sphere_radius")
    result["grains_in_time"].attrs |= spheres("grain_radius")
    result["boulder"].attrs |= surface("boulder_faces")
    names = {"position": "centre of mass", "momentum": "angular momentum", "foot": "feet at the start"}
    return describe(result, SITE, names=names, frames=dict.fromkeys(("momentum", "spin"), BODY))


def observe(known: Experiment, result: xr.Dataset) -> dict[str, Any]:
    """The observables of a touchdown on grains, by the names of the catalogue."""
    velocity, energy = result["velocity"].values[-1], result["kinetic_energy"].values
    depths = np.maximum(np.sort(result["sole_depth"].values.max(axis=0)), 0.0)
    return {
        "rebound_speed": np.linalg.norm(velocity),
        "rebound_velocity": known.frame.comet_direction(jnp.asarray(velocity)),
        "spin": result["spin"].values[-1, 2],
        "initial_energy": energy[0],
        "kinetic_energy": energy[-1],
        "damper_stroke": result["stroke"].values.max(),
        **{f"penetration_{k}": depths[i] for k, i in (("deepest", -1), ("middle", -2), ("least", 0))},
    }


def sequence(result: xr.Dataset) -> dict[str, list[float]]:
    """Of the boulder the first and last touch, s; of each leg that of the first grain, and when it is deepest."""
    time, boulder = result["time"].values, result["boulder_gap"].values < 0
    found = {"boulder": time[boulder][[0, -1]].tolist()} if boulder.any() else {}
    for i, touches in enumerate(result["leg_touches"].values.T):
        if touches.any():
            deepest = result["sole_depth"].values[:, i].argmax()
            found[f"leg {i}"] = [float(time[touches.argmax()]), float(time[deepest])]
    return found


def _touches(scene: Scene, grains: np.ndarray, sub_spheres: np.ndarray) -> np.ndarray:
    """Whether each leg touches a grain [t, n], of positions [t, 3, m] and [t, 3, p] m."""
    radius = np.asarray(scene.grains.radius)
    reach = np.asarray(scene.lander.radius)[:, None]
    ends = np.cumsum([part.radius.size for part in (scene.lander.body, *scene.lander.legs)])[:-1]
    rows = []
    for at, of in zip(grains, sub_spheres, strict=True):
        # Of unlike grains not the nearest centre, but the nearest surface counts.
        away, who = cKDTree(at.T).query(of.T, k=8)
        rows.append([legs.any() for legs in np.split((away < radius[who] + reach).any(axis=1), ends)[1:]])
    return np.array(rows)


def outline(known: Experiment, scene: Scene) -> list[float]:
    """Of the boulder in the plane of the struck leg: begin m, bottom m, length m, top m."""
    stone, foot = scene.boulder, np.asarray(known.lander.feet[known.leg, :2])
    size, corner = float(stone.sdf.edge), np.asarray(stone.position)
    middle = corner[:2] @ foot / np.linalg.norm(foot)
    inside = np.linalg.norm(stone.rotation[:2, 1] + foot / np.linalg.norm(foot)) < 1
    begin = middle - size / np.sqrt(3) if inside else middle - size / np.sqrt(12)
    return [begin, float(corner[2]), size * np.sqrt(0.75), float(corner[2] + stone.sdf.height)]


def corners_of(boulder: Posed) -> tuple[Float[np.ndarray, "6 3"], Int[np.ndarray, "8 3"]]:
    """The corners of the prism, m, and its triangles."""
    edge, height = float(boulder.sdf.edge), float(boulder.sdf.height)
    base = np.array([[0.0, edge / 3**0.5], [-edge / 2, -edge / 12**0.5], [edge / 2, -edge / 12**0.5]])
    corners = np.concatenate([np.column_stack([base, np.full(3, z)]) for z in (0.0, height)])
    sides = [[[i, (i + 1) % 3, 3 + i], [(i + 1) % 3, 3 + (i + 1) % 3, 3 + i]] for i in range(3)]
    faces = np.array([[0, 2, 1], [3, 4, 5], *(face for side in sides for face in side)])
    return np.asarray(boulder.position) + corners @ np.asarray(boulder.rotation).T, faces


def _lowest(lander: LeggedClump, state: LeggedState) -> Float[Array, " n"]:
    """z of the lowest pebble of each leg, m."""
    spheres = (leg.spheres(at) for leg, at in zip(lander.legs, state.legs, strict=True))
    return jnp.stack([jnp.min(s.position[2] - s.radius) for s in spheres])
