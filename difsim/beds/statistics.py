"""Packing statistics of a bed at rest, measured far from walls and surface. On the host."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.spatial import KDTree

from difsim.beds.containers import AbstractContainer
from difsim.particles.pairs import find_pairs

MARGIN = 2.0  # mean diameters from sides, floor and surface that are left out
POINTS = 200_000  # samples of the core: the solid fraction has an error of about 0.001


class PackingStatistics(NamedTuple):
    """Height, solid fraction and coordination number of a bed.

    `height` of the surface, m (twice that of the centre of mass); `solid_fraction` and `porosity`, whose sum is 1;
    `bulk_density`, kg/m³; `coordination`, the mean number of grains that a grain touches; `inside`, the number of
    grains in that mean. All but the first are of the core, `MARGIN` mean diameters from sides, floor and surface.
    """

    height: float
    solid_fraction: float
    porosity: float
    bulk_density: float
    coordination: float
    inside: int

    @classmethod
    def measure(
        cls,
        position: Float[np.ndarray, "3 n"],
        radius: Float[np.ndarray, " n"],
        density: float,
        container: AbstractContainer,
    ) -> "PackingStatistics":
        """The statistics of a bed at rest.

        **Arguments:** `position` [3, n] and `radius` [n] of the grains, m; `density` of a grain, kg/m³;
        `container`. **Returns:** the statistics. **Raises:** ValueError where there is no core.
        """
        height = float(2 * np.average(position[2], weights=radius**3))
        margin = MARGIN * 2 * float(np.mean(radius))

        def core(x: Float[np.ndarray, "3 k"]) -> Bool[np.ndarray, " k"]:
            return (container.from_sides(x) > margin) & (x[2] > margin) & (x[2] < height - margin)

        low = np.array([*(margin - np.asarray(container.half_size)), margin])
        high = np.array([*(np.asarray(container.half_size) - margin), height - margin])
        if (high <= low).any():
            raise ValueError(
                f"a bed of {height:.3g} m has no core {margin:.3g} m from walls and surface: take smaller grains"
            )
        points = np.random.default_rng(0).uniform(low[:, None], high[:, None], (3, POINTS))
        grains = KDTree(position.T, leafsize=16)
        solid = _solid_fraction(points[:, core(points)], grains, radius)
        inside = core(position)
        touching = np.concatenate(find_pairs(position, radius, np.zeros(0, int), 0.0))
        contacts = np.bincount(touching, minlength=radius.size)
        coordination = float(contacts[inside].mean()) if inside.any() else 0.0
        return cls(height, solid, 1 - solid, density * solid, coordination, int(inside.sum()))


def _solid_fraction(points: np.ndarray, grains: KDTree, radius: np.ndarray) -> float:
    """The share of the points [3, k] that lie in spheres; no volume is counted twice where these overlap."""
    near = KDTree(points.T, leafsize=16).sparse_distance_matrix(grains, radius.max(), output_type="ndarray")
    return np.unique(near["i"][near["v"] < radius[near["j"]]]).size / points.shape[1]
