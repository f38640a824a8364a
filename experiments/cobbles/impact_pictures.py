"""The picture of the impact stage, from result.nc alone."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, ORANGE


def draw(result: xr.Dataset) -> Figure:
    """The results of one fit and two arcs, and fits of the nominal case."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    figure.suptitle(f"{result.attrs['cobble']}: one fit through the impact, and the paper's two arcs")
    ratio, fits = figure.subplots(1, 2)
    angles = result["inclination"].values
    ratio.semilogy(angles, result["two_arcs_energy_ratio_sigma"], "s-", color=ORANGE, label="CoR_E, two arcs")
    ratio.semilogy(angles, result["two_arcs_restitution_sigma"], "s--", color=ORANGE, label="e, two arcs")
    ratio.semilogy(angles, result["energy_ratio_sigma"], "o-", color=BLUE, label="CoR_E, through the impact")
    ratio.semilogy(angles, result["restitution_sigma"], "o--", color=BLUE, label="e, through the impact")
    ratio.set(xlabel="α [deg]", ylabel="standard deviation", title="predicted, at 1 px", xticks=angles)
    ratio.legend(frameon=False)
    best = result.isel(start=result["misfit"].argmin("start"))
    e, sigma = best["fit"].values[:, 24], best["fit_sigma"].values[:, 24]
    fits.errorbar(np.arange(len(e)), e, yerr=1.96 * sigma, fmt="o", color=BLUE, markersize=3, linewidth=0.8)
    fits.axhline(float(result["truth"][24]), color=BLACK, linewidth=0.8)
    fits.set(
        xticks=[], xlabel="fit", ylabel="e", title="nominal case: fits to noisy pixels, ± 1.96 σ; line: truth"
    )
    return figure
