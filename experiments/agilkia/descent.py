"""Philae's descent from 22 km, forward to the ground and backward to the separation, in several worlds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

from difsim import Adaptive, AtContact, Solution, Status, simulate, transition, units
from difsim.dynamics import Flight, FlightState, TimeReversed
from experiments.agilkia.worlds import World
from experiments.geometry import line
from experiments.variables import describe

FINE = Adaptive(1e-12, 1e-12, order=8)  # of flights of hours

SPIN = (0.0, 0.0, units.SPIN_67P)
AXES = ("x", "y", "z")
COMET = "fixed to the comet (Cheops)"


@dataclass(frozen=True)
class Scenario:
    """A separation, a touchdown and the seconds between them: (position m, velocity m/s), comet-fixed.

    Plain numbers: an array made while modules are imported would be in float32.
    """

    start: tuple[tuple[float, ...], tuple[float, ...]]
    end: tuple[tuple[float, ...], tuple[float, ...]]
    duration: float

    @property
    def separation(self) -> FlightState:
        return FlightState(*self.start)

    @property
    def touchdown(self) -> FlightState:
        return FlightState(*self.end)


# Synthetic. The touchdown's site and speed (1.010 m/s) are published, the velocity's direction and the
# separation are not: they were made to agree on the SHAP5 shape at uniform density. Epoch of separation
# 2014-11-12 08:35:00, of touchdown 15:34:03.98 UTC (Wu et al. 2019, sec. 4.1).
AGILKIA = Scenario(
    start=((-19353.3, 9909.9, 5290.6), (2.02237, 2.35055, -0.17728)),
    end=((2114.5, -955.2, 494.9), (-0.8353, 0.4987, -0.2715)),
    duration=25143.98,
)


def descend(worlds: Mapping[str, World], instants: int = 141) -> xr.Dataset:
    """Fly the scenario in each world: separation to ground, touchdown back to separation, and forward again.

    **Returns:** a Dataset over `world`. Forward: `landing_time` s, `landing_position` m, `landing_velocity`
    m/s, `landing_speed`, `landing_angle` deg of the velocity off the inward normal, `landing_off` m from the
    scenario's touchdown, `status`. Its derivatives by the separation's place and velocity: `landing_by_start`
    [3, 6] of the place, `landing_time_by_start` [6]. Backward: `separation_position`, `separation_velocity`,
    `separation_off` m from the scenario's. `closure` m: the scenario's touchdown back and forward again.
    `jacobi_drift`, relative, the worst of all flights. `surface_gap` m of the scenario's touchdown. `forward`
    and `backward` [instants, 3] m are the trajectories, each over its own `share` of time.
    A flight that never lands has the numbers of the horizon, 1.2 durations, and says so in `status`, the worst of
    all its flights; the table leaves such numbers out.
    """
    flown = {name: _descend(Flight(field, SPIN, surface), instants) for name, (field, surface) in worlds.items()}
    coords = {"start": [*AXES, *(f"v{a}" for a in AXES)], "share": np.linspace(0.0, 1.0, instants)}
    about = {"target": np.asarray(AGILKIA.end[0]), "origin": np.asarray(AGILKIA.start[0])}
    return stack(flown, coords, about | {"duration_s": AGILKIA.duration})


def stack(
    rows: Mapping[str, Mapping[str, tuple]], coords: Mapping[str, Any], attrs: Mapping[str, Any]
) -> xr.Dataset:
    """One row {name: (dims, value, unit)} of each world, as a Dataset over `world`, with these `coords` and `attrs`."""
    first = next(iter(rows.values()))
    columns = {
        name: (
            ("world", *dims),
            np.stack([np.asarray(row[name][1]) for row in rows.values()]),
            {"units": unit} | (line() if dims == ("share", "axis") else {}),
        )
        for name, (dims, _, unit) in first.items()
    }
    result = xr.Dataset(columns, {"world": list(rows), "axis": list(AXES)} | dict(coords), attrs)
    return describe(result, COMET, {"share": "1"}, {"share": "share of the flight's time"})


def _descend(model: Flight, instants: int) -> dict[str, tuple]:
    begin, site, duration = AGILKIA.separation, AGILKIA.touchdown, AGILKIA.duration
    fly, share = partial(simulate, solver=FINE, throw=False), jnp.linspace(0.0, 1.0, instants)
    times = 1.2 * jnp.asarray([0.0, duration])
    found = transition(model, begin, times, solver=FINE, until=AtContact(), throw=False)
    landing, time = found.solution.last, found.solution.times[-1]
    down = fly(model, begin, share * time)
    # Backward in time: τ = -t runs from -duration to 0.
    back = fly(TimeReversed(model), site, (share - 1) * duration)
    separation, flights = back.last, [found.solution, down, back]
    flights.append(again := fly(model, separation, share * duration))
    speed = jnp.linalg.norm(landing.velocity)
    sinking = -model.surface.normal(landing.position) @ landing.velocity / speed
    return {
        "landing_time": ((), time, "s"),
        "landing_position": (("axis",), landing.position, "m"),
        "landing_velocity": (("axis",), landing.velocity, "m/s"),
        "landing_speed": ((), speed, "m/s"),
        "landing_angle": ((), jnp.degrees(jnp.arccos(sinking)), "degree"),
        "landing_off": ((), jnp.linalg.norm(landing.position - site.position), "m"),
        "landing_by_start": (("axis", "start"), found.state[:3], "m/m, m/(m/s)"),
        "landing_time_by_start": (("start",), found.time, "s/m, s/(m/s)"),
        "separation_position": (("axis",), separation.position, "m"),
        "separation_velocity": (("axis",), separation.velocity, "m/s"),
        "separation_off": ((), jnp.linalg.norm(separation.position - begin.position), "m"),
        "closure": ((), jnp.linalg.norm(again.last.position - site.position), "m"),
        "jacobi_drift": ((), max(map(_drift, flights)), "1"),
        "surface_gap": ((), model.surface.distance(site.position), "m"),
        "steps": ((), found.solution.stats.steps, "1"),
        "status": ((), Status(max(int(s.status) for s in flights)).name, ""),
        "forward": (("share", "axis"), down.states.position, "m"),
        "backward": (("share", "axis"), back.states.position[::-1], "m"),
    }


def numbers(result: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Every single number of each world, and how its flights ended."""
    single = result[[name for name, variable in result.items() if variable.dims == ("world",)]]
    return {
        str(world): {str(name): x.item() for name, x in single.sel(world=world).items()}
        for world in result["world"].values
    }


def _drift(solution: Solution) -> float:
    constant = sum(np.asarray(part) for part in solution.energy.values())
    return float(np.max(np.abs(constant / constant[0] - 1)))
