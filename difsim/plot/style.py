"""The style of all pictures: colours, a note where something is missing, numbers of labels."""

import re
from typing import Any

import numpy as np

# Okabe and Ito's palette: every kind of colour vision separates them, and brightness does in grey.
BLUE, ORANGE, GREEN, RED, SKY, PINK = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"
BLACK, GREY, PALE = "#000000", "#6E6E6E", "#D9D9D9"
STYLE = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 150,
}


def note(ax: Any, text: str) -> None:
    """Write a text into the middle of an empty panel. **Arguments:** `ax`; `text`."""
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=GREY, bbox=box)


def number(value: float, spec: str = ".3g") -> str:
    """A number for a label, a dash for what is not finite."""
    return re.sub(r"e\+?(-?)0*", r"e\1", f"{value:{spec}}").replace("-", "−") if np.isfinite(value) else "–"
