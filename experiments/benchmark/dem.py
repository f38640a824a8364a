"""Grains: cost of a settling bed against LIGGGHTS and YADE, by size, and of derivatives.

The work is a loose lattice of equal spheres in a box that falls together under gravity: all sides begin with the
same positions and make the same steps with the same law (Hertz, Mindlin's spring with Coulomb's bound, the same
damping ratio). Grains are chaotic, so what is compared of the results is the mean height at the end.
"""

import json
import math
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import FixedSteps, allocate, run
from difsim.contact.restitution import attractive_restitution, clipped_ratio
from difsim.dem import Grains, HertzMindlin
from difsim.shape import Plane
from experiments.benchmark.derivatives import cost_rows, place_by
from experiments.benchmark.timing import cpu_seconds, row, to_float32, to_float32_except

RADIUS, DENSITY, GRAVITY = 5e-3, 2500.0, 9.81
MODULUS, POISSON, RESTITUTION, FRICTION = 1e7, 0.25, 0.5, 0.5
PITCH, WIDE = 2.2 * RADIUS, 20  # of the lattice, m, and how many spheres wide the box is
DT, STEPS = 2e-5, 5000  # s: a tenth of a second, in which the bed falls together
SHORT = 500  # steps, for what is only compared with itself
COUNT, OTHERS = 10_000, (1_000, 100_000)
SKIN = 0.06  # of a diameter: what suits all three best here
WIDER = 0.2  # for short runs, where spheres are apart at first: else there would be no pairs to make


def rows(seeds: int, folder: Path) -> Iterator[dict[str, Any]]:
    """Medians over `seeds` runs; peers where `liggghts` and `yade` (Debian's packages) are installed."""
    seeds = min(seeds, 3)  # a run takes half a minute
    model, position = bed(COUNT)
    ours, end = _settle(model, position, seeds)
    height = float(jnp.mean(end.position[2]))
    label = f"bed of {COUNT} spheres, a particle-step"
    for name, peer in (("LIGGGHTS", _liggghts), ("YADE", _yade)):
        theirs = peer(model, position, folder)
        if theirs is None:
            print(f"{name.lower()} is not installed (Debian: {name.lower()}): no peer")
            yield row(f"{label}, CPU, {name}", 1e6 * ours, "us")
            continue
        yield row(f"{label}, CPU, {name}", 1e6 * ours, "us", 1e6 * theirs["cpu"] / COUNT / STEPS)
        yield row(f"mean height after {STEPS} steps, {name}", height, "m", theirs["height"])
    short, there = _settle(model, position, seeds, SHORT, WIDER)
    single, near = _settle(to_float32(model), to_float32(position), seeds, SHORT, WIDER)
    yield row("float32, CPU, over float64", single / short, "1")
    apart = jnp.max(jnp.abs(near.position - there.position)) / RADIUS
    yield row(f"float32, furthest from float64 after {SHORT} steps, over the radius", float(apart), "1")
    for count in OTHERS:
        cost, _ = _settle(*bed(count), seeds, SHORT, WIDER)
        yield row(f"{SHORT} steps of {count} spheres, a particle-step, over that of {COUNT}", cost / short, "1")
    by_friction = lambda x: eqx.tree_at(lambda m: m.law.friction, model, x)  # noqa: E731
    place = place_by(by_friction, end, allocate(model, end), DT, 100)
    yield from cost_rows(place, model.law.friction, seeds)


def lower_precision(case: tuple[Grains, jax.Array]) -> tuple[Grains, jax.Array]:
    """Grains in single precision, but for their places and walls."""
    return to_float32_except(lambda case: (case[0].walls, case[1]), case)


