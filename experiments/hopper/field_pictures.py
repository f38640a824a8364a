"""The picture of a ground that was recovered from tracks."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from difsim.plot.style import BLUE, GREY


def draw(result: xr.Dataset) -> Figure:
    """True and recovered heights with the tracks, the error, the standard deviation, and the misfit of the descent."""
    figure = Figure(figsize=(13, 5.6), layout="constrained")
    axes = figure.subplots(2, 3)
    true, found, sigma = (1e3 * result[name].values for name in ("true", "found", "sigma"))
    extent = [0.0, float(result["x"].max()), 0.0, float(result["y"].max())]
    top, off = np.abs(true).max(), 3.0 * float(np.median(sigma))
    panels = (
        (axes[0, 0], true, "True height and the tracks, mm", "RdBu_r", -top, top),
        (axes[0, 1], found, "Recovered from the tracks, mm", "RdBu_r", -top, top),
        (axes[1, 0], found - true, "Error, mm", "PuOr_r", -off, off),
        (axes[1, 1], sigma, "Standard deviation, mm", "viridis", 0.0, off),
    )
    for axis, values, title, colours, low, high in panels:
        drawn = axis.imshow(values, origin="lower", extent=extent, cmap=colours, vmin=low, vmax=high)
        figure.colorbar(drawn, ax=axis, shrink=0.75, extend="max" if low == 0.0 else "both")
        axis.set(xlabel="x, m", ylabel="y, m", title=title)
    for track in result["tracks"].values:
        axes[0, 0].plot(track[:, 0], track[:, 1], color="black", lw=0.6)
    axes[0, 2].semilogy(np.arange(1, result.sizes["window"] + 1), result["misfit"], color=BLUE)
    axes[0, 2].axhline(result["tracks"].size, color=GREY, lw=0.8)
    axes[0, 2].set(xlabel="window of 10 steps", title="Mean misfit; line: the data")
    middle = true.shape[0] // 2
    x = result["x"].values
    axes[1, 2].plot(x, true[middle], color="black", label="true")
    axes[1, 2].fill_between(
        x,
        (found - 1.96 * sigma)[middle],
        (found + 1.96 * sigma)[middle],
        color=BLUE,
        alpha=0.3,
        lw=0.0,
        label="95 %",
    )
    axes[1, 2].plot(x, found[middle], color=BLUE, label="recovered")
    axes[1, 2].set(xlabel="x, m", title=f"Heights at y = {float(result['y'][middle]):.2f} m, mm")
    axes[1, 2].legend(frameon=False)
    return figure
