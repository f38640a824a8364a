"""Random initial positions of spheres that do not touch each other and are to settle. On the host."""

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from difsim.beds.containers import AbstractContainer

LOOSE = 0.2  # solid fraction: random sequential addition jams above 0.38
ROUNDS = 3000  # among 10 000 the last may need more than 300


def scatter_spheres(
    radius: Float[np.ndarray, " n"], container: AbstractContainer, seed: int
) -> Float[np.ndarray, "3 n"]:
    """Centres of spheres in a column of `LOOSE` solid fraction that touch neither each other nor a wall, m.

    Random sequential addition, many at once, the largest first: one that overlaps an earlier one is thrown again.

    **Raises:** ValueError where they do not fit: the container is hardly wider than a grain.
    """
    order = np.argsort(-radius)
    r, n = radius[order], radius.size
    height = 4 / 3 * np.pi * float(np.sum(r**3)) / (LOOSE * float(container.area)) + 2 * r[0]
    high = np.array([*np.asarray(container.half_size), height])[:, None]
    low = np.array([*-high[:2, 0], 0.0])[:, None]
    place, placed = np.zeros((3, n)), np.zeros(n, bool)
    random = np.random.default_rng([seed, 1])  # sizes are drawn by the seed alone
    for _ in range(ROUNDS):
        thrown = random.uniform(low + r, np.maximum(high, low + 2 * r) - r)
        place = np.where(placed, place, thrown)
        # Those of earlier rounds stay, and of two new ones the larger.
        rank = np.where(placed, -1, np.arange(n))
        first, second = KDTree(place.T, leafsize=16).query_pairs(2 * r[0], output_type="ndarray").T
        overlap = np.linalg.norm(place[:, first] - place[:, second], axis=0) < r[first] + r[second]
        first, second = first[overlap], second[overlap]
        free = container.from_sides(place) >= r
        free[np.where(rank[first] > rank[second], first, second)] = False
        placed |= free
        if placed.all():
            found = np.empty_like(place)
            found[:, order] = place
            return found
    raise ValueError(f"{n - placed.sum()} of {n} grains do not fit: a container must be several grains wide")
