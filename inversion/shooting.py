"""Multiple shooting with the arcs' starts taken out: long tracks cut where their states are known well enough.

A fit through many bounces of a chaotic motion has a misfit full of minima. Cut into arcs, each from an estimated
state to the next one, every arc forgets the errors of the others. The starts are unknown too, to the covariance of
their estimates; eliminated to first order, they leave a covariance of what each arc misses the next state by.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Array, Float

from .leastsq import Fit, fit
from .problem import Problem


def expected_misses(
    spreads: Float[np.ndarray, "arcs_and_one k k"],
    slopes: Float[np.ndarray, "arcs k k"],
    curvatures: Float[np.ndarray, "arcs k k"],
    slack: Float[np.ndarray, "k"],
) -> tuple[Float[np.ndarray, "arcs*k"], Float[np.ndarray, "arcs*k arcs*k"]]:
    """Mean and covariance of the misses m_i = F(s_i) - s_{i+1} of all arcs, to second order in the starts' errors:

    m_i = R_i z_i + ½ Σ_j C_ij z_ij² - L_{i+1} z_{i+1} + w. The estimates s_i = true state + L_i z_i have
    independent unit normal z_i, so neighbouring arcs are correlated through the state that they share.

    **Arguments:** `spreads` L, a root of each estimate's covariance, L Lᵀ; `slopes` R and `curvatures` C, first
    and second derivatives of an arc's end by its start along each column of L; `slack` w, standard deviations
    that the arcs may miss by beyond that: the weight of continuity (a solver's errors, a model's).
    **Source:** the Gauss-Newton step of multiple shooting (Bock 1987), condensed to the parameters.
    """
    arcs, k = slopes.shape[:2]
    total = np.zeros((arcs, k, arcs, k))
    for i in range(arcs):
        bent = 0.5 * curvatures[i] @ curvatures[i].T
        total[i, :, i] = slopes[i] @ slopes[i].T + bent + spreads[i + 1] @ spreads[i + 1].T + np.diag(slack**2)
        if i + 1 < arcs:
            total[i, :, i + 1] = -spreads[i + 1] @ slopes[i + 1].T
            total[i + 1, :, i] = total[i, :, i + 1].T
    return 0.5 * curvatures.sum(axis=2).ravel(), total.reshape(arcs * k, arcs * k)


def progressive(
    problems: Sequence[Problem], *, key: Array, guess: Mapping[str, float], **options
) -> tuple[Fit, ...]:
    """Fits of problems with a growing horizon, each from the solution of the one before; the last is the answer.

    **Arguments:** `problems`, shortest first; `guess`, where the first starts; `options` of `fit`.
    """
    found = []
    for problem in problems:
        guess = found[-1].values if found and np.isfinite(found[-1].misfit) else guess
        found.append(fit(problem, key=key, starts=0, keep=1, guesses=[guess], throw=False, **options))
    return tuple(found)
