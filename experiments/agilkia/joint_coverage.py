"""`--stage joint --repetitions N`: do the intervals of touchdown and contact hold the truth, on synthetic data?

A truth is a ground, a size of the law's error and an error of that size. Its touchdown gives the law's rebound, and the
real rebound, which differs by the error, flies to the next contact. Data are read of both with the errors of the data
set, and inverted as those themselves, with fewer draws and from simulations of the prior that all truths share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from difsim.typing import Vec3
from experiments import ranks
from experiments.agilkia.joint import BOX, Ground, Joint, Sampled
from experiments.agilkia.joint_cases import SIZES, list_size_densities, pair_all, read_rebounds
from inversion import Importance, Observation, Observations, Problem, Tempered, sample
from inversion.coordinates import strip_weak_types
from inversion.cube import Cube
from inversion.draws import resample_draws
from inversion.posterior import Posterior
from inversion.prior_runs import PriorRuns

LEAST = 30  # independent draws that intervals need
# Of each posterior: particles, draws of the first kernels, effective draws, and the most simulations.
PARTICLES, GENERATION, SIZE, LIMIT = 400, 600, 120, 8000


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
        ground = joint.problem_of_ground(joint.touchdown_and_rebound)
        cube, flight = Cube(ground), joint.problem_of_flight(self.position)
        while True:
            s = ground.scale_probabilities(jnp.asarray(rng.random(ground.size)))
            size = rng.choice(SIZES)
            error = size * rng.standard_normal(3)
            unknowns = dict(zip(ground.names, cube.relax.physical(s), strict=True))
            unknowns = {k: jnp.asarray(v) for k, v in unknowns.items()}
            values, status, law, _ = _touch(ground.predict, unknowns)
            real = np.asarray(law) + error
            seen, _ = _fly(flight.predict, {"rebound": jnp.asarray(real)})
            inside = np.all((real > BOX.lower) & (real < BOX.upper))
            if int(status) == 0 and inside and np.isfinite(seen["second_contact_time"]):
                break
        read = {k: np.asarray(v) for k, v in values.items()}
        read |= {k: v[0] for k, v in read_rebounds(joint.whole.predict, real[None]).items()} | seen
        data = {name: _add_error(joint.whole.data[name], read[name], rng) for name in joint.whole.data.names}
        truth = {k: float(v) for k, v in unknowns.items()} | {"size": float(size)}
        truth |= {f"rebound_{axis}": float(x) for axis, x in zip("xyz", real, strict=True)}
        return truth, replace(joint, whole=_with_data(joint.whole, data))

    def repeat(self, seed: int) -> dict[str, np.ndarray]:
        """Ranks, and probabilities below, of the truth in one joint posterior. **Arguments:** `seed`."""
        truth, joint = self.draw_truth(seed)
        free = self._sample(joint.problem_of_ground(joint.touchdown), self.ground, seed)
        unknowns = free.resample(joint.key, joint.effort.draws)
        ground = Ground(free, unknowns, {}, np.asarray(_rebounds(free.problem.predict, unknowns)))
        flight = self._sample(joint.problem_of_flight(self.position), self.flights, seed)
        sampled = Sampled(ground, ground, flight)
        case = pair_all(joint, sampled)
        drawn = {k: v[case.rows] for k, v in ground.unknowns.items()}
        drawn |= {f"rebound_{axis}": case.rebounds[:, i] for i, axis in enumerate("xyz")}
        shares = list_size_densities(joint, sampled)
        drawn["size"] = SIZES[resample_draws(jax.random.PRNGKey(seed), shares / shares.sum(), len(case.rows))]
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


@eqx.filter_jit
def _touch(known: Any, p: Mapping[str, Any]) -> tuple[dict[str, Any], Any, Vec3, Vec3]:
    """The observables of a touchdown, its status, the law's rebound, m/s, and where it ends, m."""
    model, solution = known.follow(p, known.times)
    status = jnp.where(solution.values_are_valid, 0, solution.status)
    last = solution.states.body
    return known.observe(model, solution), status, last.velocity[-1], last.position[-1]


@eqx.filter_jit
def _rebounds(known: Any, unknowns: Mapping[str, Any]) -> Float[Any, "n 3"]:
    """The law's rebounds of many grounds, m/s."""
    return jax.lax.map(lambda p: _touch(known, p)[2], unknowns)


_fly = eqx.filter_jit(lambda flight, p: flight(p))


def _with_data(problem: Problem, data: Mapping[str, Observation]) -> Problem:
    return eqx.tree_at(lambda p: p.data, problem, strip_weak_types(Observations(dict(data))))


def _add_error(known: Observation, predicted: Any, rng: np.random.Generator) -> Observation:
    value = np.asarray(predicted) + np.asarray(known.sigma) * rng.standard_normal(np.shape(predicted))
    return Observation(value, known.sigma, known.unit)
