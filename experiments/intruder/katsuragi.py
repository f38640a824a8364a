"""Grains, or a soil by SPH, whose friction is fitted to the law of a ball that Katsuragi and Durian (2007) found.

    v̇ = g - k z/m - v²/d₁

Data are d₁ and k/m; stopping times are held out. As ASME V&V 20 has it, each difference is compared with the errors of
the size of grains or particles, of the fitted friction and of the data.
"""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import curve_fit

from difsim.contact import Poncelet
from experiments.contact.shapes import PLATE
from experiments.contact.world import Plunge
from experiments.harness import Found
from experiments.intruder.media import HEAVY, RADIUS, Medium, Throwing
from experiments.intruder.pictures import draw_katsuragi
from experiments.intruder.published import GRAVITY
from experiments.variables import describe
from inversion import Checkpoint
from inversion.progress import Bar
from inversion.threads import map_in_threads

PUBLISHED = {"d₁, m": (0.087, 0.007), "k/m, 1/s²": (1040.0, 10.0)}  # value and error
SPEEDS = 0.5, 1.5, 3.0  # m/s


def compare(medium: Medium, out: Path, is_quick: bool) -> Found:
    """The law of a medium by its friction and size, the friction that fits, and the stopping times that follow.

    **Arguments:** `medium`; `out`, the folder of a checkpoint of what was measured; `is_quick`: a smoke test.
    **Returns:** what the harness writes.
    """
    sizes, speeds = ((medium.rough,), SPEEDS[1:]) if is_quick else (medium.sizes, SPEEDS)
    frictions, places = medium.frictions[: 3 if is_quick else None], medium.places
    about = sizes, frictions, places, speeds, medium.settings
    kept = Checkpoint(out / "measured.checkpoint", about)

    def measure_once(job):
        name, throw, case = job
        return kept.get_or(name, lambda: {"found": measure(throw, *case, speeds)})["found"]

    found = np.empty((3 + len(speeds), len(sizes), len(frictions), len(places)))
    for i, size in enumerate(sizes):
        throw = medium.open(size)
        jobs = [(f"{i}.{j}", throw, case) for j, case in enumerate(product(frictions, places))]
        with Bar(f"balls in {medium.label.format(1e3 * size)}", len(jobs)) as bar:
            # One alone first: threads that begin together would compile the same program each.
            rows = [*map_in_threads(measure_once, jobs[:1], bar), *map_in_threads(measure_once, jobs[1:], bar)]
        found[:, i] = np.array(rows).T.reshape(found[:, i].shape)
    middle = len(sizes) // 2
    jobs = [(name, change(sizes[middle]), (frictions[1], places[0])) for name, change in medium.changes.items()]
    with Bar("changes", len(jobs)) as bar:
        rows = map_in_threads(measure_once, jobs, bar)
    moved = np.log(np.reshape(rows, (-1, len(found))).T[:-1] / found[:-1, middle, 1, :1])
    axes = "size", "friction", "place"
    result = xr.Dataset(
        {
            "length": (axes, found[0]),
            "stiffness": (axes, found[1]),
            "stop": (("speed", *axes), found[2:-1]),
            "moving": (axes, found[-1]),
            "moved": (("row", "change"), moved),
        },
        coords={
            "size": list(sizes),
            "friction": list(frictions),
            "speed": list(speeds),
            "change": np.array([*medium.changes], dtype=str),  # of text even where it is empty
        },
    )
    units = {"length": "m", "stiffness": "1/s2", "stop": "s", "size": "m", "friction": "1", "speed": "m/s"}
    units |= {"moved": "1", "moving": "1"}
    names = {"length": "d1 of the law", "stiffness": "k/m of the law", "stop": "time from the surface to the stop"}
    names |= {"moving": "balls that had not stopped at the end"}
    names |= {"moved": "ln of d1, k/m and stopping times over those without the change, at the middle size"}
    result, summary = describe(result, units=units, names=names), validate(result)
    figure = draw_katsuragi(result, summary["comparison"], medium.label)
    return Found(summary, {"result": result}, {medium.stage: figure})


def measure(throw: Throwing, friction: float, place: tuple[float, float], speeds: tuple[float, ...]) -> np.ndarray:
    """The numbers of one friction and place.

    **Arguments:** `throw`; `friction`; `place`; `speeds`, m/s. **Returns:** d₁ m, k/m 1/s², the stopping time s from
    each speed, and how many balls had not stopped.
    """
    paths = [throw(friction, place, speed) for speed in speeds]
    return np.array([*fit_law(paths), *(path[0, -1] for path in paths), sum(path[2, -1] > 0 for path in paths)])


def square_speed(depth: np.ndarray, begun: np.ndarray, length: float, stiffness: float) -> np.ndarray:
    """v² m²/s² of the law at a `depth` m, for a ball that has come at `begun` m/s: linear in z, and exponential."""
    rate = 2 / length
    steady = (2 * GRAVITY - 2 * stiffness * depth) / rate + 2 * stiffness / rate**2
    return steady + (begun**2 - 2 * GRAVITY / rate - 2 * stiffness / rate**2) * np.exp(-rate * depth)


