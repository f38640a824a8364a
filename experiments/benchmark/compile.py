"""`difsim benchmark compile`: how long the first call takes, by workload and derivative, and what it is made of.

The peer of the models that are ordinary differential equations is a bare solve of diffrax with the same field, to the
same tolerances, which ends where the surface is touched or at the last time: what XLA needs for that much.
Both are compiled as fits are, by `compile_sooner`.
"""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from difsim import Forward, Ignore, Reverse, allocate, simulate
from difsim.dynamics import AbstractModel, Flight, FlightState
from difsim.gravity import AbstractField, Gridded, Polyhedron
from difsim.session import OLDER_EMITTER
from difsim.shape import Sphere, comet_67p
from difsim.stepping.marching import initialise
from experiments.agilkia.chain import OUTPUTS, descend, move_to_landing
from experiments.agilkia.descent import AGILKIA
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.scenario import STRICT, problem
from experiments.agilkia.solve import with_solver
from experiments.agilkia.worlds import analogue
from experiments.benchmark import gradient_scenes
from experiments.benchmark.cobbles import _ends
from experiments.benchmark.dem import DT, bed
from experiments.benchmark.derivatives import place_by
from experiments.benchmark.peers import ask
from experiments.benchmark.timing import row
from experiments.cliff.scene import Cliff, soil
from experiments.cobbles import paper
from experiments.cobbles.arcs import ArcProblem, Tracks, images
from experiments.cobbles.collision import STEP
from experiments.cobbles.montecarlo import times, world
from experiments.cobbles.paper import BOX
from experiments.cobbles.scene import release, smooth
from experiments.cobbles.stones import cobble, stone
from experiments.scenes import hard
from experiments.scenes.scene import Scene
from inversion import Problem

UNITS = {
    "trace": "s CPU",
    "lower": "s CPU",
    "compile": "s CPU",
    "all of these": "s CPU",
    "size of the program": "operations",
    "first run": "ms CPU",
    "later runs": "ms CPU",
    "traced again for other numbers": "times",
}
FORWARD, REVERSE = "Jacobian, forward", "gradient, reverse"


class Workload(NamedTuple):
    """A function of numbers `at` [n]; the same for reverse derivatives, and a peer, each None where there is none."""

    function: Callable
    at: jax.Array
    reverse: Callable | None = None
    peer: Callable | None = None


def rows(seeds: int, folder: Path) -> Iterator[dict[str, Any]]:
    """CPU seconds of all threads; one compilation each, without the cache that is kept between runs."""
    kept = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        for name, make in WORKLOADS.items():
            work = make()
            for kind, function, peer in _kinds(work):
                ours = _measure(function, work.at)
                theirs = _measure(peer, work.at) if peer else {}
                for what, value in ours.items():
                    yield row(f"{name}, {kind}: {what}", value, UNITS[what], theirs.get(what, np.nan))
    finally:
        jax.config.update("jax_enable_compilation_cache", kept)
    peers = ask("DIFSIM_COMPILE_PEERS", "compile_peers.py", needs="mujoco-mjx and jax-md of our jax")
    for name, kinds in (peers or {}).items():
        for kind, stages in kinds.items():
            for what, value in stages.items():
                yield row(f"{name}, {kind}: {what}", np.nan, UNITS[what], value)


def _kinds(work: Workload) -> Iterator[tuple[str, Callable, Callable | None]]:
    yield "value", work.function, work.peer
    yield FORWARD, jax.jacfwd(work.function), work.peer and jax.jacfwd(work.peer)
    if work.reverse is not None:
        yield REVERSE, jax.jacrev(work.reverse), None


def _measure(function: Callable, at: jax.Array) -> dict[str, float]:
    """Each stage of the first call, and later calls."""
    jax.clear_caches()
    traces = []

    def count(x):
        traces.append(x)
        return function(x)

    program = jax.jit(count, compiler_options=OLDER_EMITTER)
    traced, to_trace = _cpu(lambda: program.trace(at))
    lowered, to_lower = _cpu(traced.lower)
    compiled, to_compile = _cpu(lowered.compile)
    size = len(re.findall(r"^\s+(?:%\S+ = |stablehlo)", lowered.as_text(), re.MULTILINE))
    _, first = _cpu(lambda: jax.block_until_ready(compiled(at)))
    runs = [_cpu(lambda: jax.block_until_ready(compiled(at)))[1] for _ in range(5)]
    before = len(traces)
    jax.block_until_ready(program(at * (1 + 1e-9)))
    return {
        "trace": to_trace,
        "lower": to_lower,
        "compile": to_compile,
        "all of these": to_trace + to_lower + to_compile,
        "size of the program": size,
        "first run": 1e3 * first,
        "later runs": 1e3 * float(np.median(runs)),
        "traced again for other numbers": len(traces) - before,
    }


def _cpu(call: Callable) -> tuple[Any, float]:
    started = time.process_time()
    found = call()
    return found, time.process_time() - started


def _build_scene(scene: Scene, *by: str) -> Workload:
    """A scene by some of its numbers; the bare solve has its field and one event."""
    middle = jax.tree.map(jnp.asarray, scene.middle)
    at = jnp.stack([middle[name] for name in by])
    until = {} if scene.engine.until is None else {"until": scene.engine.until}

    def build(p):
        return scene.build(middle | dict(zip(by, p, strict=True)))

    def observe(state):
        return ravel_pytree(scene.observe(state))[0]

    def run(p, **way):
        return observe(simulate(*build(p), **until, **way, throw=False, trust=Ignore()).last)

    def run_bare(p):
        model, state, times = build(p)
        return observe(_solve(model, state, times[-1]))

    return Workload(run, at, lambda p: run(p, derivative=Reverse()), run_bare)


