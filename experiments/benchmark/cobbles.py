"""Collisions of the cobbles study: time of one and of a thousand, and what their derivatives cost and are off."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import simulate
from difsim.body import Stone
from difsim.dynamics import Pair, PairState
from experiments.benchmark.timing import cpu_seconds, row
from experiments.cobbles import paper
from experiments.cobbles.collision import STEP, Cases, collisions
from experiments.cobbles.scene import Law, hard, release, release_tumbled, smooth
from experiments.cobbles.stones import cobble, stone

BATCH = 1000
# Low enough for the stones to slip: with the paper's 0.8 they stick, and nothing depends on it.
FRICTION = 0.15
# Of restitution and friction, either way, for finite differences: where a second contact follows the first, a
# larger change brings another vertex to it, and in a smaller one rounding shows.
CHANGES = (1e-4, 1e-5, 1e-6, 1e-7)
DERIVED = 16  # releases whose derivatives are checked

CHRONO = f"""No peer is run: Project Chrono, the paper's engine, is not on PyPI (`pychrono` there is something
else), and MuJoCo takes a mesh for its convex hull. The paper, on an Intel i7-13700H:
{paper.HARD_SECONDS} s for a hard collision in steps of 1 ms, {paper.SMOOTH_SECONDS} s for a converged smooth one.
Measured before, on one core, without output: 0.05 to 0.8 s hard (its CoR_E at α = 0 still moves from 0.52 to 0.67
between steps of 1 and 0.1 ms), 3 s smooth."""


def rows(seeds: int, _: Path) -> Iterator[dict[str, Any]]:
    """CPU time of all threads, medians over `seeds` runs, on the generated stone; no peers."""
    print(CHRONO)
    body = stone(cobble("generated", 5))
    for law in (hard, smooth):
        yield from _measure_law(body, law, seeds)


def _measure_law(body: Stone, law: Law, seeds: int) -> Iterator[dict[str, Any]]:
    ours, step = jnp.array([paper.RESTITUTION, paper.FRICTION]), jnp.array(STEP)
    nominal, name = release(paper.INCLINATION), law.__name__
    label = f"one {name} collision of 2.5 s"
    ends, forward = cpu_seconds(lambda: _ends(body, law, ours, step, nominal), seeds)
    yield row(label, 1e3 * forward, "ms CPU")
    halved = _ends(body, law, ours, step / 2, nominal)
    yield row(f"{label}: change of CoR_E when the step halves", abs(halved[0] - ends[0]), "1")
    _, derived = cpu_seconds(lambda: _derivative(body, law, ours, step, nominal), seeds)
    yield row(f"{label}: with derivatives by e and μ, over forward", derived / forward, "forward")
    cases = Cases.build(release_tumbled(BATCH, seed=0))
    found, batch = cpu_seconds(lambda: collisions(body, law, cases), max(1, seeds // 5))
    yield row(f"{BATCH} {name} collisions in one call, each", 1e3 * batch / BATCH, "ms CPU")
    yield row(f"{BATCH} {name} collisions: failed", np.sum(np.asarray(found.status) != 0), "1")
    errors = _errors(body, law)
    for change, of_change in zip(CHANGES, errors, strict=True):
        for which, error in (("median", np.median(of_change)), ("worst", np.max(of_change))):
            yield row(f"{label}: {which} error against differences of {change:g}", error, "of the largest")
    best = errors.min(axis=0).max()
    yield row(f"{label}: worst, each release at the change that suits it", best, "of the largest")


@eqx.filter_jit
def _ends(body: Stone, law: Law, p: Float[Array, "2"], step, state: PairState) -> Float[Array, "27"]:
    """CoR_E, and positions, velocities and attitudes of both at 2.5 s, for restitution and friction."""
    found = simulate(Pair(body, body, law(*p, step)), state, jnp.array([0.0, paper.DURATION]), throw=False)
    last = jax.tree.map(lambda x: x[-1], (found.states.first, found.states.second))
    return jnp.concatenate([found.impacts.energy_restitution[None], *jax.tree.leaves(last)])


@eqx.filter_jit
def _derivative(body: Stone, law: Law, p: Float[Array, "2"], step, state: PairState) -> Float[Array, "27 2"]:
    return jax.jacfwd(lambda q: _ends(body, law, q, step, state))(p)


def _errors(body: Stone, law: Law) -> Float[np.ndarray, "C N"]:
    """Of each change and release: the largest |derivative - central difference| over the largest derivative."""
    p, step, states = jnp.array([paper.RESTITUTION, FRICTION]), jnp.array(STEP), release_tumbled(DERIVED, seed=1)
    errors = np.zeros((len(CHANGES), DERIVED))
    for i in range(DERIVED):
        state = jax.tree.map(lambda x, i=i: x[i], states)
        exact = np.asarray(_derivative(body, law, p, step, state))
        for k, change in enumerate(CHANGES):
            ahead, behind = (
                np.stack([_ends(body, law, p + s * change * way, step, state) for way in jnp.eye(2)], axis=1)
                for s in (1, -1)
            )
            errors[k, i] = np.abs(exact - (ahead - behind) / (2 * change)).max() / np.abs(exact).max()
    return errors
