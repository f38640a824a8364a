"""`difsim benchmark gradients`: errors and costs of derivatives through contact, ours and what others offer.

Rows come in pairs: the error of the Jacobian (worst entry over largest) with steps per contact and growth of the
tangents in its text, and its cost over a run without derivatives. Everything is computed, what is known to be
wrong too: plain derivatives through the steps stand there to show why they are not the default.
"""

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from difsim import Adaptive, FixedSteps, Forward, Ignore, MaxImpacts, Reverse, Solution, Status, simulate
from experiments.benchmark import gradient_scenes, gradient_touchdown
from experiments.benchmark.peers import ask
from experiments.benchmark.timing import cpu_seconds, row
from experiments.scenes import hard, pairs
from experiments.scenes.engines import Options
from experiments.scenes.parts import EARTH
from experiments.scenes.scene import Numbers, Scene
from inversion.progress import show_progress

PEERS = "DIFSIM_GRADIENT_PEERS"  # a Python with mujoco-mjx and brax
TOLERANCES = (1e-6, 1e-8, 1e-10)
REPEATS = 5
MAX_STEPS = 100_000  # of all adaptive steps: a static number, and each other one would compile the case again
STRICTEST = {"solver": Adaptive(1e-12, 1e-14, max_steps=MAX_STEPS), "derivative": Forward()}


def forward(tolerance: float, weight: float = 1.0) -> Options:
    """Return the options of forward derivatives at a tolerance."""
    solver = Adaptive(tolerance, 0.1 * tolerance, max_steps=MAX_STEPS)
    return {"solver": solver, "derivative": Forward(weight)}


def reverse(tolerance: float) -> Options:
    """Return the options of reverse derivatives at a tolerance."""
    return {"solver": Adaptive(tolerance, 0.1 * tolerance, max_steps=16_384), "derivative": Reverse()}


CONTROLLED = {f"forward {t:g}": forward(t) for t in TOLERANCES}
# Tangents that hardly count in the error norm go along with the value's steps: plain forward mode.
PLAIN = {f"plain forward {t:g}": forward(t, 1e-12) for t in TOLERANCES}
REVERSE = {f"reverse {t:g}": reverse(t) for t in TOLERANCES}
EQUAL = {f"equal steps, {n}": {"solver": FixedSteps(n)} for n in (4000, 40_000)}
EVERY = CONTROLLED | PLAIN | REVERSE | EQUAL


@dataclass(frozen=True)
class Work:
    """A Jacobian to be found: of what a `scene` observes, by the numbers `by`, with other numbers than its middle.

    The reference is the closed form, or forward derivatives at 1e-12: the judge compares those with differences.
    """

    name: str
    scene: Scene
    by: tuple[str, ...]
    ways: dict[str, Options]
    chosen: Mapping[str, Any] = field(default_factory=dict)

    @property
    def numbers(self) -> Numbers:
        """The numbers of the scene."""
        return jax.tree.map(jnp.asarray, self.scene.replace(self.chosen))


def suite() -> list[Work]:
    """Return every scene with the ways to run it."""
    bounces, made = (1, 2, 3, 4, 6, 8, 10), gradient_scenes
    # One number of impacts for all: another one compiles again.
    impacts, impact = ({"impacts": {"until": MaxImpacts(n)}} for n in (bounces[-1], 1))
    oblique, pair = ("along", "restitution", "friction"), ("place", "velocity")
    return [
        *(bounce(n, hard.BOUNCING, "hard ball", impacts) for n in bounces),
        Work("hard oblique impact", hard.STRIKING, oblique, impact, hard.STRIKING.exact.cases[0]),
        Work("hard pair of balls", pairs.COLLIDING, pair, impact, pairs.COLLIDING.exact.cases[0]),
        bounce(1, made.SMOOTHED, "smoothed", EVERY),
        *(bounce(n, made.SMOOTHED, "smoothed", CONTROLLED) for n in bounces[1:]),
        *(bounce(n, made.CLIPPED, "clipped force", CONTROLLED) for n in (1, 10)),
        bounce(1, made.PROPORTIONAL, "damper with the force, sharp", CONTROLLED | PLAIN),
        bounce(1, made.KINKED, "kink at touch", EVERY),
        bounce(1, made.JUMPING, "jump at touch", EVERY),
        Work("soft pair of balls", made.PAIR, pair, CONTROLLED | PLAIN),
        Work("oblique impact", made.OBLIQUE, ("friction", "along"), CONTROLLED | PLAIN),
        Work("sliding to rolling", made.ROLLING, ("friction", "along"), CONTROLLED | PLAIN),
        *(tumble(n, made.TUMBLING, "cube", made.TIMES[n]) for n in made.TIMES),
        *(tumble(n, made.SLOW, "cube in 6e-05 m/s²", made.SLOW_TIMES[n]) for n in made.SLOW_TIMES),
    ]


