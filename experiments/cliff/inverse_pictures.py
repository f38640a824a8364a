"""The picture of the inverse, from its table alone."""

from collections.abc import Mapping

import xarray as xr
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, BLUE, GREY

TITLES = {
    "exact": "synthetic, no noise, friction free",
    "synthetic": "synthetic, friction free",
    "three": "synthetic, all three free",
    "experiment": "the experiment, friction free",
}


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
