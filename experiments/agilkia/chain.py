"""Descent, touchdown and bounce as one chain with one gradient."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from difsim import AtContact, simulate
from difsim.dynamics import Flight, FlightState
from difsim.gravity import Rotating, Uniform
from difsim.rotation import SurfaceFrame
from difsim.session import COMPILE_SOONER
from experiments.agilkia.descent import AGILKIA, FINE, SPIN
from experiments.agilkia.scenario import Experiment
from experiments.agilkia.worlds import World
from inversion import Problem

OUTPUTS = ("second_contact_time", "second_contact_distance", "second_contact_position")


class Chain(eqx.Module):
    """Separation and unknowns of the ground in, observables of landing, touchdown and next contact out.

    The touchdown happens where and as the descent ends: site, normal, local gravity and approach are the
    landing's, and not those of the lander file.
    """

    experiment: Experiment
    world: World

    def __call__(self, p: dict[str, Array]) -> tuple[dict[str, Array], Bool[Array, ""]]:
        flight = Flight(self.world[0], SPIN, self.world[1])
        start = FlightState(p["separation_position"], p["separation_velocity"])
        times = jnp.asarray([0.0, 1.2 * AGILKIA.duration])
        descent = simulate(flight, start, times, solver=FINE, until=AtContact(), throw=False)
        landing = descent.last
        observed, ok = at_landing(self.experiment, flight, landing)(p)
        landed = {
            "landing_time": descent.times[-1],
            "landing_position": landing.position,
            "landing_velocity": landing.velocity,
        }
        return observed | landed, ok & descent.ok


def at_landing(experiment: Experiment, flight: Flight, landing: FlightState) -> Experiment:
    """The same touchdown at another site and with another approach, those of a landing, with its bounce."""
    frame = SurfaceFrame.from_normal(landing.position, flight.surface.normal(landing.position), landing.velocity)
    local = Rotating(flight.gravity, flight.omega).acceleration(landing.position)
    return replace(
        experiment,
        frame=frame,
        gravity=Uniform(frame.direction(local)),
        velocity=frame.velocity(landing.velocity),
        world=(flight.gravity, flight.surface),
    )


class ChainProgram:
    """The chain with all its derivatives as one program, which is compiled in a thread while others search.

    **Arguments:** `problem`, whose unknowns it takes, with the `Experiment` as its simulator; `world`.
    """

    def __init__(self, problem: Problem, world: World):
        begin = AGILKIA.separation
        self.begin = {"separation_position": begin.position, "separation_velocity": begin.velocity}
        experiment = problem.predict

        def outputs(p, held):
            observed, ok = Chain(experiment, world)(p | held)
            return {k: observed[k] for k in OUTPUTS}, (observed, ok)

        anywhere = dict.fromkeys(problem.parameters, 0.0)
        program = jax.jit(jax.jacfwd(outputs, has_aux=True), compiler_options=COMPILE_SOONER)
        alone = ThreadPoolExecutor(1)
        self.compiled = alone.submit(lambda: program.lower(*self._given(anywhere)).compile())
        alone.shutdown(wait=False)

    def _given(self, values: dict[str, float]) -> tuple[dict[str, Array], dict[str, Array]]:
        """What is differentiated, and the discrete scenario, which is not."""
        p = {k: jnp.asarray(v, float) for k, v in (values | self.begin).items()}
        held = {"scenario": p.pop("scenario")} if "scenario" in p else {}
        return p, held

    def __call__(self, values: dict[str, float]) -> dict[str, Any]:
        """The chain at one set of unknowns and its derivatives, as plain numbers.

        **Returns:** `status` "ok" or "failed", `landing_*`, `rebound_*`, `second_contact_*`, and `derivatives`:
        for each unknown and each component of the separation, those of time (s), distance (m) and place (m) of the
        second contact, per unit of the unknown. The scenario, which is discrete, has none.
        """
        p, held = self._given(values)
        slopes, (observed, ok) = self.compiled.result()(p, held)
        plain = lambda tree: jax.tree.map(lambda x: np.asarray(x).tolist(), tree)  # noqa: E731
        named = ("landing_", "rebound_", "second_")
        return {
            "status": "ok" if bool(ok) else "failed",
            **{k: plain(v) for k, v in observed.items() if k.startswith(named)},
            "derivatives": {name: {k: plain(slopes[k][name]) for k in OUTPUTS} for name in p},
        }


def chain_table(chain: dict[str, Any]) -> str:
    """The chain's ends, and how the second contact depends on each unknown, as text."""
    head = ["", f"one chain on {chain['shape']}, from separation to the second contact: {chain['status']}"]
    if chain["status"] != "ok":  # what a failed flight leaves is no result
        return "\n".join(head)
    where = lambda r: "(" + ", ".join(f"{x:.1f}" for x in r) + ") m"  # noqa: E731
    lines = [
        *head,
        f"  lands after {chain['landing_time']:.1f} s at {where(chain['landing_position'])}, "
        f"rebounds with {chain['rebound_speed']:.3f} m/s",
        f"  next contact {chain['second_contact_time']:.0f} s later, {chain['second_contact_distance']:.0f} m "
        f"away, at {where(chain['second_contact_position'])}",
        f"  {'d(second contact)/d':24s}{'time, s':>12s}{'distance, m':>14s}   per unit",
    ]
    for name, by in chain["derivatives"].items():
        time, distance = by["second_contact_time"], by["second_contact_distance"]
        if np.ndim(time) == 0:
            lines.append(f"  {name:24s}{time:>12.4g}{distance:>14.4g}")
    return "\n".join(lines)
