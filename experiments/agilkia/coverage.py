"""`difsim agilkia --stage coverage`: do the intervals of the posterior hold the truth, on synthetic touchdowns?

The posterior is drawn as for the data themselves, with fewer draws and from a start that all repetitions share:
simulations of draws of the prior, whose predictions serve any data.

With a next contact a truth is a ground, a size of the law's error and an error of that size. Its touchdown gives the
law's rebound, and the real rebound, which differs by the error, flies to the next contact.
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import Status
from difsim.typing import Vec3
from experiments import ranks
from experiments.agilkia.joint import BOX, USUAL, Ground, Joint, Sampled, has_contact, touch_down
from experiments.agilkia.joint_cases import SIZES, pair_rebounds, read_rebounds, weigh_pairs
from experiments.agilkia.joint_report import LEAST
from experiments.agilkia.scenario import Experiment
from experiments.calibration import Calibration, add_error, calibrate
from experiments.harness import Found
from inversion import Checkpoint, Importance, Observations, Problem, Tempered, sample
from inversion.draws import resample_draws
from inversion.posterior import Posterior
from inversion.prior_runs import PriorRuns

BINS = 5  # of the ranks: 64 of them are 13 each
START, QUICK = 30_000, 3000  # simulations of draws of the prior
# Of each posterior: particles, draws of the first kernels, effective draws, and the most simulations.
SETTINGS = PARTICLES, GENERATION, SIZE, LIMIT = 400, 600, 120, 8000
DRAWS = 1000  # of pairs of a ground and a rebound
ENDS = 40  # touchdowns of the prior, for where flights begin


@dataclass(frozen=True)
class JointCalibration:
    """Joint posteriors of synthetic data.

    **Arguments:** `joint`, whose data are replaced; `position`, m, where flights begin; `ground` and `flights`:
    simulations of the priors of both parts.
    """

    joint: Joint
    position: Vec3
    ground: PriorRuns
    flights: PriorRuns

    def draw_truth(self, seed: int) -> tuple[dict[str, float], Joint]:
        """A truth by name, with a next contact, and the problem of its data. **Arguments:** `seed`."""
        joint, rng = self.joint, np.random.default_rng([seed, 0])
        ground = joint.problem_of_ground("touchdown", "rebound")
        flight = joint.problem_of_flight(self.position)
        while True:
            unknowns, size = _draw(ground, rng), rng.choice(SIZES)
            error = size * rng.standard_normal(3)
            values, status, law, _ = _touch(ground.predict, unknowns)
            real = np.asarray(law) + error
            seen, _ = _fly(flight.predict, {"rebound": jnp.asarray(real)})
            inside = np.all((real > BOX.lower) & (real < BOX.upper))
            if status == Status.OK and inside and np.isfinite(seen["second_contact_time"]):
                break
        read = {k: np.asarray(v) for k, v in values.items()}
        read |= {k: v[0] for k, v in read_rebounds(joint.whole.predict, real[None]).items()} | seen
        data = {name: add_error(joint.whole.data[name], read[name], rng) for name in joint.whole.data.names}
        truth = {k: float(v) for k, v in unknowns.items()} | {"size": float(size)}
        truth |= {f"rebound_{axis}": float(x) for axis, x in zip("xyz", real, strict=True)}
        posed = eqx.tree_at(lambda p: p.data, joint.whole, Observations(data))
        return truth, replace(joint, whole=posed)

    def repeat(self, seed: int) -> dict[str, np.ndarray]:
        """Ranks, and probabilities below, of the truth in one joint posterior. **Arguments:** `seed`."""
        truth, joint = self.draw_truth(seed)
        free = self._sample(joint.problem_of_ground("touchdown"), self.ground, seed)
        unknowns = free.resample(joint.key, joint.effort.draws)
        ground = Ground(free, unknowns, {}, np.asarray(_rebounds(free.problem.predict, unknowns)))
        flight = self._sample(joint.problem_of_flight(self.position), self.flights, seed)
        sampled = Sampled(ground, ground, flight)
        pairs = pair_rebounds(joint, sampled)
        case = weigh_pairs(joint, sampled, pairs)
        drawn = {k: v[case.rows] for k, v in ground.unknowns.items()}
        drawn |= {f"rebound_{axis}": case.rebounds[:, i] for i, axis in enumerate("xyz")}
        shares = pairs.by_size / pairs.by_size.sum()
        drawn["size"] = SIZES[resample_draws(jax.random.PRNGKey(seed), shares, len(case.rows))]
        rng = np.random.default_rng([seed, 1])
        chosen = rng.choice(len(case.rows), ranks.OF, replace=False)
        return {
            "rank": np.array([ranks.rank_among(drawn[k][chosen], v, rng) for k, v in truth.items()]),
            "below": np.array([np.mean(drawn[k] < v) for k, v in truth.items()]),
            "truth": np.array(list(truth.values())),
            "effective_size": np.asarray(case.worth),
            "simulations": np.asarray(free.calls.forward + flight.calls.forward),
            "is_good": np.asarray(free.fault is None and flight.fault is None and case.worth >= LEAST),
        }

    def _sample(self, problem: Problem, start: PriorRuns, seed: int) -> Posterior:
        key = jax.random.PRNGKey(seed)
        return sample(problem, key=key, method=_method(start), effective_size=SIZE, limit=LIMIT)


def _method(start: PriorRuns) -> Importance:
    return Importance(Tempered(PARTICLES, start=start), generation=GENERATION)


# Compiled once for all truths.
_touch = eqx.filter_jit(touch_down)
_fly = eqx.filter_jit(lambda flight, p: flight(p))


@eqx.filter_jit
def _rebounds(known: Experiment, unknowns: Mapping[str, Any]) -> Float[Any, "n 3"]:
    """The law's rebounds of many grounds, m/s."""
    return jax.lax.map(lambda p: touch_down(known, p)[2], unknowns)


