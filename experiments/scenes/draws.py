"""Draws of the numbers of scenes, by name: random ones, and their middle."""

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
        for limit, inwards in ((self.least, 1.0), (self.most, -1.0)):
            if limit is not None and (value == limit).all():
                return inwards * np.abs(direction), True
        return direction, False


Draws = dict[str, Draw]


def uniform(**ranges: tuple) -> Draws:
    """Return draws between two numbers or arrays: (low, high), (low, high, least) or (low, high, least, most)."""
    return {name: _draw_uniform(*numbers) for name, numbers in ranges.items()}


def _draw_uniform(low, high, least=None, most=None):
    return Draw(lambda rng: rng.uniform(low, high), 0.5 * (np.asarray(low) + np.asarray(high)), least, most)


def magnitude(shape: tuple[int, ...] = (), /, **ranges: tuple[float, float]) -> Draws:
    """Return draws of positive numbers, or of arrays of a shape, whose logarithms are uniform: (low, high)."""
    return {name: _draw_magnitude(*limits, shape) for name, limits in ranges.items()}


def _draw_magnitude(low, high, shape):
    middle = np.full(shape, np.sqrt(low * high))
    return Draw(lambda rng: np.exp(rng.uniform(np.log(low), np.log(high), shape)), middle)


def normal(**ranges: tuple) -> Draws:
    """Return draws of arrays around zero, whose entries may vanish: (deviation, size)."""
    return {name: Draw(lambda rng, x=x: rng.normal(0, *x), vanishes=True) for name, x in ranges.items()}


def direction(*names: str) -> Draws:
    """Return draws of unit vectors."""
    return dict.fromkeys(names, Draw(_sample_direction))


def turn(**shapes: tuple[int, ...]) -> Draws:
    """Return draws of arrays of rotation vectors, rad, of attitudes that are uniform enough, by their shape."""

    def sample(shape, rng):
        vectors = [rng.uniform(0, np.pi) * _sample_direction(rng) for _ in range(int(np.prod(shape)))]
        return np.reshape(vectors, (*shape, 3))

    return {name: Draw(lambda rng, s=shape: sample(s, rng), vanishes=True) for name, shape in shapes.items()}


def _sample_direction(rng: Rng) -> np.ndarray:
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)
