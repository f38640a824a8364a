"""Leaves that a sampler need not visit: those whose bound on the misfit leaves them hardly any weight."""

import itertools
from collections.abc import Callable, Mapping

import jax
import numpy as np
from jaxtyping import Array

from .cube import Cube
from .tree import check_bound

Bound = Callable[[Mapping[str, float]], float]
WEIGHT = 1e-4  # of the posterior: leaves with less are dropped
PILOT, BEST = 400, 8  # simulations that estimate the evidence, in so many leaves with the lowest bounds


def weigh_leaves(cube: Cube, bound: Bound, key: Array) -> dict[str, np.ndarray]:
    """The leaves to keep, and the most evidence that each may have.

    A leaf's weight is its evidence by that of all, of which draws in a few leaves give a part. They hardly
    overestimate it: their mean exceeds ten times the truth with a probability of a tenth at most (Markov).

    **Arguments:** `cube`; `bound`: a function of the discrete values to a misfit that no other values undercut; `key`.
    **Returns:** `kept` and `ceiling`, the logarithm of the largest evidence, by numbers of values [choices, ...].
    **Raises:** ValueError without undecided Discrete unknowns, and for errors whose misfit may be negative.
    """
    from scipy.special import logsumexp

    if not cube.choices:
        raise ValueError("sample: a bound is for leaves, and no Discrete unknown is undecided: leave it out")
    if not cube.problem.data.is_sum_of_squares:
        raise ValueError("sample: a bound needs misfits that are sums of squares, with known normal errors")
    shape, bound = tuple(cube.choices.values()), check_bound("sample: bound", bound)
    gaussian = cube.problem.rows - cube.problem.data.rows
    leaves = itertools.product(*map(range, shape))
    bounds = np.array([bound(cube.assignment(leaf)) for leaf in leaves])
    best = np.argsort(bounds)[:BEST]
    u = np.asarray(jax.random.uniform(key, (PILOT, cube.active.size)))
    u = cube.move_to_leaves(u, best[np.arange(PILOT) % best.size])
    found = cube.log_likelihood(u)
    offset = cube.problem.data.least_misfit
    ceiling = np.array([_ceiling(least - offset, gaussian) for least in bounds]) - 0.5 * offset
    evidence = logsumexp(found) - np.log(PILOT / best.size)  # the sum over these leaves
    return {"kept": ~(ceiling - evidence < np.log(WEIGHT)).reshape(shape), "ceiling": ceiling.reshape(shape)}


def describe_dropped(cube: Cube, ceiling: np.ndarray, log_evidence: float) -> str:
    """The number of dropped leaves, and the weight that they may have together, in words."""
    from scipy.special import logsumexp

    lost = ~cube.kept
    if not lost.any():
        return "no leaf dropped by its bound"
    weight = float(np.exp(logsumexp(ceiling[lost]) - np.log(lost.size) - log_evidence))
    return (
        f"{lost.sum()} of {lost.size} leaves dropped by their bounds, together at most {weight:.1g} of the weight"
    )


def _ceiling(misfit: float, gaussian: int) -> float:
    """The logarithm of the largest evidence of a leaf with no lower misfit.

    The misfit M has the squares of the Gaussian priors, and the evidence is the mean of exp(-M / 2) over them without.
    It is at most exp(-t misfit / 2) (1 - t)^(-gaussian / 2) for each t from 0 to 1, and least at 1 - t = gaussian /
    misfit.
    """
    if misfit <= gaussian:
        return 0.0
    return -0.5 * (misfit - gaussian) + (0.5 * gaussian * np.log(misfit / gaussian) if gaussian else 0.0)
