"""`difsim benchmark gradients`: errors and costs of derivatives through contact, ours and what others offer.

Rows come in pairs: the error of the Jacobian (worst entry over largest) with steps per contact and growth of the
tangents in its text, and its cost over a run without derivatives. Everything is computed, what is known to be
wrong too: plain derivatives through the steps stand there to show why they are not the default.
"""

import json
import math
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from tqdm import tqdm

from difsim import Adaptive, FixedSteps, Forward, MaxImpacts, Reverse, Status
from experiments.benchmarks import gradient_touchdown
from experiments.benchmarks.gradient_cases import (
    CLIPPED,
    JUMPING,
    KINKED,
    MAX_STEPS,
    PROPORTIONAL,
    Case,
    Way,
    end,
    error,
    hard_bounces,
    hard_oblique,
    hard_pair,
    jacobian,
    oblique_impact,
    reference,
    sliding_to_rolling,
    slow_cube,
    soft_bounces,
    soft_pair,
    tumbling_cube,
)
from experiments.benchmarks.timing import cpu_seconds, row

PEERS = "DIFSIM_GRADIENT_PEERS"  # a Python with mujoco-mjx and brax
TOLERANCES = (1e-6, 1e-8, 1e-10)
REPEATS = 5


def forward(tolerance: float, weight: float = 1.0) -> Way:
    """Forward derivatives at a tolerance."""
    solver = Adaptive(tolerance, 0.1 * tolerance, max_steps=MAX_STEPS)
    return {"solver": solver, "derivative": Forward(weight)}


def reverse(tolerance: float) -> Way:
    """Reverse derivatives at a tolerance."""
    return {"solver": Adaptive(tolerance, 0.1 * tolerance, max_steps=16_384), "derivative": Reverse()}


CONTROLLED = {f"forward {t:g}": forward(t) for t in TOLERANCES}
# Tangents that hardly count in the error norm go along with the value's steps: plain forward mode.
PLAIN = {f"plain forward {t:g}": forward(t, 1e-12) for t in TOLERANCES}
REVERSE = {f"reverse {t:g}": reverse(t) for t in TOLERANCES}
EQUAL = {f"equal steps, {n}": {"solver": FixedSteps(n)} for n in (4000, 40_000)}
EVERY = CONTROLLED | PLAIN | REVERSE | EQUAL


def suite() -> list[tuple[Case, dict[str, Way]]]:
    """Every case with the ways to run it."""
    bounces = (1, 2, 3, 4, 6, 8, 10)
    return [
        # One number of impacts for all: another one compiles again.
        *((hard_bounces(n), {"impacts": {"until": MaxImpacts(bounces[-1])}}) for n in bounces),
        (hard_oblique(), {"impacts": {"until": MaxImpacts(1)}}),
        (hard_pair(), {"impacts": {"until": MaxImpacts(1)}}),
        (soft_bounces(1), EVERY),
        *((soft_bounces(n), CONTROLLED) for n in bounces[1:]),
        *((soft_bounces(n, CLIPPED, "clipped force"), CONTROLLED) for n in (1, 10)),
        (soft_bounces(1, PROPORTIONAL, "damper with the force, sharp"), CONTROLLED | PLAIN),
        (soft_bounces(1, KINKED, "kink at touch"), EVERY),
        (soft_bounces(1, JUMPING, "jump at touch"), EVERY),
        (soft_pair(), CONTROLLED | PLAIN),
        (oblique_impact(), CONTROLLED | PLAIN),
        (sliding_to_rolling(), CONTROLLED | PLAIN),
        *((tumbling_cube(n), CONTROLLED) for n in (1, 4, 6, 10)),
        *((slow_cube(n), CONTROLLED) for n in (1, 4, 8)),
    ]


def rows(points: int, _: Path) -> list[dict[str, Any]]:
    """The suite, the single bounce in other engines, and the touchdown at `points` random points of its prior."""
    with ThreadPoolExecutor() as beside:
        peers = beside.submit(peer_rows)  # a process of its own: costs are CPU time, so it may run beside
        found, last = [], None
        for case, ways in (cases := tqdm(suite())):
            cases.set_description(case.name)
            if case.build is not last:  # a hundred programs of adaptive loops would take some GB
                jax.clear_caches()
            last = case.build
            found += case_rows(case, ways)
        touchdown = gradient_touchdown.rows(points)
        return found + peers.result() + touchdown


def case_rows(case: Case, ways: dict[str, Way]) -> list[dict[str, Any]]:
    """Error of each way, and its cost over a run without derivatives."""
    exact = reference(case)
    p, time_ = jnp.asarray(case.at), jnp.asarray(case.time)
    found = []
    for name, way in ways.items():
        worst, solution = error(case, way, exact)
        slope = cpu_seconds(lambda way=way: jacobian(case.build, case.watch, way, p, time_), REPEATS)[1]
        plain = cpu_seconds(lambda way=way: end(case.build, case.watch, way, p, time_), REPEATS)[1]
        found.append(row(f"{case.name}, {name}{_notes(solution)}", worst, "relative"))
        found.append(row(f"{case.name}, {name}: cost of {len(p)}", slope / plain, "forward"))
    return found


def _notes(solution) -> str:
    steps, grown = float(solution.stats.steps_per_contact), solution.validity
    notes = [f"{steps:.0f} steps"] if math.isfinite(steps) else []
    if math.isfinite(grown.growth):
        notes.append(f"growth {float(grown.growth):.2g} of {float(grown.limit):.0g}")
    if solution.status != 0:
        notes.append(str(Status(int(solution.status))))
    return f" ({', '.join(notes)})" if notes else ""


def peer_rows() -> list[dict[str, Any]]:
    """The single bounce in MuJoCo MJX and Brax: `ours` is the engine's own derivative, `peer` what it should be.

    They need a Python of their own, named by the environment variable DIFSIM_GRADIENT_PEERS
    (`pip install mujoco-mjx brax`). By the height it should be the closed form's, by the engine's number for
    restitution the slope of its own values.
    """
    interpreter = os.environ.get(PEERS)
    if not interpreter:
        print(f"no rows of other engines: set {PEERS} to a Python with mujoco-mjx and brax")
        return []
    script = Path(__file__).parent / "gradient_peers.py"
    # Without our flags of XLA: as their users run them.
    theirs = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    done = subprocess.run([interpreter, script], stdout=subprocess.PIPE, text=True, check=True, env=theirs)
    found = []
    for engine in json.loads(done.stdout.splitlines()[-1]):
        derivative = engine["derivative"] or [math.nan, math.nan]
        expected = (engine["closed"], engine["slopes"][1])
        for what, ours, peer in zip(("height", engine["parameter"]), derivative, expected, strict=True):
            work = f"{engine['engine']}, dt {engine['dt']:g}: dz/d {what}"
            found.append(row(work, ours, "SI", peer))
    return found
