"""The reduced law calibrated by grains: its two factors, what is not known of them, the table and the picture."""

from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE
from difsim.session import CACHE
from experiments.foot.calibration import TABLE, UNKNOWNS, cross_validate, energy_by_law, fit_factors
from experiments.foot.footpads import GRAINS, LOAD, SPEED, UNTIL, Throw, find_way_by_law, results, throws
from experiments.foot.soils import FRICTIONS, ground_of
from experiments.harness import Found
from experiments.records import provenance, write_json
from inversion import response_surface

COUNT = 33  # soils: a multiple of three, and more than 1.5 times the 21 terms of a surface over five unknowns
REPEATS = 3
LABELS = "thickness, m", "grain diameter, m", "grain density, kg/m³", "grain modulus, Pa", "friction"
LOGARITHMIC = False, True, False, True, False  # grain sizes and moduli act by their order

Rows = list[dict[str, Any]]


def calibrate(out: Path, width: float, executor: Executor | None, seed: int = 0, quick: bool = False) -> Found:
    """Throw, fit, write OUT/sole_in_grains.json, which is the table of `data/`.

    `width`: of the drum, m; `executor`: makes the throws. `quick`: soles that are left with half of
    their speed, and one repeat.
    """
    repeats, until = (1, 0.5) if quick else (REPEATS, UNTIL)
    wanted = throws(COUNT, seed, repeats, width)
    found = results(wanted, CACHE / "foot", until, executor)
    rows, points = found[:COUNT], points_of(wanted[:COUNT], found)  # the design comes first
    taken, work = columns(rows)
    factors = fit_factors(taken, work)
    sigma = errors(factors, wanted, found)
    named = dict(zip(("bearing", "inertia"), factors.tolist(), strict=True))
    table = {
        "made": {"command": "difsim foot --stage calibrate", "seed": seed, **provenance()},
        "footpads": {
            "speed_m_s": SPEED,
            "load_kg_m2": LOAD,
            "grains_m": GRAINS,
            "drum_m": width,
            "until_share_of_speed": until,
        },
        "unknowns": UNKNOWNS,
        "points": points.tolist(),
        "lost_J_m2": taken.tolist(),
        "work_of_the_law_J_m2": work.tolist(),
        "factors": named,
        "sigma": sigma,
    }
    write_json(out / TABLE.name, table)
    # The others were left above the floor, where the law goes on.
    stood = [(one, row) for one, row in zip(wanted, rows, strict=False) if row["stands"]]
    ways = np.array([[row["way"], row["law_way"], _way(one, row, factors, until)] for one, row in stood])
    off = _rms(np.log(ways[:, 1:] / ways[:, :1]))
    summary = {
        "factors": named,
        "sigma": sigma,
        "others": compare_alternatives(points, rows),
        "rms_ln_of_law_over_grains_way": dict(zip(("as it stands", "calibrated"), off.tolist(), strict=True)),
        "throws": [
            one._asdict() | row | {"soil": one.soil._asdict()} for one, row in zip(wanted, found, strict=True)
        ],
    }
    return Found(summary, figures={"factors": draw(points, wanted, found, factors)})


def points_of(wanted: list[Throw], found: Rows) -> Float[np.ndarray, "k 5"]:
    """The UNKNOWNS of throws, with the thickness of their beds as it is."""
    return np.array([(row["thickness"], *one.soil[1:]) for one, row in zip(wanted, found, strict=False)])


def columns(rows: Rows) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k 3"]]:
    """The energy that soles lost, and the work of the law's bearing, inertia and viscosity, J/m²."""
    return np.array([row["lost"] for row in rows]), np.array([row["work"] for row in rows])


def errors(factors: Float[np.ndarray, "2"], wanted: list[Throw], found: Rows) -> dict[str, float]:
    """The errors of the logarithm of the resistance: how far the law with two factors is off a `soil` that it has not
    seen, with the scatter between `beds` and places of one soil; what counting from the mean `surface` in place
    of the first touch changes; what half the `speed`, half the `load`, a narrower drum (`width`) and, in
    that, finer grains (`diameter`) change; `total` but for `beds`."""
    ratio = {
        one.key: float(np.log(row["lost"] / energy_by_law(np.array(row["work"]), factors)))
        for one, row in zip(wanted, found, strict=True)
    }

    def change(why):
        off = [ratio[one.key] - ratio[one.twin(wanted[0]).key] for one in wanted if one.why == why]
        return float(_rms(np.array(off)))

    (taken, work), below = columns(found[:COUNT]), factors_below_surface(found[:COUNT])
    parts = {
        "soil": float(_rms(cross_validate(taken, work))),
        "surface": float(_rms(np.log(energy_by_law(work, below) / energy_by_law(work, factors)))),
        **{why: change(why) for why in ("speed", "load", "width", "diameter")},
    }
    again = [ratio[one.key] for one in wanted if one.why == "again"]
    return parts | {"beds": float(np.std(again, ddof=1)), "total": float(np.linalg.norm([*parts.values()]))}


