"""Limits of the observables of any touchdown, whatever the ground, by conservation laws.

They hold for all continuous unknowns, so that a misfit that they forbid is a proved bound for branch and bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize_scalar

from experiments.agilkia.scenario import Experiment
from inversion import Problem

SOLVER = 1e-4  # relative: the ledger of energies closes to 1e-5 of it at the tolerances of a search


@dataclass(frozen=True)
class Limit:
    """An inequality between observables y: sum of linear * y + sum of square * y^2 <= most, with square >= 0."""

    linear: dict[str, float]
    square: dict[str, float]
    most: float

    def misfit(self, data: Mapping[str, tuple[float, float]]) -> float:
        """The lowest misfit of measurements that the limit allows; observables without one are free.

        It is the largest value of the dual function, each value of which is a lower bound: a search that ends early
        loses some of the bound, and nothing of the proof.

        **Arguments:** `data`: name -> value and sigma. **Returns:** the misfit, 0 where the limit allows the data.
        """
        names = {*self.linear, *self.square}
        if not names <= set(data):
            return 0.0

        def dual(price: float) -> float:
            total = -price * self.most
            for name in names:
                (value, sigma), a, b = data[name], self.linear.get(name, 0.0), self.square.get(name, 0.0)
                y = (value - 0.5 * price * a * sigma**2) / (1.0 + price * b * sigma**2)
                total += ((y - value) / sigma) ** 2 + price * (a * y + b * y**2)
            return total

        best = minimize_scalar(lambda log: -dual(np.exp(log)), bounds=(-20.0, 20.0), method="bounded")
        return max(0.0, -float(best.fun))


def limits(known: Experiment, assignment: Mapping[str, float]) -> dict[str, Limit]:
    """The limits of a touchdown whose discrete unknowns have these values, by name.

    * energy: what the ground and the damper take and the rebound keeps is what there is at the start, the work of
      gravity and flywheel included. With H the energy, their power is at most sqrt(2 H (m g^2 + T^2 / I)).
    * work of the damper: a stroke s within the horizon costs at least D s^2 / t.
    * impulse over damping: D s is at most the impulse of the ground's normal forces, m (v0 + v + g t). Friction at
      the boulder's edge has a normal part, so this one holds without it: in scenario b, or where there is no boulder.

    **Arguments:** `known`; `assignment`, of all or some discrete unknowns. **Returns:** name -> Limit.
    """
    body, gear, horizon = known.lander.body, known.lander.gear, float(known.horizon)
    mass, speed = float(body.mass), float(np.linalg.norm(known.velocity))
    inverse = np.linalg.inv(np.asarray(body.inertia))
    gravity = float(np.linalg.norm(known.gravity.acceleration(jnp.zeros(3))))
    torque = abs(float(known.lander.flywheel.torque(jnp.zeros(()))[2]))
    start = 0.5 * mass * speed**2 + 0.5 * float(known.spin) ** 2 * float(body.inertia[2, 2])
    gained = horizon * np.sqrt(0.5 * (mass * gravity**2 + torque**2 * inverse[2, 2]))
    most = (np.sqrt(start) + gained) ** 2 * (1.0 + SOLVER)
    found = {
        "energy": Limit({"ground_energy": 1.0, "damper_energy": 1.0}, {"rebound_speed": 0.5 * mass}, most),
    }
    damping = getattr(gear, "damping", None)  # an undamped gear has none
    if damping is None:
        return found
    damping = float(damping)
    found["work of the damper"] = Limit({"damper_energy": -horizon}, {"damper_stroke": damping}, SOLVER * most)
    if known.leg is None or assignment.get("scenario") == 1.0:
        down = mass * (abs(float(known.velocity[2])) + gravity * horizon) * (1.0 + SOLVER)
        found["impulse"] = Limit({"damper_stroke": damping, "rebound_speed": -mass}, {}, down)
    return found


def lowest_misfit(problem: Problem, assignment: Mapping[str, float]) -> float:
    """A misfit that no touchdown with these discrete values can undercut, by the strictest of the `limits`.

    **Arguments:** `problem`; `assignment`, of all or some discrete unknowns. **Returns:** the misfit.
    """
    data = {name: problem.data[name] for name in problem.data.names}
    numbers = {k: (float(d.value), float(d.sigma)) for k, d in data.items() if np.ndim(d.value) == 0}
    return max(limit.misfit(numbers) for limit in limits(problem.predict, assignment).values())