def bounce(n: int, scene: Scene, name: str, ways: dict[str, Options]) -> Work:
    """Return a ball that is released from 1.2 m, in its flight after n bounces, by height and restitution."""
    height, e = 1.2, 0.8
    time = (2 * height / EARTH) ** 0.5 * (1 + 2 * sum(e**k for k in range(1, n)) + 0.8 * e**n)
    chosen = {"height": height, "restitution": e, "time": time}
    return Work(f"{name}, {n} bounces", scene, ("height", "restitution"), ways, chosen)


def tumble(n: int, scene: Scene, name: str, time: float) -> Work:
    """Return the cube after n contacts, by restitution, friction and height."""
    return Work(f"{name}, {n} contacts", scene, ("restitution", "friction", "height"), CONTROLLED, {"time": time})


@eqx.filter_jit
def value(scene: Scene, numbers: Numbers, options: Options) -> tuple[Array, Solution]:
    """Return what is observed, or known in closed form, and the solution."""
    model, state, times = scene.build(numbers)
    solution = simulate(model, state, times, **options, trust=Ignore(), throw=False)
    known = jnp.array(scene.exact.ours(solution, numbers), float)
    return known if known.size else ravel_pytree(scene.observe(solution.last))[0], solution


@eqx.filter_jit
def jacobian(scene: Scene, numbers: Numbers, by: tuple[str, ...], options: Options) -> tuple[Array, Solution]:
    """Return the derivative of `value` by some numbers [m, p], and the solution: in reverse mode if that is the way."""
    differentiate = jax.jacrev if isinstance(options.get("derivative"), Reverse) else jax.jacfwd
    found, solution = differentiate(lambda chosen: value(scene, numbers | chosen, options), has_aux=True)(
        {name: numbers[name] for name in by}
    )
    return as_matrix(found), solution


def as_matrix(found: dict[str, Array]) -> Array:
    """Return the columns of all numbers side by side."""
    return jnp.concatenate([x.reshape(len(x), -1) for x in found.values()], axis=1)


def reference(work: Work) -> np.ndarray:
    """Return the Jacobian that a way's is compared with."""
    scene, numbers = work.scene, work.numbers
    if not scene.exact.quantities:
        return np.asarray(jacobian(scene, numbers, work.by, STRICTEST)[0])
    exact = jax.jacfwd(lambda chosen: scene.expect(numbers | chosen))
    return np.asarray(as_matrix(exact({name: numbers[name] for name in work.by})))


def error(work: Work, options: Options, exact: np.ndarray) -> tuple[float, Solution]:
    """Return the worst entry of the Jacobian's error over the largest entry, and the solution."""
    found, solution = jacobian(work.scene, work.numbers, work.by, options)
    return float(np.abs(found - exact).max() / np.abs(exact).max()), solution


def rows(points: int, folder: Path) -> list[dict[str, Any]]:
    """Return the rows of all works, of other engines and of the touchdown."""
    with ThreadPoolExecutor() as executor:
        peers = executor.submit(peer_rows)  # a process of its own: costs are CPU time, so it may run meanwhile
        found, last = [], None
        for work in show_progress(suite(), "works"):
            if work.scene is not last:  # a hundred programs of adaptive loops would take some GB
                jax.clear_caches()
            last = work.scene
            found += work_rows(work)
        touchdown = gradient_touchdown.rows(points)
        return found + peers.result() + touchdown


def work_rows(work: Work) -> list[dict[str, Any]]:
    """Return the error of each way, and its cost over a run without derivatives."""
    exact, numbers, found = reference(work), work.numbers, []
    for name, options in work.ways.items():
        worst, solution = error(work, options, exact)
        slope = cpu_seconds(lambda o=options: jacobian(work.scene, numbers, work.by, o), REPEATS)[1]
        plain = cpu_seconds(lambda o=options: value(work.scene, numbers, o), REPEATS)[1]
        found.append(row(f"{work.name}, {name}{_notes(solution)}", worst, "relative"))
        found.append(row(f"{work.name}, {name}: cost of {exact.shape[1]}", slope / plain, "forward"))
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

    By the height it should be the closed form's, by the engine's number for restitution the slope of its own values.
    """
    found = []
    for engine in ask(PEERS, "gradient_peers.py", needs="mujoco-mjx brax") or []:
        derivative = engine["derivative"] or [math.nan, math.nan]
        expected = (engine["closed"], engine["slopes"][1])
        for what, ours, peer in zip(("height", engine["parameter"]), derivative, expected, strict=True):
            work = f"{engine['engine']}, dt {engine['dt']:g}: dz/d {what}"
            found.append(row(work, ours, "SI", peer))
    return found
