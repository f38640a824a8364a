"""The reduced law calibrated by grains: the table of factors, what is not known of them, and the picture."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from experiments.cache import CACHE
from experiments.foot.calibration import LOGARITHMIC, TABLE, UNKNOWNS, coordinates, fitted
from experiments.foot.soils import FRICTIONS
from experiments.foot.soles import GRAINS, LOAD, SPEED, UNTIL, Throw, results, throws
from experiments.records import provenance, write_json
from experiments.style import BLACK, BLUE, GREEN, GREY, ORANGE, STYLE
from inversion import ResponseSurface

COUNT = 33  # soils: a multiple of three and more than 1.5 times the 21 terms of the surface
SIZES = {0.056: 0.4, 0.032: 0.25}  # of grains beside, m: thickness of the layer, which has five of them, m
REPEATS = 4
LABELS = "thickness, m", "grain diameter, m", "grain density, kg/m³", "grain modulus, Pa", "friction"


def run(out: Path, seed: int = 0, quick: bool = False) -> dict[str, Any]:
    """Throw, fit, write OUT/sole_in_grains.json, which is the table of `data/`, and OUT/factors.png.

    `quick`: a narrow drum, and soles that are left with most of their speed.
    """
    wanted = throws(COUNT, seed, 1 if quick else REPEATS, {0.045: 0.25} if quick else SIZES)
    found = results(wanted, CACHE / "foot", *((0.9, 0.3) if quick else ()))
    rows = [row for one, row in zip(wanted, found, strict=True) if one.why == "design"]
    points = points_of(wanted[: len(rows)], rows)
    surface = fitted(points, np.array([row["ratio"] for row in rows]))
    sigma = errors(surface, wanted, found)
    table = {
        "made": {"command": "difsim foot --stage calibrate", "seed": seed, **provenance()},
        "soles": {"speed_m_s": SPEED, "load_kg_m2": LOAD, "grains_m": GRAINS, "until_share_of_speed": UNTIL},
        "unknowns": UNKNOWNS,
        "points": points.tolist(),
        "factor": [row["ratio"] for row in rows],
        "sigma": sigma,
    }
    write_json(out / TABLE.name, table)
    draw(out / "factors.png", wanted, found, surface)
    throws_made = [
        {"why": one.why, **one.soil._asdict(), "grains": one.diameter, "bed": one.bed, "place": one.place}
        | {"speed": one.speed, "load": one.load, **row}
        for one, row in zip(wanted, found, strict=True)
    ]
    spread = float(np.std(np.log([row["ratio"] for row in rows]), ddof=1))
    return {"sigma": sigma, "spread_of_ln_factor": spread, "throws": throws_made}


def points_of(wanted: list[Throw], found: list[dict[str, Any]]) -> Float[np.ndarray, "k 5"]:
    """The UNKNOWNS of throws, with the thickness of their beds as it is."""
    return np.array([(row["thickness"], *one.soil[1:]) for one, row in zip(wanted, found, strict=True)])


def errors(surface: ResponseSurface, wanted: list[Throw], found: list[dict[str, Any]]) -> dict[str, float]:
    """What is not known of ln of the factor: how far the `surface` is off a point that it has not seen, with the
    scatter between `beds` and places of one soil; what `speed`, `load` and `size` of the grains change;
    `total` of all but `beds`."""
    factor = {one.key: row["ratio"] for one, row in zip(wanted, found, strict=True)}

    def change(why):
        logs = [np.log(factor[one.key] / factor[one.twin.key]) for one in wanted if one.why == why]
        return float(np.sqrt(np.mean(np.square(logs))))

    again = np.log([factor[one.key] for one in wanted if one.why == "again"])
    parts = {"surface": float(surface.error[0]), **{why: change(why) for why in ("speed", "load", "size")}}
    return parts | {"beds": float(np.std(again, ddof=1)), "total": float(np.linalg.norm([*parts.values()]))}


def draw(path: Path, wanted: list[Throw], found: list[dict[str, Any]], surface: ResponseSurface) -> None:
    """Write grains against law for all soles, and the factor by each unknown."""
    design = [(one, row) for one, row in zip(wanted, found, strict=True) if one.why == "design"]
    points = points_of(*(list(x) for x in zip(*design, strict=True)))
    factor = np.array([row["ratio"] for _, row in design])
    stands = np.array([row["stands"] for _, row in design])
    colours = [dict(zip(FRICTIONS, (BLUE, GREEN, ORANGE), strict=True))[one.soil.friction] for one, _ in design]
    fills = [c if s else "white" for c, s in zip(colours, stands, strict=True)]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 6), layout="constrained")
        first, *others = figure.subplots(2, 3).ravel()
        law, grains = (np.array([row[k] for _, row in design]) for k in ("law_pressure", "pressure"))
        first.scatter(law, grains, s=22, c=fills, edgecolors=colours)
        for why, marker in (("again", "x"), ("size", "+")):
            more = [row for one, row in zip(wanted, found, strict=True) if one.why == why]
            first.plot(
                [r["law_pressure"] for r in more], [r["pressure"] for r in more], marker, color=BLACK, markersize=5
            )
        ends = min(law.min(), grains.min()), max(law.max(), grains.max())
        first.plot(ends, ends, color=GREY, linewidth=0.8)
        first.set(xscale="log", yscale="log", xlabel="reduced law, Pa", ylabel="grains, Pa", title="Mean pressure")
        for i, (ax, label) in enumerate(zip(others, LABELS, strict=True)):
            x = points[:, i]
            jitter = 1 + 0.02 * np.random.default_rng(0).uniform(-1, 1, x.size) if len(np.unique(x)) < 4 else 1
            ax.scatter(x * jitter, factor, s=22, c=fills, edgecolors=colours)
            ax.plot(*_mean(surface, points, i), color=BLACK)
            ax.axhline(1.0, color=GREY, linewidth=0.8)
            ax.set(yscale="log", xlabel=label, ylabel="grains over law")
            if LOGARITHMIC[i]:
                ax.set_xscale("log")
        figure.savefig(path)


def _mean(surface: ResponseSurface, points: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
    """The surface along unknown `i`, the mean of its ln over the others of all points."""
    ends = points[:, i].min(), points[:, i].max()
    along = np.geomspace(*ends, 41) if LOGARITHMIC[i] else np.linspace(*ends, 41)
    at = jnp.asarray([[(*p[:i], x, *p[i + 1 :]) for p in points] for x in along])
    return along, np.exp(np.asarray(jax.vmap(jax.vmap(surface))(coordinates(at))).mean(axis=(1, 2)))
