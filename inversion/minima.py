"""The probabilities that repeated local searches have missed a minimum, and that one more finds a lower one."""

import numpy as np
from jaxtyping import Float

# Searches whose misfits differ by less have found one minimum: no data tell them apart, and no search is that exact.
ABSOLUTE, RELATIVE = 0.01, 2e-3


def distinct(misfits: Float[np.ndarray, " searches"]) -> Float[np.ndarray, " minima"]:
    """The misfits of the different minima at which searches ended, the lowest first.

    Minima of equal misfit count as one: for a bound the lowest value matters, and not the place.

    **Arguments:** `misfits` [searches], of which infinite ones are left out. **Returns:** misfits [minima].
    """
    found = np.sort(misfits[np.isfinite(misfits)])
    return found[np.diff(found, prepend=-np.inf) > ABSOLUTE + RELATIVE * np.abs(found)]


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


def chance_of_lower(misfits: Float[np.ndarray, " searches"], least: float) -> float:
    """The probability that one more search ends in a new minimum, which is lower than `least`.

    The first factor is the expected share of the basins that no search has found, w (w + 1) / (n (n - 1)) for n
    searches that found w minima. The second takes the misfits of minima for draws of one normal distribution, of which
    w are known: Student's predictive distribution. One known minimum tells no width: the next is as often lower.

    **Arguments:** `misfits` [searches], of which infinite ones are left out; `least`, the misfit of the best leaf.
    **Returns:** the probability, 0 without a search that ended.
    **Source:** Boender and Rinnooy Kan (1987), as of `probability_missed`.
    """
    from scipy.special import stdtr

    found, n = distinct(misfits), int(np.isfinite(misfits).sum())
    w = found.size
    if n < 2:
        return 0.5 * n
    unseen = min(1.0, w * (w + 1) / (n * (n - 1)))
    if w == 1:
        return 0.5 * unseen
    width = found.std(ddof=1) * np.sqrt(1.0 + 1.0 / w)
    return float(unseen * stdtr(w - 1, (least - found.mean()) / width))
