"""The distance of a posterior from its prior, for one unknown: nats, and a verdict in words."""

import itertools

import numpy as np
from jaxtyping import Float

from .draws import weighted_quantile

FIXED = "fixed by the data"
ONE_SIDED = "bounded on one side"
NOT_FIXED = "not fixed: the prior came back"
CHANGED = "not fixed, but changed by the data"
SPLIT = "narrowed to separate ranges"
PRESSED = "pressed against the {} end of the prior"
# The prior's own interval of 95 % leaves 0.025 at either side: an end that excludes this share tells something.
EXCLUDED = 0.1
# Data that exclude a tenth of the prior gain as much, as do data that are as sharp as a normal prior.
NATS = 0.1
TENTHS, BINS = 10, 20  # of equal prior probability, that measure the gain, and that show ranges
EMPTY = 0.2  # of the prior's density: two bins or more with less are a gap
DENSE = 2.0  # times the prior's density, in the last tenth, that is pressed against the end


def information_gain(shares: Float[np.ndarray, " cells"], size: float) -> float:
    """The information, in nats, by which the shares of a posterior differ from equal ones.

    It is the relative entropy of cells of equal prior probability: a lower bound of that of the densities, which no
    choice of a scale changes. What a sample of the prior itself would show on average is subtracted.

    **Arguments:** `shares` of the posterior, with a sum of 1; `size`, the effective number of draws.
    **Returns:** nats, 0 or more. **Source:** Kullback and Leibler (1951); Miller (1955), the bias of entropies.
    """
    held = shares[shares > 0.0]
    return max(0.0, float(np.sum(held * np.log(held * shares.size))) - 0.5 * (shares.size - 1) / max(size, 1.0))


def verdict(u: Float[np.ndarray, " draws"], weights: Float[np.ndarray, " draws"], size: float, ends: bool) -> str:
    """The verdict on an unknown, from the prior probabilities below its draws.

    **Arguments:** `u`, uniform under the prior; `weights` with a sum of 1; `size`, the effective number of draws;
    `ends`, whether the prior has ends. **Returns:** the verdict.
    """
    low, high = interval(u, weights)
    tenths = _shares(u, weights, TENTHS)
    # Of the prior on this side of the other end: so an end near to that of the prior is one all the same.
    sides = [low >= EXCLUDED * high, 1.0 - high >= EXCLUDED * (1.0 - low)]
    pressed = [
        PRESSED.format(end)
        for end, share, excludes in zip(("lower", "upper"), tenths[[0, -1]], sides, strict=True)
        if ends and share == tenths.max() and share >= DENSE / TENTHS and not excludes
    ]
    if has_gap(_shares(u, weights, BINS)):
        return SPLIT
    if not any(sides) and not pressed and information_gain(tenths, size) < NATS:
        return NOT_FIXED
    return ", ".join([(CHANGED, ONE_SIDED, FIXED)[sum(sides)], *pressed])


def verdict_of_choices(shares: Float[np.ndarray, " choices"], size: float, ordered: bool) -> str:
    """The verdict on a few values that were equally likely.

    **Arguments:** `shares` of the posterior, in ascending order of the values; `size`, the effective number of draws;
    `ordered`, whether they are numbers of one scale. **Returns:** the verdict.
    """
    order = np.argsort(-shares)
    kept = np.sort(order[: 1 + int(np.searchsorted(np.cumsum(shares[order]), 0.95))])
    if kept.size == 1:
        return FIXED
    if information_gain(shares, size) < NATS:
        return NOT_FIXED
    is_end = kept[0] == 0 or kept[-1] == shares.size - 1
    is_run = kept[-1] - kept[0] == kept.size - 1
    return ONE_SIDED if ordered and is_end and is_run and kept.size < shares.size else CHANGED


def ranges(u: Float[np.ndarray, " draws"], weights: Float[np.ndarray, " draws"]) -> list[tuple[float, float]]:
    """The 95 % intervals of the parts of a posterior that gaps separate.

    **Arguments:** as of `verdict`. **Returns:** the two ends of each part, in u.
    """
    edges, full = np.linspace(0.0, 1.0, BINS + 1), _shares(u, weights, BINS) >= EMPTY / BINS
    found, start = [], 0
    for is_full, run in itertools.groupby(full):
        end = start + len(list(run))
        here = (u >= edges[start]) & (u <= edges[end])
        if is_full:
            found.append(interval(u[here], weights[here] / weights[here].sum()))
        start = end
    return found


def interval(u: Float[np.ndarray, " draws"], weights: Float[np.ndarray, " draws"]) -> tuple[float, float]:
    """The ends of the interval of 95 % with equal parts below and above."""
    low, high = weighted_quantile(u, weights, [0.025, 0.975])
    return float(low), float(high)


def has_gap(shares: Float[np.ndarray, " bins"]) -> bool:
    """Whether there are two or more nearly empty bins in a row between others."""
    runs = [(is_full, len(list(run))) for is_full, run in itertools.groupby(shares >= EMPTY / shares.size)]
    return any(not is_full and length >= 2 for is_full, length in runs[1:-1])


def _shares(u: np.ndarray, weights: np.ndarray, bins: int) -> np.ndarray:
    return np.histogram(u, bins=bins, range=(0.0, 1.0), weights=weights)[0]
