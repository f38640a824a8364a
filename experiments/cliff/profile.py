"""How well each friction angle explains the measured surface, by whole collapses at the paper's spacing.

A fit step by step (`--stage inverse`) knows the surface near its own end only. Here a few collapses, evenly spread
in friction, and a parabola through each place's heights, which sees through what single particles at the toe do.
"""

from pathlib import Path

import jax.numpy as jnp
import matplotlib
import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure

from difsim import run
from difsim.plot.style import BLACK, BLUE, ORANGE
from experiments.cliff.inverse import STATIONS
from experiments.cliff.measurements import RESOLUTION, Measured
from experiments.cliff.scene import END, Cliff, soil
from experiments.harness import Found
from experiments.variables import describe
from inversion.progress import show_progress

FRICTIONS = np.arange(15.3, 24.4, 1.5)  # deg, with 19.8 in the middle
FINE = np.linspace(FRICTIONS[0], FRICTIONS[-1], 2001)
LIMIT_95 = 3.84  # of chi-square with one degree of freedom


def explain(out: Path, rows: int, known: Measured) -> Found:
    """A collapse at each of FRICTIONS; a run that was interrupted goes on from its checkpoint.

    **Raises:** ValueError without the digitised points.
    """
    if not known.whole:
        raise ValueError(f"--stage profile needs the measured surface, and there are {known.source}")
    cliff = Cliff.build(rows)
    heights = []
    for friction in show_progress(FRICTIONS, f"{cliff.grains} particles, frictions"):
        model = cliff.model(soil(jnp.radians(friction)))
        kept = out / f"{friction:g}.checkpoint"
        ended = run(model, cliff.state(model), np.linspace(0.0, END, 5), checkpoint=kept)
        heights.append(cliff.heights(cliff.soil(ended.last).position, STATIONS))
    heights = np.asarray(heights)
    data = np.interp(STATIONS, *known.surface.T)
    found, misfit = judge(FRICTIONS, heights, data)
    result = xr.Dataset(
        {
            "surface": (("friction", "x"), heights, {"units": "m"}),
            "data": ("x", data, {"units": "m"}),
            "misfit": ("fine", misfit, {"meaning": "chi-square of the parabolas"}),
        },
        coords={
            "friction": ("friction", FRICTIONS, {"units": "degree"}),
            "x": ("x", STATIONS, {"units": "m"}),
            "fine": ("fine", FINE, {"units": "degree"}),
        },
        attrs={"rows": rows},
    )
    names = {"friction": "friction angle", "fine": "friction angle", "x": "distance from the wall"}
    result = describe(result, units={"misfit": "1"}, names=names)
    summary = {"rows": rows, "sigma_m": RESOLUTION, "source": known.source, **found}
    return Found(summary, {"result": result}, {"profile": draw(result, found)})


def judge(
    frictions: Float[np.ndarray, " f"], heights: Float[np.ndarray, "f k"], data: Float[np.ndarray, " k"]
) -> tuple[dict, Float[np.ndarray, " g"]]:
    """The best friction with its 95 % interval, and the misfit (chi-square) at each of FINE.

    A height errs by RESOLUTION and by what the collapses scatter about the parabolas. Where the best misfit is
    larger than those make it, the model errs too, and the wider interval has that in it.
    """
    curves = np.polyfit(frictions, heights, 2)
    scatter = np.sqrt(((_interpolate(curves, frictions) - heights) ** 2).sum() / (heights.size - curves.size))
    misfit = ((_interpolate(curves, FINE) - data) ** 2).sum(axis=1) / (RESOLUTION**2 + scatter**2)
    best = int(misfit.argmin())
    excess = max(1.0, misfit[best] / (data.size - 1))

    def interval(limit):
        inside = FINE[misfit <= misfit[best] + limit]
        return [float(inside[0]), float(inside[-1])]

    return {
        "friction_deg": float(FINE[best]),
        "interval_95_deg": interval(LIMIT_95),
        "interval_95_with_the_models_error_deg": interval(LIMIT_95 * excess),
        "misfit_per_degree_of_freedom": float(misfit[best] / (data.size - 1)),
        "surface_rms_m": float(np.sqrt(((_interpolate(curves, FINE)[best] - data) ** 2).mean())),
        "scatter_about_parabolas_m": float(scatter),
        "surface_rms_at_m": {
            f"{f:g} deg": float(np.sqrt(((h - data) ** 2).mean())) for f, h in zip(frictions, heights, strict=True)
        },
    }, misfit


def _interpolate(curves: Float[np.ndarray, "3 k"], frictions: Float[np.ndarray, " f"]) -> Float[np.ndarray, "f k"]:
    return np.vander(frictions, 3) @ curves


def draw(result: xr.Dataset, found: dict) -> Figure:
    """The misfit against friction, and the surfaces less the measured one."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(result["fine"], result["misfit"], color=BLUE)
    sigma2 = RESOLUTION**2 + found["scatter_about_parabolas_m"] ** 2
    simulated = ((result["surface"] - result["data"]) ** 2).sum("x") / sigma2
    left.plot(result["friction"], simulated, "o", ms=5, color=BLUE, label="collapses")
    intervals = {"interval_95_with_the_models_error_deg": ("#EEEEEE", "95 %, with the model's error")}
    if found["misfit_per_degree_of_freedom"] <= 1:  # then there is none
        intervals = {}
    for name, (colour, said) in (intervals | {"interval_95_deg": ("#D0D0D0", "95 %, 2 mm")}).items():
        left.axvspan(*found[name], color=colour, zorder=0, label=said)
    left.axvline(found["friction_deg"], color=ORANGE, lw=1, label=f"best: {found['friction_deg']:.1f}°")
    left.set(xlabel="friction [deg]", ylabel="misfit (chi-square)", title="How well it explains the surface")
    left.set_ylim(0, None)
    left.legend(frameon=False, loc="upper right")
    off = 1e3 * (result["surface"].values - result["data"].values)
    for line, friction in zip(off, result["friction"].values, strict=True):
        shade = matplotlib.colormaps["viridis"]((friction - FRICTIONS[0]) / np.ptp(FRICTIONS))
        right.plot(result["x"], line, color=shade, label=f"{friction:g}°")
    right.axhspan(-2, 2, color="#EEEEEE", zorder=0)
    right.axhline(0, color=BLACK, lw=0.8)
    right.set(xlabel="distance from the wall [m]", ylabel="here - measured [mm]", title="Surfaces (grey: 2 mm)")
    right.legend(frameon=False, fontsize=8)
    return figure
