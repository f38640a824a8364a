"""Solids of radius 1 about their centre: as sub-spheres among grains, and as particles of a tool in a soil."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from difsim.mesh import TriMesh
from difsim.mesh.distance import signed_distance
from difsim.shape.sub_spheres import fill_with_spheres
from experiments.beds import VACANCY
from experiments.foot.scene import LAYERS

THICK = 0.4  # of a plate


class Ball:
    """A ball."""

    low = -1.0  # its lowest point
    pebbles = np.zeros((1, 3)), np.ones(1)  # centres and radii of its sub-spheres

    def place_particles(self, spacing: float) -> Float[np.ndarray, "3 n"]:
        """Places of the particles of its outer LAYERS, `spacing` apart.

        They are on spheres, one for each `spacing`² of area: of a lattice a small ball would be a fifth too small.
        """
        shells = []
        for out in 1.0 - spacing * (0.5 + np.arange(LAYERS)):
            count = max(1, round(4 * np.pi * max(out, 0.0) ** 2 / spacing**2))
            along = 1 - (2 * np.arange(count) + 1) / count  # a spiral of Fibonacci, from pole to pole
            turn, ring = np.pi * (1 + np.sqrt(5)) * np.arange(count), np.sqrt(1 - along**2)
            shells.append(out * np.stack([ring * np.cos(turn), ring * np.sin(turn), along]))
            if out <= spacing:
                break
        return np.concatenate(shells, axis=1)


@dataclass(frozen=True, eq=False)
class Solid:
    """A polyhedron. **Arguments:** `build`, which gives its mesh."""

    build: Callable[[], TriMesh]

    @cached_property
    def mesh(self) -> TriMesh:
        """The mesh."""
        return self.build()

    @property
    def low(self) -> float:
        """Its lowest point."""
        return float(self.mesh.vertices[:, 2].min())

    @cached_property
    def pebbles(self) -> tuple[Float[np.ndarray, "p 3"], Float[np.ndarray, " p"]]:
        """Centres and radii of its sub-spheres."""
        found = fill_with_spheres(self.mesh, VACANCY)
        return found.centre, found.radius

    def place_particles(self, spacing: float) -> Float[np.ndarray, "3 n"]:
        """Places of the particles of its outer LAYERS, on a lattice that begins on its lower side."""
        low, high = self.mesh.vertices.min(axis=0), self.mesh.vertices.max(axis=0)
        first, last = np.floor(low / spacing), np.ceil(high / spacing)
        across = [spacing * (np.arange(first[i], last[i]) + 0.5) for i in (0, 1)]
        up = np.arange(low[2] + 0.5 * spacing, high[2], spacing)
        points = np.stack(np.meshgrid(*across, up, indexing="ij"), axis=-1).reshape(-1, 3)
        inside = -signed_distance(self.mesh, points)
        return points[(inside > 0) & (inside < LAYERS * spacing)].T
