"""Gravity fields: U at one point, positive near mass, g = +∇U."""

from difsim.gravity.ellipsoid import Ellipsoid, lobes_67p
from difsim.gravity.field import AbstractField, PointMass, Rotating, Scaled, Sum, Uniform
from difsim.gravity.gridded import Gridded, fingerprint
from difsim.gravity.mascon import Mascons
from difsim.gravity.polyhedron import Polyhedron
from difsim.gravity.sampling import above_surface, error_map, field_at, on_surface, outside

__all__ = [
    "AbstractField",
    "Ellipsoid",
    "Gridded",
    "Mascons",
    "PointMass",
    "Polyhedron",
    "Rotating",
    "Scaled",
    "Sum",
    "Uniform",
    "above_surface",
    "error_map",
    "field_at",
    "fingerprint",
    "lobes_67p",
    "on_surface",
    "outside",
]
