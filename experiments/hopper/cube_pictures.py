"""The pictures of the cube scene, from result.nc alone."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, number

TARGETS = {"phobos": BLUE, "67p": ORANGE, "itokawa": GREEN}
TITLES = {"phobos": "Phobos", "67p": "67P", "itokawa": "Itokawa"}
LAWS = {"smooth": "power law, smoothed (default)", "paper": "the paper's: damper in compression, not smoothed"}
PARTS = {"kinetic": SKY, "rotation": GREEN, "elastic": PINK}
LOSSES = {"damping": ORANGE, "friction": RED, "rolling": GREY}


def draw(result: xr.Dataset) -> dict[str, Figure]:
    """The pictures of Figs 8 (trajectories), 9 (settling above, sliding) and 10 (energy)."""
    return {
        "trajectories": _trajectories(result),
        "settling": _draw_settling(result),
        "energy": _energy(result),
        "sliding": _draw_sliding(result),
    }


def _trajectories(result: xr.Dataset) -> Figure:
    laws = [str(law) for law in result["law"].values]
    figure = Figure(figsize=(10, 3.4 * len(laws) + 0.6), layout="constrained")
    figure.suptitle("The same throw in three gravities (0.5 m up, 0.07 m/s, tumbling), until rest")
    for (side, top), law in zip(figure.subplots(len(laws), 2, squeeze=False), laws, strict=True):
        for target, colour in TARGETS.items():
            fall = result.sel(law=law, target=target)
            x, y, z = fall["position"].values.T
            gone = np.hypot(x, y)
            time, contacts = number(float(fall["settling_time"]), ".0f"), int(fall["contacts"])
            label = f"{TITLES[target]}: {time} s, {contacts} contacts, {gone[-1]:.1f} m"
            side.plot(gone, z, color=colour, linewidth=1, label=label)
            top.plot(x, y, color=colour, linewidth=1)
            side.plot(gone[-1], z[-1], "s", color=colour, markersize=5)
            top.plot(x[-1], y[-1], "s", color=colour, markersize=5)
        side.set(xlabel="distance from below the release [m]", ylabel="height of the centre [m]", title=LAWS[law])
        side.legend(frameon=False)
        top.set(xlabel="x [m]", ylabel="y [m]", title="from above (squares: rest)")
        top.set_aspect("equal", adjustable="datalim")
    return figure


def _panels(result: xr.Dataset, heading: str) -> tuple[Figure, list[tuple[Axes, xr.Dataset]]]:
    """A figure with a panel against time for each law, and the law's results."""
    laws = result["law"].values
    figure = Figure(figsize=(10, 3.2 * len(laws) + 0.5), layout="constrained")
    figure.suptitle(heading)
    panels = figure.subplots(len(laws), 1, squeeze=False)[:, 0]
    for ax, law in zip(panels, laws, strict=True):
        ax.set(xlabel="time [s]", title=LAWS[str(law)])
    return figure, [(ax, result.sel(law=law)) for ax, law in zip(panels, laws, strict=True)]


def _draw_settling(result: xr.Dataset) -> Figure:
    figure, panels = _panels(result, "Phobos: the settling phase (blue: contact; dotted: what counts as rest)")
    for ax, row in panels:
        fall = row.sel(target="phobos")
        time = fall["time"].values
        shown = time >= 0.6 * time[-1]
        t, touching = time[shown], fall["touching"].values[shown]
        ax.fill_between(t, 0, 1, where=touching, transform=ax.get_xaxis_transform(), color="#CFE3F2", lw=0)
        for name, unit, colour, limit in (("speed", "m/s", BLACK, 1e-4), ("spin", "rad/s", RED, 1e-3)):
            ax.semilogy(t, fall[name].values[shown], color=colour, linewidth=1, label=f"{name} [{unit}]")
            ax.axhline(limit, color=colour, linestyle=":", linewidth=0.8)
        since = float(fall["settling_time"])
        ax.axvline(since, color=GREY, linewidth=0.8, label=f"at rest since {since:.1f} s")
        ax.set(ylabel="|v| [m/s], |ω| [rad/s]", xlim=(t[0], t[-1]))
        ax.legend(frameon=False, loc="lower left")
    return figure


def _energy(result: xr.Dataset) -> Figure:
    laws = [str(law) for law in result["law"].values]
    figure = Figure(figsize=(5 * len(laws) + 1, 7), layout="constrained")
    figure.suptitle("Phobos: energy in the first collision (one corner)")
    for (upper, lower), law in zip(figure.subplots(2, len(laws), squeeze=False, sharex=True).T, laws, strict=True):
        row = result.sel(law=law)
        time = 1e3 * row["collision_time"].values
        potential = row["collision_potential"].values - row["collision_potential"].values[0]
        parts = {k: row[f"collision_{k}"].values for k in PARTS}
        total = sum(parts.values()) + potential
        turn = int(np.argmax(parts["elastic"]))
        for name, colour in PARTS.items():
            upper.plot(time, 1e3 * parts[name], color=colour, label=name)
        upper.plot(time, 1e3 * total, color=BLACK, linewidth=2, label="total, with gravity")
        for name, colour in LOSSES.items():
            values = row[f"collision_{name}"].values
            lower.plot(time, 1e3 * (values - values[0]), color=colour, label=name)
        for ax in (upper, lower):
            ax.axvline(time[turn], color=GREY, linewidth=0.8, linestyle="--")
            ax.legend(frameon=False)
        given = total[0] - total[-1]
        share = 100 * (total[0] - total[turn]) / given
        upper.set_title(f"{LAWS[law]}\n{share:.0f} % of the loss in compression (left of the dashed line)")
        upper.set_ylabel("energy [mJ]")
        lower.set(xlabel="time since touch [ms]", ylabel="lost so far [mJ]")
    return figure


def _draw_sliding(result: xr.Dataset) -> Figure:
    figure, panels = _panels(result, "Phobos: sliding speed at the effective point, the cube on its lower corners")
    for ax, row in panels:
        for speed, colour in zip(row["slip_speed"].values, (ORANGE, BLUE, GREEN), strict=True):
            slide = row.sel(slip_speed=speed)
            slip = slide["slide_slip"].where(slide["slide_touching"])
            ax.semilogy(slide["slide_time"], slip, color=colour, lw=1, label=f"regularised at {speed:g} m/s")
        ax.set(ylabel="sliding speed in contact [m/s]", ylim=(1e-10, 0.1))
        ax.legend(frameon=False, loc="upper right")
    return figure
