"""Derivatives of where particles are after some equal steps, by one number: what several benchmarks time."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from difsim import FixedSteps, Unrolled, simulate
from difsim.stepping.marching import NeighbourList
from experiments.benchmark.timing import cpu_seconds, row


def place_by(model_by: Callable, state: Any, near: NeighbourList, dt: float, steps: int) -> Callable:
    """Return the mean place as a function of the number by which `model_by` makes a model. It has both derivatives."""
    solver = FixedSteps(steps, neighbours=near)
    times = jnp.array([0.0, steps * dt])

    def place(x):
        run = simulate(model_by(x), state, times, solver=solver, derivative=Unrolled(), throw=False)
        return jnp.mean(run.last.position)

    return place


def cost_rows(place: Callable, at: jax.Array, runs: int) -> Iterator[dict[str, Any]]:
    """Return the cost of both derivatives over that of the value, and the memory of all three."""
    ways = {
        "value": place,
        "forward derivative by one number": lambda x: jax.jvp(place, (x,), (jnp.ones_like(x),)),
        "reverse derivative": jax.value_and_grad(place),
    }
    value = None
    for name, way in ways.items():
        program = jax.jit(way).lower(at).compile()
        _, seconds = cpu_seconds(lambda p=program: p(at), runs)
        value = value or seconds
        if name != "value":
            yield row(f"{name}, over the value", seconds / value, "1")
        yield row(f"{name}, memory", program.memory_analysis().temp_size_in_bytes / 1e6, "MB")
