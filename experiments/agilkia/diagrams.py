"""Two diagrams of the inversion itself: the parameters in pairs, and the branch and bound with its proof."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from experiments.agilkia.style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, RED, SKY, absent, heading, note
from inversion.identifiability import FIXED, THRESHOLD

ALWAYS = ("thickness", "grain_diameter", "grain_density")
MOST = 5  # parameters in one figure
ELLIPSE = 5.991  # chi-squared of two parameters at 95 %
STATUS = {"branched": SKY, "leaf": GREEN, "pruned": PALE, "open": ORANGE, "failed": RED}


def pairs(result: xr.Dataset) -> Figure:
    """Parameters in pairs below the diagonal, their misfit profiles on it."""
    needed = ("value", "prior_lo", "prior_hi")
    known = [str(n) for n in result["parameter"].values] if "parameter" in result else []
    verdicts = dict(zip(known, result["verdict"].values, strict=True)) if "verdict" in result else {}
    shown = [n for n in ALWAYS if n in known] + [n for n in known if n not in ALWAYS and verdicts.get(n) == FIXED]
    shown = shown[:MOST]
    k = max(len(shown), 1)
    figure = Figure(figsize=(9, 8.2), layout="constrained")
    figure.suptitle(heading(result, "Parameters"))
    axes = figure.subplots(k, k, squeeze=False)
    if not shown or absent(axes[0, 0], result, *needed):
        for ax in axes.flat:
            ax.axis("off")
        note(axes[0, 0], "no continuous parameters in this result")
        return figure
    for i, row in enumerate(shown):
        for j, column in enumerate(shown):
            ax, x, y = axes[i, j], result.sel(parameter=column), result.sel(parameter=row)
            if j > i:
                ax.axis("off")
                continue
            ax.set_xscale(_scale(x))
            ax.set_xlim(float(x["prior_lo"]), float(x["prior_hi"]))
            if i == j:
                _profile(ax, x, str(verdicts.get(column, "")))
            else:
                ax.set_yscale(_scale(y))
                ax.set_ylim(float(y["prior_lo"]), float(y["prior_hi"]))
                _pair(ax, result, x, y)
            if i == k - 1:
                ax.set_xlabel(_axis(x))
            else:
                ax.tick_params(labelbottom=False)
            if j == 0 and i > 0:
                ax.set_ylabel(_axis(y))
            elif i != j:
                ax.tick_params(labelleft=False)
    key = [axes[-1, 0].plot([], [], *style, color=c, label=t)[0] for style, c, t in (
        (("o",), BLACK, "best fit"), (("-",), BLUE, "95 % ellipse of the covariance"),
        (("x",), RED, "restarts of the baseline"))]  # fmt: skip
    figure.legend(handles=key if "restart_value" in result else key[:2], loc="upper right", frameon=False,
                  bbox_to_anchor=(0.99, 0.93), title="axes span the prior range")  # fmt: skip
    return figure


def _axis(x: xr.Dataset) -> str:
    return f"{str(x['parameter'].item()).replace('_', ' ')} [{x['unit_of'].item()}]"


def _scale(x: xr.Dataset) -> str:
    return "log" if bool(x["log_scale"]) else "linear"


def _profile(ax: Axes, x: xr.Dataset, verdict: str) -> None:
    low, high = float(x["lo95"]), float(x["hi95"])
    ends = " … ".join("open" if not np.isfinite(end) else f"{end:.3g}" for end in (low, high))
    ax.set_title(f"{verdict}\n{float(x['value']):.3g} ({ends}) {x['unit_of'].item()}")
    ax.set_ylim(0.0, 3 * THRESHOLD)
    ax.set_ylabel("misfit − best [1]")
    if absent(ax, x, "profile_value", "profile_misfit", "misfit"):
        return
    value, misfit = x["profile_value"].values, x["profile_misfit"].values
    misfit = np.where(np.isfinite(misfit), misfit, np.nan)
    ax.plot(value, misfit - np.nanmin([np.nanmin(misfit), float(x["misfit"])]), ".-", color=BLUE)
    ax.axhline(THRESHOLD, color=GREY, linewidth=0.8, linestyle="--")
    ax.text(0.98, THRESHOLD, "95 %", transform=ax.get_yaxis_transform(), ha="right", va="bottom", color=GREY)
    for end in (low, high):
        ax.axvline(end, color=GREY, linewidth=0.8, linestyle=":")


def _pair(ax: Axes, result: xr.Dataset, x: xr.Dataset, y: xr.Dataset) -> None:
    names = [x["parameter"].item(), y["parameter"].item()]
    logs = [bool(q["log_scale"]) for q in (x, y)]
    centre = np.array([float(q["value"]) for q in (x, y)])
    if "covariance" in result:
        spread = result["covariance"].sel(parameter=names, parameter_2=names).values
        slope = np.where(logs, 1.0 / centre, 1.0)  # d ln p = dp / p
        _ellipse(ax, centre, spread * np.outer(slope, slope), logs)
    if "restart_value" in result:
        ax.plot(*(result["restart_value"].sel(parameter=n).values for n in names), "x", color=RED, markersize=4)
    ax.plot(*centre, "o", color=BLACK, markersize=5)


def _ellipse(ax: Axes, centre: np.ndarray, spread: np.ndarray, logs: list[bool]) -> None:
    if not np.isfinite(spread).all():
        note(ax, "covariance open")
        return
    size, turn = np.linalg.eigh(spread)
    angle = np.linspace(0.0, 2 * np.pi, 181)
    outline = turn @ (np.sqrt(ELLIPSE * np.maximum(size, 0.0))[:, None] * np.stack([np.cos(angle), np.sin(angle)]))
    with np.errstate(over="ignore"):
        points = [c * np.exp(o) if log else c + o for c, o, log in zip(centre, outline, logs, strict=True)]
    ax.add_patch(Polygon(np.transpose(points), facecolor=BLUE + "30", edgecolor=BLUE))


def search(result: xr.Dataset) -> Figure:
    """The tree of subproblems at the left, all leaves by enumeration at the right."""
    figure = Figure(figsize=(12, 6.5), layout="constrained")
    figure.suptitle(heading(result, "Branch and bound"))
    tree, leaves = figure.subplots(1, 2, width_ratios=(3, 1.3))
    best = np.nan
    if absent(tree, result, "node_parent", "node_status", "node_label", "node_misfit"):
        tree.axis("off")
    else:
        best = _tree(tree, result)
    if absent(leaves, result, "leaf_misfit", "leaf_label"):
        leaves.axis("off")
    else:
        _leaves(leaves, result["leaf_misfit"].values, [str(t) for t in result["leaf_label"].values], best)
    return figure


def _places(parent: np.ndarray) -> np.ndarray:
    """x and depth of each node: childless ones side by side, the others over the middle of their children."""
    children: dict[int, list[int]] = {i: [] for i in range(-1, len(parent))}
    for node, above in enumerate(parent):
        children[int(above)].append(node)
    place, count = np.zeros((len(parent), 2)), 0

    def put(node: int, depth: int) -> None:
        nonlocal count
        for child in children[node]:
            put(child, depth + 1)
        x = np.mean(place[children[node], 0]) if children[node] else count
        count += not children[node]
        place[node] = x, depth

    for root in children[-1]:
        put(root, 0)
    return place


def _tree(ax: Axes, result: xr.Dataset) -> float:
    """Draw the tree; return the misfit of the best leaf, NaN without one."""
    parent, misfit = result["node_parent"].values.astype(int), result["node_misfit"].values
    status, label = ([str(t) for t in result[n].values] for n in ("node_status", "node_label"))
    place = _places(parent)
    solved = [i for i, s in enumerate(status) if s == "leaf" and np.isfinite(misfit[i])]
    best = min(solved, key=lambda i: misfit[i]) if solved else None
    path, node = set(), -1 if best is None else best
    while node >= 0:
        path.add(node)
        node = parent[node]
    for i, above in enumerate(parent):
        if above >= 0:
            (x, y), (u, v) = place[i], place[above]
            ax.plot([u, u, x, x], [v, v + 0.45, v + 0.45, y], color=BLACK if i in path else GREY,
                    linewidth=2.2 if i in path else 0.8, zorder=1 + (i in path))  # fmt: skip
    for i, (x, y) in enumerate(place):
        number = f"{misfit[i]:.3g}" if np.isfinite(misfit[i]) else "–"
        edge = {"edgecolor": BLACK, "linewidth": 2.4 if i == best else 0.6}
        box = {"boxstyle": "round,pad=0.25", "facecolor": STATUS.get(status[i], "white"), **edge}
        value = label[i].rsplit(" ", 1)[-1]
        ax.text(x, y, f"{value}\n{number}", ha="center", va="center", fontsize=7.5, bbox=box, zorder=4,
                color=GREY if status[i] == "pruned" else BLACK)  # fmt: skip
    width = place[:, 0].max() + 1
    for depth in range(1, int(place[:, 1].max()) + 1):  # what each level decides, once
        names = {label[i].rsplit(" ", 1)[0] for i in range(len(label)) if place[i, 1] == depth}
        ax.text(
            -0.02, depth, "\n".join(sorted(names)), ha="right", va="center", transform=ax.get_yaxis_transform()
        )
    ax.set_xlim(-0.6, width - 0.4)
    ax.set_ylim(place[:, 1].max() + 0.6, -0.4)
    ax.set_axis_off()
    for n, (name, colour) in enumerate((s, c) for s, c in STATUS.items() if s in status):
        ax.plot([], [], "s", color=colour, markersize=9, label=f"{name} ({status.count(name)})", zorder=n)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, -0.08), ncols=5, frameon=False)
    found = "no leaf was solved" if best is None else f"the best leaf (thick) has misfit {misfit[best]:.4g}"
    ax.set_title(f"{len(parent)} nodes solved (misfit in each box); {found}")
    return np.nan if best is None else float(misfit[best])


def _leaves(ax: Axes, misfit: np.ndarray, label: list[str], best: float) -> None:
    misfit = np.where(np.isfinite(misfit), misfit, np.nan)
    order = np.argsort(misfit)  # failed ones, NaN, come last
    least = np.nanmin(misfit)
    near = int(np.sum(misfit <= least + THRESHOLD))
    ax.axvspan(least, least + THRESHOLD, color=PALE, alpha=0.6, linewidth=0)
    for y, k in enumerate(order):
        if np.isfinite(misfit[k]):
            ax.plot(misfit[k], y, "o", color=GREEN if misfit[k] <= least + THRESHOLD else GREY, markersize=6)
        else:
            ax.text(0.5, y, "failed", transform=ax.get_yaxis_transform(), ha="center", va="center", color=RED)
    if least > 0 and np.nanmax(misfit) > 30 * least:
        ax.set_xscale("log")
    if np.isfinite(best):
        ax.axvline(best, color=BLACK, linewidth=1, linestyle="--")
    ax.set_yticks(range(len(order)), [label[k] for k in order], fontsize=7.5)
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set_xlabel("misfit [1]   (band: within 3.84 of the best)")
    agrees = abs(best - least) <= 1e-3 * abs(least) + 1e-6
    text = "the tree's best leaf (dashed) is the best" if agrees else "the tree did not find the best"
    ax.set_title(f"All {len(order)} leaves: {near} within 3.84;\n{text}" if np.isfinite(best) else "All leaves")
