"""Parts of the pictures of studies: headings, notes where something is missing, labels of curves."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from difsim.plot.style import STYLE, note


def heading(result: xr.Dataset, what: str) -> str:
    """The title of a picture: who landed where, by which data. The names are a user's, and no mathematics."""
    a = {key: str(value).replace("$", r"\$") for key, value in result.attrs.items()}
    where = f"{a['lander']} on {a['body']}"
    return f"{what}: {where}, data set “{a['name']}”, scenario {a['scenario']}, status: {a['status']}"


def absent(ax: Axes, result: xr.Dataset, *names: str) -> bool:
    """Whether any of `names` is missing or has no finite number; then the panel says so."""
    missing = [
        n
        for n in names
        if n not in result or (result[n].dtype.kind == "f" and not np.isfinite(result[n].values).any())
    ]
    if missing:
        note(ax, "without values in this result:\n" + "\n".join(missing))
        ax.yaxis.set_visible(False)
    return bool(missing)


def label_right(ax: Axes, rows: Sequence[tuple[float, str, str]]) -> None:
    """Write each (y, text, colour) right of the panel at y, moved apart where they would overlap."""
    rows = sorted((row for row in rows if np.isfinite(row[0])), key=lambda row: row[0])
    low, high = ax.get_ylim()
    at = [min(max((y - low) / (high - low), 0.0), 1.0) for y, _, _ in rows]
    line = 1.25 * STYLE["font.size"] / 72 / (ax.get_position().height * ax.figure.get_figheight())
    gap = [line * (1 + row[1].count("\n")) for row in rows]
    for i in range(1, len(at)):
        at[i] = max(at[i], at[i - 1] + (gap[i] + gap[i - 1]) / 2)
    ceiling = 1.0 + line
    for i in reversed(range(len(at))):
        at[i] = min(at[i], ceiling - gap[i] / 2)
        ceiling = at[i] - gap[i] / 2
    for y, (_, text, colour) in zip(at, rows, strict=True):
        ax.plot(1.02, y, "s", color=colour, markersize=5, clip_on=False, transform=ax.transAxes)
        ax.text(1.04, y, text, va="center", transform=ax.transAxes)


def last(values: np.ndarray) -> float:
    """The last finite value, NaN if there is none."""
    finite = values[np.isfinite(values)]
    return float(finite[-1]) if finite.size else np.nan
