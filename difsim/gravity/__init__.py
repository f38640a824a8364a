"""Gravity fields: U at one point, positive near mass, g = +∇U."""

from difsim.gravity.ellipsoid import Ellipsoid, lobes_67p
from difsim.gravity.field import AbstractField, PointMass, Rotating, Scaled, Sum, Uniform
from difsim.gravity.mascon import Mascons
from difsim.gravity.polyhedron import Polyhedron

__all__ = [
    "AbstractField",
    "Ellipsoid",
    "Mascons",
    "PointMass",
    "Polyhedron",
    "Rotating",
    "Scaled",
    "Sum",
    "Uniform",
    "lobes_67p",
]