def fit_law(paths: list[np.ndarray]) -> np.ndarray:
    """d₁ m and k/m 1/s² of the law whose v², over that of the impact, is nearest to paths of several speeds."""
    even = [np.linspace(0.0, path[1, -1], 50) for path in paths]
    depth, begun = np.concatenate(even), np.repeat([path[2, 0] for path in paths], 50)
    seen = np.concatenate([np.interp(z, path[1], path[2]) ** 2 for z, path in zip(even, paths, strict=True)])

    def share(where, *logs):  # of both constants, which are positive
        return square_speed(*where, *np.exp(logs)) / where[1] ** 2

    start = [np.log(value) for value, _ in PUBLISHED.values()]
    return np.exp(curve_fit(share, np.stack([depth, begun]), seen / begun**2, start, method="trf")[0])


def stop_time(speed: float, length: float, stiffness: float) -> float:
    """The time s from touch to stop by the law, of a ball that comes at `speed` m/s."""
    mass, area = 4 / 3 * np.pi * RADIUS**3 * HEAVY, np.pi * RADIUS**2
    ground = Poncelet(hardening=stiffness * mass / area, drag=mass / (area * length))
    return float(Plunge(ground, mass, RADIUS, speed, GRAVITY, PLATE).fall().time[-1])


def validate(found: xr.Dataset) -> dict[str, Any]:
    """The friction that fits d₁ and k/m, and of these and the stopping times what is found, published, and unsure.

    Each is a parabola in ln friction. `u_size` is the range over the sizes; `u_friction` follows from the fitted
    friction's error, which is scaled by the misfit, and `u_input` from the changes; `scatter` is that of the mean of
    the places.
    """
    sizes, speeds, logs = found["size"].values, found["speed"].values, np.log(found["friction"].values)
    values = np.log(np.stack([found["length"], found["stiffness"], *found["stop"].values]))
    data, error = np.array([*PUBLISHED.values(), *map(published_stop, speeds)]).T
    scatter = values.std(axis=3, ddof=1).mean(axis=2)[:, -1] / np.sqrt(values.shape[3])
    grid = np.linspace(logs[0], logs[-1], 1001)
    means = values.mean(axis=3)
    parabolas = np.polyfit(logs, means.reshape(-1, logs.size).T, 2)
    curves = (np.vander(grid, 3) @ parabolas).T.reshape(*means.shape[:2], grid.size)
    off = (curves[:, -1] - np.log(data)[:, None]) / np.hypot(scatter, error / data)[:, None]
    misfit = np.sum(off[:2] ** 2, axis=0)
    # With its one degree of freedom a misfit above 1 is the square of how much too small the errors are.
    weight = np.exp(-0.5 * (misfit - misfit.min()) / max(1.0, misfit.min()))
    weight /= weight.sum()
    friction = float(weight @ grid)
    best = curves @ weight
    u_size, u_friction = np.ptp(best, axis=1), np.sqrt((curves[:, -1] - best[:, -1:]) ** 2 @ weight)
    u_input = np.linalg.norm(found["moved"].values, axis=1)
    whole = np.linalg.norm([u_size, u_friction, u_input, scatter, error / data], axis=0)
    rows = {
        name: {
            "found": float(np.exp(best[i, -1])),
            "published": float(data[i]),
            "error_of_published": float(error[i]),
            "by_size": np.exp(best[i]).tolist(),
            "order": observed_order(best[i], sizes),
            "u_size": float(u_size[i]),
            "u_friction": float(u_friction[i]),
            "u_input": float(u_input[i]),
            "scatter": float(scatter[i]),
            "difference_over_u": float((best[i, -1] - np.log(data[i])) / whole[i]),
        }
        for i, name in enumerate([*PUBLISHED, *(f"stop from {speed:g} m/s, s" for speed in speeds)])
    }
    sigma = float(np.sqrt(weight @ (grid - friction) ** 2))
    return {
        "friction": float(np.exp(friction)),
        "sigma_ln_friction": sigma,
        "misfit": float(misfit.min()),
        "not_stopped": int(found["moving"].sum()),
        "comparison": rows,
    }


def published_stop(speed: float) -> tuple[float, float]:
    """The stopping time s by the published law, and its error by those of d₁ and k/m."""
    law, errors = np.array([*PUBLISHED.values()]).T
    at = stop_time(speed, *law)
    moved = [stop_time(speed, *(law + error)) - at for error in np.diag(errors)]
    return at, float(np.linalg.norm(moved))


def observed_order(values: np.ndarray, sizes: np.ndarray) -> float | None:
    """The order of convergence by three sizes of equal ratios; None where they do not tend to a limit."""
    if values.size < 3:
        return None
    coarse, fine = np.diff(values)
    return float(np.log(coarse / fine) / np.log(sizes[0] / sizes[1])) if coarse / fine > 1 else None
