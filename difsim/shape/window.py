"""A part of a large surface on a fine grid, for a landing site instead of the whole body."""

from functools import partial
from os import PathLike

import jax.numpy as jnp
import numpy as np

from difsim import safe
from difsim.declarations import part
from difsim.mesh import TriMesh
from difsim.mesh.distance import signed_distance
from difsim.shape.grid import sample_grid
from difsim.shape.sdf import AbstractSDF, Box, Posed
from difsim.shape.tables import load_or_build
from difsim.spline import GridSpline, interpolate
from difsim.typing import Scalar, Vec3

_DEGREE = 2  # as in grid.py


class Window(AbstractSDF):
    """The distance to a surface within a box, a C1 spline s of samples on a grid; outside it a bound.

    Outside, with the closest point c of the box, d = s(c) - |x - c|, which is continuous and never above the true
    distance, since that changes by |x - c| at most. The surface outside is unknown: end a flight that leaves
    `box`. Make it by `from_mesh`.
    """

    tag = "window"
    spline: GridSpline = part("spline s of the distance in m")

    def distance(self, x: Vec3) -> Scalar:
        nearest = jnp.clip(x, self.spline.lower, self.spline.upper)
        return self.spline(nearest) - safe.norm(x - nearest)

    @property
    def box(self) -> Posed:
        """The box that the table covers, as a solid."""
        lower, upper = self.spline.lower, self.spline.upper
        return Posed(Box((upper - lower) / 2), (upper + lower) / 2, jnp.eye(3))

    @staticmethod
    def from_mesh(
        mesh: TriMesh,
        centre: object,
        half_size: float,
        spacing: float,
        max_nodes: int = 2**24,
        cache: str | PathLike | None = None,
    ) -> "Window":
        """Tabulate the distance to a mesh in a cube, which is exact at the nodes.

        **Arguments:** `mesh`; `centre` [3] and `half_size` of the cube, m; `spacing`, `max_nodes`, `cache` and the
        cost per node as in `GridSDF.from_mesh`. **Returns:** the solid.
        **Raises:** `ValueError` as there, and for a cube without volume.
        """
        if not 0 < half_size < np.inf:
            raise ValueError(f"Window: half_size = {half_size} m must be positive")
        centre = np.asarray(centre, float)

        def make() -> GridSpline:
            box = centre - half_size, centre + half_size
            values, first = sample_grid(partial(signed_distance, mesh), *box, spacing, None, max_nodes)
            return interpolate(values, first, spacing, _DEGREE)

        numbers = (centre.tolist(), float(half_size), float(spacing), _DEGREE)
        return Window(load_or_build(cache, "window", mesh, numbers, make))
