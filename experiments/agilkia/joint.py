"""`difsim agilkia --stage joint`: the touchdown and its next contact together, joined at the rebound.

The ground and the next contact have to do with each other by the rebound alone. So the ground is sampled by the data of
the touchdown, whose simulations give the law's rebound, and the real rebound by the flights that lead from it to the
contact. The error of the law is the difference of the two velocities. Without one they are equal, and the ground is
sampled by what is read of the rebound too. `joint_cases` puts the draws together.
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim.body import RigidState
from difsim.declarations import quantity
from difsim.typing import Vec3
from experiments.agilkia.catalogue import FLIGHT
from experiments.agilkia.scenario import Experiment, Run, value_status
from experiments.agilkia.solve import order_parameters
from inversion import Bounded, Checkpoint, Importance, Observation, Observations, Problem, Tempered, sample
from inversion.posterior import Posterior

REBOUND = ("rebound_speed", "rebound_velocity")  # data that are read of the real rebound
BOX = Bounded(-0.5, 0.5, unit="m/s", shape=3)  # its volume is 1 (m/s)³: so is the density of its prior


@dataclass(frozen=True)
class Effort:
    """Independent draws and the most simulations of each posterior; particles of the ground's, and of the
    rebound's, which starts in a box of which the contact leaves little; resampled draws, and those that are paired."""

    effective: int
    limit: int
    ground_particles: int
    flight_particles: int
    draws: int
    pairs: int


USUAL, QUICK = Effort(500, 120_000, 3200, 12_800, 2000, 1000), Effort(20, 1500, 320, 320, 60, 60)


class Flight(eqx.Module):
    """The flight from the real rebound to the next contact, and what is read of both."""

    known: Experiment
    position: Vec3 = quantity("m", "place of the body at the end of the touchdown, in the surface frame")

    def __call__(self, p: Mapping[str, Array]) -> tuple[dict[str, Array], Array]:
        known, velocity = self.known, p["rebound"]
        contact, site = known.fly(self.position, velocity)
        body = RigidState(self.position, velocity, (1.0, 0.0, 0.0, 0.0), jnp.zeros(3))
        run = Run(known, None, None, None, Last(body), {}, {}, contact, site)
        rows = (row for row in known.catalogue.observables if row.needs == FLIGHT or row.name in REBOUND)
        return {row.name: row.read(run) for row in rows}, jnp.asarray(True)


class Last(NamedTuple):
    """The state at the end of a touchdown, as far as a flight goes on from it."""

    body: RigidState


class Ground(NamedTuple):
    """A posterior of the ground and equally weighted draws of it [n]: unknowns and observables by name, and the law's
    rebounds [n, 3] m/s."""

    posterior: Posterior
    unknowns: dict[str, np.ndarray]
    observed: dict[str, np.ndarray]
    rebounds: Float[np.ndarray, "n 3"]


class Sampled(NamedTuple):
    """The ground by all data of the touchdown (`exact`), the ground by those that are not read of the rebound
    (`free`), and the real rebound."""

    exact: Ground
    free: Ground
    flight: Posterior


@dataclass(frozen=True)
class Joint:
    """The posteriors of one data set that has a touchdown and a next contact.

    **Arguments:** `whole`, the problem of all data, with a world; `effort`; `seed`.
    **Raises:** ValueError where the data set lacks one of the two.
    """

    whole: Problem
    effort: Effort
    seed: int = 0

    def __post_init__(self):
        if not has_contact(self.whole) or not self.data("touchdown"):
            raise ValueError(
                "--stage joint needs a touchdown and its next contact: a data set with both, such as --data bounce"
            )

    def data(self, *parts: str) -> dict[str, Observation]:
        """The data of some parts by name: those of the "rebound" are read of its velocity, those of the "contact" of
        the next one, and those of the "touchdown" are all others."""

        def part_of(name):
            if name in REBOUND:
                return "rebound"
            return "contact" if self.whole.predict.catalogue.observable(name).needs == FLIGHT else "touchdown"

        names = [name for part in parts for name in self.whole.data.names if part_of(name) == part]
        return {name: self.whole.data[name] for name in names}

    def problem_of_ground(self, *parts: str) -> Problem:
        """All unknowns of the ground by the data of some parts of the touchdown."""
        known, data = replace(self.whole.predict, world=None), Observations(self.data(*parts))
        return Problem(order_parameters(self.whole), known, data)

    def problem_of_flight(self, position: Vec3) -> Problem:
        """The real rebound by what is read of it and by the next contact."""
        data = Observations(self.data("rebound", "contact"))
        return Problem({"rebound": BOX}, Flight(self.whole.predict, position), data)

    def sample(self, folder: Path, made_of: Any, executor: Executor | None = None) -> Sampled:
        """All posteriors.

        **Arguments:** `folder` of checkpoints; `made_of`: what the problem was made of; `executor`.
        """
        effort = self.effort

        def draw(part, problem, particles):
            return sample(
                problem,
                key=self.key,
                method=Importance(Tempered(particles)),
                effective_size=effort.effective,
                limit=effort.limit,
                checkpoint=Checkpoint(folder, (made_of, self.seed, effort, part)),
                progress=True,
                executor=executor,
            )

        grounds, ends = [], []
        for part, data in (("exact", ("touchdown", "rebound")), ("free", ("touchdown",))):
            ground, positions = self._land(draw(part, self.problem_of_ground(*data), effort.ground_particles))
            grounds.append(ground)
            ends.append(positions.mean(axis=0))
        # Where a flight begins differs by metres among draws, which the contact does not notice.
        flight = self.problem_of_flight(jnp.asarray(ends[1]))
        return Sampled(*grounds, draw("flight", flight, effort.flight_particles))

    @property
    def key(self) -> Array:
        return jax.random.PRNGKey(self.seed)

    def _land(self, posterior: Posterior) -> tuple[Ground, Float[np.ndarray, "n 3"]]:
        """Equally weighted draws with a touchdown of each, and where these end, m."""
        land, count = partial(touch_down, posterior.problem.predict), self.effort.draws
        observed, _, rebounds, positions = posterior.predict(land, key=self.key, count=count, progress=True)
        return Ground(posterior, posterior.resample(self.key, count), observed, rebounds), positions


def has_contact(problem: Problem) -> bool:
    """Whether a problem has data of the next contact."""
    return FLIGHT in {problem.predict.catalogue.observable(name).needs for name in problem.data.names}


def touch_down(known: Experiment, p: Mapping[str, Array]) -> tuple[dict[str, Array], Array, Vec3, Vec3]:
    """The observables of a touchdown without a flight, its status, the law's rebound, m/s, and where it ends, m."""
    model, solution = known.follow(p, known.times)
    last = solution.states.body
    return known.observe(model, solution), value_status(solution), last.velocity[-1], last.position[-1]
