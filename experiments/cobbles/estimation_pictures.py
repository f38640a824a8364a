"""Pictures of the estimation: the paper's Figs 13 and 15 to 18."""

import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREY, ORANGE
from experiments.cobbles.arcs import images
from experiments.cobbles.montecarlo import Sample, World, times
from experiments.cobbles.paper import MONTE_CARLO, PHANTOM, PIXEL_NOISE

ARC_COLOURS = (BLUE, ORANGE)


def energy_ratios(disturbed: dict[tuple[int, float], Sample], truth: World) -> Figure:
    """Fig 16: CoR_E of each scenario and noise, our mean and 3 σ of the samples beside the paper's."""
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    ax = figure.subplots()
    ax.axhline(float(truth.energy_ratio), color=GREY, linewidth=0.8, zorder=0)
    ax.text(8.65, float(truth.energy_ratio), "truth", va="bottom", color=GREY)
    for i, (which, pixel) in enumerate(disturbed):
        ratio = disturbed[which, pixel].good.energy_ratio
        said = ("ours: mean, 3 σ of the samples", "paper: Tables 14 to 16") if i == 0 else (None, None)
        ax.errorbar(i - 0.12, ratio.mean(), 3 * ratio.std(), fmt="o", color=BLUE, markersize=4, label=said[0])
        _, mean, sigma = MONTE_CARLO[which][PIXEL_NOISE.index(pixel)]
        ax.errorbar(i + 0.12, mean, 3 * sigma, fmt="s", color=ORANGE, markersize=4, label=said[1])
    ax.set_xticks(range(len(disturbed)), [f"{pixel:g}" for _, pixel in disturbed])
    for which in (1, 2, 3):
        ax.text(3 * which - 2, -0.24, f"px, scenario {which}", transform=ax.get_xaxis_transform(), ha="center")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    ax.set(xlim=(-0.5, 9.4), ylabel="CoR_E", title="Energetic restitution with every error of Table 13")
    return figure


def ellipsoids(made: Sample) -> Figure:
    """Fig 15: errors of position and spin, with the 3 σ ellipses of the mean covariance that the fits state."""
    error, covariance = made.good.error, made.good.covariance.mean(axis=0)
    figure = Figure(figsize=(10, 5.2), layout="constrained")
    axes = figure.subplots(2, 4)
    for row, (first, scale, unit) in enumerate(((0, 1e3, "mm"), (9, 1.0, "rad/s"))):
        for column in range(4):
            ax, arc, body = axes[row, column], column // 2, column % 2
            e = scale * error[:, arc, body, first : first + 3]
            for other, colour in ((1, BLUE), (2, ORANGE)):
                ax.plot(e[:, 0], e[:, other], ".", markersize=1.5, color=colour, alpha=0.4)
                pair = [first, first + other]
                ax.plot(*_ellipse(scale**2 * covariance[arc, body][np.ix_(pair, pair)]), color=colour)
            what = "position" if row == 0 else "spin"
            ax.set(title=f"arc {arc + 1}, body {body + 1}", xlabel=f"{what} error along x, {unit}")
            if column == 0:
                ax.set_ylabel(f"along y (blue), z (orange), {unit}")
    return figure


def _ellipse(covariance: np.ndarray) -> np.ndarray:
    """Points [2, 100] at 3 σ."""
    angle = np.linspace(0.0, 2 * np.pi, 100)
    return 3 * np.linalg.cholesky(covariance) @ np.stack([np.cos(angle), np.sin(angle)])


def accuracy(found: xr.Dataset) -> Figure:
    """Figs 17 and 18: mean residual, and spreads on the second arc of body 1, over the two noises."""
    spread = found["deviation"].values
    panels = [("mean residual, px", found["residual"].values)]
    labels = (("position", "mm", 1e3), ("velocity", "mm/s", 1e3), ("MRP", "1e-3", 1e3), ("spin", "rad/s", 1.0))
    panels += [
        (f"σ of {name}, {unit}", scale * np.sqrt(np.mean(spread[..., 3 * i : 3 * i + 3] ** 2, axis=-1)))
        for i, (name, unit, scale) in enumerate(labels)
    ]
    figure = Figure(figsize=(13, 2.9), layout="constrained")
    axes = figure.subplots(1, 5)
    for ax, (title, values) in zip(axes, panels, strict=True):
        ax.imshow(values, origin="lower", cmap="Blues", vmin=0.8 * values.min(), vmax=1.15 * values.max())
        for (i, j), value in np.ndenumerate(values):
            dark = value > 0.5 * (values.min() + values.max())
            ax.text(j, i, f"{value:.2g}", ha="center", va="center", color="white" if dark else BLACK, fontsize=8)
        ax.set_xticks(range(5), [f"{p:g}" for p in found["pixel"].values])
        ax.set_yticks(range(5), [f"{1e3 * m:g}" for m in found["marker"].values])
        ax.set(title=title, xlabel="noise of pixels, px")
    axes[0].set_ylabel("noise of markers, mm")
    return figure


def draw_images(truth: World) -> Figure:
    """Fig 13: the ways of the markers of body 1 through the images, as far as they are seen."""
    known, (width, height) = truth.known[0], PHANTOM
    names = ("A: lower right", "B: opposite side", "C: upper left")
    figure = Figure(figsize=(10, 2.5), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    for arc, colour in enumerate(ARC_COLOURS):
        pixels = np.array(images(known, truth.states[arc][0], jnp.asarray(times(arc))))
        pixels[~np.asarray(truth.seen[arc][0])] = np.nan
        for ax, camera in zip(axes, range(3), strict=True):
            ax.plot(
                pixels[:, camera, :, 0],
                pixels[:, camera, :, 1],
                ".-",
                color=colour,
                markersize=3,
                linewidth=0.6,
            )
    for ax, name in zip(axes, names, strict=True):
        ax.set(xlim=(0, width), ylim=(height, 0), title=name, xlabel="u, px", aspect="equal")
        ax.spines[["top", "right"]].set_visible(True)
    axes[0].set_ylabel("v, px")
    axes[1].text(0.02, 0.04, "first arc", color=BLUE, transform=axes[1].transAxes)
    axes[1].text(0.25, 0.04, "second arc", color=ORANGE, transform=axes[1].transAxes)
    return figure
