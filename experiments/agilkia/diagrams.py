"""The diagram of branch and bound, and the probabilities of all leaves."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, GREEN, GREY, ORANGE, PALE, RED, SKY, number
from experiments.style import absent, heading

STATUS = {"branched": SKY, "leaf": GREEN, "pruned": PALE, "open": ORANGE, "failed": RED}


def search(result: xr.Dataset) -> Figure:
    """The tree of subproblems at the left, all leaves by the posterior at the right."""
    figure = Figure(figsize=(12, 6.5), layout="constrained")
    figure.suptitle(heading(result, "Branch and bound"))
    tree, leaves = figure.subplots(1, 2, width_ratios=(3, 1.3))
    tree.set_axis_off()
    missing = absent(tree, result, "node_parent", "node_status", "node_label", "node_misfit")
    if not missing:
        _tree(tree, result)
    if absent(leaves, result, "leaf_probability", "leaf_error", "leaf_label"):
        leaves.set_axis_off()
    else:
        _leaves(leaves, result)
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


def _tree(ax: Axes, result: xr.Dataset) -> None:
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


def _common_prefix(labels: list[str]) -> str:
    """The words with which all labels begin, leaving each at least one of its own."""
    words = [label.split() for label in labels]
    count = 0
    while all(len(w) > count + 1 and w[count] == words[0][count] for w in words):
        count += 1
    return " ".join(words[0][:count])


def _leaves(ax: Axes, result: xr.Dataset) -> None:
    """Draw the probability of each leaf with its error, the most probable first."""
    share, error = result["leaf_probability"].values, result["leaf_error"].values
    order = np.argsort(-share, kind="stable")
    ax.errorbar(
        share[order], range(order.size), xerr=error[order], fmt="o", color=GREEN, ecolor=GREY, markersize=6
    )
    ax.set_yticks(range(order.size), [str(t) for t in result["leaf_label"].values[order]], fontsize=8)
    ax.set_ylim(order.size - 0.4, -0.6)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("probability by the posterior [1]")
    count = int(np.searchsorted(np.cumsum(share[order]), 0.95)) + 1
    ax.set_title(f"{min(count, order.size)} of {order.size} leaves have 95 %")
