"""Where the markers are."""

import numpy as np
from jaxtyping import Float

from experiments.cobbles.paper_estimation import MARKERS


def choose(vertices: Float[np.ndarray, "V 3"], count: int = MARKERS) -> Float[np.ndarray, "count 3"]:
    """`count` vertices far from each other: the furthest from the centre, then always the one furthest from those
    that are taken. The paper takes vertices of its mesh too, and does not say which."""
    taken = [int(np.argmax(np.linalg.norm(vertices, axis=1)))]
    distance = np.linalg.norm(vertices - vertices[taken[0]], axis=1)
    while len(taken) < count:
        taken.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.linalg.norm(vertices - vertices[taken[-1]], axis=1))
    return vertices[taken]
