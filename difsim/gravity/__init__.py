"""Gravity fields: the potential U at one point, positive near mass, with g = +∇U."""

from difsim.gravity.ellipsoid import Ellipsoid, lobes_67p
from difsim.gravity.field import AbstractField, PointMass, Rotating, Uniform
from difsim.gravity.gridded import Gridded
from difsim.gravity.growth import inscribe
from difsim.gravity.harmonics import Harmonics, read_harmonics
from difsim.gravity.mascon import Mascons
from difsim.gravity.packing import cluster_lumps, pack
from difsim.gravity.polyhedron import Polyhedron
from difsim.gravity.sampling import error_map

__all__ = [
    "AbstractField",
    "Ellipsoid",
    "Gridded",
    "Harmonics",
    "Mascons",
    "PointMass",
    "Polyhedron",
    "Rotating",
    "Uniform",
    "cluster_lumps",
    "error_map",
    "inscribe",
    "lobes_67p",
    "pack",
    "read_harmonics",
]
