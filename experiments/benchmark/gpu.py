"""`difsim benchmark gpu`: times and memory of the hot loops on this machine's GPU, and the distance from a CPU's.

A program without steps, such as an ensemble, is timed as a whole.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import gravity
from difsim.dem.near import Near
from difsim.mesh import TriMesh
from difsim.particles.neighbours import Neighbours
from difsim.stepping.marching import EqualSteps, NeighbourList, Progress, advance, allocate, initialise
from difsim.wide import accelerators
from experiments.benchmark import compile, dem, sph
from experiments.benchmark.derivatives import place_by
from experiments.benchmark.timing import row, to_float32
from experiments.cliff.scene import ROWS, Cliff, soil
from inversion.threads import map_in_threads

MEMBERS = 1024  # of an ensemble, side by side
FEW = 16  # of them, which a CPU computes too
GRAINS, STEPS = 10_000, 100
TOUCHING = 1.998 * dem.RADIUS, 0.002  # a lattice's pitch and disorder: spheres touch their six neighbours
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
    """A function and its arguments, pytrees of arrays, which takes so many `steps`.

    A step of particles computes so many `pairs`. A CPU computes `few` rows of the arguments to compare with, or all:
    None.
    """

    function: Callable
    arguments: tuple
    steps: int = 1
    pairs: int = 0
    few: int | None = None


def rows(seeds: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Time and memory of each program, and its distance from a CPU's result where a CPU can compute it."""
    if not (card := accelerators()):
        raise ValueError("benchmark gpu needs a GPU: run it on a machine with one, with difsim[cuda13]")
    makers = PROGRAMS | LARGE
    programs = [make() for make in makers.values()]

    def compile_one(program: Program) -> jax.stages.Compiled:
        return jax.jit(program.function).lower(*jax.device_put(program.arguments, card[0])).compile()

    pairs = dict(zip(makers, zip(programs, map_in_threads(compile_one, programs), strict=True), strict=True))
    for name, (program, compiled) in pairs.items():
        yield row(f"{name}: temporary memory", compiled.memory_analysis().temp_size_in_bytes / 1e6, "MB")
        taken = measure(program, compiled, seeds) / program.steps
        yield row(f"{name}: {'a step' if program.steps > 1 else 'all'}", 1e6 * taken, "us")
        if program.pairs:
            yield row(f"{name}: pairs", 1e-6 * program.pairs / taken, "million/s")
    # After the times, and side by side: a CPU takes as long to compile, and minutes for the large.
    distances = map_in_threads(_compare, [pairs[name] for name in PROGRAMS])
    for name, distance in zip(PROGRAMS, distances, strict=True):
        yield row(f"{name}: furthest from a CPU's result, relative", distance, "1")


def measure(program: Program, compiled: jax.stages.Compiled, seeds: int) -> float:
    """Median seconds of a call on a GPU."""
    arguments, times = jax.device_put(program.arguments, accelerators()[0]), []
    jax.block_until_ready(compiled(*arguments))
    for _ in range(seeds):
        started = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def _compare(pair: tuple[Program, jax.stages.Compiled]) -> float:
    """The distance of a GPU's result from a CPU's, over the largest number there."""
    program, compiled = pair
    here, there = jax.local_devices(backend="cpu")[0], accelerators()[0]
    theirs = _first(program.few, compiled(*jax.device_put(program.arguments, there)))
    ours = jax.jit(program.function)(*jax.device_put(_first(program.few, program.arguments), here))
    floats = (
        [np.asarray(x, float) for x in jax.tree.leaves(r) if eqx.is_inexact_array(x)] for r in (theirs, ours)
    )
    return max((_furthest(a, b) for a, b in zip(*floats, strict=True)), default=0.0)


def _first(rows: int | None, tree: Any) -> Any:
    return tree if rows is None else jax.tree.map(lambda x: x[:rows], tree)


