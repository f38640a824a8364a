"""Gravity fields: the potential U at one point, positive near mass, with g = +∇U."""

from difsim.gravity.ellipsoid import Ellipsoid, lobes_67p
from difsim.gravity.field import AbstractField, PointMass, Rotating, Scaled, Sum, Uniform
from difsim.gravity.gridded import Gridded, fingerprint
from difsim.gravity.growth import inscribe
from difsim.gravity.inscribed import Inscribed
from difsim.gravity.mascon import Mascons
from difsim.gravity.packing import Lumps, Packing, clustered_lumps, facet_lumps, facet_share, pack
from difsim.gravity.polyhedron import Polyhedron
from difsim.gravity.sampling import above_surface, error_map, field_at, outside

__all__ = [
    "AbstractField",
    "Ellipsoid",
    "Gridded",
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
    "above_surface",
    "clustered_lumps",
    "error_map",
    "facet_lumps",
    "facet_share",
    "field_at",
    "fingerprint",
    "inscribe",
    "lobes_67p",
    "outside",
    "pack",
]
