"""Measurements of a heap about the axis z: its profile, its reach and the slope of its flank."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from experiments.column.scene import PACKED

THIN = 0.5  # mean diameters of height: what is thinner is no heap but single grains
FLANK = 0.2, 0.8  # shares of the height between which the flank is measured


class Heap(NamedTuple):
    """Of a heap: middles `r` of rings a mean diameter wide and its `height` there, m; `front` m, where it becomes
    thinner than half a diameter; `beyond`, the share of the volume outside that; `top` m; `slope` of its
    flank, deg."""

    r: Float[np.ndarray, " k"]
    height: Float[np.ndarray, " k"]
    front: float
    beyond: float
    top: float
    slope: float

    @classmethod
    def measure(
        cls, position: Float[np.ndarray, "3 n"], radius: Float[np.ndarray, " n"], rings: int = 150
    ) -> "Heap":
        """Heights are volumes of grains over the area of a ring, with a solid fraction of 0.6.

        The grains are moved so that their centre of mass is on the axis. **Raises:** ValueError where no ring, or
        even the last, is as thick as a heap.
        """
        size = 2 * float(np.mean(radius))
        volume = 4 / 3 * np.pi * radius**3
        flat = position[:2] - np.average(position[:2], axis=1, weights=volume)[:, None]
        away = np.hypot(*flat)
        edges = size * np.arange(rings + 1)
        inside = np.histogram(away, edges, weights=volume)[0]
        height = inside / PACKED / (np.pi * np.diff(edges**2))
        middle = 0.5 * (edges[1:] + edges[:-1])
        thick = np.nonzero(height >= THIN * size)[0]
        if thick.size == 0:
            raise ValueError(f"Heap: no ring is {THIN * size:.4g} m thick: these grains are no heap")
        if thick[-1] == rings - 1:
            raise ValueError(f"Heap: it reaches past {edges[-1]:.4g} m: give more than {rings} rings")
        # Where the line from the last thick ring to the next, which is thinner, falls through the limit.
        last = slice(thick[-1], thick[-1] + 2)
        front = float(np.interp(THIN * size, height[last][::-1], middle[last][::-1]))
        top = float(inside[:3].sum() / PACKED / (np.pi * edges[3] ** 2))
        flank = (height > FLANK[0] * top) & (height < FLANK[1] * top)
        slope = np.polyfit(middle[flank], height[flank], 1)[0] if flank.sum() > 1 else np.nan
        return cls(
            middle,
            height,
            front,
            beyond=float(volume[away > front].sum() / volume.sum()),
            top=top,
            slope=float(-np.degrees(np.arctan(slope))),
        )
