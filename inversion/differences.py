"""The comparison of a derivative with differences of simulations over the prior.

Nothing watches the tangents of a run of particles, or of a simulator of one's own. Where they have grown without bound
a fit converges to anything, with tiny standard deviations.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .coordinates import abbreviate
from .marquardt import Search
from .outcome import Calls
from .problem import Problem
from .programs import Programs

# Of the prior's range, to either side. A right derivative of a wave of a hundred periods agrees at the last, and one
# that agrees at none says nothing that a search could use.
SHARES = (0.25, 0.025, 0.0025)
APART = 0.5  # of the change by the derivative: a curve differs by less at one of the shares
RANGE = 12.0**0.5  # standard deviations of a uniform prior


def compare(programs: Programs, search: Search) -> tuple[str, Calls]:
    """Compare the derivative where a search is with differences, along the way in which it claims the largest change.

    **Arguments:** `programs` of the problem; `search`, which has a derivative. **Returns:** how they disagree in words,
    empty where they agree at one of the `SHARES` of the prior, or where nothing can be compared; and the simulations.
    """
    problem, calls = programs.problem, Calls()
    if not problem.data.is_sum_of_squares:  # the rows of other laws of errors are no derivative of the residuals
        return "", calls
    rows, mask = problem.data.rows, np.asarray(problem.free_mask)
    width = np.where(mask, RANGE * problem.repeat_by_coordinate(lambda q: q.prior_width), 0.0)
    slopes = np.asarray(search.jacobian)[:rows] * width
    if not (np.isfinite(slopes).all() and slopes.any()):
        return "", calls
    way = np.linalg.svd(slopes, full_matrices=False)[2][0] * width
    seen = []
    for share in SHARES:
        ends, steps = _ends(problem, search.x, jnp.asarray(share * way))
        found = [np.asarray(programs.simulate(x).residual)[:rows] for x in ends]
        valid = [bool(np.isfinite(residual).all()) for residual in found]
        calls = calls + Calls(2, 0, 2 - sum(valid))
        here = np.asarray(search.residual)[:rows]
        ahead, behind = (np.where(ok, residual, here) for ok, residual in zip(valid, found, strict=True))
        step = np.sum([np.asarray(step) for ok, step in zip(valid, steps, strict=True) if ok], axis=0)
        if not step.any():  # as where neither is valid
            continue
        claimed = np.asarray(search.jacobian)[:rows] @ step
        if np.linalg.norm(ahead - behind - claimed) <= APART * np.linalg.norm(claimed):
            return "", calls
        seen.append((share, np.linalg.norm(claimed), np.linalg.norm(ahead - behind)))
    if not seen:
        return "", calls
    largest = np.abs(way) > 0.1 * np.max(np.abs(way))
    along = abbreviate(tuple(label for label, is_large in zip(problem.labels, largest, strict=True) if is_large))
    numbers = "; ".join(f"{claimed:.2g} and {found:.2g} over +-{share:.2%}" for share, claimed, found in seen)
    return (
        f"the derivative disagrees with differences of simulations. Along {along} the residuals change, in standard "
        f"deviations, by the derivative and between simulations: {numbers} of the prior. Its standard deviations mean "
        "nothing. Use values alone (`sample`), a `response_surface`, or a shorter run"
    ), calls


@eqx.filter_jit
def _ends(
    problem: Problem, x: Float[Array, " n"], step: Float[Array, " n"]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """The points ahead of x and behind it, within the prior, and the steps in s from there to here: the sum is all."""
    low, high = jnp.asarray(problem._limits, step.dtype).T
    s = jnp.where(problem.free_mask, problem.fold(x), 0.0)
    ahead, behind = jnp.clip(s + step, low, high), jnp.clip(s - step, low, high)
    return (problem.unfold(ahead, 0.0), problem.unfold(behind, 0.0)), (ahead - s, s - behind)
