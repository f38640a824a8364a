"""`difsim benchmark gpu`: the hot loops compiled for an H100, what they launch, and what that costs by a roofline.

Without a GPU the programs are compiled and read, not run. With one they are measured too: the measured time stands in
the column of the peer, beside the model's.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import FixedSteps, Unrolled, gravity, initialise, simulate
from difsim.dem.near import Near
from difsim.mesh import TriMesh
from difsim.particles.neighbours import Neighbours
from difsim.stepping.marching import EqualSteps, Progress, advance
from experiments.benchmarks import compile, dem, sph
from experiments.benchmarks.gpu_program import Loop, read
from experiments.benchmarks.gpu_target import compiled_for_h100
from experiments.benchmarks.timing import in_float32, row
from experiments.cliff.scene import ROWS, Cliff, soil

MEMBERS = 1024  # of an ensemble, side by side
GRAINS, STEPS = 10_000, 100
POINTS = 2**17
ENSEMBLES = {
    "touchdown": "touchdown",
    "hopper": "hopper",
    "flight in a polyhedron": "flight in a polyhedron",
    "flight in a fast field": "flight in a fast field",
    "collision of two stones": "pair of stones",
    "pixels of an arc": "camera, pixels of an arc",
}


class Program(NamedTuple):
    """A function and its arguments, pytrees of arrays; the loop `at` whose turn is one of its `steps`.

    Without such a loop `at` is (), the whole program, or None where its loops have an unknown number of turns. A step
    of particles computes so many `pairs`.
    """

    function: Callable
    arguments: tuple
    at: tuple[int, ...] | None = None
    steps: int = 1
    pairs: int = 0


def rows(seeds: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Of each program: by loop what a turn launches and moves; of the whole, memory, library calls, and times."""
    for name, make in PROGRAMS.items():
        yield from rows_of(name, make(), seeds)


def rows_of(name: str, program: Program, seeds: int = 3) -> Iterator[dict[str, Any]]:
    """The rows of one program, whose time is the median of `seeds` calls."""
    compiled = compiled_for_h100(program.function, *program.arguments)
    whole = read(compiled.as_text())
    loops = {loop.path: loop for loop in whole.all()}
    library = Counter()
    for path, loop in loops.items():
        if path:
            library += loop.library
            yield from _of_loop(f"{name}, a turn of loop {'.'.join(map(str, path))}", loop)
    yield row(f"{name}: temporary memory", compiled.memory_analysis().temp_size_in_bytes / 1e6, "MB")
    for call, count in library.items():
        yield row(f"{name}: {call}, in loops", count, "calls")
    seconds = _measured(program, seeds) / program.steps
    if program.at is not None:
        work = "a step" if program.at else "all"
        yield row(
            f"{name}: {work} by the roofline, and measured", 1e6 * loops[program.at].seconds, "us", 1e6 * seconds
        )
        if program.pairs:
            ours, measured = (1e-6 * program.pairs / one for one in (loops[program.at].seconds, seconds))
            yield row(f"{name}: pairs by the roofline, and measured", ours, "million/s", measured)
    elif np.isfinite(seconds):
        yield row(f"{name}: measured", np.nan, "s", seconds)


def _of_loop(name: str, loop: Loop) -> Iterator[dict[str, Any]]:
    turns = f", {loop.turns} turns" if loop.turns else ""
    yield row(f"{name}: kernels{turns}", loop.kernels.total(), "kernels")
    yield row(f"{name}: conditions that wait for the host", loop.conditionals + len(loop.inner), "waits")
    yield row(f"{name}: read and written, at most", loop.moved / 1e6, "MB")


def _measured(program: Program, seeds: int) -> float:
    """Median seconds of a call on a GPU; NaN without one."""
    if jax.default_backend() != "gpu":
        return np.nan
    function, times = jax.jit(program.function), []
    jax.block_until_ready(function(*program.arguments))
    for _ in range(seeds):
        started = time.perf_counter()
        jax.block_until_ready(function(*program.arguments))
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def _ensemble(workload: str, jacobian: bool) -> Program:
    """Members that differ by a millionth."""
    work = compile.WORKLOADS[workload]()
    spread = 1 + 1e-6 * jnp.arange(MEMBERS)[:, None]
    return Program(jax.vmap(jax.jacfwd(work.function) if jacobian else work.function), (spread * work.at[None],))


