"""Until when derivatives of a collapse are those of finite differences, and of which observables."""

from collections.abc import Callable, Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from matplotlib.figure import Figure

from difsim import Status
from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE
from experiments.cliff.inverse import STATIONS, Fall
from experiments.cliff.scene import END, YOUNG, soil
from experiments.harness import Found
from experiments.variables import describe

PARTS = 16  # of the second: the derivatives are looked at after each
# Friction deg, cohesion Pa, Young's modulus Pa, and the viscosity's alpha.
BASE = {"friction": 19.8, "cohesion": 20.0, "young": YOUNG, "viscosity": 0.3}
SMALL, LARGE = 1e-6, 1e-2  # relative steps of finite differences: the derivative, and what a change does
OBSERVABLES = {"centre": slice(0, 2), "kinetic": slice(2, 3), "surface": slice(3, None)}
COLOURS = {"centre": BLUE, "kinetic": GREEN, "surface": ORANGE}
LABELS = {"centre": "centre of mass", "kinetic": "kinetic energy", "surface": "surface"}


class Watched(eqx.Module):
    """Observables [part, k] of a collapse after each of PARTS parts, as a function of BASE times `factors`."""

    fall: Fall
    parts: int = eqx.field(static=True)

    def __call__(self, factors: Float[Array, " p"]) -> tuple[Float[Array, "part k"], Array]:
        """Centre of mass m, kinetic energy per mass m²/s², surface m; and the status."""
        friction, cohesion, young, alpha = factors * jnp.array(list(BASE.values()))
        cliff = self.fall.cliff
        model = cliff.model(soil(jnp.radians(friction), cohesion, young))
        model = eqx.tree_at(lambda m: m.viscosity.alpha, model, alpha)

        def watch(state):
            kinetic = 0.5 * jnp.mean(jnp.sum(state.velocity[:, : cliff.grains] ** 2, axis=0))
            centre = jnp.mean(state.position[:, : cliff.grains], axis=1)
            return jnp.concatenate([centre, kinetic[None], self.fall.heights(state, STATIONS)])

        ended = self.fall.run(model, self.fall.steps // PARTS, self.parts)
        return jax.lax.map(watch, jax.tree.map(lambda x: x[1:], ended.states)), ended.status


def compare(rows: int, quick: bool) -> Found:
    """Forward and reverse derivatives by four parameters against finite differences of two steps."""
    watched = Watched(Fall(rows), 2 if quick else PARTS)
    names, ones = list(BASE), jnp.ones(len(BASE))
    value = eqx.filter_jit(lambda at: watched(at))
    forward = np.asarray(eqx.filter_jit(jax.jacfwd(lambda at: watched(at)[0]))(ones))
    back = eqx.filter_jit(jax.grad(lambda at, weight: jnp.sum(weight * watched(at)[0][:, 0])))
    later = 2 ** np.arange(int(np.log2(watched.parts)) + 1) - 1  # after 1, 2, 4, ... parts
    reverse = np.full((watched.parts, len(names)), np.nan)
    for k in later:
        reverse[k] = back(ones, jnp.zeros(watched.parts).at[k].set(1.0))
    steps = {step: central_differences(lambda at: value(at)[0], ones, step) for step in (SMALL, LARGE)}
    dims = ("time", "observable", "parameter")
    result = xr.Dataset(
        {
            "forward": (dims, forward),
            "reverse_of_centre_x": (("time", "parameter"), reverse),
            "difference": (("step", *dims), np.stack(list(steps.values()))),
        },
        coords={
            "time": ("time", END / PARTS * np.arange(1, watched.parts + 1), {"units": "s"}),
            "parameter": names,
            "step": [*steps],
            "observable": ["centre_x", "centre_y", "kinetic", *(f"surface_{x:.2f}" for x in STATIONS)],
        },
        attrs={"rows": rows, "meaning": "by the logarithm of each parameter"},
    )
    mixed = "m (centre, surface), m2/s2 (kinetic)"
    units = {"forward": mixed, "difference": mixed, "reverse_of_centre_x": "m", "step": "1"}
    result = describe(result, units=units, names={"difference": "central difference", "step": "relative step"})
    apart = {step: _relative_difference(forward, found) for step, found in steps.items()}
    status = int(value(ones)[1])
    summary = {
        "rows": rows,
        "status": Status(status).name,
        "steps": watched.fall.steps,
        "reverse_from_forward": {
            name: {f"{result['time'].values[k]:.4g} s": _relative(reverse[k, i], forward[k, 0, i]) for k in later}
            for i, name in enumerate(names)
        },
        "forward_from_differences": {
            f"{step:g}": {
                name: {
                    seen: {f"{result['time'].values[k]:.4g} s": float(values[seen][k, i]) for k in later}
                    for seen in OBSERVABLES
                }
                for i, name in enumerate(names)
            }
            for step, values in apart.items()
        },
    }
    figures = {"derivatives": draw(result["time"].values, names, apart)}
    return Found(summary, {"result": result}, figures)


def central_differences(value: Callable, at: Float[Array, " p"], step: float) -> Float[np.ndarray, "... p"]:
    """Slopes of an array `value(at)` by each number of `at`."""
    columns = []
    for i in range(at.size):
        up, down = (np.asarray(value(at.at[i].add(sign * step))) for sign in (1, -1))
        columns.append((up - down) / (2 * step))
    return np.stack(columns, axis=-1)


def _relative_difference(forward: np.ndarray, difference: np.ndarray) -> dict[str, np.ndarray]:
    """|forward - difference| / |difference| [part, parameter] of each observable, a vector in its norm."""
    found = {}
    for name, rows in OBSERVABLES.items():
        off = np.linalg.norm(forward[:, rows] - difference[:, rows], axis=1)
        found[name] = off / np.linalg.norm(difference[:, rows], axis=1)
    return found


def _relative(a: float, b: float) -> float:
    return float(abs(a - b) / abs(b))


def draw(time: np.ndarray, names: Sequence[str], apart: Mapping[float, Mapping[str, np.ndarray]]) -> Figure:
    """The picture of forward derivatives against differences of a small and a large step."""
    figure = Figure(figsize=(10, 5.5), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    for i, (ax, name) in enumerate(zip(panels, names, strict=True)):
        for found, line in zip(apart.values(), ("-", ":"), strict=True):
            for seen, values in found.items():
                label = LABELS[seen] if line == "-" else None
                ax.semilogy(time, values[:, i], line, color=COLOURS[seen], label=label)
        ax.axhline(0.01, color=GREY, lw=0.6)
        ax.set_title(f"by {name}")
    for style, step in zip(("-", ":"), apart, strict=True):
        panels[-1].plot([], [], style, color=BLACK, label=f"from differences over ±{100 * step:g} %")
    figure.legend(*panels[-1].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    for ax in panels[2:]:
        ax.set_xlabel("time of the collapse [s]")
    for ax in panels[::2]:
        ax.set_ylabel("forward against differences")
    return figure
