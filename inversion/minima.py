"""The probability that repeated local searches have missed a minimum."""

import numpy as np
from jaxtyping import Float

# Searches whose misfits differ by less have found one minimum: no data tell them apart, and no search is that exact.
ABSOLUTE, RELATIVE = 0.01, 2e-3


def distinct(misfits: Float[np.ndarray, " searches"]) -> int:
    """The number of different minima at which searches ended.

    Minima of equal misfit count as one: for a bound the lowest value matters, and not the place.

    **Arguments:** `misfits` [searches], of which infinite ones are left out. **Returns:** the number.
    """
    found = np.sort(misfits[np.isfinite(misfits)])
    if not found.size:
        return 0
    return 1 + int(np.sum(np.diff(found) > ABSOLUTE + RELATIVE * np.abs(found[1:])))


def probability_missed(searches: int, minima: int) -> float:
    """The probability that at least one minimum is left that no search has found.

    It holds for searches from independent random starts, if any number of minima and any shares of their basins are
    equally likely before. It bounds the probability that a lower minimum was missed.

    **Arguments:** `searches` n; `minima` w, the number of different ones that they found. **Returns:**
    1 - prod_{i=1..w} (n - 1 - i) / (n - 1 + i), and 1 for fewer than w + 2 searches, which tell nothing.
    **Source:** Boender and Rinnooy Kan (1987), Bayesian stopping rules for multistart global optimization methods.
    """
    if minima < 1 or searches < minima + 2:
        return 1.0
    i = np.arange(1, minima + 1)
    return float(1.0 - np.prod((searches - 1 - i) / (searches - 1 + i)))
