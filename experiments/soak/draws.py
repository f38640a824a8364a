"""Random numbers of scenes."""

import numpy as np

from experiments.soak.kinds import Rng


def magnitude(rng: Rng, low: float, high: float) -> float:
    """A positive number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def direction(rng: Rng) -> np.ndarray:
    """A unit vector."""
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def turn(rng: Rng) -> np.ndarray:
    """A rotation vector, rad, of an attitude that is uniform enough."""
    return rng.uniform(0, np.pi) * direction(rng)
