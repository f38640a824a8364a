"""Narrow peaks of a posterior: the Gaussian about one of them, found by values alone."""

import numpy as np
from jaxtyping import Float

from .cube import Cube
from .kernels import Kernels, continuous, normal, squares, uniform
from .sweeps import Piece
from .tails import count_effective

SCALES = 2.0 ** -np.arange(
    14.0, -1.0, -1.0
)  # of the first draws about a point, from 6e-5 of the prior's width to 1
INSIDE = 0.2  # of the draws at a scale, with which it is one of the peak
SHARE = 0.9  # of a Gaussian peak, that is above the level at which its shape is measured
PER_DIMENSION, LEAST, ROUNDS = 40, 5, 12
WIDER = 1.5  # standard deviations of the next draws, by those of a uniform density above the level
STAYS_AT = 0.1  # change of the logarithm of the covariance's determinant by dimension, that ends the rounds
CLIMBS, GAIN = 6, 0.02  # the most rounds of a climb, and the least that one of them gains in the logarithm
ENDS = np.array([8.0, 5.0, 4.0, 3.0, 2.0])  # the largest |z| of points near to a guess
TAILS = 1.3  # standard deviations of the Gaussian that is drawn from, by the measured ones


class Heights:
    """The logarithm of the posterior's density by z about a point, in which the prior is a unit normal.

    The discrete values are those of the point. **Arguments:** `cube`; `u` [k], the point; `seed`.
    """

    def __init__(self, cube: Cube, u: Float[np.ndarray, " k"], seed: list[int]):
        self.cube, self.u, self.rng = cube, u, np.random.default_rng(seed)
        self.smooth = continuous(cube)
        self.middle = normal(u[None, self.smooth])[0]
        self.count = PER_DIMENSION * (len(self.smooth) + 1)  # of draws at once

    def points(self, z: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows k"]:
        """The points of the unit cube."""
        points = np.repeat(self.u[None], len(z), axis=0)
        points[:, self.smooth] = uniform(z)
        return points

    def evaluate(self, z: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, " rows"]:
        return self.cube.log_likelihood(self.points(z)) - 0.5 * squares(z)

    def draw_at_all_scales(self, middle: Float[np.ndarray, " d"]) -> tuple[np.ndarray, np.ndarray]:
        """Draws about a point, and the number of the scale of each."""
        scale = np.arange(self.count) % SCALES.size
        return middle + SCALES[scale][:, None] * self.rng.standard_normal((self.count, middle.size)), scale


def find_interior(heights: Heights) -> Float[np.ndarray, " k"]:
    """The point itself, or the highest of some less near to the ends of the prior, where z is infinite."""
    z = np.clip(heights.middle, -ENDS[:, None], ENDS[:, None])
    return heights.points(z)[np.argmax(heights.evaluate(z))]


def climb(heights: Heights) -> Float[np.ndarray, " k"]:
    """A higher point, by draws at all scales about the highest so far, as long as they gain something."""
    middle = heights.middle
    top = float(heights.evaluate(middle[None])[0])
    for _ in range(CLIMBS):
        z, _ = heights.draw_at_all_scales(middle)
        found = heights.evaluate(z)
        gain, top = float(found.max()) - top, max(top, float(found.max()))
        middle = z[np.argmax(found)] if gain > 0.0 else middle
        if not gain > GAIN:
            break
    return heights.points(middle[None])[0]


def measure(heights: Heights) -> Piece:
    """The shape of the peak of the posterior next to a point.

    Draws about the point at all scales tell on which one the density falls. Draws above a level, weighted to be
    uniform, have the covariance of an ellipsoid: it gives that of the peak, and the next draws, until it stays. A broad
    density under the peak changes nothing, as it would in a covariance over the posterior.

    **Arguments:** `heights` about the point. **Returns:** `u` [k], the middle; `spread` [d, d], the covariance in z of
    the d continuous coordinates; `log_mass`, the logarithm of the evidence of such a Gaussian, -infinity where too few
    simulations are valid.
    """
    from scipy.special import gammaincinv

    middle, rng, count = heights.middle, heights.rng, heights.count
    d = middle.size
    level, least = gammaincinv(0.5 * d, SHARE), LEAST * (d + 1)
    top = float(heights.evaluate(middle[None])[0])
    z, scale = heights.draw_at_all_scales(middle)
    height = heights.evaluate(z)
    falls = [np.mean(height[scale == i] >= top - level) < INSIDE for i in range(SCALES.size)]
    # Up to the first at which it falls: a larger one at which it rises again is that of another peak.
    largest = max(1, falls.index(True)) if any(falls) else SCALES.size
    z, height = z[scale < largest], height[scale < largest]
    log_density = _log_densities(z - middle, SCALES[:largest])
    spread, before = np.eye(d) * SCALES[largest - 1] ** 2, np.inf
    for _ in range(ROUNDS):
        top = max(top, float(height.max()))
        drop = max(level, top - float(np.sort(height)[-min(least, height.size)]))
        if not np.isfinite(drop):
            return {"u": heights.u, "spread": spread, "log_mass": np.asarray(-np.inf)}
        above = height >= top - drop
        weights = np.exp(log_density[above].min() - log_density[above])
        weights /= weights.sum()
        middle = weights @ z[above]
        even = (weights * (z[above] - middle).T) @ (z[above] - middle)
        if count_effective(weights) < d + 2:  # too few for a shape: nearer to a sphere
            even += 0.1 * np.trace(even) / d * np.eye(d)
        even += 1e-12 * np.trace(even) * np.eye(d)
        spread = even * (d + 2.0) / (2.0 * drop)
        size = np.linalg.slogdet(spread)[1]
        if abs(size - before) < STAYS_AT * d:
            break
        before = size if drop == level else np.inf
        away = rng.standard_normal((count, d))
        z = middle + WIDER * away @ np.linalg.cholesky(even).T
        height, log_density = heights.evaluate(z), -0.5 * squares(away)
    choices = float(np.sum(np.log(list(heights.cube.choices.values()))))
    log_mass = np.asarray(top + 0.5 * np.linalg.slogdet(spread)[1] - choices)
    return {"u": heights.points(middle[None])[0], "spread": spread, "log_mass": log_mass}


def _log_densities(x: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """The logarithm of the density of isotropic Gaussians at all scales, but for a constant."""
    from scipy.special import logsumexp

    return np.asarray(logsumexp(-0.5 * squares(x)[:, None] / scales**2 - x.shape[1] * np.log(scales), axis=1))


def peak(cube: Cube, found: Piece) -> Kernels:
    """The Gaussian of a shape, somewhat wider, as a density to draw from. **Arguments:** `cube`; the shape `found`."""
    u = found["u"][None]
    factor = TAILS * np.linalg.cholesky(found["spread"])
    return Kernels(cube, normal(u[:, continuous(cube)]), factor[None], cube.choice_indices(u), np.ones(1), 0.0)
