"""Hoppers that bounce against MuJoCo's C engine at equal landing error; the cost of derivatives and of batches."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import Adaptive, FixedSteps, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import Vertices
from difsim.dynamics import Hopper
from difsim.gravity import Uniform
from difsim.shape import Plane
from difsim.stepping.solvers import AbstractSolver
from experiments.benchmark.peers import find_python, run_script
from experiments.benchmark.timing import cpu_seconds, row
from experiments.hopper import imhotep
from experiments.hopper.scenes import EDGE, GRAVITY, MASS, Ground

PEER = "DIFSIM_MUJOCO_PYTHON"


@dataclass(frozen=True)
class Case:
    """A body of `corners` [n, 3] m, `mass` kg and `moments` [3] kg m², which falls on a plane in `gravity` m/s²
    from `height` m, at `speed` m/s downwards at the start: one bounce, and some flight after it until
    `horizon` s."""

    gravity: float
    height: float
    speed: float
    horizon: float
    corners: np.ndarray
    mass: float
    moments: np.ndarray

    def model(self, ground: Ground) -> Hopper:
        """The body over the plane z = 0."""
        return Hopper(
            RigidBody(self.mass, np.diag(self.moments)),
            ground.contact(Vertices(jnp.asarray(self.corners)), self.mass),
            Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
            Uniform((0.0, 0.0, -self.gravity)),
            resolution=ground.resolution,
        )


CUBE = (np.asarray(list(product((-EDGE / 2, EDGE / 2), repeat=3))), MASS, np.full(3, MASS * EDGE**2 / 6))
MINERVA = (imhotep.prism(), imhotep.MASS, imhotep.inertia())
# MINERVA-II over a plane: the terrain of its study has no likeness in the peer.
CASES = {
    "cube, phobos": Case(GRAVITY["phobos"], 0.5, 0.0, 20.0, *CUBE),
    "cube, 67p": Case(GRAVITY["67p"], 0.3, 0.05, 60.0, *CUBE),
    "minerva, 67p": Case(GRAVITY["67p"], 0.3, 0.05, 60.0, *MINERVA),
}
LAUNCHES = 16
RESTITUTION, FRICTION = 0.6, 0.5
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
STEPS = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4)  # s, of the peer
FINEST = 2e-4  # s, of the peer's own reference
ERROR = 1e-3  # of the path, median over launches
# The peer's contact is a linear spring and damper that never pulls: e = 0.6 at a damping ratio of 0.1809 (its closed
# form is that of `Hooke` with `ClippedDamping`). It lasts as long as ours: half a period of 53 rad/s.
FREQUENCY, RATIO = 53.0, 0.1809


def launches(case: str, seed: int) -> RigidState:
    """LAUNCHES states: sideways at up to 5 cm/s, in any attitude, with a spin of some 0.1 rad/s."""
    rng, height, speed = np.random.default_rng(seed), CASES[case].height, CASES[case].speed
    attitude = rng.standard_normal((LAUNCHES, 4))
    velocity = np.c_[rng.uniform(-0.05, 0.05, (LAUNCHES, 2)), np.full(LAUNCHES, -speed)]
    return RigidState(
        position=np.tile([0.0, 0.0, height], (LAUNCHES, 1)),
        velocity=velocity,
        attitude=attitude / np.linalg.norm(attitude, axis=1, keepdims=True),
        spin=0.1 * rng.standard_normal((LAUNCHES, 3)),
    )


class Landing(eqx.Module):
    """Where a launched cube is at the horizon, m, of restitution, friction and rolling resistance."""

    case: str = eqx.field(static=True)
    solver: AbstractSolver

    def __call__(self, p: Float[Array, "3"], state: RigidState) -> Float[Array, "3"]:
        model = CASES[self.case].model(Ground(p[0], p[1], p[2]))
        times = jnp.array([0.0, CASES[self.case].horizon])
        return simulate(model, model.start(state), times, solver=self.solver, throw=False).last.body.position


P = (RESTITUTION, FRICTION, 0.0)  # MuJoCo's rolling friction is another law: none on both sides


def rows(seeds: int, folder: Path) -> list[dict[str, Any]]:
    """For each case: trajectories per CPU second at equal error, derivative over forward, and ways to batch.

    An error is the median over launches of the distance to a side's own converged end, over the path; each side
    takes its largest step or loosest tolerance below ERROR. Costs are medians over `seeds` runs.
    """
    peer = find_python(PEER, needs="mujoco")
    found = []
    for case in CASES:
        start = launches(case, 0)
        path = _path(case, start)
        reference = _run(Landing(case, Adaptive(1e-10, 1e-10, resolve=0.0)), start, 1)[0]
        for tolerance in TOLERANCES:
            landing = Landing(case, Adaptive(tolerance, tolerance, resolve=0.0))
            ends, seconds = _run(landing, start, seeds)
            error = float(np.median(np.linalg.norm(ends - reference, axis=1) / path))
            if error <= ERROR:
                break
        theirs = _peer(peer, case, start, path, folder) if peer else {}
        good = {k: v for k, v in theirs.items() if v[0] <= ERROR}
        best = min(good, key=lambda k: good[k][1]) if good else None
        their_error, their_seconds = good.get(best, (np.nan, np.nan))
        label = f"{case}, one bounce"
        trajectory = f"{label}: a trajectory (ours at {tolerance:g}; peer {best})"
        found.append(row(trajectory, 1e3 * seconds, "ms CPU", 1e3 * their_seconds))
        found.append(row(f"{label}: error of the end, of the path", error, "1", their_error))
        found.append(_derivative_row(f"{label}, tolerance {tolerance:g}", landing, start, seeds, seconds))
        if case == "cube, phobos":
            found += _batch_rows(label, landing, start, seeds, seconds)
    return found


def _path(case: str, start: RigidState) -> np.ndarray:
    """Length of the way to the horizon [LAUNCHES] m, from 200 points."""
    model, times = CASES[case].model(Ground(*P)), jnp.linspace(0.0, CASES[case].horizon, 200)
    solver = Adaptive(1e-8, 1e-8, resolve=0.0)
    one = lambda s: simulate(model, model.start(s), times, solver=solver, throw=False).states.body.position  # noqa: E731
    positions = np.asarray(jax.jit(lambda s: jax.lax.map(one, s))(start))
    return np.linalg.norm(np.diff(positions, axis=1), axis=2).sum(axis=1)


def _time(f: Callable, *args, runs: int) -> tuple[np.ndarray, float]:
    """The result and the median CPU seconds of a launch, after a first call."""
    result, seconds = cpu_seconds(lambda: f(*args), runs)
    return np.asarray(result), seconds / LAUNCHES


def _run(landing: Landing, start: RigidState, runs: int) -> tuple[np.ndarray, float]:
    f = eqx.filter_jit(lambda p, s: jax.lax.map(lambda row: landing(p, row), s))
    return _time(f, jnp.array(P), start, runs=runs)


def _derivative_row(label: str, landing: Landing, start: RigidState, runs: int, forward: float) -> dict[str, Any]:
    """Time of the end with its derivative by three parameters over that of the end alone."""
    both = eqx.filter_jit(lambda p, s: jax.lax.map(lambda row: jax.jacfwd(lambda q: landing(q, row))(p), s))
    _, seconds = _time(both, jnp.array(P), start, runs=runs)
    return row(f"{label}: with 3 derivatives over forward", seconds / forward, "forward")


def _batch_rows(
    label: str, adaptive: Landing, start: RigidState, runs: int, seconds: float
) -> list[dict[str, Any]]:
    """CPU milliseconds of a launch: one by one, in batches, all at once, and by equal steps."""
    # 20 steps in a contact of 0.06 s
    fixed = Landing(adaptive.case, FixedSteps(round(CASES[adaptive.case].horizon / 3e-3), resolve=0.0))
    ways = {
        "adaptive, batches of 4": (adaptive, 4),
        f"adaptive, all {LAUNCHES} at once (vmap)": (adaptive, LAUNCHES),
        "equal steps of 3 ms, one by one": (fixed, None),
        f"equal steps of 3 ms, all {LAUNCHES} at once": (fixed, LAUNCHES),
    }
    found = [row(f"{label}: adaptive, one by one (lax.map)", 1e3 * seconds, "ms CPU")]
    for name, (landing, size) in ways.items():
        f = eqx.filter_jit(lambda p, s, f=landing, n=size: jax.lax.map(lambda row: f(p, row), s, batch_size=n))
        _, each = _time(f, jnp.array(P), start, runs=min(runs, 3))
        found.append(row(f"{label}: {name}", 1e3 * each, "ms CPU"))
    return found


def _peer(
    python: str, case: str, start: RigidState, path: np.ndarray, folder: Path
) -> dict[str, tuple[float, float]]:
    """The peer's error and CPU seconds of a launch, by integrator and step."""
    where, scene = folder / f"contact_{case.replace(', ', '_')}.npz", CASES[case]
    np.savez(
        where,
        gravity=scene.gravity,
        friction=FRICTION,
        corners=scene.corners,
        moments=scene.moments,
        mass=scene.mass,
        horizon=scene.horizon,
        stiffness=FREQUENCY**2,
        damping=2 * RATIO * FREQUENCY,
        steps=STEPS,
        finest=FINEST,
        position=start.position,
        velocity=start.velocity,
        attitude=start.attitude,
        spin=start.spin,
    )
    result = where.with_suffix(".peer.npz")
    run_script(python, "contact_mujoco.py", where, result)
    found = np.load(result)
    errors = np.median(np.linalg.norm(found["ends"] - found["reference"], axis=2) / path, axis=1)
    return {
        str(k): (float(e), float(s)) for k, e, s in zip(found["labels"], errors, found["seconds"], strict=True)
    }
