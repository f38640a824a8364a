"""The soil from the surface of its heap: friction, cohesion and stiffness, by least squares.

At the toe of a heap without cohesion the derivative by friction is that of single particles: right for a change of
a millionth, and wrong by far for one of a degree. So fits go by slopes over ± WIDTHS, which see through that.
"""

import json
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from matplotlib.figure import Figure

from difsim import FixedSteps, Solution, Status, Unrolled, allocate, simulate
from difsim.plot.style import BLACK, BLUE, GREY
from difsim.sph import Continuum
from difsim.sph.continuum import ContinuumState
from difsim.stepping.marching import NeighbourList
from experiments.cliff.measurements import RESOLUTION, load_measurements
from experiments.cliff.scene import END, FRICTION, HEIGHT, YOUNG, Cliff, soil
from experiments.harness import Found
from experiments.records import array_as_text, text_as_array
from experiments.variables import describe
from inversion import Bounded, Checkpoint, Log, Observation, Observations, Problem, Stops, fit, identify
from inversion.leastsq import Fit
from inversion.problem import strip_weak_types
from inversion.progress import show_progress

STEPS_PER_ROW = 421  # of a second: half the longest stable step of the paper's soil, two thirds of the stiffest
STATIONS = np.arange(0.02, 0.261, 0.02)  # m: up to where it is thick at any friction below the guess
UNKNOWNS = {
    "friction": Bounded(10.0, 35.0, "deg"),
    "cohesion": Bounded(0.0, 200.0, "Pa"),
    "young": Log(0.4e6, 1.7e6, "Pa"),
}
WIDTHS = {"friction": 1.5, "cohesion": 20.0, "young": 0.2e6}
USUAL = {"friction": float(np.degrees(FRICTION)), "cohesion": 0.0, "young": YOUNG}
GUESS = {"friction": 28.0, "cohesion": 80.0, "young": 0.5e6}
TRUTH = {"friction": 23.0, "cohesion": 30.0, "young": YOUNG}
SEED = 7
QUICK = 0.1  # s of a smoke test: later its coarse toe has no slopes
TITLES = {
    "exact": "synthetic, no noise, friction free",
    "synthetic": "synthetic, friction free",
    "three": "synthetic, all three free",
    "experiment": "the experiment, friction free",
}
STOPS = Stops(misfit=1e-4, step=1e-5, gradient=1e-3, iterations=15)


class Fall(eqx.Module):
    """A collapse by constant steps, as a function of the soil that can be differentiated."""

    near: NeighbourList
    cliff: Cliff = eqx.field(static=True)
    steps: int = eqx.field(static=True)
    dt: float = eqx.field(static=True)

    def __init__(self, rows: int, end: float = END):
        self.cliff = Cliff.build(rows)
        model = self.cliff.model(soil())
        self.near = allocate(model, self.cliff.state(model))
        self.dt = 1.0 / (STEPS_PER_ROW * rows)
        self.steps = round(end / self.dt)

    def __call__(self, soil_of: Mapping[str, Array]) -> Solution:
        """The collapse of `soil_of` friction deg, cohesion Pa and young Pa."""
        material = soil(jnp.radians(soil_of["friction"]), soil_of["cohesion"], soil_of["young"])
        return self.run(self.cliff.model(material), self.steps, 1)

    def run(self, model: Continuum, steps: int, parts: int) -> Solution:
        """The collapse of any `model` of these particles, after each of `parts` of so many steps."""
        times = steps * self.dt * jnp.arange(parts + 1)
        unrolled = {"solver": FixedSteps(steps, neighbours=self.near), "derivative": Unrolled()}
        return simulate(model, self.cliff.state(model), times, **unrolled, throw=False)

    def heights(self, state: ContinuumState, x: Float[np.ndarray, " k"]) -> Float[Array, " k"]:
        """The surface at `x` m."""
        return self.cliff.heights(self.cliff.soil(state).position, x)


def slopes(function: Callable, widths: Float[np.ndarray, " p"]) -> Callable:
    """`function` of p numbers that are not negative, with derivatives by differences over ± `widths`."""

    @jax.custom_jvp
    def evaluate(x):
        return function(x)

    @evaluate.defjvp
    def _(primals, tangents):
        (x,), (change,) = primals, tangents
        steps = jnp.diag(jnp.asarray(widths))
        high, low = x[None] + steps, jnp.maximum(x[None] - steps, 0.0)
        values = jax.lax.map(function, jnp.concatenate([x[None], high, low]))
        up, down = jnp.split(values[1:], 2)
        return values[0], change @ ((up - down) / jnp.sum(high - low, axis=1)[:, None])

    return evaluate


def problem(fall: Fall, free: tuple[str, ...], known: Mapping[str, float]) -> Problem:
    """The `free` unknowns, from heights at STATIONS that are good to 2 mm; data are still to come."""

    def surface_of(values):
        ended = fall({**known, **dict(zip(free, values, strict=True))})
        failed = jnp.where(ended.status == Status.OK, 0.0, jnp.nan)
        return fall.heights(ended.last, STATIONS) + failed

    smooth = slopes(surface_of, np.array([WIDTHS[name] for name in free]))

    def predict(values):
        return {"surface": smooth(jnp.stack([values[name] for name in free]))}, True

    return Problem({name: UNKNOWNS[name] for name in free}, predict, _data(np.zeros(STATIONS.size)))