def _solve(model: AbstractModel, state: Any, end: float) -> Any:
    """The state where a bare solve ends."""
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, model: model.vector_field(t, y)),
        diffrax.Tsit5(),
        t0=0.0,
        t1=end,
        dt0=None,
        y0=state,
        args=model,
        saveat=diffrax.SaveAt(t1=True),
        stepsize_controller=diffrax.PIDController(1e-8, 1e-9),
        event=diffrax.Event(lambda t, y, model, **_: model.approach(t, y).gap),
        adjoint=diffrax.ForwardMode(),
        max_steps=20_000,
        throw=False,
    )
    return jax.tree.map(lambda x: x[-1], solution.ys)


def _flight(field: AbstractField) -> Workload:
    """An hour about the body; the bare solve stops at the surface, which it does not reach."""
    ground = Sphere((0.0, 0.0, 0.0), 500.0)

    def start(p):
        position = jnp.stack([p[0], 0 * p[0], 0 * p[0]])
        return Flight(field, (0.0, 0.0, 1.4e-4), ground), FlightState(position, (0.0, 0.5, 0.0))

    def run(p, **way):
        model, state = start(p)
        return simulate(model, state, jnp.asarray([0.0, 3600.0]), **way, throw=False).last.position

    return Workload(
        run,
        jnp.asarray([5000.0]),
        lambda p: run(p, derivative=Reverse()),
        lambda p: _solve(*start(p), 3600.0).position,
    )


def _mesh_and_field() -> tuple[Any, Polyhedron]:
    mesh = comet_67p(spacing=300.0)
    return mesh, Polyhedron(mesh, 533.0)


def _polyhedron() -> Workload:
    return _flight(_mesh_and_field()[1])


def _fast_field() -> Workload:
    mesh, body = _mesh_and_field()
    return _flight(Gridded.fit(body, mesh, 400.0))


def touchdown() -> Problem:
    """Philae's, by its continuous unknowns."""
    return problem(read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_published.toml")).relax()


def _touchdown() -> Workload:
    inverse = touchdown()
    return Workload(lambda s: inverse.evaluate(s).residual, inverse.quantile(jnp.full(len(inverse.names), 0.5)))


def _chain() -> Workload:
    """Descent, touchdown and bounce, by the nine continuous unknowns and the six numbers of the separation."""
    around = analogue()
    lander, data = read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_published.toml")
    inverse = with_solver(problem(lander, data, around), STRICT, Forward()).relax()
    middle = inverse.to_dict(inverse.physical(inverse.quantile(jnp.full(inverse.size, 0.5))))
    names, begin = [name for name in inverse.names if name != "scenario"], AGILKIA.separation

    def ends(x):
        p = middle | {name: x[i] for i, name in enumerate(names)} | {"scenario": 0.0}
        landing, _, _ = descend(around, FlightState(x[-6:-3], x[-3:]))
        observed, _ = move_to_landing(inverse.predict, around, landing)(p)
        return jnp.concatenate([jnp.atleast_1d(observed[name]) for name in OUTPUTS])

    at = [*(middle[name] for name in names), *begin.position, *begin.velocity]
    return Workload(ends, jnp.stack(at))


def _camera() -> Workload:
    """The pixels of an arc by the twelve numbers of its state."""
    truth = world(2, cobble("generated", 5))
    known, x, t = truth.known[0], truth.states[1][0], jnp.asarray(times(1))
    arc = ArcProblem(known, Tracks(t, images(known, x, t), truth.seen[1][0]), 3.0, jnp.inf, x, jnp.asarray(BOX[1]))
    residual = lambda s: arc.evaluate(s).residual  # noqa: E731
    return Workload(residual, jnp.zeros(12), residual)


def _stones() -> Workload:
    body, state = stone(cobble("generated", 5)), release(paper.INCLINATION)
    at = jnp.array([paper.RESTITUTION, paper.FRICTION])
    return Workload(lambda p: _ends(body, smooth, p, jnp.array(STEP), state), at)


def _grains() -> Workload:
    model, position = bed(1000)
    state = model.at_rest(position)
    return _particles(lambda p: eqx.tree_at(lambda m: m.law.friction, model, p[0]), model, state, DT, 0.5)


def _soil() -> Workload:
    cliff = Cliff.build(12)
    model = cliff.model(soil())
    state = cliff.state(model)
    dt = 0.4 * float(model.stable_time_step(initialise(model, state).motion))
    return _particles(lambda p: eqx.tree_at(lambda m: m.material.friction, model, p[0]), model, state, dt, 0.4)


def _particles(model_by: Callable, model: Any, state: Any, dt: float, friction: float) -> Workload:
    """Twenty steps; one unrolled program has both derivatives."""
    place = place_by(model_by, state, allocate(model, state), dt, 20)
    return Workload(place, jnp.array([friction]), place)


WORKLOADS = {
    "bounce of a point": lambda: _build_scene(hard.BOUNCING, "height", "restitution"),
    "hard ball that bounces and rolls": lambda: _build_scene(hard.BOUNCING_BALL, "restitution", "friction"),
    "ball that slides and rolls": lambda: _build_scene(gradient_scenes.ROLLING, "friction", "along"),
    "hopper": lambda: _build_scene(gradient_scenes.TUMBLING, "restitution", "friction", "height"),
    "touchdown": _touchdown,
    "flight in a polyhedron": _polyhedron,
    "flight in a fast field": _fast_field,
    "chain of Agilkia": _chain,
    "camera, pixels of an arc": _camera,
    "pair of stones": _stones,
    "grains": _grains,
    "soil": _soil,
}
