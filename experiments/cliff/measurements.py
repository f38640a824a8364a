"""Measurements by Bui et al. (2008) after the collapse of a block of aluminium rods, 0.2 m wide and 0.1 m high.

The few numbers here are those that publications on the experiment name. All digitised points of the surface and of
the failure surface are looked for under DIFSIM_DATA, in Bui2008/, and are not shipped.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SURFACE = ((0.0, 0.0993), (0.200, 0.0474), (0.362, 0.0109), (0.4423, 0.0015))  # x, y m
FAILURE = ((0.021, 0.0989), (0.179, 0.0005))
FRONT = 0.442  # m
SLOPES = {(0.06, 0.24): 16.5, (0.24, 0.40): 11.0}  # deg, of the surface between two x m
FAILURE_SLOPE = 31.9  # deg
RESOLUTION = 2e-3  # m: the digitised area is 1.5 % larger than the block, so nothing finer is meant


@dataclass(frozen=True)
class Measured:
    """Points [k, 2] m of the surface and the failure surface, where they are from, and whether they are all."""

    surface: np.ndarray
    failure: np.ndarray
    source: str
    whole: bool


def points() -> list[Path]:
    """The files of all points of the surface and of the failure surface; empty unless DIFSIM_DATA has both."""
    folder = Path(os.environ.get("DIFSIM_DATA", "")) / "Bui2008"
    files = [folder / f"bui2008_{name}.csv" for name in ("surface", "failure")]
    return files if "DIFSIM_DATA" in os.environ and all(file.exists() for file in files) else []


def load_measurements() -> Measured:
    """All points if DIFSIM_DATA has them, else those that are named here."""
    if files := points():
        surface, failure = (np.loadtxt(file, delimiter=",", ndmin=2) for file in files)
        return Measured(surface, failure, "digitised points under DIFSIM_DATA", whole=True)
    absent = "the few published numbers: the digitised points are not under DIFSIM_DATA/Bui2008"
    return Measured(np.array(SURFACE), np.array(FAILURE), absent, whole=False)
