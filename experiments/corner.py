"""The picture of a posterior: its draws in pairs, from a dataset alone."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from experiments.style import BLACK, BLUE, GREY, ORANGE, PALE, note, number

BINS = 24


def corner(result: xr.Dataset, title: str) -> Figure:
    """Draws of the posterior in pairs below the diagonal, each unknown's on it; the prior in grey.

    **Arguments:** `result`, the variables of `posteriors.picture_data`; `title`. **Returns:** the figure, with a note
    in place of what is missing.
    """
    shown = _visible_unknowns(result)
    k = max(len(shown), 1)
    figure = Figure(figsize=(max(8.2, 2.0 + 1.45 * k), max(6.0, 1.8 + 1.35 * k)), layout="constrained")
    figure.suptitle(title)
    axes = figure.subplots(k, k, squeeze=False)
    for ax in axes[np.triu_indices(k, 1)]:
        ax.set_axis_off()
    if not shown:
        axes[0, 0].set_axis_off()
        note(axes[0, 0], "no draws of continuous parameters in this result")
        return figure
    for i, row in enumerate(shown):
        for j, column in enumerate(shown[: i + 1]):
            ax, x, y = axes[i, j], result.sel(parameter=column), result.sel(parameter=row)
            ax.set_xscale("log" if x["log_scale"] else "linear")
            ax.set_xlim(*_range(x))
            if i == j:
                _marginal(ax, x)
            else:
                ax.set_yscale("log" if y["log_scale"] else "linear")
                ax.set_ylim(*_range(y))
                ax.spines[:].set_visible(True)
                ax.tick_params(which="both", labelleft=j == 0)
                ax.plot(x["prior_draw"], y["prior_draw"], ",", color=PALE)
                ax.plot(x["draw"], y["draw"], ".", color=BLUE, markersize=3.5, alpha=0.4, markeredgewidth=0)
                ax.plot(float(x["value"]), float(y["value"]), "o", color=BLACK, markersize=5)
                if "local_covariance" in result:
                    ax.plot(*_ellipse(result, column, row), color=ORANGE, linewidth=1.2)
            if x["log_scale"]:
                ax.xaxis.set_major_locator(LogLocator(numticks=5))
            ax.tick_params(which="both", labelbottom=i == k - 1, labelsize=7)
            if i == k - 1:
                ax.set_xlabel(_axis(x), fontsize=8)
            if j == 0 and i > 0:
                ax.set_ylabel(_axis(y), fontsize=8)
    styles = {
        "draws of the posterior": {"marker": ".", "color": BLUE, "linestyle": ""},
        "prior": {"color": GREY, "linewidth": 4, "alpha": 0.4},
        "best fit": {"marker": "o", "color": BLACK, "linestyle": ""},
        "median": {"color": BLACK},
        "ends of the 95 % interval": {"color": BLACK, "linestyle": ":"},
    }
    if "local_covariance" in result:
        styles["local 95 % of the best fit"] = {"color": ORANGE}
    key = [Line2D([], [], label=label, **style) for label, style in styles.items()]
    spans = "axes span the prior, or three\nintervals of 95 % if that is far wider"
    figure.legend(handles=key, loc="upper right", bbox_to_anchor=(0.99, 0.93), title=spans)
    return figure


def _ellipse(result: xr.Dataset, *names: str) -> np.ndarray:
    """Points [2, 200] of the ellipse that holds 95 % by the covariance of a fit, NaN where a logarithm has no axis."""
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    covariance = result["local_covariance"].sel(parameter=list(names), parameter_2=list(names)).values
    radius = np.sqrt(5.99)  # of chi-squared with two degrees of freedom
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:  # a direction that the data do not determine has no end
        return np.full((2, 200), np.nan)
    points = result["value"].sel(parameter=list(names)).values[:, None]
    points = points + radius * factor @ np.stack([np.cos(angle), np.sin(angle)])
    positive = ~result["log_scale"].sel(parameter=list(names)).values[:, None] | (points > 0.0)
    return np.where(positive, points, np.nan)


def _visible_unknowns(result: xr.Dataset) -> list[str]:
    """The unknowns that have draws, a value and a range."""
    if any(n not in result for n in ("parameter", "value", "prior_lo", "prior_hi", "draw", "prior_draw")):
        return []
    finite = np.isfinite(result["value"] + result["prior_lo"] + result["prior_hi"]).values
    finite &= np.isfinite(result["draw"]).all("shown_draw").values
    return [str(n) for n in result["parameter"].values[finite]]


def _marginal(ax: Axes, x: xr.Dataset) -> None:
    """The histograms of an unknown, the prior's in grey, with its median and interval."""
    low, high = ax.get_xlim()
    edges = np.geomspace(low, high, BINS + 1) if x["log_scale"] else np.linspace(low, high, BINS + 1)
    for name, style in (("prior_draw", {"color": GREY, "alpha": 0.4}), ("draw", {"color": BLUE, "alpha": 0.7})):
        values = x[name].values[np.isfinite(x[name].values)]
        ax.hist(values, bins=edges, weights=np.full(values.size, 1.0 / max(values.size, 1)), **style)
    for name, style in (("median", "-"), ("lo95", ":"), ("hi95", ":")):
        if name in x and np.isfinite(x[name]):
            ax.axvline(float(x[name]), color=BLACK, linewidth=1.0, linestyle=style)
    ax.set_yticks([])
    low, high = (number(float(x[n]), ".3g") for n in ("lo95", "hi95"))
    known = "median" in x and np.isfinite(x["median"])
    numbers = f"{number(float(x['median']), '.3g')} ({low} … {high})" if known else x["verdict"].item()
    ax.set_title(f"{str(x['parameter'].item()).replace('_', ' ')}\n{numbers}", loc="left", fontsize=7.5)


def _axis(x: xr.Dataset) -> str:
    name, unit = str(x["parameter"].item()).replace("_", " "), x["unit_of"].item()
    return f"{name} [{unit}]" if unit else name


def _range(x: xr.Dataset) -> tuple[float, float]:
    """The ends of an axis: the prior's, or about an interval that would be a line there."""
    low, high = float(x["prior_lo"]), float(x["prior_hi"])
    if not {"lo95", "hi95"} <= set(x) or x["log_scale"]:
        return low, high
    width, middle = float(x["hi95"] - x["lo95"]), 0.5 * float(x["hi95"] + x["lo95"])
    narrow = width < 0.05 * (high - low)  # false for an interval that is not known
    return (max(low, middle - 1.5 * width), min(high, middle + 1.5 * width)) if narrow else (low, high)
