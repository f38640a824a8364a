"""Grains whose friction is fitted to the law of a ball in beads that Katsuragi and Durian (2007) found.

    v̇ = g - k z/m - v²/d₁

Data are d₁ and k/m; stopping times are held out. As ASME V&V 20 has it, each difference is compared with the errors of
the grains' size, of the fitted friction and of the data.
"""

from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import curve_fit

from difsim.beds import BedSpecification
from difsim.beds.specification import Bed
from difsim.contact import Poncelet
from difsim.stepping.solution import Solution
from experiments.beds import settle
from experiments.contact.world import Plunge
from experiments.harness import Found
from experiments.intruder.pictures import draw_katsuragi
from experiments.intruder.published import FRAME, GRAVITY, PLACES, STIFF, Throw, throw_into
from experiments.intruder.scene import box_of_glass
from experiments.variables import describe
from inversion.progress import show_progress

RADIUS, HEAVY = 0.0127, 8070.0  # m; kg/m³, of the ball with its rod
PUBLISHED = {"d₁, m": (0.087, 0.007), "k/m, 1/s²": (1040.0, 10.0)}  # value and error
SPEEDS = 0.5, 1.5, 3.0  # m/s
FRICTIONS = 0.1, 0.17, 0.28, 0.45
SIZES = 0.008, 0.0063, 0.005  # m, of the grains, each 1.26 times the next
ROUGH = (0.012,)  # m, of a smoke test
WIDTH, DEEP = 0.1, 0.12  # m, of the bed


def recipe(size: float) -> BedSpecification:
    """The specification of a bed of grains of `size` m."""
    return box_of_glass(size, WIDTH, DEEP, STIFF)


def compare(is_quick: bool) -> Found:
    """The law of grains by their friction and size, the friction that fits, and the stopping times that follow."""
    sizes, frictions, speeds = (ROUGH, FRICTIONS[:3], SPEEDS[:2]) if is_quick else (SIZES, FRICTIONS, SPEEDS)
    found = np.empty((2 + len(speeds), len(sizes), len(frictions), len(PLACES)))
    for i, size in enumerate(sizes):
        bed, lists = settle(recipe(size)), {}
        for j, friction in enumerate(show_progress(frictions, f"frictions of grains of {1e3 * size:g} mm")):
            for k, place in enumerate(PLACES):
                throws = [Throw(speed, HEAVY, RADIUS, friction, STIFF) for speed in speeds]
                paths = [read_path(throw_into(bed, at, place, lists), bed) for at in throws]
                found[:, i, j, k] = *fit_law(paths), *(path[0, -1] for path in paths)
    axes = "size", "friction", "place"
    result = xr.Dataset(
        {"length": (axes, found[0]), "stiffness": (axes, found[1]), "stop": (("speed", *axes), found[2:])},
        coords={"size": list(sizes), "friction": list(frictions), "speed": list(speeds)},
    )
    units = {"length": "m", "stiffness": "1/s2", "stop": "s", "size": "m", "friction": "1", "speed": "m/s"}
    names = {"length": "d1 of the law", "stiffness": "k/m of the law", "stop": "time from the surface to the stop"}
    result, summary = describe(result, units=units, names=names), validate(result)
    return Found(summary, {"result": result}, {"katsuragi": draw_katsuragi(result, summary["comparison"])})


def read_path(ended: Solution, bed: Bed) -> np.ndarray:
    """Time s, depth m and speed m/s [3, t] from the mean surface to the stop."""
    time, ball = np.asarray(ended.times), ended.states
    depth, speed = bed.figures.height + RADIUS - np.asarray(ball.position[:, 2]), -np.asarray(ball.velocity[:, 2])
    end = int(np.argmax(speed <= 0)) if np.any(speed <= 0) else speed.size - 1
    share = speed[end - 1] / (speed[end - 1] - speed[end])
    stop = time[end - 1] + share * FRAME, depth[end - 1] + share * (depth[end] - depth[end - 1]), 0.0
    path = np.append(np.stack([time, depth, speed])[:, :end], np.array(stop)[:, None], axis=1)
    begun = np.array([np.interp(0.0, path[1], row) for row in path])
    inside = np.append(begun[:, None], path[:, path[1] > 0], axis=1)
    return inside - np.array([[begun[0]], [0.0], [0.0]])


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
    return float(Plunge(ground, mass, RADIUS, speed, GRAVITY, 0.0).fall().time[-1])


def validate(found: xr.Dataset) -> dict[str, Any]:
    """The friction that fits d₁ and k/m, and of these and the stopping times what is found, published, and unsure.

    Each is a parabola in ln friction. `u_size` is the range over the sizes of grains; `u_friction` follows from
    the fitted friction's error; `scatter` is that of the mean of the places.
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
    weight = np.exp(-0.5 * (misfit - misfit.min()))
    weight /= weight.sum()
    friction = float(weight @ grid)
    best = curves @ weight
    u_size, u_friction = np.ptp(best, axis=1), np.sqrt((curves[:, -1] - best[:, -1:]) ** 2 @ weight)
    whole = np.linalg.norm([u_size, u_friction, scatter, error / data], axis=0)
    rows = {
        name: {
            "found": float(np.exp(best[i, -1])),
            "published": float(data[i]),
            "error_of_published": float(error[i]),
            "by_size": np.exp(best[i]).tolist(),
            "order": observed_order(best[i], sizes),
            "u_size": float(u_size[i]),
            "u_friction": float(u_friction[i]),
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
