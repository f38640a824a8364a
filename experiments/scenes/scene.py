"""A scene: how its numbers are drawn, how a model is built from them, what it conserves and what is known of its end.

The numbers of a scene are arrays by name. So one compiled program runs all its draws, and a direction in the space of
the numbers tests the derivatives by all of them at once.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from difsim import Forward, Solution, safe, simulate
from difsim.dynamics import AbstractModel
from difsim.stepping.derivatives import AbstractDerivative
from difsim.stepping.energy import RELATIVE
from difsim.typing import Scalar
from experiments.scenes.draws import Draws
from experiments.scenes.engines import Motion

Numbers = dict[str, Any]
# Relative errors of a derivative after a contact and without one, where a solution states no validity.
UNSTATED = 1e-4, 1e-6


@dataclass(frozen=True)
class Exact:
    """What is known in closed form of a run.

    **Arguments:** `subject`, the heading in the table of the validation; `quantities` by name, each with its unit and
    the tolerance of its difference, relative where `expected` is not 0; `ours`, of the solution and the numbers;
    `expected`, of the numbers; `cases`, numbers in place of those at the middle for which the validation prints it.
    """

    subject: str
    quantities: Mapping[str, tuple[str, float]]
    ours: Callable[[Solution, Numbers], Sequence[Any]]
    expected: Callable[[Numbers], Sequence[Any]]
    cases: tuple[Mapping[str, Any], ...] = ({},)


NOTHING = Exact("", {}, lambda solution, numbers: (), lambda numbers: (), ())


@dataclass(frozen=True, eq=False)
class Scene:
    """A scene.

    **Arguments:** `name`; `draws` of its numbers; `build`, the model, its state at the start and the times s, from the
    numbers; `engine`, the options of the solver; `observe`, the part of a state that is compared: no phase of contact,
    which is not a number; `integrals` that are taken with the state; `drives`, parts of the energy that may grow by
    themselves; `conserved`, of (model, solution), vectors [T, 3] that stay, each with its size; `exact`, what is known
    in closed form.
    """

    name: str
    draws: Draws
    build: Callable[[Numbers], tuple[Any, Any, Float[Array, " T"]]]
    engine: Motion
    observe: Callable[[Any], Any] = lambda state: state
    integrals: Any = None
    drives: tuple[str, ...] = ()
    conserved: Callable[[Any, Solution], Sequence[tuple[Array, Array]]] = lambda model, solution: ()
    exact: Exact = NOTHING

    @property
    def middle(self) -> Numbers:
        """The numbers that stand for all."""
        return {name: draw.middle for name, draw in self.draws.items()}

    def replace(self, chosen: Mapping[str, Any]) -> Numbers:
        """Return the numbers at the middle, with chosen ones in place of some."""
        return self.middle | {name: np.asarray(value, float) for name, value in chosen.items()}

    def draw(self, seed: int, index: int) -> Numbers:
        """Return random numbers, the same for the same seed and index."""
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode()), index])
        return {name: draw.take(rng) for name, draw in self.draws.items()}

    def expect(self, numbers: Numbers) -> Float[Array, " k"]:
        """Return what is known in closed form."""
        return jnp.array(self.exact.expected(numbers), float)

    def known(self, end: Array) -> np.ndarray:
        """Return the part of an end, or of its derivative, that is known in closed form."""
        return np.asarray(end)[np.size(end) - len(self.exact.quantities) :]


class Record(eqx.Module):
    """The record of one run.

    `status`; `finite`, whether the states and energies of all saved times are; `energy`, the drift of the energy's sum
    as a share of the energy that is there, counted here from its parts, and `allowed`, the share that the library
    allows; `gain`, by how much losses of energy fell again, or what is held rose, as a share; `drift` of what is
    conserved, relative to its own size; `contacts`; `error`, the bound that `Solution.validity` gives for a derivative.
    """

    status: Int[Array, ""]
    finite: Bool[Array, ""]
    energy: Scalar
    allowed: Scalar
    gain: Scalar
    drift: Scalar
    contacts: Int[Array, ""]
    error: Scalar


def find_scales(model: Any, state: Any, times: Array) -> tuple[Any, Any]:
    """Return an origin and a unit of each number of a state: the model's, or 0 and the largest entry at the start."""
    if isinstance(model, AbstractModel):
        return model.scales(times[0], state)
    largest = jax.tree.map(lambda x: jnp.max(jnp.abs(x), initial=0.0), state)
    return jax.tree.map(jnp.zeros_like, state), jax.tree.map(lambda x: jnp.where(x > 0, x, 1.0), largest)


