"""Importance ratios: the evidence by them, and the smoothed tail that says whether their means can be trusted."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from difsim.extras import require

K_HAT = 0.7  # the largest shape of the weights' tail whose means can be trusted (Vehtari et al. 2024)
NEGLIGIBLE = 0.01  # share of all weights


def evidence_of(log_ratio: Float[np.ndarray, " draws"]) -> tuple[float, float]:
    """The log evidence by importance ratios, and its standard error. **Arguments:** their logarithms."""
    largest = log_ratio.max()
    ratio = np.exp(log_ratio - largest)
    return float(np.log(ratio.mean()) + largest), float(ratio.std(ddof=1) / ratio.mean() / np.sqrt(ratio.size))


def count_effective(weights: Float[np.ndarray, "..."]) -> float:
    """The number of equal weights that these are worth, (Σ w)² / Σ w². **Source:** Kish (1965), Survey Sampling."""
    return float(np.sum(weights) ** 2 / np.sum(weights**2))


def share_of(log_ratio: Float[np.ndarray, " draws"]) -> float:
    """The number of equal weights that these are worth, by their number."""
    return count_effective(np.exp(log_ratio - log_ratio.max())) / log_ratio.size


def pareto_smoothed(log_ratio: Float[np.ndarray, " draws"]) -> tuple[np.ndarray, float]:
    """The logarithms of smoothed weights with a sum of 1, and k-hat, the shape of their tail.

    Where what the tail exceeds its lowest weight by is a negligible share of all weights, the shape is that of rounding
    and of single draws, and is 0.

    **Source:** Vehtari et al. (2024).
    """
    log_weights, k_hat = _smooth(jnp.asarray(log_ratio))
    ratio = np.exp(np.sort(log_ratio) - log_ratio.max())
    tail = ratio[-math.ceil(min(0.2 * ratio.size, 3.0 * math.sqrt(ratio.size))) :]
    is_short = np.sum(tail - tail[0]) < NEGLIGIBLE * ratio.sum()
    return np.asarray(log_weights), 0.0 if is_short else float(k_hat)


@jax.jit
def _smooth(log_ratio):
    return require("inversion", "blackjax.diagnostics").psis_weights(log_ratio)
