"""The collapse itself: a second of it, what of it was measured, and how both converge with the spacing."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from difsim import Adaptive, Courant, run
from difsim.sph import Continuum
from difsim.sph.continuum import ContinuumState
from difsim.sph.material import second_invariant, split
from difsim.stepping.solvers import AbstractSolver
from experiments.cliff import surface
from experiments.cliff.measurements import FAILURE_SLOPE, FRONT, RESOLUTION, SLOPES, Measured
from experiments.cliff.scene import DENSITY, END, GRAVITY, HEIGHT, PAPER_SOUND, WIDTH, Cliff, soil
from experiments.geometry import spheres
from experiments.variables import describe
from inversion.progress import Bar

TIMES = np.linspace(0.0, END, 41)
COURANT = {None: 0.5, PAPER_SOUND: 0.9}  # a heap full of viscosity stands longer steps
STATIONS = np.linspace(0.0, 0.6, 301)  # m, of the surface
STANDS = 0.55  # s: from then on the surface changes by hundredths of a millimetre
MOVED = RESOLUTION  # m: what has moved less counts as at rest
CORNER = "origin at the foot of the wall, x away from it, y up"
THICK = 2.0  # spacings: what is thinner is no heap


def collapse(
    rows: int, sound: float | None, folder: Path, end: float = END, solver: AbstractSolver | None = None
) -> xr.Dataset:
    """Let the block of `rows` particles fall; a run that was interrupted goes on from its checkpoint in `folder`.

    **Arguments:** `sound` m/s of the viscosity, the soil's own unless given; `end`, s; `solver`, else `Courant`.
    **Returns:** particles and surface against time, energies, failure surface.
    """
    cliff = Cliff.build(rows)
    model = cliff.model(soil(), sound)
    times = TIMES[end >= TIMES]
    kept = folder / f"rows{rows}.checkpoint"
    with Bar(f"{cliff.grains} particles", len(times)) as bar:
        ended = run(
            model,
            cliff.state(model),
            times,
            solver=solver or Courant(COURANT[sound]),
            checkpoint=kept,
            watch=lambda _: bar.advance(),
        )
    shutil.rmtree(kept)  # the laws may change before the next run
    return table(cliff, model, times, cliff.soil(ended.states), ended.stats.steps)


def table(
    cliff: Cliff, model: Continuum, times: np.ndarray, states: ContinuumState, steps: np.ndarray
) -> xr.Dataset:
    """All that is kept of the soil's `states` at `times` s."""
    area = float(cliff.pitch.prod())
    profile = np.stack([cliff.heights(position, STATIONS) for position in states.position])
    columns, border = surface.surface_at_rest(states.position[0], states.position[-1], MOVED)
    heap = surface.heap(states.position[-1], cliff.pitch[0])
    frames = ("time", "axis", "particle")
    result = xr.Dataset(
        {
            "position": (frames, states.position, {"units": "m"} | spheres(0.5 * float(np.sqrt(area)))),
            "velocity": (frames, states.velocity, {"units": "m/s"}),
            "density": (frames[::2], states.density, {"units": "kg/m3"}),
            "heap": ("particle", heap, {"meaning": "of the largest body of touching particles"}),
            "surface": (("time", "x"), profile, {"units": "m", "meaning": "share of soil falls to one half"}),
            "failure": ("column", border, {"units": "m", "meaning": f"below it less than {MOVED} m of motion"}),
            **{k: ("time", v, {"units": "J/m"}) for k, v in _energies(model, states).items()},
            "steps": ("time", steps),
        },
        coords={
            "time": ("time", times, {"units": "s"}),
            "axis": ["x", "y"],
            "x": ("x", STATIONS, {"units": "m"}),
            "column": ("column", columns, {"units": "m"}),
        },
        attrs={
            "rows": round(HEIGHT / cliff.pitch[1]),
            "spacing_m": float(np.sqrt(area)),
            "viscosity_sound_m_s": float(model.viscosity.sound),
            "material_sound_m_s": float(model.material.sound),
        },
    )
    names = {
        "heap": "whether a particle belongs to the largest body of touching particles",
        "surface": "height of the heap",
        "failure": "height below which soil has not moved",
        "x": "distance from the wall",
    }
    return describe(result, CORNER, {"heap": "1"}, names)


