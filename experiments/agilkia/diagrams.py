"""The diagram of branch and bound with its proof."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.style import (
    BLACK,
    GREEN,
    GREY,
    ORANGE,
    PALE,
    RED,
    SKY,
    absent,
    heading,
    number,
)
from inversion.profile_likelihood import THRESHOLD

STATUS = {"branched": SKY, "leaf": GREEN, "pruned": PALE, "open": ORANGE, "failed": RED}


def search(result: xr.Dataset) -> Figure:
    """The tree of subproblems at the left, all leaves by enumeration at the right."""
    figure = Figure(figsize=(12, 6.5), layout="constrained")
    figure.suptitle(heading(result, "Branch and bound"))
    tree, leaves = figure.subplots(1, 2, width_ratios=(3, 1.3))
    tree.set_axis_off()
    missing = absent(tree, result, "node_parent", "node_status", "node_label", "node_misfit")
    best = np.nan if missing else _tree(tree, result)
    if absent(leaves, result, "leaf_misfit", "leaf_label"):
        leaves.set_axis_off()
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
    levels = [[label[i] for i in np.flatnonzero(place[:, 1] == d)] for d in range(int(place[:, 1].max()) + 1)]
    size = min(9.0, 130.0 / (place[:, 0].max() + 1))  # 18 leaves side by side still have room
    shared = [_common_prefix(level) for level in levels]
    for i, (x, y) in enumerate(place):
        text = number(misfit[i], ".3g" if misfit[i] < 1000 else ".2g")
        width = 2.4 if i == best else 0.6
        box = {"boxstyle": "round,pad=0.25", "facecolor": STATUS[status[i]], "linewidth": width}
        value = label[i].removeprefix(shared[int(y)]).strip().replace("e+0", "e")
        ax.text(x, y, f"{value}\n{text}", ha="center", va="center", fontsize=size, bbox=box, zorder=4,
                color="#444444" if status[i] == "pruned" else BLACK)  # fmt: skip
    for depth, text in enumerate(shared):  # what each level decides, once
        ax.text(-0.02, depth, text, ha="right", va="center", transform=ax.get_yaxis_transform())
    ax.set(xlim=(-0.6, place[:, 0].max() + 0.6), ylim=(place[:, 1].max() + 0.6, -0.4))
    for name in [s for s in STATUS if s in status]:
        ax.plot([], [], "s", color=STATUS[name], markersize=9, label=f"{name} ({status.count(name)})")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, -0.08), ncols=5, frameon=False)
    found = "no leaf was solved" if best is None else f"the best leaf (thick) has misfit {misfit[best]:.4g}"
    ax.set_title(f"{len(parent)} nodes solved (misfit in each box); {found}")
    return np.nan if best is None else float(misfit[best])


def _common_prefix(labels: list[str]) -> str:
    """The words with which all labels begin, leaving each at least one of its own."""
    words = [label.split() for label in labels]
    count = 0
    while all(len(w) > count + 1 and w[count] == words[0][count] for w in words):
        count += 1
    return " ".join(words[0][:count])


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
    ax.set_yticks(range(len(order)), [label[k] for k in order], fontsize=8)
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set_xlabel(f"misfit [1]   (band: best to best + {THRESHOLD})")
    side = "above" if best >= least else "below"
    text = "" if np.isnan(best) else f";\ndashed: tree's best, {abs(best - least):.2f} {side}"
    ax.set_title(f"All {len(order)} leaves, {near} in the band{text}")
