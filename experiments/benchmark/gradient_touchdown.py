"""Derivative error against tolerance and its cost, on the touchdown: what the defaults rest on."""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Adaptive, FixedSteps, Forward, Unrolled
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.scenario import problem
from experiments.agilkia.solve import with_solver
from experiments.benchmark.timing import row
from inversion import Problem

# The default's number of steps for all, the reference too: another one compiles the touchdown again.
REFERENCE = Adaptive(rtol=1e-10, atol=1e-10), Forward()
WAYS = {
    "forward 1e-5": (Adaptive(1e-5, 1e-5), Forward()),
    "forward 1e-6": (Adaptive(1e-6, 1e-6), Forward()),
    "forward 1e-6, weight 0.1 (search)": (Adaptive(1e-6, 1e-6), Forward(0.1)),
    "forward 1e-6, weight 1e-4 (plain)": (Adaptive(1e-6, 1e-6), Forward(1e-4)),
    "forward 1e-8 (default)": (Adaptive(1e-8, 1e-8), Forward()),
    "forward 1e-8, weight 0.1": (Adaptive(1e-8, 1e-8), Forward(0.1)),
    "forward 1e-8, weight 1e-4 (plain)": (Adaptive(1e-8, 1e-8), Forward(1e-4)),
    "fixed steps, 1 ms": (FixedSteps(4000), Unrolled()),
}


def rows(points: int) -> list[dict[str, Any]]:
    """For each solver and derivative: error of the Jacobian (worst entry over largest), its cost over a simulation
    without derivatives, steps per contact.

    Points where the reference or the way has no valid run are left out, and counted in the row.
    """
    inverse = problem(read_lander(DATA / "philae.toml"), read_observations(DATA / "philae_published.toml")).relax()
    u = jax.random.uniform(jax.random.PRNGKey(1), (points, len(inverse.names)), minval=0.02, maxval=0.98)
    s = jax.vmap(inverse.quantile)(u)
    exact, *_ = _run(inverse, REFERENCE, s)
    found = []
    for name, way in WAYS.items():
        jacobian, seconds, forward, per_contact = _run(inverse, way, s)
        error = np.abs(jacobian - exact).max(axis=(1, 2)) / np.abs(exact).max(axis=(1, 2))
        valid = np.isfinite(error)
        median, worst = (float(f(error[valid])) if valid.any() else np.nan for f in (np.median, np.max))
        of = f"{valid.sum()} of {points} points"
        found += [
            row(f"{name}: Jacobian error, median, {of}", median, "relative"),
            row(f"{name}: Jacobian error, worst, {of}", worst, "relative"),
            row(f"{name}: cost of 10 derivatives", seconds / forward, "forward"),
            row(f"{name}: steps per contact", float(np.median(per_contact)), "steps"),
        ]
    return found


def _run(inverse: Problem, way, s) -> tuple[np.ndarray, float, float, np.ndarray]:
    """Jacobians of the residual by s at each point (NaN where the run failed), median seconds of one, of one
    simulation, steps."""
    timed = with_solver(inverse, *way).relax()
    jacobians, seconds = _time(_slope, timed, s)
    _, plain = _time(_residual, timed, s)
    return jacobians, seconds, plain, np.asarray([_steps(timed, row) for row in s])


# Compiled once for all tolerances, which are numbers.


@jax.jit
def _slope(p, s):
    def residual(s):
        run = p.evaluate(s)
        return run.residual, run.ok

    # The residual of a failed run is NaN by a constant, whose derivative is a harmless-looking 0.
    jacobian, ok = jax.jacfwd(residual, has_aux=True)(s)
    return jnp.where(ok, jacobian, jnp.nan)


@jax.jit
def _residual(p, s):
    return p.evaluate(s).residual


@jax.jit
def _steps(p, s):
    return p.predict.follow(p.to_dict(p.physical(s)), jnp.asarray([0.0, 10.0]))[1].stats.steps_per_contact


def _time(f, p, s) -> tuple[np.ndarray, float]:
    """The results and the median CPU seconds of a call."""
    jax.block_until_ready(f(p, s[0]))
    results, times = [], []
    for point in s:
        started = time.process_time()
        results.append(np.asarray(jax.block_until_ready(f(p, point))))
        times.append(time.process_time() - started)
    return np.stack(results), float(np.median(times))
