"""Equal steps of Tsit5, differentiated exactly in either mode."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from difsim.status import Status
from difsim.stepping.adaptive import Problem, Run, approach
from difsim.stepping.solution import Stats
from difsim.stepping.table import Choice
from difsim.stepping.variational import build_plain


def equal_steps(choice: Choice, problem: Problem) -> Run:
    """`choice.solver.steps` equal steps in each interval of the problem's times."""
    solver, state, times, tableau = choice.solver, problem.state, problem.times, diffrax.Tsit5.tableau
    system = build_plain(problem.model, problem.scales)
    # Six stages as a loop of ours: diffrax's own refuses one of the two modes, or compiles for long. The seventh
    # only serves the error estimate.
    weights = np.zeros((6, 6))
    for i, row in enumerate(tableau.a_lower[:5], start=1):
        weights[i, :i] = row
    nodes = np.concatenate([[0.0], tableau.c[:5]])
    last = jnp.asarray(tableau.b_sol[:6], state.dtype)
    rows = (jnp.arange(6), jnp.asarray(weights, state.dtype), jnp.asarray(nodes, times.dtype))

    def step(carry, span):
        y, touching, counts = carry
        t0, t1 = span
        dt = (t1 - t0).astype(y.dtype)

        def stage(slopes, row):
            i, a, c = row
            return slopes.at[i].set(system.field(t0 + c * (t1 - t0), (y + dt * (a @ slopes))[None])[0]), None

        slopes, _ = jax.lax.scan(stage, jnp.zeros((6, *y.shape), y.dtype), rows)
        y = y + dt * (last @ slopes)
        now = approach(t1, y[None], system).gap <= 0
        counts = counts + jnp.stack([now, now & ~touching])
        return (y, now, counts), None

    def interval(carry, ends):
        grid = jnp.linspace(ends[0], ends[1], solver.steps + 1)
        carry, _ = jax.lax.scan(jax.checkpoint(step), carry, (grid[:-1], grid[1:]))
        return carry, carry[0]

    touching = approach(times[0], state[None], system).gap <= 0
    counts = jnp.stack([jnp.zeros((), int), touching.astype(int)])
    carry = (state, touching, counts)
    (_, _, counts), states = jax.lax.scan(interval, carry, (times[:-1], times[1:]))
    per_contact = jnp.where(counts[1] > 0, counts[0] / jnp.maximum(counts[1], 1), jnp.inf)
    return Run(
        states=jnp.concatenate([state[None], states]),
        times=times,
        status=jnp.where(per_contact < solver.resolve, int(Status.UNDER_RESOLVED), int(Status.OK)),
        stats=Stats(jnp.asarray(solver.steps * (times.shape[0] - 1)), per_contact, counts[1]),
    )
