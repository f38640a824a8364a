"""The picture of a posterior: its draws in pairs, and the probabilities of its discrete choices."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from difsim.extras import require
from difsim.plot.style import BLACK, BLUE, GREY, ORANGE, PALE, note, number

from .draws import resample_draws
from .parameters import Log
from .posterior import Posterior

BINS = 24
SHOWN = 1000  # equally weighted draws of a picture
ENDS = ("median", "lo68", "hi68", "lo95", "hi95")


def corner(posterior: Posterior, values: Mapping[str, float] | None = None, title: str = "") -> Any:
    """Draw a posterior: its numbers in pairs, each one's own on the diagonal, the prior in grey, and its choices.

    It needs the extra `plot` (Matplotlib).

    **Arguments:** `posterior`; `values` of the best fit, unknown -> its value, by default those of the draw that fits
    best; the unknowns that it names are shown; `title`.
    **Returns:** Matplotlib's figure; its `savefig("corner.png")` writes it. **Raises:** ImportError without Matplotlib.
    """
    if values is None:
        best = np.argmax(posterior.log_likelihood)
        values = {name: drawn[best] for name, drawn in posterior.draws.items()}
    return draw_pairs(pairs_of(posterior, values), title)


def pairs_of(posterior: Posterior, values: Mapping[str, float]) -> Any:
    """The data that `draw_pairs` shows: draws of the posterior and of the prior, values, intervals, ranges and choices.

    **Arguments:** `posterior`; `values`, unknown -> the value to mark. **Returns:** xarray.Dataset by `parameter`.
    """
    xr = require("inversion", "xarray")
    choices = posterior.probabilities if posterior.fault is None else {}
    names = [name for name in values if name in posterior.draws and name not in posterior.probabilities]
    rows = resample_draws(jax.random.PRNGKey(0), posterior.weights, SHOWN)
    ends = np.full((len(names), 5), np.nan)
    if posterior.ok:
        ends = np.array([posterior.quantile(n, [0.5, 0.16, 0.84, 0.025, 0.975]) for n in names]).reshape(-1, 5)
    prior = np.array([posterior.prior_range(name) for name in names]).reshape(-1, 2)
    verdicts = posterior.verdicts if posterior.ok else {}
    of_each = {"value": [values[n] for n in names], "prior_lo": prior[:, 0], "prior_hi": prior[:, 1]}
    of_each |= dict(zip(ENDS, ends.T, strict=True))
    told = {
        "unit_of": [posterior.component(n).unit for n in names],
        "verdict": [verdicts.get(n, "no interval") for n in names],
        "log_scale": [isinstance(posterior.component(n), Log) for n in names],
    }
    draws = {
        "draw": (("shown_draw", "parameter"), np.array([posterior.draws[n][rows] for n in names]).T),
        "prior_draw": (("shown_prior", "parameter"), np.array([posterior.prior[n][:SHOWN] for n in names]).T),
    }
    units = {"units": "see unit_of"}
    data = {k: ("parameter", np.asarray(v, float), units) for k, v in of_each.items()}
    data |= {k: (*v, units) for k, v in draws.items()} | {k: ("parameter", np.asarray(v)) for k, v in told.items()}
    if choices:
        labels = [(k, label) for k in choices for label in posterior.problem.parameters[k].labels]
        shares = np.array([share for of in choices.values() for share in of.values()])
        data |= {"choice_of": ("choice", np.array([k for k, _ in labels]))}
        data |= {"choice_label": ("choice", np.array([label for _, label in labels]))}
        data |= {
            k: ("choice", shares[:, i], {"units": "1"}) for i, k in enumerate(("choice_share", "choice_error"))
        }
    return xr.Dataset(data, coords={"parameter": names})


def draw_pairs(result: Any, title: str) -> Any:
    """Draw the pairs of a dataset.

    **Arguments:** `result`, the variables of `pairs_of`, and perhaps the `local_covariance` of a fit; `title`.
    **Returns:** the figure, with a note in place of what is missing.
    """
    Figure = require("plot", "matplotlib.figure").Figure
    shown, has_choices = _visible_unknowns(result), "choice_share" in result
    k = max(len(shown), 1)
    wide, high = max(8.2, 2.0 + 1.45 * k), max(6.0, 1.8 + 1.35 * k)
    whole = Figure(figsize=(wide, high + 2.0 * has_choices), layout="constrained")
    whole.suptitle(title)
    figure, *lower = whole.subfigures(
        1 + has_choices, 1, squeeze=False, height_ratios=(high, 2.0)[: 1 + has_choices]
    )[:, 0]
    if has_choices:
        _draw_choices(lower[0], result)
    axes = figure.subplots(k, k, squeeze=False)
    for ax in axes[np.triu_indices(k, 1)]:
        ax.set_axis_off()
    if not shown:
        axes[0, 0].set_axis_off()
        note(axes[0, 0], "no draws of continuous parameters in this result")
        return whole
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
                ax.xaxis.set_major_locator(require("plot", "matplotlib.ticker").LogLocator(numticks=5))
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
    line = require("plot", "matplotlib.lines").Line2D
    key = [line([], [], label=label, **style) for label, style in styles.items()]
    spans = "axes span the prior, or three\nintervals of 95 % if that is far wider"
    figure.legend(handles=key, loc="upper right", bbox_to_anchor=(0.99, 0.93), title=spans)
    return whole


def _draw_choices(figure: Any, result: Any) -> None:
    """The probability of each value of each discrete unknown, with its standard error."""
    names = list(dict.fromkeys(result["choice_of"].values.tolist()))
    for ax, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        of = result.isel(choice=result["choice_of"].values == name)
        at = np.arange(of.sizes["choice"])
        ax.bar(at, of["choice_share"], yerr=of["choice_error"], color=BLUE, alpha=0.7)
        ax.set_xticks(at, of["choice_label"].values.tolist(), fontsize=7)
        ax.set(ylim=(0, 1), ylabel="probability")
        ax.set_title(name.replace("_", " "), loc="left", fontsize=7.5)


def _ellipse(result: Any, *names: str) -> np.ndarray:
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


def _visible_unknowns(result: Any) -> list[str]:
    """The unknowns that have draws, a value and a range."""
    if any(n not in result for n in ("parameter", "value", "prior_lo", "prior_hi", "draw", "prior_draw")):
        return []
    finite = np.isfinite(result["value"] + result["prior_lo"] + result["prior_hi"]).values
    finite &= np.isfinite(result["draw"]).all("shown_draw").values
    return [str(n) for n in result["parameter"].values[finite]]


def _marginal(ax: Any, x: Any) -> None:
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


def _axis(x: Any) -> str:
    name, unit = str(x["parameter"].item()).replace("_", " "), x["unit_of"].item()
    return f"{name} [{unit}]" if unit else name


def _range(x: Any) -> tuple[float, float]:
    """The ends of an axis: the prior's, or about an interval that would be a line there."""
    low, high = float(x["prior_lo"]), float(x["prior_hi"])
    if not {"lo95", "hi95"} <= set(x) or x["log_scale"]:
        return low, high
    width, middle = float(x["hi95"] - x["lo95"]), 0.5 * float(x["hi95"] + x["lo95"])
    narrow = width < 0.05 * (high - low)  # false for an interval that is not known
    return (max(low, middle - 1.5 * width), min(high, middle + 1.5 * width)) if narrow else (low, high)
