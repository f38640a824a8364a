"""`difsim hopper --stage minerva`: MINERVA-II released over Imhotep on 67P, to rest (the hopper paper, Fig. 11)."""

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LightSource
from matplotlib.figure import Figure
from scipy.spatial import ConvexHull

from difsim import Adaptive, Ignore, Outside, Solution, Status, simulate
from difsim.dynamics import Hopper
from difsim.plot.style import BLACK, BLUE, ORANGE, RED
from difsim.rotation import Rotation
from experiments.geometry import line, map_ground, surface
from experiments.harness import Found
from experiments.hopper.imhotep import SPACING, World, minerva, prism, release_at, rest_rule, world
from experiments.hopper.observe import balance, observe, posture
from experiments.variables import describe

START = ((0.0, 0.0, 100.0), (0.02, 0.01, -0.02), (0.1, 0.2, 0.05))  # m, m/s, rad/s: east, north, up; ours
COARSE = 25.0  # m, the paper's grid
LONGEST, SEED = 2e4, 1
LIGHT = LightSource(azdeg=315, altdeg=35)
VALUES = {"solver": Adaptive(1e-7, 1e-7, max_steps=100_000), "trust": Ignore()}


def release(quick: bool, shape: str = "analogue") -> Found:
    """One release on the fine grid, and the same on the paper's 25 m."""
    count = 401 if quick else 4001
    place = world(shape)
    model = minerva(place, SEED)
    found = _release(model, place, count)
    seen = observe(model, found)
    numbers = _numbers(model, place, found)
    result = _table(model, place, found, seen, 61 if quick else 161)
    shown = ("status", "settling_time_s", "touchdown_time_s", "distance_from_touchdown_m", "contacts")
    result.attrs |= {k: numbers[k] for k in shown} | {"site": np.asarray(place.site)}
    summary = {
        "shape": shape,
        "site": {"position_m": np.asarray(place.site).tolist(), "gravity_m_s2": float(place.gravity)}
        | {"slope_deg": float(jnp.degrees(jnp.arccos(place.surface.normal(place.site) @ place.axes[2])))},
        "grid_m": SPACING,
        **numbers,
        "paper_grid": None if quick else _tabulate_paper_grid(shape, count),
        **balance(seen["energy"]),
    }
    return Found(summary, {"result": result}, {"minerva": _plan(result), "minerva_3d": _view(result)})


def _tabulate_paper_grid(shape: str, count: int) -> dict:
    place = world(shape, COARSE)
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
    for name, centre, half in (("wide_", middle, wide), ("near_", track[-1, :2], 2.0)):
        maps |= map_ground(model.surface, place.site, place.axes, (centre, half, nodes), 150.0, name)
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


def _title(result: xr.Dataset) -> str:
    a = result.attrs
    if a["status"] != "OK":
        return f"MINERVA-II over Imhotep: {a['status']} after {a['contacts']} contacts"
    return (
        f"MINERVA-II over Imhotep: touch at {a['touchdown_time_s']:.0f} s, at rest since {a['settling_time_s']:.0f} s, "
        f"{a['distance_from_touchdown_m']:.1f} m on, {a['contacts']} contacts"
    )


def _hillshade(result: xr.Dataset, name: str) -> tuple[np.ndarray, ...]:
    """The ground of a map: east, north and height m, and how bright it is."""
    east, north, height = (result[f"{name}_{k}"].values for k in ("east", "north", "height"))
    pixel = east[0, 1] - east[0, 0]
    return east, north, height, LIGHT.hillshade(height, vert_exag=2.0, dx=pixel, dy=pixel)


def _draw_shaded(ax: Axes, result: xr.Dataset, name: str) -> None:
    east, north, height, shade = _hillshade(result, name)
    extent = (east.min(), east.max(), north.min(), north.max())
    ax.imshow(0.35 + 0.6 * shade, cmap="gray", origin="lower", extent=extent, vmin=0, vmax=1)
    lines = ax.contour(east, north, height, 8, colors=BLACK, linewidths=0.4)
    ax.clabel(lines, fontsize=7, fmt="%.2f m")
    ax.set(xlabel="east [m]", ylabel="north [m]", xlim=extent[:2], ylim=extent[2:])


def _plan(result: xr.Dataset) -> Figure:
    figure = Figure(figsize=(11, 9), layout="constrained")
    figure.suptitle(_title(result))
    (wide, near), (altitude, speeds) = figure.subplots(2, 2, height_ratios=(1.6, 1))
    track, time = result["track"].values, result["time"].values
    touched = time >= result.attrs["touchdown_time_s"]
    for ax, name, title in ((wide, "wide", "from above"), (near, "near", "the last metres")):
        _draw_shaded(ax, result, name)
        ax.plot(*track[~touched, :2].T, color=ORANGE, linewidth=1.2, label="descent")
        ax.plot(*track[touched, :2].T, color=RED, linewidth=1.2, label="bounces")
        ax.plot(*track[-1, :2], "s", color=BLACK, markersize=6, label="rest")
        ax.set_title(f"{title}; contours: height over the site's level")
    wide.plot(*track[0, :2], "o", color=ORANGE, markersize=6, label="release")
    wide.legend(loc="lower left")
    altitude.semilogy(time, np.maximum(result["clearance"].values, 1e-3), color=BLUE, linewidth=1)
    altitude.set(xlabel="time since release [s]", ylabel="centre above the ground [m]")
    altitude.set_title("height, by the distance that the contact sees (a bound)")
    speeds.semilogy(time, result["speed"], color=BLACK, linewidth=1, label="speed [m/s]")
    speeds.semilogy(time, result["spin"], color=RED, linewidth=1, label="spin [rad/s]")
    speeds.set(xlabel="time since release [s]", ylim=(1e-5, 2), title="against the rotating comet")
    speeds.legend(frameon=False)
    return figure


def _view(result: xr.Dataset) -> Figure:
    figure = Figure(figsize=(9, 7.5), layout="constrained")
    figure.suptitle(_title(result))
    ax = figure.add_subplot(projection="3d", computed_zorder=False)
    east, north, height, shade = _hillshade(result, "wide")
    grey = np.repeat((0.3 + 0.65 * shade)[..., None], 3, axis=2)
    ax.plot_surface(
        east, north, height, facecolors=grey, rcount=161, ccount=161, lw=0, antialiased=False, shade=False
    )
    track, touched = result["track"].values, result["time"].values >= result.attrs["touchdown_time_s"]
    ax.plot(*track[~touched].T, color=ORANGE, linewidth=1.5, label="descent")
    ax.plot(*track[touched].T, color=RED, linewidth=1.5, label="bounces")
    ax.plot(*track[-1][:, None], "s", color=BLACK, markersize=6, label="rest")
    ax.set(xlabel="east [m]", ylabel="north [m]", zlabel="up [m]")
    ax.set_aspect("equal")
    ax.view_init(elev=20, azim=-60)
    ax.legend(loc="upper left")
    return figure
