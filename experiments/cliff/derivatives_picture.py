"""The picture of the derivatives."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREEN, GREY, ORANGE

COLOURS = {"centre": BLUE, "kinetic": GREEN, "surface": ORANGE}
LABELS = {"centre": "centre of mass", "kinetic": "kinetic energy", "surface": "surface"}


def draw(time: np.ndarray, names: Sequence[str], apart: Mapping[float, Mapping[str, np.ndarray]]) -> Figure:
    """How far forward derivatives are from differences of a small and a large step."""
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
