"""Multiple shooting with eliminated arc starts, for long tracks whose states are estimated at intervals.

A fit through many bounces of a chaotic motion has many local minima. In arcs from an estimated state to the next
one, errors do not accumulate. The starts are unknown too, within the covariance of their estimates. Eliminated to
first order they leave a covariance of the mismatch between the end of each arc and the next estimate. A fit of the
parameters then gives the most likely starts; the arcs are linearised again there, until nothing changes:
parameters and starts are the most likely ones together. Arcs that start from the estimates would give biased
parameters with too narrow intervals, since the errors of the estimates affect the mismatches and their slopes
alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Bool, Float

from .leastsq import Fit, fit
from .problem import Problem


@dataclass(frozen=True)
class Chain:
    """Arcs from each estimated state to the next, linear about shifted starts.

    The true states are s_i + L_i u_i, with u_i independent and unit normal and L_i L_iᵀ the covariance of the
    estimate s_i. About the shifts u⁰ the mismatch of an arc is

    F(s_i + L_i u⁰_i) - s_{i+1} = R_i u⁰_i - R_i u_i + L_{i+1} u_{i+1} + w,

    with the known `mean` R_i u⁰_i and a `covariance`; neighbours are correlated through their common state.

    **Arguments:** `spreads` L; `slopes` R, derivative of an arc's end by its u_i, at u⁰; `shifts` u⁰; `slack`,
    standard deviation of w: the weight of continuity (errors of the solver and the model); `used`: the arcs that
    count (slopes and mismatches of the others are 0).
    **Source:** the Gauss-Newton step of multiple shooting (Bock 1987), condensed to the parameters.
    """

    spreads: Float[np.ndarray, "arcs_and_one k k"]
    slopes: Float[np.ndarray, "arcs k k"]
    shifts: Float[np.ndarray, "arcs_and_one k"]
    slack: Float[np.ndarray, "k"]
    used: Bool[np.ndarray, "arcs"]

    @property
    def jacobian(self) -> Float[np.ndarray, "rows columns"]:
        """The Jacobian of the mismatches by all u."""
        arcs, k = self.slopes.shape[:2]
        table = np.zeros((arcs, k, arcs + 1, k))
        for i in range(arcs):
            table[i, :, i], table[i, :, i + 1] = -self.slopes[i], self.used[i] * self.spreads[i + 1]
        return table.reshape(arcs * k, (arcs + 1) * k)

    @property
    def mean(self) -> Float[np.ndarray, "rows"]:
        return np.einsum("aij,aj->ai", self.slopes, self.shifts[:-1]).ravel()

    @property
    def covariance(self) -> Float[np.ndarray, "rows rows"]:
        return self.jacobian @ self.jacobian.T + np.diag(np.tile(self.slack**2, len(self.slopes)))

    def estimate(self, misses: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "arcs_and_one k"]:
        """The most likely u for given mismatches of the arcs."""
        return (self.jacobian.T @ np.linalg.solve(self.covariance, misses - self.mean)).reshape(self.shifts.shape)

    def chi_squared(self, misses: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "arcs"]:
        """χ² of the mismatch of each arc alone, with k degrees of freedom."""
        arcs, k = self.slopes.shape[:2]
        off = (misses - self.mean).reshape(arcs, k)
        own = self.covariance.reshape(arcs, k, arcs, k)
        return np.array([off[i] @ np.linalg.solve(own[i, :, i], off[i]) for i in range(arcs)])


def progressive(
    problems: Sequence[Problem], *, key: Array, guess: Mapping[str, float], **options
) -> tuple[Fit, ...]:
    """Fits of problems with a growing horizon, each from the previous solution; the last one is the result.

    **Arguments:** `problems`, shortest first; `key`; `guess`, the start of the first fit; `options` of `fit`.
    **Returns:** the fits.
    """
    found = []
    for problem in problems:
        guess = found[-1].values if found and np.isfinite(found[-1].misfit) else guess
        found.append(fit(problem, key=key, starts=0, keep=1, guesses=[guess], throw=False, **options))
    return tuple(found)
