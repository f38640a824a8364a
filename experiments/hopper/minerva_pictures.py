"""The pictures of the release over Imhotep, from result.nc alone: Fig. 11 from above, in 3-D, and against time."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LightSource
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, ORANGE, RED

LIGHT = LightSource(azdeg=315, altdeg=35)


def draw(result: xr.Dataset) -> dict[str, Figure]:
    """The release from above, close and against time, and in three dimensions."""
    return {
        "minerva": _plan(result),
        "minerva_3d": _view(result),
    }


def _title(result: xr.Dataset) -> str:
    a = result.attrs
    path = result["track"].values
    touched = result["time"].values >= a["touch_time_s"]
    gone = np.linalg.norm(path[-1] - path[touched][0])
    if a["status"] != "OK":
        return f"MINERVA-II over Imhotep: {a['status']} after {a['contacts']} contacts"
    return (
        f"MINERVA-II over Imhotep: touch at {a['touch_time_s']:.0f} s, "
        f"at rest since {a['settling_time_s']:.0f} s, "
        f"{gone:.1f} m on, {a['contacts']} contacts"
    )


def _draw_shaded(ax: Axes, result: xr.Dataset, name: str) -> None:
    east, north, height = (result[f"{name}_{k}"].values for k in ("east", "north", "height"))
    pixel = east[0, 1] - east[0, 0]
    shade = LIGHT.hillshade(height, vert_exag=2.0, dx=pixel, dy=pixel)
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
    touched = time >= result.attrs["touch_time_s"]
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
    east, north, height = (result[f"wide_{k}"].values for k in ("east", "north", "height"))
    pixel = east[0, 1] - east[0, 0]
    shade = LIGHT.hillshade(height, vert_exag=2.0, dx=pixel, dy=pixel)
    grey = np.repeat((0.3 + 0.65 * shade)[..., None], 3, axis=2)
    ax.plot_surface(
        east, north, height, facecolors=grey, rcount=161, ccount=161, lw=0, antialiased=False, shade=False
    )
    track, touched = result["track"].values, result["time"].values >= result.attrs["touch_time_s"]
    ax.plot(*track[~touched].T, color=ORANGE, linewidth=1.5, label="descent")
    ax.plot(*track[touched].T, color=RED, linewidth=1.5, label="bounces")
    ax.plot(*track[-1][:, None], "s", color=BLACK, markersize=6, label="rest")
    ax.set(xlabel="east [m]", ylabel="north [m]", zlabel="up [m]")
    ax.set_aspect("equal")
    ax.view_init(elev=20, azim=-60)
    ax.legend(loc="upper left")
    return figure
