"""The first call of MuJoCo MJX and JAX MD, in an interpreter of their own that `DIFSIM_COMPILE_PEERS` names.

Run as a script with a Python that has `mujoco-mjx` and `jax-md` of one jax: it prints one line of JSON, for each
workload of `difsim benchmark compile` the stages of each derivative. Nothing of difsim is imported here.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jax_md import energy, simulate, space
from mujoco import mjx

BALL = """<mujoco>
  <option gravity="0 0 -9.81" timestep="0.001"/>
  <worldbody>
    <geom type="plane" size="5 5 1" condim="1" solref="-100000 -45"/>
    <body pos="0 0 1.3"><freejoint/><geom type="sphere" size="0.1" mass="1" condim="1" solref="-100000 -45"/></body>
  </worldbody>
</mujoco>"""
GRAINS, SIDE, STEPS = 1000, 10, 20


def bounce() -> tuple[Callable, jax.Array]:
    """MJX: the height of a ball after one bounce, 1000 steps."""
    model = mjx.put_model(mujoco.MjModel.from_xml_string(BALL))
    start = mjx.make_data(model)

    def end(p):
        data = start.replace(qpos=start.qpos.at[2].set(p[0]))
        return jax.lax.fori_loop(0, 1000, lambda _, d: mjx.step(model, d), data).qpos[2]

    return end, jnp.array([1.3])


def grains() -> tuple[Callable, jax.Array]:
    """JAX MD: the mean height of soft spheres after 20 steps, by their stiffness."""
    displacement, shift = space.periodic(float(SIDE))
    near, force = energy.soft_sphere_neighbor_list(displacement, float(SIDE), alpha=2.5)
    place = np.stack(np.meshgrid(*[np.arange(10.0)] * 3), axis=-1).reshape(-1, 3)
    place = jnp.asarray(place + 0.1 * np.random.default_rng(0).uniform(size=(GRAINS, 3)))
    listed = near.allocate(place)

    def end(p):
        init, step = simulate.nve(lambda r, **kwargs: force(r, epsilon=p[0], **kwargs), shift, 1e-3)
        state = init(jax.random.PRNGKey(0), place, kT=0.1, neighbor=listed)

        def one(carry, _):
            state, listed = carry
            listed = listed.update(state.position)
            return (step(state, neighbor=listed), listed), None

        (state, _), _ = jax.lax.scan(one, (state, listed), length=STEPS)
        return jnp.mean(state.position)

    return end, jnp.array([1.0])


def cpu(call: Callable) -> tuple[Any, float]:
    """The result of `call()`, and its CPU seconds of all threads."""
    started = time.process_time()
    found = call()
    return found, time.process_time() - started


def measure(function: Callable, at: jax.Array) -> dict[str, float]:
    """The stages of the first call, and later runs, in the names of `compile._measure`."""
    jax.clear_caches()
    traced, to_trace = cpu(lambda: jax.jit(function).trace(at))
    lowered, to_lower = cpu(traced.lower)
    compiled, to_compile = cpu(lowered.compile)
    _, first = cpu(lambda: jax.block_until_ready(compiled(at)))
    runs = [cpu(lambda: jax.block_until_ready(compiled(at)))[1] for _ in range(5)]
    return {
        "trace": to_trace,
        "lower": to_lower,
        "compile": to_compile,
        "all of these": to_trace + to_lower + to_compile,
        "first run": 1e3 * first,
        "later runs": 1e3 * float(np.median(runs)),
    }


def main() -> None:
    """Print all of it."""
    jax.config.update("jax_enable_x64", True)
    found = {}
    for name, make in (("bounce of a ball in MJX", bounce), ("grains in JAX MD", grains)):
        function, at = make()
        kinds = {"value": function, "Jacobian, forward": jax.jacfwd(function)}
        if name.startswith("grains"):  # a loop of MJX's solver has no reverse derivative
            kinds["gradient, reverse"] = jax.jacrev(function)
        found[name] = {kind: measure(f, at) for kind, f in kinds.items()}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
