"""Unknowns that change nothing: they are named before a search or a sampler spends its simulations on them."""

import warnings
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .marquardt import Search
from .outcome import Calls
from .programs import Programs

POINTS = 8  # draws of the prior at which an unknown is changed before it is said to have no effect


def find_without_effect(
    value: Callable[[Float[np.ndarray, "rows k"]], Float[np.ndarray, " rows"]],
    k: int,
    suspects: list[int],
    extra: Float[np.ndarray, "points k"] | None = None,
) -> list[int]:
    """The coordinates whose change changes nothing, at draws of the prior of which one valid one suffices.

    **Arguments:** `value` of points of the unit cube [rows, k], not finite where the simulation failed; `k`;
    `suspects`, coordinates; `extra`: more points, such as those where a peak may be.
    **Returns:** those without effect; none where no draw could be simulated.
    """
    rng, seen = np.random.default_rng(0), False
    for u in np.concatenate([rng.random((POINTS, k)), np.zeros((0, k)) if extra is None else extra]):
        rows = np.repeat(u[None], 1 + len(suspects), axis=0)
        for row, i in zip(rows[1:], suspects, strict=True):
            row[i] = (row[i] + 0.382) % 1.0  # no simple part of a turn
        found = value(rows)
        if not np.isfinite(found[0]):
            continue
        seen = True
        suspects = [i for i, other in zip(suspects, found[1:], strict=True) if other == found[0]]
        if not suspects:
            return []
    return suspects if seen else []


def warn_of_no_effect(name: str, labels: list[str]) -> None:
    """Name unknowns that no prediction depends on. **Arguments:** `name`, the function; `labels`, maybe none."""
    if labels:
        warnings.warn(
            f"{name}: no prediction depends on {labels}, at {POINTS} draws of the prior: their prior will come back. "
            "Does `predict` read them? Hold them, or leave them out",
            stacklevel=4,
        )


def warn_of_zero_columns(programs: Programs, search: Search) -> Calls:
    """Name the unknowns of a fit whose column of the first Jacobian is zero, and whether their values do not count.

    **Arguments:** `programs` of the problem; the first `search`, at its start. **Returns:** what it cost.
    """
    problem = programs.problem
    # A choice may leave an unknown without effect, such as the edge of a boulder that is not there.
    if problem.discrete:
        return Calls()
    jacobian = np.asarray(search.jacobian)[: problem.data.rows]
    zero = np.flatnonzero(~jacobian.any(axis=0) & np.asarray(problem.free_mask))
    values = []

    def value(u):
        rows = jax.vmap(lambda row: problem.unfold(problem.quantile(row), 0.0))(jnp.asarray(u))
        found = np.array([float(programs.simulate(row).log_likelihood) for row in rows])
        values.extend(found)
        return found

    if zero.size:
        idle = find_without_effect(value, problem.size, zero.tolist())
        warn_of_no_effect("fit", [problem.labels[i] for i in idle])
        if still := [problem.labels[i] for i in zero if i not in idle]:
            warnings.warn(
                f"fit: the first derivative by {still} is zero, though predictions change with them over the prior: a "
                "search cannot move them from there. Look for stop_gradient, rounding and switches in `predict`, or "
                "use `sample`",
                stacklevel=3,
            )
    return Calls(len(values), 0, int(np.sum(~np.isfinite(values))))
