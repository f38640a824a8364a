"""The posterior of a sampler's draws, in the units of its problem."""

import itertools
import math

import jax
import numpy as np

from difsim.status import Status

from .cube import Cube
from .draws import Draws, resample_draws
from .outcome import Leaf
from .posterior import Posterior
from .problem import Problem


def build_posterior(problem: Problem, cube: Cube, sampled: Draws) -> Posterior:
    """The posterior of draws in the unit cube of a problem's prior."""
    u = sampled.u.reshape(-1, sampled.u.shape[-1])
    selected, labels = cube.choice_indices(u), cube.labels
    leaves = []
    for values in itertools.product(*map(range, cube.choices.values())) if cube.choices else ():
        here = np.all([selected[k] == value for k, value in zip(selected, values, strict=True)], axis=0)
        probability, error = sampled.probability(here)
        share = probability * math.prod(cube.choices.values())  # by that of the prior
        evidence = sampled.log_evidence + float(np.log(share)) if share > 0.0 else -np.inf
        leaves.append(Leaf(cube.assignment(values), probability, error, evidence))
    p_value = _p_value(problem, cube, sampled)  # which simulates, before these are counted
    by_name = lambda u: dict(zip(labels, cube.physical(u)[:, cube.active].T, strict=True))  # noqa: E731
    return Posterior(
        problem=problem,
        draws=by_name(u),
        prior=by_name(sampled.prior),
        leaves=tuple(sorted(leaves, key=lambda leaf: -leaf.probability)),
        calls=cube.calls,
        p_value=p_value,
        sampled=sampled,
        statuses=Status.tally(cube.programs.statuses),
    )


def _p_value(problem: Problem, cube: Cube, sampled: Draws) -> float:
    """The mean probability of chi-squared beyond the sum of squares of the data's scores at draws."""
    from scipy.special import gammaincc

    u, weights = sampled.u.reshape(-1, sampled.u.shape[-1]), sampled.weights.ravel()
    if problem.data.is_sum_of_squares:
        squares = np.maximum(-2.0 * sampled.log_likelihood.ravel() - problem.data.least_misfit, 0.0)
        return float(np.sum(weights * gammaincc(0.5 * problem.data.size, 0.5 * squares)))
    squares = cube.squared_scores(u[resample_draws(jax.random.PRNGKey(0), weights, 50)])
    return float(np.mean(gammaincc(0.5 * problem.data.size, 0.5 * squares)))