def _energies(model: Continuum, states: ContinuumState) -> dict[str, np.ndarray]:
    """Kinetic, potential (above the floor) and elastic energy, J per metre of width, at each time."""
    mass = float(model.mass[0])
    deep = jax.vmap(jax.vmap(split, in_axes=-1, out_axes=-1))
    mean, deviator = (np.asarray(leaf) for leaf in deep(jnp.asarray(states.stress)))
    shear = np.asarray(jax.vmap(jax.vmap(second_invariant, in_axes=-1))(jnp.asarray(deviator)))
    stored = mean**2 / (2.0 * float(model.material.bulk)) + shear / (2.0 * float(model.material.shear))
    return {
        "kinetic": 0.5 * mass * (states.velocity**2).sum(axis=(1, 2)),
        "potential": mass * GRAVITY * states.position[:, 1].sum(axis=1),
        "elastic": (mass / states.density * stored).sum(axis=1),
    }


def judge(result: xr.Dataset, known: Measured) -> dict:
    """The quantities that are compared with the experiment, in m and degrees."""
    last, spacing = result.isel(time=-1), result.attrs["spacing_m"]
    x, y = last["x"].values, last["surface"].values
    error = np.interp(known.surface[:, 0], x, y) - known.surface[:, 1]
    failure = np.interp(known.failure[:, 0], result["column"], result["failure"])
    place = last["position"].values
    heap = place[:, result["heap"].values]
    front = float(heap[0, heap[1] + 0.5 * spacing >= THICK * spacing].max())
    energy = sum(result[k].values for k in ("kinetic", "potential", "elastic"))
    fallen = result["potential"].values[0] - result["potential"].values[-1]
    return {
        "particles": result.sizes["particle"],
        "spacing_m": spacing,
        "viscosity_sound_m_s": result.attrs["viscosity_sound_m_s"],
        "steps": int(last["steps"]),
        "points": f"{len(known.surface)} + {len(known.failure)}: {known.source}",
        "surface_rms_m": _rms(error),
        "surface_worst_m": float(np.abs(error).max()),
        "height_at_wall_m": float(y[0]),
        "front_m": front,
        "front_measured_m": FRONT,
        "scattered": float(1.0 - result["heap"].values.mean()),
        "furthest_particle_m": float(place[0].max()),
        "slopes_deg": {f"{a:g}-{b:g} m": [slope(x, y, a, b), s] for (a, b), s in SLOPES.items()},
        "failure_rms_m": _rms(failure - known.failure[:, 1]),
        "failure_slope_deg": [_chord(known.failure[:, 0], failure), FAILURE_SLOPE],
        "area_under_surface": float(np.trapezoid(y, x) / (WIDTH * HEIGHT)),
        "mean_density": float(last["density"].values.mean() / DENSITY),
        "kinetic_left": float(result["kinetic"].values[-1] / fallen),
        "largest_rise_of_energy": float(np.diff(energy).max() / fallen),
    }


def slope(x: np.ndarray, y: np.ndarray, begin: float, end: float) -> float:
    """Fall of the straight line through a profile between two x m, degrees."""
    here = (x >= begin) & (x <= end)
    return float(-np.degrees(np.arctan(np.polyfit(x[here], y[here], 1)[0])))


def _chord(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.degrees(np.arctan((y[0] - y[-1]) / (x[-1] - x[0]))))


def _rms(error: np.ndarray) -> float:
    return float(np.sqrt(np.mean(error**2)))


def compare(results: Mapping[str, xr.Dataset], known: Measured) -> dict:
    """Each against the experiment, and its surface against the last one's."""
    best = list(results.values())[-1].isel(time=-1)["surface"].values
    found = {}
    for name, result in results.items():
        away = (result.isel(time=-1)["surface"].values - best)[STATIONS < FRONT]
        found[name] = {
            **judge(result, known),
            "surface_rms_from_last_m": _rms(away),
            "surface_worst_from_last_m": float(np.abs(away).max()),
        }
    return found


def solvers() -> dict[str, AbstractSolver]:
    """The compared values: the last is the paper's."""
    courant = {f"Courant {c:g}": Courant(c) for c in (0.5, 0.25)}
    return courant | {f"error {rtol:.0e}": Adaptive(rtol, max_steps=10_000_000) for rtol in (1e-4, 1e-6)}
