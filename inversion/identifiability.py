"""Identifiability of parameters by the Fisher information at a fit."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from difsim.checks import host_numbers
from difsim.status import Status

from .information import FIXED, NOT_FIXED, ONE_SIDED, verdict
from .leastsq import Fit, covariance
from .problem import Problem
from .unknowns import AbstractUnknown

MISSED = "no verdict: the model misses the data"
UNENDED = "no verdict: the search did not converge"


@dataclass(frozen=True)
class Identifiability:
    """The information in the data alone, in prior-scaled coordinates, for the free numbers `labels`.

    `fisher` [k, k] = J^T J of the data rows; `eigenvalues` descending with `directions` [k, k] in columns (1 over
    the root of an eigenvalue is the width of the data along its direction, in prior scales); `rank`: singular
    values of J above the `threshold` of `identify`, relative to the largest; `informed`: directions in which the data
    are sharper than the prior; `condition`: of J; `correlations` [k, k] of data and prior together; `shrinkage`:
    posterior standard deviation over the prior's; `verdicts`: one text per parameter.
    """

    labels: tuple[str, ...]
    fisher: np.ndarray
    eigenvalues: np.ndarray
    directions: np.ndarray
    rank: int
    informed: int
    condition: float
    correlations: np.ndarray
    shrinkage: dict[str, float]
    verdicts: dict[str, str]


def identify(problem: Problem, fit: Fit, threshold: float = 1e-6) -> Identifiability:
    """The parameters, and their combinations, that the data determine at a fit.

    A verdict comes from the linearised interval s -+ 1.96 sigma of the data alone: the data determine a parameter if
    both ends are inside the prior's range, and bound it if one end is. Without an end, or where data are no sharper
    than a Gaussian prior, the likelihood along it tells whether the prior returns, by the information gained
    (`information`). No verdict is given for a fit that does not explain its data (`Fit.explains_data`), or whose
    search did not converge, since its intervals are meaningless.

    **Arguments:** `problem`; `fit`: of the same problem with the same values held; `threshold`, of
    singular values relative to the largest (a solver's sensitivities are good to 1e-5 ... 1e-7).
    **Returns:** Identifiability.
    **Raises:** ValueError when the fit belongs to other free parameters, or failed, and for a threshold that is no
    share.

    **Example:**

    ```python
    import jax

    from inversion import Bounded, Observation, Observations, Problem, fit, identify

    data = Observations({"fall": Observation(4.9, 0.1, "m")})
    unknowns = {"g": Bounded(1.0, 20.0, "m/s2"), "time": Bounded(0.5, 2.0, "s")}
    problem = Problem(unknowns, lambda p: ({"fall": 0.5 * p["g"] * p["time"] ** 2}, True), data)
    found = fit(problem, key=jax.random.key(0), starts=8, keep=2)
    print(identify(problem, found).verdicts)
    ```
    """
    threshold = float(host_numbers("identify: threshold", threshold, ""))
    if not 0 <= threshold < 1:
        raise ValueError(f"identify: threshold = {threshold} must be a share, from 0 to below 1")
    if fit.labels != problem.free_labels or not np.isfinite(fit.misfit):
        raise ValueError(
            f"identify: the fit (misfit {fit.misfit}) has {fit.names} free, the problem {problem.free}"
        )
    unknowns = [problem.component(label) for label in fit.labels]
    s = np.asarray(problem.fold(jnp.asarray(fit.x)))
    scale = np.asarray(problem.scale(jnp.asarray(s)))
    mask = np.asarray(problem.free_mask)
    s, scale = s[mask], scale[mask]
    jacobian = fit.jacobian[: problem.data.rows] * scale
    slopes = jacobian.T @ fit.residual[: problem.data.rows]
    fisher = jacobian.T @ jacobian
    eigenvalues, directions = np.linalg.eigh(fisher)
    eigenvalues, directions = np.maximum(eigenvalues[::-1], 0.0), directions[:, ::-1]
    spread, rank = covariance(jacobian, threshold)
    width = np.array([q.prior_width for q in unknowns])
    # Compare directions with the prior in units in which the prior is isotropic.
    informed = int(np.sum(np.linalg.eigvalsh(fisher * np.outer(width, width)) > 1.0))
    posterior = np.linalg.inv(fisher + np.diag(width**-2))
    sigma = np.sqrt(np.diag(posterior))
    verdicts = {}
    for i, (name, q) in enumerate(zip(fit.labels, unknowns, strict=True)):
        lower, upper = q.limits
        half = 1.96 * np.sqrt(spread[i, i])
        ends = int(s[i] - half > lower) + int(s[i] + half < upper)
        if np.isinf(upper) and np.sqrt(spread[i, i]) > width[i]:
            ends = 0
        verdicts[name] = (NOT_FIXED, ONE_SIDED, FIXED)[ends]
        if ends == 0:  # is it the prior alone, or another density over its whole range?
            verdicts[name] = _judge_over_range(q, s[i], spread[i, i], slopes[i])
    faults = {
        MISSED: not fit.explains_data,
        UNENDED: not (fit.status.is_converged or fit.status == Status.TARGET),
    }
    verdicts = dict.fromkeys(verdicts, fault) if (fault := next(filter(faults.get, faults), None)) else verdicts
    smallest = eigenvalues[-1] if rank == len(unknowns) else 0.0
    return Identifiability(
        labels=fit.labels,
        fisher=fisher,
        eigenvalues=eigenvalues,
        directions=directions,
        rank=rank,
        informed=informed,
        condition=float(np.sqrt(eigenvalues[0] / smallest)) if smallest > 0 else np.inf,
        correlations=posterior / np.outer(sigma, sigma),
        shrinkage=dict(zip(fit.labels, (sigma / width).tolist(), strict=True)),
        verdicts=verdicts,
    )


def _judge_over_range(q: AbstractUnknown, s: float, variance: float, slope: float) -> str:
    """The verdict on an unknown that may have any value of its prior, by the likelihood along it.

    **Arguments:** `q`, the unknown; `s` of the fit; `variance` by the data alone, and `slope` of half the misfit, which
    is not zero at an end of the prior.
    """
    u = (np.arange(1000) + 0.5) / 1000
    at = np.asarray(q.quantile(jnp.asarray(u)))
    half_misfit = slope * (at - s) + 0.5 * (at - s) ** 2 / variance
    weights = np.exp(half_misfit.min() - half_misfit)
    return verdict(u, weights / weights.sum(), np.inf, ends=not np.isinf(q.limits[1]))
