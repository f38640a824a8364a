"""`difsim agilkia --stage assumptions`: how far the answer follows what the input files assume.

Each row puts one other value in the place of an assumption, by the tables [alternatives] of the two input files. All
rows draw with the same random numbers, first from kernels at the draws of the posterior in OUT/result.nc, and then from
kernels at their own draws.
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import safe
from difsim.saving.checkpoint import Checkpoint
from experiments.agilkia.files import DataSet, list_alternatives, read_lander, read_observations
from experiments.agilkia.grains_draws import StoredDraws
from experiments.agilkia.scenario import Experiment, problem
from inversion import Problem
from inversion.cube import Cube
from inversion.draws import resample_draws
from inversion.particles import Particles
from inversion.posterior import Posterior
from inversion.progress import Bar
from inversion.reporting import build_posterior
from inversion.search import Search
from inversion.threads import map_in_threads

PRIOR = 0.2  # share of draws from the prior, which reach where the first posterior has none
TIMES = np.arange(0.0, 2.0, 0.005)  # s, of the peak force; as the report's


@dataclass(frozen=True)
class Sizes:
    """Kernels; simulations of a generation, and the most of a row; independent draws that end a row, and that it needs
    for a number; draws whose peak force is simulated."""

    kernels: int
    generation: int
    simulations: int
    enough: int
    least: int
    peaks: int


USUAL, QUICK = Sizes(400, 500, 8000, 100, 30, 64), Sizes(100, 60, 120, 30, 2, 6)


@dataclass(frozen=True)
class Case:
    """The files as they are, or with another `value` of one `key`."""

    key: str
    value: Any
    lander: dict[str, dict[str, Any]]
    data: DataSet

    @property
    def text(self) -> str:
        """The value in words; many numbers are their range."""
        if self.value is None or self.value is False:
            return "none" if self.value is False else ""
        flat = np.ravel(self.value).tolist()
        return f"{len(flat)} numbers from {min(flat):g} to {max(flat):g}" if len(flat) > 5 else str(self.value)

    @property
    def name(self) -> str:
        """The assumption with the value in its place."""
        return f"{self.key} = {self.text}" if self.key else "files as they are"


def list_cases(lander: Path, observations: Path) -> list[Case]:
    """The files as they are, and then with each of their alternatives.

    **Raises:** ValueError where neither file has alternatives, and for one that the file could not hold.
    """
    tables, data = read_lander(lander), read_observations(observations)
    cases = [Case("", None, tables, data)]
    for key, values in list_alternatives(lander).items():
        cases += [Case(key, value, read_lander(lander, changed={key: value}), data) for value in values]
    for key, values in list_alternatives(observations).items():
        cases += [
            Case(key, value, tables, read_observations(observations, changed={key: value})) for value in values
        ]
    if len(cases) == 1:
        raise ValueError(
            f"{lander} and {observations} have no [alternatives], whose effect --stage assumptions finds: "
            "data/philae.toml shows that table"
        )
    return cases


@dataclass(frozen=True)
class Sampler:
    """Draws the posteriors of cases, all from the `first` draws.

    **Arguments:** `first`; `sizes`; `seed`; `folder` of finished generations; `executor`.
    """

    first: StoredDraws
    sizes: Sizes
    seed: int
    folder: Path
    executor: Executor | None = None

    def sample(self, case: Case) -> Posterior:
        """The posterior of a case."""
        kept = Checkpoint(self.folder, (case.lander, case.data, self.first, self.sizes, self.seed))
        return self.draw(problem(case.lander, case.data), kept)

    def draw(self, inverse: Problem, kept: Checkpoint | None) -> Posterior:
        """A posterior that is worth `enough` independent draws, or what its simulations give.

        **Arguments:** `inverse`, whose unknowns are among those of the `first` draws; `kept`, generations.
        """
        cube, sizes = Cube(inverse, executor=self.executor), self.sizes
        first, seed = self._transfer(cube), [self.seed]
        with Bar("", sizes.enough, False) as bar:
            search = Search(cube, sizes.generation, PRIOR, seed, sizes.enough, sizes.simulations, kept, bar)
            # The first draws are of another posterior: as soon as there are some of this one, they count little.
            search.begin(first, float(cube.active.size), -np.inf)
            search.run()
        prior = np.random.default_rng(self.seed).random((len(search.u), cube.active.size))
        return build_posterior(inverse, cube, search.result(prior))

    def _transfer(self, cube: Cube) -> Particles:
        """Draws of the first posterior as points of another prior; those that it excludes are left out."""
        rows = resample_draws(jax.random.PRNGKey(self.seed), self.first.weights, self.sizes.kernels)
        u, is_inside = np.empty((len(rows), cube.active.size)), np.ones(len(rows), bool)
        for k, label in enumerate(cube.labels):
            unknown, values = cube.problem.component(label), self.first.values[label][rows]
            if k in cube.choices:
                nearest = np.argmin(np.abs(values[:, None] - np.asarray(unknown.values)), axis=1)
                u[:, k] = (nearest + 0.5) / cube.choices[k]
            else:
                s = unknown.to_prior_scale(jnp.asarray(values))
                is_inside &= np.asarray((s >= unknown.limits[0]) & (s <= unknown.limits[1]))
                u[:, k] = unknown.probability(s)
        return Particles(u[is_inside], self.first.log_likelihood[rows[is_inside]], np.zeros(is_inside.sum()))

    def find_peak_forces(self, posterior: Posterior) -> np.ndarray:
        """The greatest contact force, N, of some draws of a posterior."""
        drawn = posterior.resample(jax.random.PRNGKey(self.seed), self.sizes.peaks)
        known = posterior.problem.predict
        cases = [{name: jnp.asarray(of[i]) for name, of in drawn.items()} for i in range(self.sizes.peaks)]
        return np.asarray(map_in_threads(lambda p: float(_greatest_force(known, p)), cases))


@eqx.filter_jit
def _greatest_force(known: Experiment, p: Mapping[str, Any]) -> Any:
    model, solution = known.follow(p, jnp.asarray(TIMES))
    return jnp.max(safe.norm(jax.vmap(model.contact_force)(solution.states)))
