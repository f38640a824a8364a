"""Kernels at weighted draws, each with the covariance of the draws near to it."""

import numpy as np
from jaxtyping import Float

from .cube import Cube
from .kernels import Kernels, continuous, discrete_density, normal, squares
from .particles import Particles, choose_evenly

TINY = 1e-6  # of the largest weight: draws with less are left out
CENTRES, DRAWS, PROBES = 400, 4000, 1000  # the most kernels, draws for their shapes, and draws to judge windows by
RARE = 0.2  # the least share of all kernels for the values of discrete unknowns, all of them together
POWER, BROAD = 0.5, 0.2  # of the likelihood for broad kernels, and their share
NEIGHBORS, WIDENINGS = 5, 5  # draws in a window by the number of unknowns, and how often it grows to have them
WINDOWS = np.array([0.2, 0.3, 0.5, 0.8, 1.3, np.inf])  # in standard deviations of all draws


def place(
    cube: Cube, u: Float[np.ndarray, "rows k"], weights: Float[np.ndarray, " rows"], window: float, prior: float
) -> Kernels:
    """Kernels at draws that represent a posterior.

    The covariance of a kernel is that of the draws about its centre, weighted by a Gaussian window, so that kernels lie
    along a curve. A window with few draws grows, and what it still lacks is filled up with the covariance that a
    Gaussian posterior has there. A centre is moved towards the mean in its window, so that the mixture for a Gaussian
    posterior has its covariance: an infinite window is one Gaussian.

    **Arguments:** `cube`; `u`, the draws; their `weights`; `window`: its standard deviation, by that of the draws;
    `prior`: its share. **Returns:** Kernels.
    **Source:** West (1993), the centres; Givens and Raftery (1996), local covariances.
    """
    kept = weights > TINY * weights.max()
    u, weights = u[kept], weights[kept] / weights[kept].sum()
    if len(u) > DRAWS:
        # By the roots of weights, so that the tails keep draws.
        roots = np.sqrt(weights)
        rows, counts = np.unique(choose_evenly(roots / roots.sum(), DRAWS), return_counts=True)
        u, weights = u[rows], counts * roots[rows] / (counts @ roots[rows])
    z = normal(u[:, continuous(cube)])
    d, mean = z.shape[1], weights @ z
    # 1e-6: draws that agree in a coordinate leave a width there.
    factor = np.linalg.cholesky((weights * (z - mean).T) @ (z - mean) + 1e-6 * np.eye(d))
    y = np.linalg.solve(factor, (z - mean).T).T  # with unit covariance
    rows, counts = np.unique(choose_evenly(weights, CENTRES), return_counts=True)
    selected, windows = cube.choice_indices(u), np.full(rows.size, window)
    near = np.empty((rows.size, len(u)))
    thin = np.arange(rows.size)  # kernels with too few draws in their windows, which become wider
    for _ in range(WIDENINGS):
        at = rows[thin]
        distance = squares(y[at])[:, None] + squares(y) - 2.0 * y[at] @ y.T
        part = weights * np.exp(-0.5 * distance / windows[thin, None] ** 2)
        for k, values in selected.items():
            part *= discrete_density(values[at], values, cube.choices[k])
        near[thin] = part / part.sum(axis=1, keepdims=True)
        thin = thin[1.0 / np.sum(near[thin] ** 2, axis=1) < NEIGHBORS * d]
        windows[thin] *= 1.5
    middle = near @ y
    products = (y[:, :, None] * y[:, None, :]).reshape(len(y), d * d)
    spread = (near @ products).reshape(-1, d, d) - middle[:, :, None] * middle[:, None, :]
    filled = ((d / (d + 1.0 / np.sum(near**2, axis=1))) ** 2)[:, None, None]
    spread = (1.0 - filled) * spread + filled / (1.0 + windows[:, None, None] ** -2) * np.eye(d)
    centres = middle + (y[rows] - middle) / (1.0 + np.sqrt(1.0 + windows[:, None] ** 2))
    return Kernels(
        cube,
        mean + centres @ factor.T,
        factor @ np.linalg.cholesky(spread),
        {k: values[rows] for k, values in selected.items()},
        counts / CENTRES,
        prior,
    )


def balance(cube: Cube, u: Float[np.ndarray, "rows k"], weights: Float[np.ndarray, " rows"]) -> np.ndarray:
    """Weights of draws in which no value of a discrete unknown is too rare to have kernels of its own.

    Without them a rare value is drawn where the others are probable, and its share is as good as that luck.

    **Arguments:** `cube`; `u`, the draws; their `weights`. **Returns:** weights [rows], with a sum of 1.
    """
    for k, values in cube.choice_indices(u).items():
        shares = np.bincount(values, weights, minlength=cube.choices[k])
        floor = RARE / (len(cube.choices) * cube.choices[k])
        # 1e-200: a value without draws, or without any weight, is left as it is.
        weights = weights * np.maximum(1.0, floor / np.maximum(shares, 1e-200))[values]
        weights = weights / weights.sum()
    return weights


def place_best(
    cube: Cube, particles: Particles, prior: float, probes: Particles, last: int | None = None
) -> tuple[Kernels, int]:
    """The kernels with the window that promises draws of the largest effective share, without a simulation.

    A part of them is at the particles weighted for the square root of the likelihood. It is wider than the posterior
    along a curve as well as across, and finds what the particles lack.

    **Arguments:** `cube`; `particles` to place kernels at; `prior`: its share; `probes`: other draws of the
    posterior, on which the windows are judged; `last`: the number of the window that was best for fewer draws, which
    is compared with its neighbors alone. **Returns:** Kernels, and the number of their window.
    """
    from scipy.special import logsumexp

    weights = {power: balance(cube, particles.u, particles.weights(power)) for power in (1.0, POWER)}

    def evaluate(power: float, window: float) -> Kernels:
        return place(cube, particles.u, weights[power], window, prior)

    tried = range(WINDOWS.size) if last is None else range(max(0, last - 1), min(last + 2, WINDOWS.size))
    choices = [evaluate(1.0, WINDOWS[i]) for i in tried]
    probes = probes.fewer(PROBES)
    log_posterior = probes.log_weight + probes.log_likelihood
    # 1 / share = E[likelihood / density] over the posterior, relative to the evidence.
    costs = [np.asarray(logsumexp(log_posterior - kernels.log_density(probes.u))) for kernels in choices]
    best = int(np.argmin(costs))
    return choices[best].mix(evaluate(POWER, WINDOWS[tried[best]]), BROAD), tried[best]
