"""Simple solids as meshes, centred in the origin."""

from collections.abc import Sequence

import numpy as np

from difsim.checks import host_numbers, integer
from difsim.extras import require
from difsim.mesh.surface import TriMesh


def box(size: Sequence[float]) -> TriMesh:
    """A box with edges `size` [3] m along the axes.

    **Raises:** ValueError unless each is positive.
    """
    creation = require("mesh", "trimesh.creation")

    edges = host_numbers("box: size", size, "3")
    if min(edges) <= 0:
        raise ValueError(f"box: size = {edges} m must be positive")
    return _build_mesh(creation.box(edges))


def cylinder(radius: float, height: float, sectors: int = 48) -> TriMesh:
    """A prism of `sectors` sides about z that approximates a cylinder.

    **Arguments:** `radius` of the corners, m; `height`, m; `sectors`, at least 3. **Returns:** the mesh.
    **Raises:** ValueError unless both lengths are positive, or for fewer than three sectors.
    """
    creation = require("mesh", "trimesh.creation")

    radius, height = (
        float(host_numbers(f"cylinder: {k}", v, "")) for k, v in (("radius", radius), ("height", height))
    )
    sectors = integer("cylinder: sectors", sectors, 3)
    if min(radius, height) <= 0:
        raise ValueError(f"cylinder: radius {radius} m, height {height} m: give positive lengths")
    return _build_mesh(creation.cylinder(radius, height, sections=sectors))


def ellipsoid_mesh(semi_axes: Sequence[float], refinements: int = 3) -> TriMesh:
    """An icosahedron, refined so often and stretched, that approximates an ellipsoid (three equal axes: a sphere).

    **Arguments:** `semi_axes` [3] m, along x, y, z; `refinements`, each with four times as many faces.
    **Returns:** the mesh. **Raises:** ValueError unless each axis is positive.
    """
    creation = require("mesh", "trimesh.creation")

    if min(semi_axes) <= 0:
        raise ValueError(f"ellipsoid_mesh: semi_axes = {semi_axes} m must be positive")
    ball = creation.icosphere(subdivisions=refinements)
    return TriMesh(ball.vertices * np.asarray(semi_axes, float), ball.faces)


def _build_mesh(solid) -> TriMesh:
    return TriMesh(solid.vertices, solid.faces)
