"""Problems of discrete unknowns whose best leaf is known: a grid finds the minimum of every leaf of a closed form."""

import itertools
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from inversion import (
    Bounded,
    Discrete,
    Observation,
    Observations,
    Problem,
    Tempered,
    branch_and_bound,
    sample,
)
from inversion.tree import Tree

PERIOD, RANGE, GRID = 2.5, (-4.0, 5.0), 3000  # of the ripples; of each continuous unknown; its points of the grid
ROWS = 4  # numbers that depend on one continuous unknown and all choices, beside a ripple of each
X = ("x", "y")


class Waves(eqx.Module):
    """Numbers that are linear in the choices and in x or y, and a sine of x and of y that the choices shift."""

    mix: Array  # [2, ROWS, choices]
    slope: Array  # [2, ROWS]
    shift: Array  # [2, choices]
    height: Array  # of the sine

    def __call__(self, p):
        d = jnp.stack([p[f"d{i}"] for i in range(self.mix.shape[-1])])
        x = jnp.stack([p[name] for name in X])
        line = self.mix @ d + self.slope * x[:, None]
        wave = self.height * jnp.sin(2.0 * jnp.pi / PERIOD * (x - self.shift @ d))
        return {"line": line.ravel(), "wave": wave}, True


@dataclass(frozen=True)
class Choices:
    """A family: the `sizes` of the choices, the `height` of the ripples, 0 for an exact relaxation, and a choice that
    has names (`named`)."""

    sizes: tuple[int, ...]
    height: float
    named: bool = False

    @property
    def leaves(self) -> int:
        return int(np.prod(self.sizes))

    def draw(self, seed: int) -> tuple[Problem, float]:
        """A problem, and the misfit of its best leaf: a truth, and errors of one standard deviation, of a seed."""
        rng, count = np.random.default_rng(seed), len(self.sizes)
        values = [np.linspace(0.0, 1.0, size) for size in self.sizes]
        steps = np.array(self.sizes) - 1.0
        model = Waves(
            jnp.asarray(1.5 * steps * rng.normal(size=(2, ROWS, count))),
            jnp.asarray(rng.normal(size=(2, ROWS))),
            jnp.asarray(2.0 * rng.normal(size=(2, count))),
            jnp.asarray(self.height),
        )
        truth = {f"d{i}": jnp.asarray(rng.choice(v)) for i, v in enumerate(values)}
        truth |= {name: jnp.asarray(rng.uniform(*RANGE)) for name in X}
        seen = {k: np.asarray(v) + rng.normal(size=v.shape) for k, v in model(truth)[0].items()}
        names = [f"of {i}" for i in range(self.sizes[-1])]
        choices = {
            f"d{i}": Discrete(v.tolist(), labels=names if self.named and i == count - 1 else None)
            for i, v in enumerate(values)
        }
        unknown = {name: Bounded(*RANGE) for name in X} | choices
        problem = Problem(unknown, model, Observations({k: Observation(v, 1.0) for k, v in seen.items()}))
        return problem, least_misfit(model, seen, values)


def least_misfit(model: Waves, seen: dict[str, np.ndarray], values: list[np.ndarray]) -> float:
    """The lowest misfit of all leaves, by a grid of x and of y, which no number has both of."""
    leaves, x = np.array(list(itertools.product(*values))), np.linspace(*RANGE, GRID)
    total = np.zeros(len(leaves))
    for mix, slope, shift, line, wave in zip(
        *map(np.asarray, (model.mix, model.slope, model.shift)),
        seen["line"].reshape(2, ROWS),
        seen["wave"],
        strict=True,
    ):
        phase = 2.0 * np.pi / PERIOD * (x - (leaves @ shift)[:, None])
        misfit = (float(model.height) * np.sin(phase) - wave) ** 2
        for row in range(ROWS):
            misfit += ((leaves @ mix[row])[:, None] + slope[row] * x - line[row]) ** 2
        total += misfit.min(axis=1)
    return float(total.min())


FAMILIES = {
    "exact relaxation": Choices((4, 4, 3), 0.0),
    "many minima": Choices((4, 4, 3), 3.0),
    "four choices": Choices((5, 5, 4, 2), 3.0, named=True),
    "10 000 leaves": Choices((10, 10, 10, 10), 2.0),
}
TOLERANCE = 1e-3


def find_best_leaf(problem: Problem, seed: int, particles: int = 400) -> tuple[Tree, int]:
    """The tree that starts from draws of the posterior, and how many simulations these took."""
    drawn = {"method": Tempered(particles, 8), "effective_size": 50, "limit": 10 * particles, "batch_size": 500}
    key = jax.random.PRNGKey(seed)
    posterior = sample(problem, key=key, **drawn)
    return branch_and_bound(problem, key=key, posterior=posterior, tolerance=TOLERANCE), posterior.calls.forward
