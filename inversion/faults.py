"""Diagnostics of the draws of a posterior: the reasons for which no interval is given."""

import math

from .draws import Draws
from .tails import K_HAT

FEWEST = 100.0  # effective draws: fewer say nothing about the ends of an interval of 95 %
DRIFT = 4.0  # standard errors, of the largest of some ten means
DIFFERENCE = 3.0  # standard errors of two log evidences
BASIS = 8  # particles of the prior that unsettled kernels may rest on
FAMILIES = 16  # fewer do not tell by their spread how far all of them are off


def fault_of(sampled: Draws, effective_size: float, drift: float) -> str | None:
    """Why draws give no interval, and the remedy; None where the diagnostics pass.

    **Arguments:** `sampled`; `effective_size`: the least over the unknowns; `drift`: the largest of a mean, in its
    standard errors. **Returns:** the reason in words.
    """
    if sampled.k_hat is not None and sampled.k_hat > K_HAT:
        return f"the importance weights cannot be trusted, k-hat {sampled.k_hat:.2f} > {K_HAT}: use Tempered()"
    if sampled.family_count < FAMILIES:
        return (
            f"the chains descend from {sampled.family_count} < {FAMILIES} particles of the prior, so their "
            "spread is no error: use more particles or steps, or a fit and its covariance"
        )
    if not effective_size >= FEWEST:
        return (
            f"an effective size of {effective_size:.0f} < {FEWEST:.0f}: "
            "ask for a larger effective_size, or raise the limit of simulations"
        )
    if (missed := _describe_missed(sampled)) is not None:
        return missed
    if not sampled.is_settled and sampled.other is not None and sampled.other[1] ** -2 < BASIS:
        return (
            "the kernels of importance sampling have not settled, and the particles that they began at are worth "
            f"{sampled.other[1] ** -2:.0f} < {BASIS} of the prior: use more particles"
        )
    if drift > DRIFT:
        return f"the chains have not settled, drift {drift:.1f} > {DRIFT}: use more particles or steps"
    return None


def _describe_missed(sampled: Draws) -> str | None:
    """That a second estimate found more evidence: only what both have seen may be trusted."""
    if sampled.other is None:
        return None
    value, error = sampled.other
    if not value - sampled.log_evidence > DIFFERENCE * math.hypot(sampled.error, error):
        return None
    second = "the tempered run" if sampled.k_hat is not None else "importance sampling"
    return (
        f"a part of the posterior is missed: its log evidence is {sampled.log_evidence:.2f} +- "
        f"{sampled.error:.2g}, by {second} {value:.2f} +- {error:.2g}: use more particles, or give the "
        "minima of a fit as guesses"
    )
