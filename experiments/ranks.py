"""Simulation-based calibration: where known truths lie among draws of their posteriors.

Truths are drawn from the prior and data from the model. The rank of a truth among independent draws of its posterior
is then uniform, if priors, likelihood and sampler agree (Talts et al. 2018, arXiv:1804.06788).
"""

from collections.abc import Mapping, Sequence

import jax
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy.stats import binom, chisquare

from difsim.plot.style import BLUE, GREY
from inversion.posterior import Posterior

OF = 99  # draws among which a truth has its rank
SAME = 1e-6  # relative difference of values of a discrete unknown that are one


def rank(posterior: Posterior, truth: Mapping[str, float], seed: int) -> dict[str, int]:
    """The number of OF draws below the truth, for each unknown; equal values are in random order.

    **Arguments:** `posterior`; `truth`, unknown -> its value; `seed`. **Returns:** unknown -> rank, 0 to OF.
    """
    drawn, rng = posterior.resample(jax.random.PRNGKey(seed), OF), np.random.default_rng(seed)
    return {name: rank_among(drawn[name], value, rng) for name, value in truth.items()}


def rank_among(draws: Float[np.ndarray, " n"], value: float, rng: np.random.Generator) -> int:
    """The number of draws below a value, equal ones in random order. **Arguments:** `draws`; `value`; `rng`."""
    equal = np.isclose(draws, value, rtol=SAME, atol=0.0)
    return int(np.sum((draws < value) & ~equal) + rng.integers(equal.sum() + 1))


def probability_below(posterior: Posterior, truth: Mapping[str, float]) -> dict[str, float]:
    """The probability below the truth: an interval of probability p holds it if this is within 0.5 ± p / 2.

    **Arguments:** `posterior`; `truth`, unknown -> its value. **Returns:** unknown -> probability.
    """
    return {k: float(np.sum(posterior.weights * (posterior.draws[k] < value))) for k, value in truth.items()}


def p_value(ranks: Sequence[int], bins: int) -> float:
    """The probability that uniform ranks differ by as much from equal counts, by chi-squared.

    **Arguments:** `ranks`, 0 to OF; `bins`, a divisor of OF + 1. **Returns:** the probability.
    """
    return float(chisquare(np.histogram(ranks, bins=bins, range=(0, OF + 1))[0]).pvalue)


def holds(below: Float[np.ndarray, "..."], probability: float = 0.95) -> float:
    """The share of intervals that hold their truths. **Arguments:** `below`, as the function; `probability`."""
    return float(np.mean(np.abs(np.asarray(below) - 0.5) < 0.5 * probability))


def draw(ranks: Mapping[str, Sequence[int]], bins: int) -> Figure:
    """Histograms of ranks; the band holds 99 % of the counts of uniform ones.

    **Arguments:** `ranks` by unknown; `bins`. **Returns:** the figure.
    """
    columns = min(len(ranks), 5)
    lines = -(-len(ranks) // columns)
    figure = Figure(figsize=(2.4 * columns, 0.7 + 2.0 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    count = len(next(iter(ranks.values())))
    low, high = binom.interval(0.99, count, 1.0 / bins)
    for ax in panels.ravel()[len(ranks) :]:
        ax.set_axis_off()
    for ax, (name, found) in zip(panels.ravel(), ranks.items(), strict=False):
        ax.axhspan(low, high, color=GREY, alpha=0.25, linewidth=0)
        ax.axhline(count / bins, color=GREY, linewidth=0.8)
        ax.hist(found, bins=bins, range=(0, OF + 1), color=BLUE, alpha=0.8)
        ax.set_title(f"{name.replace('_', ' ')}\np = {p_value(found, bins):.2g}", fontsize=8)
        ax.tick_params(labelsize=7)
    figure.supxlabel(f"rank of the truth among {OF} draws", fontsize=8)
    figure.suptitle(f"{count} synthetic data sets; grey: 99 % of uniform counts")
    return figure