def _grains(convert: Callable = lambda case: case) -> Program:
    model, position = convert(dem.bed(GRAINS))
    return _steps(model, initialise(model, model.at_rest(position)), dem.DT)


def _soil(convert: Callable = lambda case: case) -> Program:
    return _steps(*_heap(convert))


def _heap(convert: Callable = lambda case: case) -> tuple[Any, Progress, float]:
    cliff = Cliff.of(ROWS)
    model = cliff.model(soil())
    model, state = convert((model, cliff.state(model)))
    begun = initialise(model, state)
    return model, begun, 0.4 * float(model.stable_time_step(begun.motion))


def _steps(model: Any, begun: Progress, dt: float) -> Program:
    """Steps of particles: a loop that makes lists of neighbours, and in it one that makes steps."""
    arrays, static = eqx.partition((model, begun), eqx.is_array)

    def run(arrays):
        model, begun = eqx.combine(arrays, static)
        end = advance(model, begun, jnp.full_like(begun.motion.time, jnp.inf), EqualSteps(dt), jnp.asarray(STEPS))
        return eqx.filter(end, eqx.is_array)

    return Program(run, (arrays,), (1, 1), STEPS, _pairs(begun.neighbours))


def _pairs(near: Near | Neighbours) -> int:
    """The pairs that a step computes: of grains each once, of soil each from both sides."""
    if isinstance(near, Near):
        return int(jnp.sum(near.pairs.first != near.pairs.second))
    return int(jnp.sum(near.index != jnp.arange(near.index.shape[1])[None]))


def _by_friction(model: Callable, begun: Progress, dt: float, friction: float) -> Program:
    """The reverse derivative of where particles are after some steps."""

    def run(friction):
        way = {"solver": FixedSteps(STEPS), "derivative": Unrolled()}
        end = simulate(model(friction), begun, [0.0, STEPS * dt], **way, throw=False)
        return jnp.mean(end.last.position)

    return Program(jax.grad(run), (jnp.asarray(friction),))


def _grains_by_friction() -> Program:
    model, position = dem.bed(GRAINS)
    begun = initialise(model, model.at_rest(position))
    with_friction = lambda mu: eqx.tree_at(lambda m: m.law.friction, model, mu)  # noqa: E731
    return _by_friction(with_friction, begun, dem.DT, dem.FRICTION)


def _soil_by_friction() -> Program:
    model, begun, dt = _heap()
    with_friction = lambda mu: eqx.tree_at(lambda m: m.material.friction, model, mu)  # noqa: E731
    return _by_friction(with_friction, begun, dt, 0.4)


def _polyhedron() -> Program:
    """U, g and ∇g of a sphere of triangles, at points around it."""
    import trimesh

    sphere = trimesh.creation.icosphere(5)
    body = gravity.Polyhedron(TriMesh(np.asarray(sphere.vertices), np.asarray(sphere.faces)), 500.0)
    points = 1.5 * np.random.default_rng(0).normal(size=(POINTS, 3))
    return Program(lambda body, points: body.evaluate(points), (body, jnp.asarray(points)), ())


PROGRAMS: dict[str, Callable[[], Program]] = {
    f"polyhedron, 20480 facets, {POINTS} points": _polyhedron,
    f"grains, {GRAINS} spheres": _grains,
    f"grains, {GRAINS} spheres, float32": lambda: _grains(in_float32),
    f"grains, {GRAINS} spheres, positions in float64, else float32": lambda: _grains(dem.all_but_positions),
    f"soil, a heap of {ROWS} rows": _soil,
    f"soil, a heap of {ROWS} rows, float32": lambda: _soil(in_float32),
    f"soil, a heap of {ROWS} rows, positions in float64, else float32": lambda: _soil(sph.all_but_positions),
    **{
        f"{name}, {MEMBERS} members, {kind}": lambda workload=workload, kind=kind: _ensemble(
            workload, kind != "values"
        )
        for name, workload in ENSEMBLES.items()
        for kind in ("values", "Jacobian")
    },
    f"grains, {GRAINS} spheres, reverse derivative of {STEPS} steps": _grains_by_friction,
    f"soil, a heap of {ROWS} rows, reverse derivative of {STEPS} steps": _soil_by_friction,
}