def cover(
    problem: Problem,
    count: int,
    repetitions: int,
    seed: int,
    folder: Path,
    made_of: tuple,
    executor: Executor | None = None,
) -> Found:
    """Ranks and intervals of so many truths.

    **Arguments:** `problem` of all data, which are replaced; `count` of simulations of each prior; `repetitions`;
    `seed`; `folder` of the checkpoint; `made_of`: what the problem was made of; `executor`. **Returns:** what the
    harness writes.
    """
    kept, names = Checkpoint(folder, (*made_of, SETTINGS, count)), problem.names

    def simulate(problem, seed, part):
        start = Checkpoint(folder, (*made_of, part))
        return PriorRuns.simulate(problem, jax.random.PRNGKey(seed), count, start, True, executor)

    if has_contact(problem):
        joint = Joint(problem, replace(USUAL, effective=SIZE, limit=LIMIT, draws=DRAWS), seed)
        ground, rng = joint.problem_of_ground("touchdown"), np.random.default_rng(seed)
        ends = [_touch(ground.predict, _draw(ground, rng))[3] for _ in range(ENDS)]
        position = jnp.mean(jnp.stack(ends), axis=0)  # where a flight begins hardly matters: see `Joint.sample`
        flight = joint.problem_of_flight(position)
        runs = simulate(ground, seed, "ground"), simulate(flight, seed, "flight")
        repeat = JointCalibration(joint, position, *runs).repeat
        names = *ground.names, "size", "rebound_x", "rebound_y", "rebound_z"
    else:
        method = _method(simulate(problem, START, "touchdown"))
        repeat = Calibration(problem, method, SIZE, LIMIT).repeat
    return calibrate(repeat, names, problem.discrete, repetitions, seed, BINS, kept, executor)


def _draw(problem: Problem, rng: np.random.Generator) -> dict[str, Array]:
    """Unknowns of a draw of the prior."""
    values = problem.relax().physical(problem.scale_probabilities(jnp.asarray(rng.random(problem.size))))
    return dict(zip(problem.names, values, strict=True))
