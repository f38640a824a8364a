"""Descent, touchdown and bounce on 67P as one chain, for the best fit and for draws of the posterior."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from difsim import AtContact, Status, simulate
from difsim.dynamics import Flight, FlightState
from difsim.gravity import Rotating, Uniform
from difsim.session import compile_sooner
from difsim.surface_frame import SurfaceFrame
from experiments.agilkia.descent import AGILKIA, FINE, SPIN
from experiments.agilkia.scenario import Experiment
from experiments.agilkia.worlds import World
from inversion import Problem
from inversion.posterior import Posterior
from inversion.progress import Bar
from inversion.threads import map_in_threads

OUTPUTS = ("second_contact_time", "second_contact_distance", "second_contact_position")


def descend(world: World, separation: FlightState) -> tuple[FlightState, Array, Bool[Array, ""]]:
    """State and time at the end of the descent from a separation, and whether it came down."""
    flight = Flight(world[0], SPIN, world[1])
    times = jnp.asarray([0.0, 1.2 * AGILKIA.duration])
    descent = simulate(flight, separation, times, solver=FINE, until=AtContact(), throw=False)
    return descent.last, descent.times[-1], descent.ok


def move_to_landing(experiment: Experiment, world: World, landing: FlightState) -> Experiment:
    """The same touchdown at another site and with another approach, those of a landing, with its bounce."""
    gravity, surface = world
    frame = SurfaceFrame.from_normal(landing.position, surface.normal(landing.position), landing.velocity)
    local = Rotating(gravity, SPIN).acceleration(landing.position)
    return replace(
        experiment,
        frame=frame,
        gravity=Uniform(frame.direction(local)),
        velocity=frame.direction(landing.velocity),
        world=world,
    )


def is_agilkia(site: Mapping[str, Any]) -> bool:
    """Whether a table [site] has Philae's first touchdown, the one to which a descent is known."""
    place, velocity = tuple(site["position_m"]), tuple(site["velocity_m_per_s"])
    return (place, velocity) == AGILKIA.end


class ChainProgram:
    """The chain as two programs, which are compiled in a thread while others search.

    The descent is the same for every ground. Touchdown and bounce happen where and as it ends: site, normal, local
    gravity and approach are the landing's, and not those of the lander file. At a site of one's own there is no
    descent: the touchdown is the file's.

    **Arguments:** `problem`, whose unknowns it takes, with the `Experiment` as its simulator; `world`; `descends`,
    whether Philae's descent comes first.
    """

    def __init__(self, problem: Problem, world: World, descends: bool):
        def compile_program():
            experiment, landing, ok = replace(problem.predict, world=world), {}, True
            if descends:
                state, time, ok = eqx.filter_jit(descend)(world, AGILKIA.separation)
                experiment = move_to_landing(problem.predict, world, state)
                landing = {"time": time, "position": state.position, "velocity": state.velocity}
            program = compile_sooner(lambda p: experiment(p))
            landing = {f"landing_{k}": np.asarray(v).tolist() for k, v in landing.items()}
            return landing, bool(ok), program.lower(_arrays(problem.parameters)).compile()

        alone = ThreadPoolExecutor(1)
        self.compiled = alone.submit(compile_program)
        alone.shutdown(wait=False)

    def __call__(self, values: dict[str, float]) -> dict[str, Any]:
        """The chain at one set of unknowns as plain numbers.

        **Returns:** `status` "ok" or "failed", `rebound_*`, `second_contact_*`, and `landing_*` after a descent.
        """
        landing, ok, program = self.compiled.result()
        observed, ended = program(_arrays(values))
        kept = {k: np.asarray(v).tolist() for k, v in observed.items() if k.startswith(("rebound_", "second_"))}
        valid = ok and ended == Status.OK and np.isfinite(observed["second_contact_time"])
        return {"status": "ok" if valid else "failed"} | kept | landing

    def draws(self, posterior: Posterior, key: Array, count: int) -> dict[str, np.ndarray]:
        """The next contact for draws of the posterior.

        **Returns:** the OUTPUTS by name [count, ...], NaN where the flight failed or never comes down.
        """
        _, ok, program = self.compiled.result()
        rows = posterior.resample(key, count)
        cases = [{k: v[i] for k, v in rows.items()} for i in range(count)]

        def one(case):
            observed, ended = program(_arrays(case))
            valid = ok and ended == Status.OK
            return {k: np.where(valid, observed[k], np.nan) for k in OUTPUTS}

        with Bar("next contacts", count) as bar:
            found = map_in_threads(one, cases, bar)
        return {k: np.stack([each[k] for each in found]) for k in OUTPUTS}


def _arrays(values: Any) -> dict[str, Array]:
    """One array of the session's precision for each name; 0 for what is no number."""
    return {k: jnp.asarray(v if isinstance(v, float | np.floating) else 0.0, float) for k, v in values.items()}


def contacts(found: dict[str, np.ndarray], trusted: bool) -> dict[str, Any]:
    """Median, 68 % and 95 % of time, distance and place of the next contact, over the draws that come down.

    A sample that is not `trusted` has no intervals.
    """
    good = np.isfinite(found["second_contact_time"])
    shares = {"median": 0.5, "lo68": 0.16, "hi68": 0.84, "lo95": 0.025, "hi95": 0.975}
    numbers = {"draws": int(good.size), "come_down": float(good.mean())}
    if trusted and good.any():
        for name in OUTPUTS:
            at = np.quantile(found[name][good], list(shares.values()), axis=0)
            numbers[name] = dict(zip(shares, at.tolist(), strict=True))
    return numbers
