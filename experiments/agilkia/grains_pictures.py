"""The picture of a touchdown on grains, from its Dataset alone."""

from pathlib import Path

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from experiments.style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PINK, RED, SKY, STYLE

AXES = (BLUE, ORANGE, GREEN)
FEET = (BLUE, GREEN, PINK, SKY)
CUT = 1.0  # grain diameters, half the thickness of the slice that is drawn


def draw(result: xr.Dataset, path: Path) -> None:
    """Cuts through the second leg at some times; force, velocity, spin, energy, depths against time."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 9.5), layout="constrained")
        above, below = figure.subfigures(2, 1, height_ratios=[1, 1.7])
        _cuts(above, result)
        _curves(below, result)
        figure.savefig(path)


def _cuts(figure, result: xr.Dataset) -> None:
    """In the upright plane through the body's middle and the sole of the second leg, as they are at the start."""
    size = result.sizes["pebble"]
    at = result["pebbles"].values
    foot = at[0, :, np.argmin(at[0, 2, size // 3 : 2 * size // 3]) + size // 3]
    centre = result["position"].values[0]
    along = (foot - centre)[:2] / np.linalg.norm((foot - centre)[:2])
    across = np.array([-along[1], along[0]])
    thick = CUT * 2 * float(result["grain_radius"].mean())
    axes = figure.subplots(2, -(-result.sizes["shown"] // 2), sharex=True, sharey=True).ravel()
    for ax in axes[result.sizes["shown"] :]:
        ax.set_axis_off()
    for i, ax in zip(range(result.sizes["shown"]), axes, strict=False):
        for place, radius, face, slab in (
            (result["grains"].values[i], result["grain_radius"].values, PALE, thick),
            (at[i], result["pebble_radius"].values, SKY, np.inf),
        ):
            offset = place[:2] - centre[:2, None]
            seen = np.abs(across @ offset) < slab
            spots = zip((along @ offset)[seen], place[2][seen], radius[seen], strict=True)
            discs = [Circle((x, z), r) for x, z, r in spots]
            ax.add_collection(PatchCollection(discs, facecolor=face, edgecolor=GREY, linewidth=0.2))
        ax.axhline(0, color=BLACK, linewidth=0.5)
        ax.set(xlim=(-1.7, 1.7), ylim=(-0.32, 1.6), aspect="equal")
        ax.set_title(f"{float(result['shown_time'][i]):.2f} s")
    figure.supxlabel("along the leg that meets the boulder (not drawn), m", fontsize=9)
    figure.supylabel("z, m", fontsize=9)


def _curves(figure, result: xr.Dataset) -> None:
    time = result["time"].values
    (force, speed), (spin, energy), (depth, stroke) = figure.subplots(3, 2, sharex=True)
    force.plot(time, np.linalg.norm(result["force"].values, axis=1), color=BLACK)
    force.axhline(35, color=RED, linestyle=":", linewidth=1)
    force.set(ylabel="N", yscale="log", ylim=(1, None), title="Contact force (dotted: the paper's peak, 35 N)")
    for i, colour in enumerate(AXES):
        speed.plot(time, result["velocity"].values[:, i], color=colour, label="xyz"[i])
        spin.plot(time, result["spin"].values[:, i], color=colour)
    speed.set(ylabel="m/s", title="Velocity of the centre of mass")
    speed.legend(frameon=False, ncols=3)
    spin.axhline(0.076, color=RED, linestyle=":", linewidth=1)
    spin.set(ylabel="rad/s", title="Spin in the body frame (dotted: the paper's about z at the end)")
    energy.plot(time, result["kinetic_energy"], color=BLACK, label="kinetic")
    energy.plot(time, result["spring_energy"], color=ORANGE, label="leg springs")
    energy.axhline(4.534, color=RED, linestyle=":", linewidth=1)
    energy.set(ylabel="J", title="Energy of the lander (dotted: the paper's at the end)")
    energy.legend(frameon=False)
    for i, values in enumerate(result["sole_depth"].values.T):
        depth.plot(time, 100 * values, color=FEET[i % len(FEET)], label=f"leg {i}")
    depth.plot(time, -100 * result["boulder_gap"], color=RED, linewidth=0.8, label="in the boulder")
    depth.set(ylabel="cm", ylim=(-10, None), xlabel="s", title="Depth below the mean surface")
    depth.legend(frameon=False)
    stroke.plot(time, 1000 * result["stroke"], color=BLACK)
    stroke.axhline(42.6, color=RED, linestyle=":", linewidth=1)
    stroke.set(ylabel="mm", xlabel="s", title="Stroke of the damper (dotted: published, 42.6 mm)")
