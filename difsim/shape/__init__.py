"""Solids given by their signed distance: negative inside, positive outside."""

from difsim.shape.bodies import comet_67p, shap5
from difsim.shape.ellipsoid import Ellipsoid
from difsim.shape.grid import GridSDF
from difsim.shape.noise import Patch, Rough
from difsim.shape.sdf import AbstractSDF, Box, Cylinder, Offset, Outside, Plane, Posed, Prism, Sphere, Union
from difsim.shape.window import Window

__all__ = [
    "AbstractSDF",
    "Box",
    "Cylinder",
    "Ellipsoid",
    "GridSDF",
    "Offset",
    "Outside",
    "Patch",
    "Plane",
    "Posed",
    "Prism",
    "Rough",
    "Sphere",
    "Union",
    "Window",
    "comet_67p",
    "shap5",
]
