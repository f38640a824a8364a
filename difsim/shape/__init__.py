"""Solids by signed distance: negative inside, positive outside."""

from difsim.shape.sdf import AbstractSDF, Box, Offset, Plane, Posed, Prism, Sphere, Union

__all__ = ["AbstractSDF", "Box", "Offset", "Plane", "Posed", "Prism", "Sphere", "Union"]