def factors_below_surface(rows: Rows) -> Float[np.ndarray, "2"]:
    """The factors from what happens below the mean surface."""
    part = np.array([row["below"] for row in rows if row["below"] is not None])
    return fit_factors(part[:, 0], part[:, 1:])


def compare_alternatives(points: Float[np.ndarray, "k 5"], rows: Rows) -> dict[str, Any]:
    """Alternatives: the law as it stands or with one factor; a factor that is a response surface over the
    unknowns, alone and on top of the two; and the two factors from below the mean surface only."""
    taken, work = columns(rows)
    x = np.where(LOGARITHMIC, np.log(points), points)
    whole = np.log(taken / work.sum(axis=1))
    rest = np.log(taken / energy_by_law(work, fit_factors(taken, work)))
    each = np.array([fit_factors(np.delete(taken, i), np.delete(work, i, axis=0)) for i in range(len(taken))])
    surface = response_surface(jnp.asarray(x), jnp.asarray(np.stack([whole, rest], axis=1)))
    count = len(whole)
    return {
        "rms_ln_of_the_law_as_it_stands": float(_rms(whole)),
        "error_of_one_factor": float(np.std(whole, ddof=1)) * (count / (count - 1)) ** 0.5,
        "error_of_a_surface": float(surface.error[0]),
        "error_of_a_surface_on_two_factors": float(surface.error[1]),
        "factors_below_the_surface": factors_below_surface(rows).tolist(),
        "factors_without_each": [each.min(axis=0).tolist(), each.max(axis=0).tolist()],
    }


def _rms(x: np.ndarray) -> np.ndarray:
    """The root mean square along the first axis."""
    return np.sqrt(np.mean(np.square(x), axis=0))


def _way(one: Throw, row: dict[str, Any], factors: np.ndarray, until: float) -> float:
    """How far the calibrated law lets that sole come, m."""
    bearing, inertia = jnp.asarray(factors)
    ground = replace(ground_of(one.soil, row["thickness"]), bearing_factor=bearing, inertia_factor=inertia)
    return find_way_by_law(one, ground, until)


def draw(points: np.ndarray, wanted: list[Throw], found: Rows, factors: np.ndarray) -> Figure:
    """The energy that grains took against that of the law on the same ways, and what is left by each unknown."""
    design = found[: len(points)]
    taken, work = columns(design)
    colour = dict(zip(FRICTIONS, (BLUE, GREEN, ORANGE), strict=True))
    colours = [colour[one.soil.friction] for one in wanted[: len(points)]]
    figure = Figure(figsize=(10, 6), layout="constrained")
    first, *axes = figure.subplots(2, 3).ravel()
    first.scatter(work.sum(axis=1) / taken, points[:, 1], s=20, facecolors="none", edgecolors=colours)
    first.scatter(energy_by_law(work, factors) / taken, points[:, 1], s=20, c=colours)
    first.axvline(1.0, color=GREY, linewidth=0.8)
    first.set(xscale="log", yscale="log", xlabel="law over grains", ylabel=LABELS[1])
    first.set_title("Hollow: the law as it stands\nfull: with two factors")
    for i, (ax, label) in enumerate(zip(axes, LABELS, strict=True)):
        ax.scatter(points[:, i], _deviations(design, factors), s=20, c=colours)
        ax.axhline(1.0, color=GREY, linewidth=0.8)
        ax.set(xlabel=label, ylabel="grains over law with factors", ylim=(0.25, 4.0))
        ax.set(yscale="log", xscale="log" if LOGARITHMIC[i] else "linear")
        ax.set_yticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "1", "2", "4"])
        ax.minorticks_off()
    for friction, c in colour.items():
        axes[0].plot([], [], "o", color=c, markersize=4, label=f"friction {friction:g}")
    axes[0].plot([], [], "x", color=BLACK, markersize=5, label="one soil, again")
    again = [row for one, row in zip(wanted, found, strict=True) if one.why == "again"]
    axes[0].plot([row["thickness"] for row in again], _deviations(again, factors), "x", color=BLACK, markersize=5)
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def _deviations(rows: Rows, factors: np.ndarray) -> np.ndarray:
    taken, work = columns(rows)
    return taken / energy_by_law(work, factors)
