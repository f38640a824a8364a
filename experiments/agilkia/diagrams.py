"""The diagram of branch and bound, and the probabilities of all leaves."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from difsim.plot.style import BLACK, GREEN, GREY, ORANGE, PALE, RED, SKY, note, number

STATUS = {"branched": SKY, "leaf": GREEN, "pruned": PALE, "open": ORANGE, "failed": RED}


def search(result: xr.Dataset, title: str) -> Figure:
    """The tree of subproblems at the left, all leaves by the posterior at the right."""
    count = max(result.sizes["node"], result.sizes.get("leaf", 0))
    figure = Figure(figsize=(12, 2.0 + 0.22 * count), layout="constrained")
    figure.suptitle(title)
    tree, leaves = figure.subplots(1, 2, width_ratios=(3, 1.3))
    _tree(tree, result)
    if "leaf_probability" in result:
        _leaves(leaves, result)
    else:
        leaves.set_axis_off()
        note(leaves, "no choices: one leaf")
    return figure


def _tree(ax: Axes, result: xr.Dataset) -> None:
    """Draw the misfit of each subproblem, in the line below that of which it is a part, with one more dot."""
    misfit = result["node_misfit"].values
    status, label = ([str(t) for t in result[n].values] for n in ("node_status", "node_label"))
    ways: list[tuple[int, ...]] = []  # from the root to each node, which comes after the nodes above it
    for i, above in enumerate(result["node_parent"].values):
        ways.append((*(ways[above] if above >= 0 else ()), i))
    solved = [i for i, s in enumerate(status) if s == "leaf" and np.isfinite(misfit[i])]
    best = min(solved, key=lambda i: misfit[i], default=-1)
    order = sorted(range(len(ways)), key=ways.__getitem__)
    for y, i in enumerate(order):
        size = 10 if i == best else 6
        ax.plot(misfit[i], y, "o", color=STATUS[status[i]], markeredgecolor=BLACK, markersize=size)
        ax.annotate(number(misfit[i], ".4g"), (misfit[i], y), (8, 0), textcoords="offset points", va="center")
    ax.set_yticks(
        range(len(order)), [f"{'·  ' * (len(ways[i]) - 1)}{label[i].replace('e+0', 'e')}" for i in order]
    )
    for name in [s for s in STATUS if s in status]:
        ax.plot([], [], "o", color=STATUS[name], label=f"{name} ({status.count(name)})")
    ax.legend(frameon=False)
    ax.set(xlabel="misfit [1]", ylim=(len(ways) - 0.4, -0.6))
    ax.margins(x=0.15)
    found = "no leaf was solved" if best < 0 else f"the best leaf (large) has misfit {misfit[best]:.4g}"
    ax.set_title(f"{len(ways)} nodes solved; {found}")


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
