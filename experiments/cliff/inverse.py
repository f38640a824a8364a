"""The soil from the surface of its heap: friction, cohesion and stiffness, by least squares."""

from collections.abc import Mapping
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from tqdm import tqdm

from difsim.stepping import Progress, Status, march, start
from experiments.cliff import surface
from experiments.cliff.inverse_pictures import draw
from experiments.cliff.measured import RESOLUTION, measured
from experiments.cliff.scene import END, FRICTION, HEIGHT, YOUNG, Cliff, soil
from experiments.records import provenance
from inversion import Bounded, Fit, Log, Observation, Observations, Problem, Stops, fit, identify
from inversion.problem import strong

STEPS_PER_ROW = 421  # of a second: half the longest stable step of the paper's soil, two thirds of the stiffest
STATIONS = np.arange(0.02, 0.361, 0.02)  # m: up to where the toe is a film of single particles
UNKNOWNS = {
    "friction": Bounded(10.0, 35.0, "deg"),
    "cohesion": Bounded(0.0, 200.0, "Pa"),
    "young": Log(0.4e6, 1.7e6, "Pa"),
}
USUAL = {"friction": float(np.degrees(FRICTION)), "cohesion": 0.0, "young": YOUNG}
GUESS = {"friction": 30.0, "cohesion": 80.0, "young": 0.5e6}
TRUTH = {"friction": 23.0, "cohesion": 30.0, "young": YOUNG}
SEED = 7
STOPS = Stops(misfit=1e-4, step=1e-5, gradient=1e-3, iterations=12)


class Fall(eqx.Module):
    """A collapse by constant steps, as a function of the soil that can be differentiated."""

    begin: Progress  # for its neighbour list, whose size is set on the host
    cliff: Cliff = eqx.field(static=True)
    steps: int = eqx.field(static=True)
    dt: float = eqx.field(static=True)

    def __init__(self, rows: int, end: float = END):
        self.cliff = Cliff.of(rows)
        model = self.cliff.model(soil())
        self.begin = start(model, self.cliff.state(model))
        self.dt = 1.0 / (STEPS_PER_ROW * rows)
        self.steps = round(end / self.dt)

    def __call__(self, soil_of: Mapping[str, Array]) -> Progress:
        """Where `soil_of` friction deg, cohesion Pa and young Pa ends."""
        material = soil(jnp.radians(soil_of["friction"]), soil_of["cohesion"], soil_of["young"])
        model = self.cliff.model(material)
        neighbours = self.begin.neighbours
        motion = model.begin(jnp.asarray(0.0), self.cliff.state(model), neighbours)
        begin = eqx.tree_at(lambda p: p.motion, self.begin, motion)
        return march(model, begin, jnp.asarray(self.dt), self.steps)

    def heights(self, progress: Progress, x: Float[np.ndarray, " k"]) -> Float[Array, " k"]:
        """The surface at `x` m."""
        grains = progress.motion.state.position[:, : self.cliff.grains]
        kernel = self.cliff.model(soil()).kernel
        return surface.heights(kernel, float(self.cliff.pitch.prod()), grains, jnp.asarray(x), 1.2 * HEIGHT)


def problem(fall: Fall) -> Problem:
    """All unknowns, from heights at STATIONS that are good to 2 mm; the data themselves are still to come."""

    def predict(values):
        ended = fall(values)
        return {"surface": fall.heights(ended, STATIONS)}, ended.status == Status.OK

    return Problem(UNKNOWNS, predict, _data(np.zeros(STATIONS.size)))


def run(out: Path, rows: int, quick: bool) -> dict:
    """Fits of friction from a synthetic surface and from the experiment's, and of all three unknowns.

    One problem serves them all, with other data and other unknowns held, so that it is compiled once.
    """
    fall = Fall(rows, 0.2 if quick else END)
    general = problem(fall)
    noise = RESOLUTION * np.random.default_rng(SEED).standard_normal(STATIONS.size)
    simulate = eqx.filter_jit(lambda values: general.predict(values)[0]["surface"])
    plain = TRUTH | {"cohesion": 0.0}
    cases = {"synthetic": (plain, ("cohesion", "young")), "three": (TRUTH, ())}
    if measured().whole:
        cases["experiment"] = (None, ("cohesion", "young"))
    found, tables = {}, []
    for name, (truth, held) in tqdm(cases.items(), desc="fits"):
        if truth is None:
            heights = np.interp(STATIONS, *measured().surface.T)
        else:
            heights = np.asarray(simulate(jax.tree.map(jnp.asarray, truth))) + noise
        known = USUAL if truth is None else truth
        posed = eqx.tree_at(lambda p: p.data, general, strong(_data(heights))).hold({k: known[k] for k in held})
        best = fit(posed, key=jax.random.PRNGKey(0), starts=0, keep=1, guesses=[GUESS], stops=STOPS)
        found[name] = judge(posed, best, truth)
        tables.append(_table(name, heights, best))
        result = xr.merge(tables).assign_attrs(rows=rows, **provenance())
        result.to_netcdf(out / "result.nc", engine="h5netcdf")
    draw(result, found, out)
    return {"rows": rows, "sigma_m": RESOLUTION, "source": measured().source, "fits": found}


def _data(heights: np.ndarray) -> Observations:
    return Observations({"surface": Observation(heights, RESOLUTION, "m")})


def judge(posed: Problem, best: Fit, truth: Mapping[str, float] | None) -> dict:
    """Values with their 95 % intervals, what the data fix, and how far from the truth."""
    told = identify(posed, best, threshold=1e-4)
    degrees = max(1, posed.data.size - len(best.names))
    found = {
        "status": best.status.name,
        "simulations": best.calls.forward,
        "sensitivities": best.calls.jacobian,
        "misfit_per_degree_of_freedom": best.misfit / degrees,
        "surface_rms_m": float(np.sqrt(np.mean(best.residual**2)) * RESOLUTION),
        "condition": told.condition,
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
            found[name] |= {"truth": truth[name], "from_truth": best.values[name] - truth[name]}
    if len(best.names) > 1:
        found["correlations"] = {
            f"{a}, {b}": float(told.correlations[i, j])
            for i, a in enumerate(best.names)
            for j, b in enumerate(best.names)
            if i < j
        }
    return found


def _table(name: str, heights: np.ndarray, best: Fit) -> xr.Dataset:
    return xr.Dataset(
        {
            f"{name}_data": ("x", heights, {"unit": "m"}),
            f"{name}_fit": ("x", heights + RESOLUTION * best.residual, {"unit": "m"}),
        },
        coords={"x": ("x", STATIONS, {"unit": "m"})},
    )
