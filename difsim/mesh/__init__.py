"""Host only: closed triangle meshes, read from files, checked, repaired on request, with their mass properties.

Only this package imports trimesh. Everything here is numpy; nothing is traced or differentiated.
"""

from difsim.mesh.decimation import simplify
from difsim.mesh.files import load, read
from difsim.mesh.mending import repair
from difsim.mesh.sample import surface_points
from difsim.mesh.solids import box, cylinder
from difsim.mesh.surface import TriMesh

__all__ = [
    "TriMesh",
    "box",
    "cylinder",
    "load",
    "read",
    "repair",
    "simplify",
    "surface_points",
]
