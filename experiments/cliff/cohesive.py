"""Cliffs of cohesive soil: whether they stand or slump, and whether their particles stay in order."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy.spatial import cKDTree

from difsim import run
from difsim.plot.style import BLACK, GREY
from difsim.sph.corrections import AbstractCorrection, ArtificialStress, GradientCorrection
from difsim.sph.material import split
from experiments.cliff.collapse import CORNER
from experiments.cliff.scene import END, HEIGHT, WIDTH, Cliff, soil
from experiments.cliff.surface import heap
from experiments.geometry import spheres
from experiments.harness import Found
from experiments.variables import describe

COHESIONS = (300.0, 1000.0)  # Pa
CLOSE = 0.7  # spacings: nearer than this, where a lattice has 1 and sheared soil some 0.85, is a clump
TORN = 1.5  # spacings: what is further from the body is torn off it


def corrections(spacing: float) -> dict[str, tuple[AbstractCorrection, ...]]:
    """The sets of corrections that are compared, by name."""
    stress = ArtificialStress(spacing)
    return {
        "none": (),
        "artificial stress": (stress,),
        "artificial stress, gradient": (GradientCorrection(), stress),
    }


def stand(out: Path, rows: int) -> Found:
    """A second of each; a run that was interrupted goes on from its checkpoint."""
    cliff = Cliff.build(rows)
    spacing = float(np.sqrt(cliff.pitch.prod()))
    cases, found = [], {}
    for cohesion in COHESIONS:
        for name, chosen in corrections(spacing).items():
            model = cliff.model(soil(cohesion=cohesion), corrections=chosen)
            mark = f"{cohesion:g} Pa, {name}"
            kept = out / f"{cohesion:g}_{len(chosen)}.checkpoint"
            ended = run(model, cliff.state(model), np.linspace(0.0, END, 9), checkpoint=kept, throw=False)
            states = cliff.soil(ended.states)
            found[mark] = {"reached_s": float(ended.times[-1])} | judge(states, spacing)
            mean, _ = jax.vmap(split, in_axes=-1)(jnp.asarray(states.stress[-1]))
            marks = {"units": "m"} | spheres(0.5 * spacing)
            cases.append(
                xr.Dataset(
                    {
                        "position": (("axis", "particle"), states.position[-1], marks),
                        "mean_stress": ("particle", np.asarray(mean), {"units": "Pa"}),
                    }
                ).expand_dims(case=[mark])
            )
    result = describe(xr.concat(cases, "case").assign_attrs(rows=rows, spacing_m=spacing), CORNER)
    return Found({"rows": rows, "cases": found}, {"result": result}, {"cohesive": draw(result, found)})


def judge(states, spacing: float) -> dict:
    """How far it fell, how fast it still is, how its particles clump and tear."""
    first, last = states.position[0], states.position[-1]
    nearest = _nearest(last) / spacing
    return {
        "front_m": float(last[0].max()),
        "height_at_wall_m": float(last[1].max()),
        "furthest_moved_m": float(np.hypot(*(last - first)).max()),
        "fastest_m_s": float(np.hypot(*states.velocity[-1]).max()),
        "nearest_neighbour_1_percent_spacings": float(np.percentile(nearest, 1)),
        "nearest_neighbour_median_spacings": float(np.median(nearest)),
        "clumped": float((nearest < CLOSE).mean()),
        "torn_off": torn_share(last, spacing),
    }


def _nearest(position: Float[np.ndarray, "2 n"]) -> Float[np.ndarray, " n"]:
    return cKDTree(position.T).query(position.T, k=2)[0][:, 1]


def torn_share(position: Float[np.ndarray, "2 n"], spacing: float) -> float:
    """The share of particles that are not of the largest body."""
    return float(1.0 - heap(position, spacing, TORN).mean())


def draw(result: xr.Dataset, found: dict) -> Figure:
    """Each cliff at the end, with its mean stress."""
    lines = result.sizes["case"] // len(COHESIONS)
    figure = Figure(figsize=(11, 2.05 * lines), layout="constrained")
    axes = figure.subplots(lines, len(COHESIONS), squeeze=False, sharex=True, sharey=True)
    for ax, case in zip(axes.T.ravel(), result["case"].values, strict=True):
        here = result.sel(case=case)
        span = 2e3
        size = (3.4 * 72 * result.attrs["spacing_m"] / 0.24) ** 2
        dots = ax.scatter(
            *here["position"].values, c=here["mean_stress"], s=size, vmin=-span, vmax=span, cmap="coolwarm"
        )
        ax.plot([0, WIDTH, WIDTH], [HEIGHT, HEIGHT, 0], color=GREY, lw=0.8, ls=":")
        ax.axhline(0, color=BLACK, lw=1)
        ax.set(xlim=(-0.005, 0.27), ylim=(-0.004, 0.11), aspect="equal")
        ax.set_title(f"{case}: {100 * found[str(case)]['clumped']:.1f} % clumped", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("distance from the wall [m]")
    for ax in axes[:, 0]:
        ax.set_ylabel("height [m]")
    figure.colorbar(dots, ax=axes, label="mean stress [Pa], tension positive", shrink=0.6)
    return figure
