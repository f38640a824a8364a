"""The picture of a touchdown on grains, from its Dataset alone."""

import numpy as np
import xarray as xr
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle

from difsim.plot.style import BLACK, GREY, ORANGE, PALE, RED, SKY
from experiments.agilkia.grains_series import PAPER
from experiments.agilkia.keys import PHILAE
from experiments.agilkia.pictures import AXES, FEET

CUT = 1.0  # grain diameters, half the thickness of the slice that is drawn


def draw(result: xr.Dataset) -> Figure:
    """Cuts through two legs at some times; force, velocity, spin, energy, depths against time."""
    figure = Figure(figsize=(11, 10.5), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[1, 1.6])
    rows = above.subplots(2, result.sizes["shown"], sharex=True, sharey=True)
    struck = int(result.attrs["leg"])
    for axes, leg in zip(rows, (struck, (struck + 1) % result.sizes["leg"]), strict=True):
        _cuts(axes, result, leg)
    _curves(below, result)
    return figure


def _cuts(axes, result: xr.Dataset, leg: int) -> None:
    """In the upright plane through the body's middle and a sole, as they are at the start."""
    centre, foot = result["position"].values[0], result["foot"].values[leg]
    along = (foot - centre)[:2] / np.linalg.norm((foot - centre)[:2])
    across = np.array([-along[1], along[0]])
    thick = CUT * 2 * float(result["grain_radius"].mean())
    for i, ax in enumerate(axes):
        for name, kind, face, slab in (
            ("grains", "grain", PALE, thick),
            ("sub_spheres", "sub_sphere", SKY, np.inf),
        ):
            place, radius = result[name].values[i], result[f"{kind}_radius"].values
            offset = place[:2] - centre[:2, None]
            seen = np.abs(across @ offset) < slab
            spots = zip((along @ offset)[seen], place[2][seen], radius[seen], strict=True)
            discs = [Circle((x, z), r) for x, z, r in spots]
            ax.add_collection(PatchCollection(discs, facecolor=face, edgecolor=GREY, linewidth=0.2))
        if leg == result.attrs["leg"]:
            x, low, wide, high = result.attrs["boulder_m"]
            ax.add_patch(Rectangle((x, low), wide, high - low, facecolor=GREY))
        ax.axhline(0, color=BLACK, linewidth=0.5)
        ax.set(xlim=(-1.7, 1.7), ylim=(-0.32, 1.6), aspect="equal", xlabel=f"along leg {leg}, m")
        ax.set_title(f"{float(result['shown_time'][i]):.2f} s")
    axes[0].set_ylabel("z, m")


def _curves(figure, result: xr.Dataset) -> None:
    time = result["time"].values
    (force, speed), (spin, energy), (depth, stroke) = figure.subplots(3, 2, sharex=True)
    force.plot(time, np.linalg.norm(result["force"].values, axis=1), color=BLACK)
    force.set(ylabel="N", yscale="log", ylim=(1, None), title="Contact force")
    told = {"spin_rad_s": (spin, 1), "energy_after_J": (energy, 1), "stroke_m": (stroke, 1000)}
    told |= {"peak_force_N": (force, 1)} if result.attrs["lander"] == PHILAE else {}
    for name, (ax, factor) in told.items():
        ax.axhline(factor * PAPER[name], color=RED, linestyle=":", linewidth=1)
    if result.attrs["lander"] == PHILAE:
        force.set_title("Contact force (dotted: the paper's peak, 35 N)")
    for i, colour in enumerate(AXES):
        speed.plot(time, result["velocity"].values[:, i], color=colour, label="xyz"[i])
        spin.plot(time, result["spin"].values[:, i], color=colour)
    speed.set(ylabel="m/s", title="Velocity of the centre of mass")
    speed.legend(frameon=False, ncols=3)
    spin.set(ylabel="rad/s", title="Spin in the body frame (dotted: the paper's about z at the end)")
    energy.plot(time, result["kinetic_energy"], color=BLACK, label="kinetic")
    energy.plot(time, result["spring_energy"], color=ORANGE, label="leg springs")
    energy.set(ylabel="J", title="Energy of the lander (dotted: the paper's at the end)")
    energy.legend(frameon=False)
    for i, values in enumerate(result["sole_depth"].values.T):
        depth.plot(time, 100 * values, color=FEET[i % len(FEET)], label=f"leg {i}")
        touched = np.where(result["leg_touches"].values[:, i], -9.0 + i, np.nan)
        depth.plot(time, touched, color=FEET[i % len(FEET)], linewidth=3)
    depth.plot(time, np.where(result["boulder_gap"] < 0, -6.0, np.nan), color=RED, linewidth=3, label="boulder")
    depth.set(ylabel="cm", ylim=(-10, None), xlabel="s", title="Depth below the mean surface; bars: who touches")
    depth.legend(frameon=False)
    stroke.plot(time, 1000 * result["stroke"], color=BLACK)
    stroke.set(ylabel="mm", xlabel="s", title="Stroke of the damper (dotted: published, 42.6 mm)")
