"""Gravity fields: U at one point, positive near mass, g = +∇U."""

from difsim.gravity.ellipsoid import Ellipsoid, lobes_67p
from difsim.gravity.field import AbstractField, PointMass, Rotating, Scaled, Sum, Uniform
from difsim.gravity.growth import inscribe
from difsim.gravity.inscribed import Inscribed
from difsim.gravity.mascon import Mascons
from difsim.gravity.packing import Lumps, Packing, clustered_lumps, facet_lumps, facet_share, pack
from difsim.gravity.polyhedron import Polyhedron

__all__ = [
    "AbstractField",
    "Ellipsoid",
    "Inscribed",
    "Lumps",
    "Mascons",
    "Packing",
    "PointMass",
    "Polyhedron",
    "Rotating",
    "Scaled",
    "Sum",
    "Uniform",
    "clustered_lumps",
    "facet_lumps",
    "facet_share",
    "inscribe",
    "lobes_67p",
    "pack",
]
