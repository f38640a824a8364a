"""A continuum of particles: cost against PySPH, by size, of derivatives, and in float32.

The work is the cliff of `difsim cliff`. PySPH has it twice: with our scheme written in its means, from one and the
same state in mid-collapse; and with the equations and the integrator that it ships, from the block at rest.
"""

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import difsim
from difsim import FixedSteps, allocate
from difsim.sph import Continuum
from difsim.sph.continuum import ContinuumState
from difsim.stepping.marching import Progress, initialise
from difsim.stepping.running import resume
from experiments.benchmark.derivatives import cost_rows, place_by
from experiments.benchmark.peers import find_python, run_script
from experiments.benchmark.timing import cpu_seconds, row, to_float32, to_float32_except
from experiments.cliff.scene import ROWS, Cliff, soil

PEER = "DIFSIM_PYSPH_PYTHON"
BEGUN = 0.15  # s after the gate, when the heap is fastest
STEPS = 200
FAR = 10.0  # m along each axis
SHORT = 60  # steps, for what is only compared with itself
LARGER = (120, 222, 385)  # rows of the block: 29 000, 100 000 and 300 000 particles of soil; of 38 rows 2926


def rows(seeds: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Medians over `seeds` runs; the peer in the interpreter that DIFSIM_PYSPH_PYTHON names."""
    cliff = Cliff.build(ROWS)
    model = cliff.model(soil())
    state = difsim.run(model, cliff.state(model), [0.0, BEGUN], save=lambda _: ()).last
    run = initialise(model, state)
    dt = 0.45 * float(model.stable_time_step(run.motion))
    cpu, wall, end = _time(model, run, dt, seeds)
    rest = initialise(model, cliff.state(model))
    yield from _against_peer(
        cliff,
        model,
        dt,
        folder,
        {
            "our scheme": ("sph_peer.py", run, (cpu, wall, end)),
            "its own scheme": ("sph_peer_shipped.py", rest, _time(model, rest, dt, seeds)),
        },
    )
    for size in LARGER:
        yield from _measure_size(size, cpu)
    state, friction = run.motion.state, model.material.friction
    by_friction = lambda x: eqx.tree_at(lambda m: m.material.friction, model, x)  # noqa: E731
    yield from cost_rows(place_by(by_friction, state, allocate(model, state), dt, STEPS), friction, seeds)
    yield from _measure_single_precision(model, run, end, dt, cpu, seeds)


def _time(model: Continuum, run: Progress, dt: float, seeds: int) -> tuple[float, float, Progress]:
    """CPU and wall seconds of a particle-step, medians, and where STEPS steps end."""

    def go():
        return _advance(model, run, dt, STEPS)

    end, cpu = cpu_seconds(go, seeds)
    if int(end.steps) - int(run.steps) != STEPS:
        raise RuntimeError(f"the cliff stopped after {int(end.steps)} of {STEPS} steps: nothing was measured")
    walls = []
    for _ in range(seeds):
        began = time.perf_counter()
        jax.block_until_ready(go().motion.state)
        walls.append(time.perf_counter() - began)
    work = STEPS * run.motion.state.density.size
    return cpu / work, float(np.median(walls)) / work, end


def _advance(model: Continuum, run: Progress, dt: float, steps: int) -> Progress:
    """That many steps of `dt` s from 0 s on."""
    times = [0.0, steps * dt]
    return resume(model, run, times, solver=FixedSteps(steps), save=lambda _: (), throw=False).progress


def _against_peer(
    cliff: Cliff, model: Continuum, dt: float, folder: Path, schemes: dict[str, tuple[str, Progress, tuple]]
) -> Iterator[dict[str, Any]]:
    """Rows of each scheme: its script, where it starts, and what `_time` says of ours from there."""
    python = find_python(PEER, needs="pysph (Debian: python3-pysph, /usr/bin/python3)")
    for name, (script, run, (cpu, wall, end)) in schemes.items():
        count = run.motion.state.density.size
        label = f"cliff of {count} particles, a particle-step"
        if python is None:
            yield row(f"{label}, CPU", 1e6 * cpu, "us")
            yield row(f"{label}, wall", 1e6 * wall, "us")
            continue
        case, result = (folder.resolve() / name for name in ("sph_case.npz", "sph_peer.npz"))
        np.savez(case, **_case(cliff, model, run), dt=dt, steps=STEPS)
        for threads in sorted({1, os.cpu_count() or 1}):
            run_script(python, script, case, result, OMP_NUM_THREADS=str(threads))
            theirs = np.load(result)
            for clock, ours in (("cpu", cpu), ("wall", wall)):
                work = f"{label}, {clock}, {threads} threads of PySPH, {name}"
                yield row(work, 1e6 * ours, "us", 1e6 * float(theirs[clock]))
            apart = np.abs(theirs["position"] - np.asarray(end.motion.state.position)).max()
            yield row(f"furthest apart after {STEPS} steps, {name}", apart / cliff.pitch.max(), "spacings")


def _case(cliff: Cliff, model: Continuum, run: Progress) -> dict[str, Any]:
    """All that a peer needs, as arrays and numbers."""
    material, viscosity = model.material, model.viscosity
    slope, bound = material.cone.match(material.friction, material.cohesion)
    kinds = {"state": run.motion.state, "rate": run.motion.rate}
    return {
        **{f"{k}_{n}": getattr(x, n) for k, x in kinds.items() for n in ("position", "velocity", "density")},
        **{f"{k}_stress": np.asarray(x.stress)[[0, 0, 1, 2], [0, 1, 1, 2]] for k, x in kinds.items()},
        **{name: getattr(viscosity, name) for name in ("alpha", "beta", "sound")},
        **{name: getattr(material, name) for name in ("bulk", "shear", "density")},
        "slope": slope,
        "bound": bound,
        "free": np.arange(run.motion.state.density.size) < cliff.grains,
        "mass": model.mass[0],
        "support": model.kernel.h,
        "gravity": model.gravity[1],
    }


def _measure_size(size: int, cpu: float) -> Iterator[dict[str, Any]]:
    """The cost of a particle-step of a cliff of `size` rows over that of the cliff itself, and memory."""
    cliff = Cliff.build(size)
    model = cliff.model(soil())
    run = initialise(model, cliff.state(model))
    dt = 0.4 * float(model.stable_time_step(run.motion))
    _, seconds = cpu_seconds(lambda: _advance(model, run, dt, 20), 1)
    count = run.motion.state.density.size
    yield row(f"the same, {count} particles, over the cliff's", seconds / 20 / count / cpu, "1")
    # Sizes rise, so the peak is this one's; jax and its compiler are in it.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    yield row(f"peak memory of the process, {count} particles", peak, "MB")


def _measure_single_precision(model, run, end, dt, cpu, seeds) -> Iterator[dict[str, Any]]:
    """float32, at the origin and far from it, all of it or all but positions: cost, and how far from float64."""
    state, place = run.motion.state, end.motion.state.position
    for precision, convert in (("float32", to_float32), ("positions in float64, else float32", lower_precision)):
        for away in (0.0, FAR):
            tools = [eqx.tree_at(lambda t: t.reference, tool, tool.reference + away) for tool in model.tools]
            there = eqx.tree_at(lambda m: m.tools, model, tuple(tools))
            narrow, start = convert((there, eqx.tree_at(lambda s: s.position, state, state.position + away)))
            begun = initialise(narrow, start)
            seconds, _, last = _time(narrow, begun, dt, seeds)
            apart = jnp.max(jnp.abs(last.motion.state.position - away - place)) / model.kernel.h
            pushed = (begun.motion.rate.velocity - run.motion.rate.velocity) / jnp.linalg.norm(model.gravity)
            name = f"{precision}, {away:g} m from the origin"
            yield row(f"{name}, CPU, over float64", seconds / cpu, "1")
            yield row(f"{name}, error of accelerations (rms), over gravity", _rms(pushed), "1")
            yield row(f"{name}, furthest after {STEPS} steps, over the kernel's support", float(apart), "1")


def _rms(x: jax.Array) -> float:
    return float(jnp.sqrt(jnp.mean(x**2)))


def lower_precision(case: tuple[Continuum, ContinuumState]) -> tuple[Continuum, ContinuumState]:
    """A soil and its state in single precision, but for the places of particles and tools."""
    return to_float32_except(lambda case: (case[0].tools, case[1].position), case)
