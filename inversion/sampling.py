"""Posteriors: `sample`, the one entry point to all samplers."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from difsim.checks import integer, random_key, require_function
from difsim.saving.checkpoint import Checkpoint

from .cube import Cube
from .dropping import Bound, describe_dropped, weigh_leaves
from .effects import find_without_effect, warn_of_no_effect
from .importance import Importance
from .posterior import Posterior
from .problem import Problem
from .progress import Progress
from .reporting import build_posterior
from .sweeps import load_or_compute
from .tempered import Tempered


def sample(
    problem: Problem,
    *,
    key: Array,
    method: Tempered | Importance | None = None,
    effective_size: int = 1000,
    limit: int = 200_000,
    batch_size: int | None = None,
    guesses: Sequence[Mapping[str, Any]] = (),
    bound: Bound | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress = False,
    executor: Executor | None = None,
) -> Posterior:
    """The posterior of a problem: draws with weights, evidence, and the probabilities of its discrete choices.

    It works on values alone. Undecided Discrete unknowns are drawn with the others, all their values being equally
    likely before; unknowns that are held stay. A failed simulation has the likelihood zero.

    **Arguments:** `problem`; `key`; `method`: `Importance()` by default, or `Tempered()` where importance weights
    cannot be trusted; `effective_size`: independent draws that the result is worth, so that the error of a mean is
    a standard deviation / sqrt(effective_size) and that of a probability at most 0.5 / sqrt(effective_size);
    `limit`: the number of simulations after which it ends without that; `batch_size`: None for simulations one by
    one in as many threads as there are cores, or as many at once in one compiled call, quicker for closed forms;
    `guesses`: dicts of values where the posterior may have a peak too narrow for draws of the prior to find, such as
    `fit(...).solutions` or the values of a tree's leaves, for `Importance()`;
    `bound`, for some hundred combinations of discrete values: a function of them to a misfit that no other values
    undercut, such as `Tree.bound`; those whose weight it shows to be below 1e-4 are dropped, and the result says so;
    `checkpoint`: keeps finished parts, so that a larger `effective_size` continues; `progress`: as of `fit`;
    `executor`: simulates in place of this process, one by one (`inversion.executors`), for simulations of seconds: it
    has to be able to pickle `predict`.
    **Returns:** Posterior; `print` it, and check `posterior.ok`.
    **Raises:** ValueError when every unknown is held, the size is below 2, or there is nothing to bound; RuntimeError
    when fewer than two of the first draws of the prior could be simulated.

    **Example:**

    ```python
    import jax

    from inversion import Bounded, Observation, Observations, Problem, sample

    data = Observations({"fall": Observation(4.9, 0.1, "m")})
    problem = Problem({"g": Bounded(1.0, 20.0, "m/s2")}, lambda p: ({"fall": 0.5 * p["g"]}, True), data)
    posterior = sample(problem, key=jax.random.PRNGKey(0), batch_size=100)
    print(posterior.interval("g"), posterior.log_evidence)
    ```
    """
    random_key("sample: key", key)
    if bound is not None:
        require_function("sample: bound", bound)
    effective_size, limit = integer("sample: effective_size", effective_size), integer("sample: limit", limit)
    if batch_size is not None:
        batch_size = integer("sample: batch_size", batch_size)
    if effective_size < 2:
        raise ValueError(f"sample: an effective_size of {effective_size} is no distribution: ask for 1000")
    if guesses and isinstance(method, Tempered):
        raise ValueError("sample: guesses are places to draw from, which Tempered() does not: use Importance()")
    cube = Cube(problem, batch_size, executor)
    at = np.stack([*map(cube.at, guesses)]) if guesses else None
    method = Importance() if method is None else method
    if bound is not None:
        key, pilot = jax.random.split(key)
        weighed = load_or_compute(checkpoint, "leaves", partial(weigh_leaves, cube, bound, pilot))
        cube.kept = weighed["kept"]
    every = list(range(cube.active.size))
    find = partial(find_without_effect, cube.log_likelihood, len(every), every, at)
    idle = load_or_compute(checkpoint, "without-effect", lambda: {"at": np.array(find(), int)})
    warn_of_no_effect("sample", [cube.labels[i] for i in idle["at"]])
    places = {} if at is None else {"guesses": at}
    draws = method.draws(cube, key, effective_size, limit, checkpoint, progress, **places)
    if bound is not None:
        said = describe_dropped(cube, weighed["ceiling"], draws.log_evidence)
        draws = replace(draws, method=f"{draws.method}; {said}")
    return build_posterior(problem, cube, draws)
