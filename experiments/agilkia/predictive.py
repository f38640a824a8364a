"""How well draws of a posterior predict data that it has not seen."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from inversion import Observation


class Score(NamedTuple):
    """`log_score`: ln of the predictive density of the data, less that of a prediction that hits them without spread;
    `p_value`: the probability that new data have a lower predictive density; it is below 0.05 for data outside of the
    region of the highest densities that holds 95 %."""

    log_score: float
    p_value: float


def score(
    predicted: Float[np.ndarray, "draws k"],
    value: Float[np.ndarray, " k"],
    sigma: Float[np.ndarray, " k"],
    weights: Float[np.ndarray, " draws"],
    seed: int = 0,
) -> Score:
    """Compare data with their predictive density, the mean over draws of normal densities with the data's sigma.

    Each draw makes new data, whose density is the mean over the other draws. A draw that predicts nothing (NaN) lowers
    the log score as one that misses by far. The p-value is that among the draws that predict something.

    **Arguments:** `predicted` by different draws; `value` and `sigma` of the data; `weights` of the draws, with a sum
    of 1; `seed` of the errors of new data.
    **Returns:** Score; of fewer than two draws that predict something, minus infinity and 0.
    """
    here = np.isfinite(predicted).all(axis=1)
    points, log_weights = predicted[here] / sigma, np.log(weights[here])
    if len(points) < 2:
        return Score(-np.inf, 0.0)
    made = points + np.random.default_rng(seed).standard_normal(points.shape)
    others = np.stack([-0.5 * np.sum((each - points) ** 2, axis=1) for each in made]) + log_weights
    np.fill_diagonal(others, -np.inf)
    share = np.exp(log_weights)
    density = logsumexp(others, axis=1) - np.log(share.sum() - share)
    found = float(logsumexp(-0.5 * np.sum((value / sigma - points) ** 2, axis=1) + log_weights))
    is_lower = density <= found - np.log(share.sum())
    return Score(found, float(share @ is_lower / share.sum()))


def flatten(
    data: Mapping[str, Observation], predictions: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some data and their predictions as columns.

    **Arguments:** `data` by name, with known normal errors; `predictions`: name -> values [draws, ...].
    **Returns:** predicted [draws, k], value [k], sigma [k].
    """
    columns = [np.reshape(predictions[name], (len(predictions[name]), -1)) for name in data]
    value, sigma = (
        np.concatenate([np.ravel(getattr(each, part)) for each in data.values()]) for part in ("value", "sigma")
    )
    return np.concatenate(columns, axis=1), value, sigma