def _run(scene, numbers, base, tolerance, derivative):
    """Return the end as one vector, in units at the numbers `base`, and the record.

    The vector is what is observed of the last state, and then what is known in closed form.
    """
    model, state, times = scene.build(numbers)
    options = {"times": times} | scene.engine.options(scene, base, tolerance, derivative)
    solution = simulate(model, state, **options, integrals=scene.integrals, throw=False)
    origin, unit = find_scales(*scene.build(base))
    seen = jax.tree.map(lambda x, o, u: (x - o) / u, *map(scene.observe, (solution.last, origin, unit)))
    known = jnp.array(scene.exact.ours(solution, numbers), float)
    end = jnp.concatenate([ravel_pytree(seen)[0], known])
    return end, jax.lax.stop_gradient(_record(scene, model, solution, tolerance))


def _record(scene, model, solution, tolerance):
    # A solution whose error of the energy is NaN does not count its losses.
    is_counted = ~jnp.isnan(solution.energy_error)
    held = {*model.energy(solution.times[0], solution.at(0))} if solution.energy else set()
    drift, fall, rise = account_energy(solution.energy, held, scene.drives)
    changes = [safe.divide(jnp.max(jnp.abs(x - x[:1])), size) for x, size in scene.conserved(model, solution)]
    contacts = solution.stats.contacts if solution.impacts is None else solution.impacts.count
    contacts = jnp.asarray(0 if contacts is None else contacts)
    stated = solution.validity.error  # NaN where there is no such figure
    return Record(
        status=solution.status,
        finite=are_finite((solution.states, solution.energy)),
        energy=jnp.where(is_counted, drift, 0.0),
        allowed=scene.engine.allowed_share(tolerance),
        gain=jnp.where(is_counted, fall, rise),
        drift=jnp.max(jnp.array([0.0, *changes])),
        contacts=contacts,
        error=jnp.where(jnp.isnan(stated), jnp.where(contacts > 0, *UNSTATED), stated),
    )


@eqx.filter_jit
def run(scene: Scene, numbers: Numbers, base: Numbers, tolerance: Array) -> tuple[Array, Record]:
    """Return the end, in units at the numbers `base`, and the record of the run."""
    return _run(scene, numbers, base, tolerance, Forward())


@eqx.filter_jit
def run_forward(
    scene: Scene, numbers: Numbers, direction: Numbers, tolerance: Array, derivative: AbstractDerivative
) -> tuple[Array, Array, Record]:
    """Return the end, its derivative along a direction in the numbers, and the record of the run."""
    evaluate = lambda x: _run(scene, x, numbers, tolerance, derivative)  # noqa: E731
    return jax.jvp(evaluate, (numbers,), (direction,), has_aux=True)


@eqx.filter_jit
def run_reverse(
    scene: Scene, numbers: Numbers, weights: Array, tolerance: Array, derivative: AbstractDerivative
) -> tuple[Numbers, Record]:
    """Return the gradient by the numbers of the weighted sum of the end, and the record of the run."""
    _, pull, record = jax.vjp(lambda x: _run(scene, x, numbers, tolerance, derivative), numbers, has_aux=True)
    return pull(weights)[0], record


def account_energy(energy: dict[str, Array], held: set[str], drives: Sequence[str] = ()) -> tuple[Scalar, ...]:
    """Return the drift of the energy's sum, the largest fall of a loss and the rise of the sum.

    They are shares of the energy that is there.

    **Arguments:** `energy`, its parts [T] J by name; `held`, the names of those that the model holds: the others left
    it, and can only grow; `drives`, of those that may grow or fall by themselves.
    """
    parts = {"none": jnp.zeros(1)} | energy
    there = jnp.max(sum(jnp.abs(x - x[0] if name in RELATIVE else x) for name, x in parts.items()))
    # A sum of large potentials is known to their rounding only.
    rounding = 100 * jnp.finfo(there.dtype).eps * jnp.max(sum(map(jnp.abs, parts.values())))
    changes = {name: x - x[0] for name, x in parts.items()}
    drift = jnp.max(jnp.abs(sum(changes.values())))
    rise = jnp.max(sum(x for name, x in changes.items() if name not in drives))
    falls = [jnp.max(-jnp.diff(x)) for name, x in energy.items() if name not in {*held, *drives}]
    shares = drift, jnp.max(jnp.array([0.0, *falls])), rise
    return tuple(safe.divide(jnp.maximum(x - rounding, 0.0), there) for x in shares)


def are_finite(tree: Any) -> Bool[Array, ""]:
    """Return whether all floating numbers of a pytree are finite."""
    return jnp.all(jnp.array([jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(tree) if eqx.is_inexact_array(x)]))
