"""`--stage coverage` of a touchdown with its next contact: do the joint intervals hold the truth, on synthetic data?

A truth is a ground, a size of the law's error and an error of that size. Its touchdown gives the law's rebound, and the
real rebound, which differs by the error, flies to the next contact. Data are read of both with the errors of the data
set, and inverted as those themselves, with fewer draws and from simulations of the prior that all truths share.
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
from experiments.agilkia.coverage import BINS
from experiments.agilkia.joint import BOX, USUAL, Ground, Joint, Sampled, touch_down
from experiments.agilkia.joint_cases import SIZES, pair_rebounds, read_rebounds, weigh_pairs
from experiments.agilkia.joint_report import LEAST
from experiments.agilkia.scenario import Experiment
from experiments.calibration import add_error, calibrate
from experiments.harness import Found
from inversion import Checkpoint, Importance, Observations, Problem, Tempered, sample
from inversion.draws import resample_draws
from inversion.posterior import Posterior
from inversion.prior_runs import PriorRuns

# Of each posterior: particles, draws of the first kernels, effective draws, the most simulations, and draws of pairs.
SETTINGS = PARTICLES, GENERATION, SIZE, LIMIT, DRAWS = 400, 600, 120, 8000, 1000
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

    @property
    def names(self) -> tuple[str, ...]:
        ground = self.joint.problem_of_ground(self.joint.touchdown)
        return (*ground.names, "size", "rebound_x", "rebound_y", "rebound_z")

    @property
    def discrete(self) -> set[str]:
        """The unknowns without intervals."""
        return set(self.joint.whole.discrete)

    def draw_truth(self, seed: int) -> tuple[dict[str, float], Joint]:
        """A truth by name, with a next contact, and the problem of its data. **Arguments:** `seed`."""
        joint, rng = self.joint, np.random.default_rng([seed, 0])
        ground = joint.problem_of_ground(joint.touchdown_and_rebound)
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
        free = self._sample(joint.problem_of_ground(joint.touchdown), self.ground, seed)
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
        method = Importance(Tempered(PARTICLES, start=start), generation=GENERATION)
        return sample(problem, key=jax.random.PRNGKey(seed), method=method, effective_size=SIZE, limit=LIMIT)


# Compiled once for all truths.
_touch = eqx.filter_jit(touch_down)
_fly = eqx.filter_jit(lambda flight, p: flight(p))


@eqx.filter_jit
def _rebounds(known: Experiment, unknowns: Mapping[str, Any]) -> Float[Any, "n 3"]:
    """The law's rebounds of many grounds, m/s."""
    return jax.lax.map(lambda p: touch_down(known, p)[2], unknowns)


def cover(
    whole: Problem,
    count: int,
    repetitions: int,
    seed: int,
    folder: Path,
    made_of: tuple,
    executor: Executor | None = None,
) -> Found:
    """Ranks and intervals of so many truths.

    **Arguments:** `whole`, the problem of all data, with a world; `count` of simulations of each prior; `repetitions`;
    `seed`; `folder` of the checkpoint; `made_of`: what the problem was made of; `executor`. **Returns:** what the
    harness writes.
    """
    joint = Joint(whole, replace(USUAL, effective=SIZE, limit=LIMIT, draws=DRAWS), seed)
    ground, rng = joint.problem_of_ground(joint.touchdown), np.random.default_rng(seed)
    ends = [_touch(ground.predict, _draw(ground, rng))[3] for _ in range(ENDS)]
    position = jnp.mean(jnp.stack(ends), axis=0)  # where a flight begins hardly matters: see `Joint.sample`
    key, made_of = jax.random.PRNGKey(seed), (*made_of, SETTINGS, count)
    runs = [
        PriorRuns.simulate(problem, key, count, Checkpoint(folder, (*made_of, name)), True, executor)
        for name, problem in (("ground", ground), ("flight", joint.problem_of_flight(position)))
    ]
    case = JointCalibration(joint, position, *runs)
    return calibrate(case, repetitions, seed, BINS, Checkpoint(folder, made_of), executor)


def _draw(problem: Problem, rng: np.random.Generator) -> dict[str, Array]:
    """Unknowns of a draw of the prior."""
    values = problem.relax().physical(problem.scale_probabilities(jnp.asarray(rng.random(problem.size))))
    return dict(zip(problem.names, values, strict=True))
