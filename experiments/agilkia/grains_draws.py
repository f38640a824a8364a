"""`difsim agilkia --regolith grains --draws N`: does the error that the reduced law states cover what grains do?

Draws of the posterior of a run with the reduced law are simulated again, on beds of grains of the drawn soil. Beside
each stand the reduced law and the calibrated one, the latter with its error at two standard deviations either way.
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, ORANGE
from experiments.agilkia import report
from experiments.agilkia.files import DataSet
from experiments.agilkia.grains import WIDTH, require_tables, run
from experiments.agilkia.grains_scene import build
from experiments.agilkia.grains_series import observe, series
from experiments.agilkia.scenario import Experiment, experiment
from experiments.foot.calibration import read
from experiments.foot.grains import settle
from experiments.harness import Found
from experiments.variables import describe
from inversion.sweeps import compute_parts

STIFFEST = 1e8  # Pa, of grains that are simulated: steps fall as modulus^(-0.4)
HORIZON = 2.0  # s: by then the ground has taken all but a few per cent, and what comes after is slow
STATED, ERRORS = 2.0, 9  # standard deviations of the calibrated law's error, and how many errors between
UNITS = {
    "rebound_speed": "m/s",
    "energy_left": "J",
    "penetration_deepest": "m",
    "penetration_middle": "m",
    "penetration_least": "m",
    "damper_stroke": "m",
}


def run_draws(
    lander: dict[str, dict[str, Any]],
    data: DataSet,
    diameter: float,
    seed: int,
    out: Path,
    count: int,
    executor: Executor | None = None,
) -> Found:
    """Touchdowns on grains at `count` draws of the posterior in OUT/result.nc, each with its own bed.

    An interrupted run goes on from OUT/draws.checkpoint. Grains have `diameter` m, or their own where that is larger.
    Their modulus is at most `STIFFEST`: stiffer grains need more steps.
    """
    known = experiment(require_tables(lander), data)
    known = eqx.tree_at(lambda e: e.horizon, known, jnp.minimum(known.horizon, HORIZON))
    stated = eqx.tree_at(lambda e: e.calibration, known, read(), is_leaf=lambda x: x is None)
    place = report.place(lander, data, known)
    draws = pick_draws(out / "result.nc", count, seed, place)
    folder = out.resolve() / "draws.checkpoint"
    tasks = {
        str(i): partial(_at_draw, known, values, lander["sub_spheres"], diameter, seed, folder / str(i))
        for i, values in enumerate(draws)
    }
    rows = list(compute_parts(tasks, executor=executor, label="draws").values())
    laws = {"reduced": [evaluate_law(known, values) for values in draws]} | spans(stated, draws)
    result = _table({"grains": rows} | laws, draws)
    summary = place | {"data": data.name, "horizon_s": float(known.horizon), "diameter_m": diameter, "seed": seed}
    sigma = {k: float(data.fitted[k].sigma) for k in UNITS if k in data.fitted}
    summary |= {"draws": draws, "compared": compare(result, sigma)}
    figures = {"draws": draw(result)}
    return Found(summary, {"draws": result}, figures, record="draws", report="draws")


def _at_draw(
    known: Experiment,
    values: dict[str, float],
    sub_spheres: dict[str, Any],
    diameter: float,
    seed: int,
    checkpoint: Path,
) -> dict[str, float]:
    soil = known.build({k: jnp.asarray(v) for k, v in values.items()})[0].regolith
    soil = eqx.tree_at(lambda s: s.grain_modulus, soil, jnp.minimum(soil.grain_modulus, STIFFEST))
    size = max(diameter, values["grain_diameter"])
    bed = settle(size, WIDTH["feet"], float(soil.cohesion), seed, soil)
    scene = build(known, values, sub_spheres, bed, drum=False)
    return tell(observe(known, series(scene, run(scene, float(known.horizon), checkpoint))))


class StoredDraws(NamedTuple):
    """Draws of a posterior: unknown -> values [draws]; their `weights`, and `log_likelihood` [draws]."""

    values: dict[str, np.ndarray]
    weights: np.ndarray
    log_likelihood: np.ndarray


def read_draws(path: Path, place: Mapping[str, Any]) -> StoredDraws:
    """The draws of the posterior in a file of results.

    **Raises:** ValueError where none is, or one of another `lander` or `body` than those of the `place`.
    """
    try:
        with xr.open_datatree(path, engine="h5netcdf") as tree:
            values = {name: x.values for name, x in tree["weighted_posterior"].load().data_vars.items()}
            weight, log_likelihood = (tree["weights"][name].values for name in ("weight", "lp"))
            other = {k: tree.attrs[k] for k in ("lander", "body") if tree.attrs[k] != place[k]}
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(
            f"{path} has no posterior ({error}): run `difsim agilkia` into that folder first"
        ) from error
    if other:
        raise ValueError(
            f"{path} is of another {' and '.join(other)}: {other}; run `difsim agilkia` of this one first"
        )
    if "law_error" in values:
        raise ValueError(f"{path} is of the calibrated law, and this stage needs draws by the reduced one")
    return StoredDraws(values, weight / weight.sum(), log_likelihood)


def pick_draws(path: Path, count: int, seed: int, place: Mapping[str, Any]) -> list[dict[str, float]]:
    """`count` draws of the posterior in a file of results, by their weight.

    **Raises:** ValueError as `read_draws`, and for fewer draws.
    """
    values, weight, _ = read_draws(path, place)
    if (some := int((weight > 0).sum())) < count:
        raise ValueError(f"--draws {count}: {path} has {weight.size} draws, of which {some} have a weight")
    chosen = np.random.default_rng(seed).choice(weight.size, count, replace=False, p=weight)
    return [{n: float(x[i]) for n, x in values.items()} for i in chosen]


def tell(observed: Mapping[str, Any]) -> dict[str, float]:
    """The compared numbers of a touchdown by its observables."""
    named = dict(observed) | {"energy_left": observed["kinetic_energy"]}
    return {name: float(named[name]) for name in UNITS}


def evaluate_law(known: Experiment, values: dict[str, float]) -> dict[str, float]:
    """The same by the reduced law."""
    model, solution = known.follow({k: jnp.asarray(v) for k, v in values.items()}, known.times)
    return tell(known.observe(model, solution))


def spans(stated: Experiment, draws: list[dict[str, float]]) -> dict[str, list[dict[str, float]]]:
    """The observables by the calibrated law, and the least and the greatest that its error allows.

    An observable need not rise with the error, so errors between the two ends count as well.
    """
    errors = float(stated.calibration.sigma) * np.linspace(-STATED, STATED, ERRORS)
    of_errors = [[evaluate_law(stated, values | {"law_error": error}) for error in errors] for values in draws]
    found = {"calibrated": [rows[ERRORS // 2] for rows in of_errors]}
    for name, pick in (("lower", min), ("upper", max)):
        found[name] = [{key: pick(row[key] for row in rows) for key in UNITS} for rows in of_errors]
    return found


def compare(result: xr.Dataset, sigma: dict[str, float]) -> dict[str, dict[str, float | None]]:
    """Compare grains with the laws, and tell whether what is stated covers the difference of each observable.

    `off`: the mean of grains less reduced law; `sigma`: that of the datum; `within_data`: the share of draws within two
    of these; `covered`: the share within what the calibrated law's error allows.
    """
    rows = {}
    for name in UNITS:
        of = {law: result[name].sel(law=law).values for law in result["law"].values}
        off, spread = of["grains"] - of["reduced"], sigma.get(name)
        rows[name] = {
            "off": float(off.mean()),
            "sigma": spread,
            "within_data": None if spread is None else float((np.abs(off) <= 2 * spread).mean()),
            "covered": float(((of["lower"] <= of["grains"]) & (of["grains"] <= of["upper"])).mean()),
        }
    return rows


def _table(columns: dict[str, list[dict[str, float]]], draws: list[dict[str, float]]) -> xr.Dataset:
    found = {
        name: (("law", "sample"), np.array([[row[name] for row in rows] for rows in columns.values()]))
        for name in UNITS
    }
    unknowns = {f"drawn_{name}": (("sample",), np.array([d[name] for d in draws])) for name in draws[0]}
    result = xr.Dataset(found | unknowns, coords={"law": list(columns), "sample": np.arange(len(draws))})
    units = UNITS | {"drawn_thickness": "m", "drawn_grain_diameter": "m", "drawn_grain_density": "kg/m3"}
    units |= {"drawn_grain_modulus": "Pa", "drawn_edge_offset": "m"}
    units |= {f"drawn_{name}": "rad" for name in ("tilt_x", "tilt_y", "heading")}
    return describe(result, "no frame: sizes and speeds", units)


def draw(result: xr.Dataset) -> Figure:
    """Each observable: grains, the reduced law, and the span that the calibrated law states, by draw."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    for axis, (name, unit) in zip(figure.subplots(2, 3).flat, UNITS.items(), strict=True):
        of = {law: result[name].sel(law=law).values for law in result["law"].values}
        at = np.arange(result.sizes["sample"]) + 1
        span = "calibrated law, two standard deviations"
        axis.vlines(at, of["lower"], of["upper"], color=BLUE, lw=5, alpha=0.4, label=span)
        axis.plot(at, of["reduced"], "_", color=BLACK, ms=12, mew=2, label="reduced law")
        axis.plot(at, of["grains"], "o", color=ORANGE, label="grains")
        axis.set(title=name.replace("_", " "), xlabel="draw", ylabel=unit, xticks=at)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
