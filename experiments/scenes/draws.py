"""Draws of the numbers of scenes: random ones, and their middle."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Rng = np.random.Generator

AT_LIMIT = 0.15  # the probability that a random number takes one of its limits, and that an entry vanishes
MIDDLE_SEED = 5  # of a vector, which has no middle


@dataclass(frozen=True)
class Draw:
    """A random number or array.

    **Arguments:** `sample`, which takes one from a generator; `centre`, its middle (None: a fixed sample); `least` and
    `most`, limits that the quantity itself has, which random scenes take now and then; `vanishes`, whether its
    entries may be zero.
    """

    sample: Callable[[Rng], np.ndarray]
    centre: float | np.ndarray | None = None
    least: float | None = None
    most: float | None = None
    vanishes: bool = False

    @property
    def middle(self) -> np.ndarray:
        """The number that stands for all."""
        centre = self.sample(np.random.default_rng(MIDDLE_SEED)) if self.centre is None else self.centre
        return np.asarray(centre, float)

    def take(self, rng: Rng) -> np.ndarray:
        """Return a random number; some are limits of the quantity."""
        value = np.asarray(self.sample(rng), float)
        for limit in (self.least, self.most):
            if limit is not None and rng.uniform() < AT_LIMIT:
                value = np.full_like(value, limit)
        return np.where(rng.uniform(size=value.shape) < AT_LIMIT, 0.0, value) if self.vanishes else value

    def point_inwards(self, value: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return a direction that does not leave the range, and whether the value is at a limit."""
        if self.least is not None and (value == self.least).all():
            return np.abs(direction), True
        if self.most is not None and (value == self.most).all():
            return -np.abs(direction), True
        return direction, False


def uniform(low, high, least: float | None = None, most: float | None = None) -> Draw:
    """A number between two others, or an array of them."""
    middle = 0.5 * (np.asarray(low) + np.asarray(high))
    return Draw(lambda rng: rng.uniform(low, high), middle, least, most)


def magnitude(low: float, high: float, size: tuple[int, ...] = ()) -> Draw:
    """A positive number whose logarithm is uniform."""
    middle = np.full(size, np.sqrt(low * high))
    return Draw(lambda rng: np.exp(rng.uniform(np.log(low), np.log(high), size)), middle)


def normal(deviation, size: int | tuple[int, ...], vanishes: bool = True) -> Draw:
    """An array around zero."""
    return Draw(lambda rng: rng.normal(0, deviation, size), vanishes=vanishes)


def direction() -> Draw:
    """A unit vector."""
    return Draw(_sample_direction)


def turn(*shape: int) -> Draw:
    """A rotation vector, rad, of an attitude that is uniform enough, or an array of them."""

    def sample(rng):
        vectors = [rng.uniform(0, np.pi) * _sample_direction(rng) for _ in range(int(np.prod(shape)))]
        return np.reshape(vectors, (*shape, 3))

    return Draw(sample, vanishes=True)


def _sample_direction(rng: Rng) -> np.ndarray:
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)
