"""Solids given by their signed distance: negative inside, positive outside."""

from difsim.shape.bodies import comet_67p, shap5
from difsim.shape.ellipsoid import Ellipsoid
from difsim.shape.grid import GridSDF
from difsim.shape.noise import Patch, Rough
from difsim.shape.sdf import AbstractSDF, Box, Complement, Cylinder, Offset, Plane, Posed, Prism, Sphere, Union

__all__ = [
    "AbstractSDF",
    "Box",
    "Complement",
    "Cylinder",
    "Ellipsoid",
    "GridSDF",
    "Offset",
    "Patch",
    "Plane",
    "Posed",
    "Prism",
    "Rough",
    "Sphere",
    "Union",
    "comet_67p",
    "shap5",
]