def bed(count: int, pitch: float = PITCH, disorder: float = 0.01) -> tuple[Grains, jax.Array]:
    """The grains and where they begin, on a lattice of a pitch, m, that is disturbed by so much of it."""
    side = WIDE * pitch
    places = np.stack(np.unravel_index(np.arange(count), (count // WIDE**2 + 1, WIDE, WIDE))[::-1]).astype(float)
    places += 0.5 + disorder * np.random.default_rng(0).normal(size=places.shape)
    ends = [Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))]
    for axis in np.eye(3)[:2]:
        ends += [Plane(0.0 * axis, axis), Plane(side * axis, -axis)]
    law = HertzMindlin(MODULUS, POISSON, RESTITUTION, FRICTION)
    gravity = (0.0, 0.0, -GRAVITY)
    return Grains(law, np.full(count, RADIUS), DENSITY, gravity, tuple(ends)), jnp.asarray(pitch * places)


def _settle(
    model: Grains, position: jax.Array, runs: int, steps: int = STEPS, skin: float = SKIN
) -> tuple[float, Any]:
    """CPU seconds of a particle-step, and the state at the end."""

    def go():
        state = model.at_rest(position)
        solver = FixedSteps(steps, neighbours=allocate(model, state, skin=skin))
        return run(model, state, [0.0, DT * steps], solver=solver, save=lambda _: ()).last

    end, cpu = cpu_seconds(go, runs)
    return cpu / steps / position.shape[1], end


def _peer_inputs() -> dict[str, float]:
    """The settings of both peers."""
    # Their dampers may pull: this restitution gives them the damping ratio of ours.
    restitution = attractive_restitution(clipped_ratio(jnp.asarray(RESTITUTION)))
    return {
        "side": WIDE * PITCH,
        "skin": SKIN * 2 * RADIUS,
        "modulus": MODULUS,
        "poisson": POISSON,
        "restitution": float(restitution),
        "gravity": GRAVITY,
        "dt": DT,
        "steps": STEPS,
    }


def _liggghts(model: Grains, position: jax.Array, folder: Path) -> dict[str, float] | None:
    program = shutil.which("liggghts")
    if program is None:
        return None
    side, top = WIDE * PITCH, float(jnp.max(position[2])) + PITCH
    lines = [
        "settling bed",
        "",
        f"{position.shape[1]} atoms",
        "1 atom types",
        f"{-RADIUS} {side + RADIUS} xlo xhi",
        f"{-RADIUS} {side + RADIUS} ylo yhi",
        f"{-RADIUS} {top} zlo zhi",
        "",
        "Atoms",
        "",
    ]
    lines += [
        f"{i + 1} 1 {2 * RADIUS} {DENSITY} {x} {y} {z}" for i, (x, y, z) in enumerate(np.asarray(position).T)
    ]
    data = folder / "dem_liggghts.data"
    data.write_text("\n".join(lines) + "\n")
    given = _peer_inputs() | {"data": data.resolve(), "friction": FRICTION}
    script = Path(__file__).with_name("dem_liggghts.in").resolve()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run(
        [program, "-in", script, *(str(w) for k, v in given.items() for w in ("-var", k, v))],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    ).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    height = re.search(rf"^\s*{STEPS}\s+\S+\s+(\S+)\s*$", said, re.MULTILINE)
    return {"cpu": cpu, "height": float(height[1])}


def _yade(model: Grains, position: jax.Array, folder: Path) -> dict[str, float] | None:
    program = shutil.which("yade")
    if program is None:
        return None
    case, result = (folder / name for name in ("dem_yade_case.json", "dem_yade.json"))
    given = {"position": np.asarray(position).T.tolist(), "radius": RADIUS, "density": DENSITY}
    case.write_text(json.dumps(_peer_inputs() | given | {"friction_angle": math.atan(FRICTION)}))
    script = Path(__file__).with_name("dem_yade.py").resolve()
    environment = os.environ | {"DEM_CASE": str(case.resolve()), "DEM_RESULT": str(result.resolve())}
    subprocess.run([program, "-x", "-n", "-j1", script], check=True, env=environment, capture_output=True)
    return json.loads(result.read_text())