def fits(fall: Fall, chosen: tuple[str, ...], out: Path) -> Found:
    """Fits of friction from a synthetic surface, with and without noise, from the experiment's, and of all three.

    Fits of the same unknowns are one problem with other data, so that it is compiled once. An interrupted run goes on
    from the checkpoint in `out`, which has each fit that was finished.
    """
    seen = load_measurements().surface if load_measurements().whole else ()
    made_of = fall.near, fall.steps, fall.dt, STATIONS, STOPS, GUESS, TRUTH, SEED, seen
    kept = Checkpoint(out / "fits.checkpoint", made_of)
    rows = round(HEIGHT / fall.cliff.pitch[1])
    one, three = problem(fall, ("friction",), USUAL), problem(fall, tuple(UNKNOWNS), {})
    noise = RESOLUTION * np.random.default_rng(SEED).standard_normal(STATIONS.size)
    simulate = eqx.filter_jit(lambda values: fall.heights(fall(values).last, STATIONS))
    plain = {"friction": TRUTH["friction"]}
    cases = {"exact": (one, plain, 0.0), "synthetic": (one, plain, noise), "three": (three, TRUTH, noise)}
    if load_measurements().whole:
        cases["experiment"] = (one, None, 0.0)
    found, tables = {}, []
    for name in show_progress([name for name in chosen if name in cases], "fits"):
        general, truth, error = cases[name]

        def fit_one(name=name, general=general, truth=truth, error=error):
            if truth is None:
                heights = np.interp(STATIONS, *load_measurements().surface.T)
            else:
                heights = np.asarray(simulate(jax.tree.map(jnp.asarray, USUAL | truth))) + error
            posed = eqx.tree_at(lambda p: p.data, general, strip_weak_types(_data(heights)))
            guess = {k: GUESS[k] for k in posed.names}
            best = fit(posed, key=jax.random.PRNGKey(0), starts=0, keep=1, guesses=[guess], stops=STOPS)
            told = text_as_array(json.dumps(judge(posed, best, truth)))
            return {"heights": heights, "residual": best.residual, "judged": told}

        made = kept.get_or(name, fit_one)
        found[name] = json.loads(array_as_text(made["judged"]))
        tables.append(_table(name, made["heights"], made["residual"]))
    result = describe(xr.merge(tables).assign_attrs(rows=rows), names={"x": "distance from the wall"})
    summary = {"rows": rows, "sigma_m": RESOLUTION, "source": load_measurements().source, "fits": found}
    return Found(summary, {"result": result}, {"inverse": draw(result, found)})


def _data(heights: np.ndarray) -> Observations:
    return Observations({"surface": Observation(heights, RESOLUTION, "m")})


def judge(posed: Problem, best: Fit, truth: Mapping[str, float] | None) -> dict:
    """Values with their 95 % intervals, what the data fix, and how far from the truth."""
    told = identify(posed, best, threshold=1e-4)
    found = {
        "status": best.status.name,
        "verdict": best.verdict,
        "simulations": best.calls.forward,
        "sensitivities": best.calls.jacobian,
        "misfit_per_degree_of_freedom": best.misfit / best.degrees_of_freedom,
        "surface_rms_m": float(np.sqrt(np.mean(best.residual**2)) * RESOLUTION),
    }
    for name in best.names:
        half = 1.96 * best.sigma[name]
        found[name] = {
            "value": best.values[name],
            "interval_95": [best.values[name] - half, best.values[name] + half],
            "unit": UNKNOWNS[name].unit,
            "verdict": told.verdicts[name],
        }
        if truth is not None:
            found[name]["truth"] = truth[name]
    if len(best.names) > 1:
        found["correlations"] = {
            f"{best.names[i]}, {best.names[j]}": round(float(told.correlations[i, j]), 2)
            for i, j in combinations(range(len(best.names)), 2)
        }
    return found


def _table(name: str, heights: np.ndarray, residual: np.ndarray) -> xr.Dataset:
    return xr.Dataset(
        {
            f"{name}_data": ("x", heights, {"units": "m"}),
            f"{name}_fit": ("x", heights + RESOLUTION * residual, {"units": "m"}),
        },
        coords={"x": ("x", STATIONS, {"units": "m"})},
    )


def draw(result: xr.Dataset, found: Mapping[str, dict]) -> Figure:
    """The surfaces with 2 mm bars, the fits, and what is left."""
    names = [name for name in TITLES if f"{name}_data" in result]
    figure = Figure(figsize=(3.2 * len(names), 5), layout="constrained")
    panels = figure.subplots(2, len(names), squeeze=False, sharex=True, sharey="row", height_ratios=(2, 1))
    for (upper, lower), name in zip(panels.T, names, strict=True):
        x = result["x"].values
        data, model = result[f"{name}_data"].values, result[f"{name}_fit"].values
        upper.errorbar(x, data, 2e-3, fmt="o", ms=3, color=BLACK, elinewidth=0.8, label="data, 2 mm")
        upper.plot(x, model, color=BLUE, label=_label(found[name]["friction"]))
        lower.errorbar(x, 1e3 * (model - data), 2.0, fmt="o", ms=3, color=BLACK, elinewidth=0.8)
        lower.axhline(0, color=GREY, lw=0.8)
        upper.set_title(TITLES[name])
        upper.legend(frameon=False)
        lower.set_xlabel("distance from the wall [m]")
    panels[0, 0].set_ylabel("height [m]")
    panels[1, 0].set_ylabel("fit - data [mm]")
    return figure


def _label(friction: Mapping) -> str:
    half = friction["value"] - friction["interval_95"][0]
    text = f"fit: {friction['value']:.2f}° ± {half:.2f}°"
    return text + (f"\ntruth: {friction['truth']:g}°" if "truth" in friction else "")