def _furthest(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of `a` over the largest number of `b`; what is not finite must be the same."""
    known = np.isfinite(b)
    if not np.array_equal(a[~known], b[~known], equal_nan=True):
        return np.inf
    scale = np.max(np.abs(b[known]), initial=0.0)
    return float(np.max(np.abs(a - b)[known], initial=0.0) / scale) if scale else float(np.any(a[known]))


def _ensemble(workload: str, jacobian: bool, members: int = MEMBERS) -> Program:
    """Members that differ by a millionth, also where the numbers are zero."""
    work = compile.WORKLOADS[workload]()
    spread = 1e-6 * jnp.arange(members)[:, None]
    return _side_by_side(work.function, work.at + spread * jnp.where(work.at == 0, 1.0, work.at), jacobian)


def _touchdowns(jacobian: bool, members: int) -> Program:
    """Touchdowns of 64 draws of the prior, and of others near them: as far apart as those of a posterior's first."""
    inverse = compile.touchdown()
    draws = np.random.default_rng(0).uniform(0.02, 0.98, size=(64, len(inverse.names)))
    physical = jnp.tile(jax.vmap(inverse.quantile)(jnp.asarray(draws)), (members // 64, 1))
    spread = 1 + 1e-6 * jnp.arange(members)[:, None]
    return _side_by_side(lambda s: inverse.evaluate(s).residual, spread * physical, jacobian)


def _side_by_side(function: Callable, at: jax.Array, jacobian: bool) -> Program:
    return Program(jax.vmap(jax.jacfwd(function) if jacobian else function), (at,), few=FEW)


def _grains(convert: Callable = lambda case: case, count: int = GRAINS) -> Program:
    model, position = convert(dem.bed(count, *TOUCHING))
    return _steps(model, _begin(model, model.at_rest(position)), dem.DT)


def _begin(model: Any, state: Any) -> Progress:
    """The beginning of a run, whose list is made where it runs: a GPU makes a CPU's again at the first step."""
    state = jax.device_put(state, (accelerators() or jax.local_devices(backend="cpu"))[0])
    return initialise(model, state, listed=allocate(model, state))


def _soil(convert: Callable = lambda case: case, rows: int = ROWS) -> Program:
    return _steps(*_heap(convert, rows))


def _heap(convert: Callable = lambda case: case, rows: int = ROWS) -> tuple[Any, Progress, float]:
    cliff = Cliff.build(rows)
    model = cliff.model(soil())
    model, state = convert((model, cliff.state(model)))
    begun = _begin(model, state)
    return model, begun, 0.4 * float(model.stable_time_step(begun.motion))


def _steps(model: Any, begun: Progress, dt: float) -> Program:
    """Steps of particles, which may make lists of neighbours."""
    arrays, static = eqx.partition((model, begun), eqx.is_array)

    def run(arrays):
        model, begun = eqx.combine(arrays, static)
        end = advance(model, begun, jnp.full_like(begun.motion.time, jnp.inf), EqualSteps(dt), jnp.asarray(STEPS))
        return eqx.filter(end, eqx.is_array)

    return Program(run, (arrays,), STEPS, _pairs(begun.neighbours))


def _pairs(near: Near | Neighbours) -> int:
    """The pairs that a step computes: of grains each once, of soil each from both sides."""
    if isinstance(near, Near):
        return int(jnp.sum(near.pairs.first != near.pairs.second))
    return int(jnp.sum(near.index != jnp.arange(near.index.shape[1])[None]))


def _gradient(model_by: Callable, begun: Progress, dt: float, at: float) -> Program:
    """The reverse derivative of where particles are after some steps, by friction."""
    arrays, static = eqx.partition(begun, eqx.is_array)

    def run(friction, arrays):
        begun = eqx.combine(arrays, static)
        near = NeighbourList(begun.neighbours, begun.skin)
        return place_by(model_by, begun.motion.state, near, dt, STEPS)(friction)

    return Program(jax.grad(run), (jnp.asarray(at), arrays))


def _grains_by_friction() -> Program:
    model, position = dem.bed(GRAINS, *TOUCHING)
    by_friction = lambda mu: eqx.tree_at(lambda m: m.law.friction, model, mu)  # noqa: E731
    return _gradient(by_friction, _begin(model, model.at_rest(position)), dem.DT, dem.FRICTION)


def _soil_by_friction() -> Program:
    model, begun, dt = _heap()
    return _gradient(lambda mu: eqx.tree_at(lambda m: m.material.friction, model, mu), begun, dt, 0.4)


def _polyhedron() -> Program:
    """U, g and ∇g of a sphere of triangles, at points around it."""
    import trimesh

    sphere = trimesh.creation.icosphere(5)
    body = gravity.Polyhedron(TriMesh(np.asarray(sphere.vertices), np.asarray(sphere.faces)), 500.0)
    points = 1.5 * np.random.default_rng(0).normal(size=(POINTS, 3))
    return Program(lambda body, points: body.evaluate(points), (body, jnp.asarray(points)))


PROGRAMS: dict[str, Callable[[], Program]] = {
    f"polyhedron, 20480 facets, {POINTS} points": _polyhedron,
    f"grains, {GRAINS} spheres": _grains,
    f"grains, {GRAINS} spheres, float32": lambda: _grains(to_float32),
    f"grains, {GRAINS} spheres, positions in float64, else float32": lambda: _grains(dem.lower_precision),
    f"soil, a heap of {ROWS} rows": _soil,
    f"soil, a heap of {ROWS} rows, float32": lambda: _soil(to_float32),
    f"soil, a heap of {ROWS} rows, positions in float64, else float32": lambda: _soil(sph.lower_precision),
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
# What a card is there for: too large for a CPU's cache.
LARGE: dict[str, Callable[[], Program]] = {
    "grains, 1000000 spheres": lambda: _grains(count=10**6),
    "grains, 1000000 spheres, float32": lambda: _grains(to_float32, 10**6),
    "soil, a heap of 385 rows": lambda: _soil(rows=385),
    "soil, a heap of 385 rows, float32": lambda: _soil(to_float32, 385),
    "touchdown, 65536 draws, values": lambda: _touchdowns(False, 2**16),
    "touchdown, 8192 draws, Jacobian": lambda: _touchdowns(True, 2**13),
    "collision of two stones, 8192 members, values": lambda: _ensemble("pair of stones", False, 2**13),
}
