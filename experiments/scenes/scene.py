"""A scene: how its numbers are drawn, how a model is built from them, what it conserves and what is known of its end.

The numbers of a scene are arrays by name. So one compiled program runs all its draws, and a direction in the space of
the numbers tests the derivatives by all of them at once.
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from difsim import Forward, Solution, safe, simulate
from difsim.stepping.derivatives import AbstractDerivative
from difsim.stepping.energy import RELATIVE
from difsim.typing import Scalar
from experiments.scenes.draws import Draw
from experiments.scenes.engines import Motion, Options

Numbers = dict[str, Any]
Conserved = list[tuple[Array, Array]]  # vectors [T, 3], each with its size
SAVED = 5  # times of a scene
# Relative errors of a derivative after a contact and without one, where a solution states no validity.
UNSTATED = 1e-4, 1e-6


@dataclass(frozen=True)
class Exact:
    """A quantity of a run that is known in closed form.

    **Arguments:** `subject`, the heading in the table of the validation; `name`; `ours`, from the model, the solution
    and the numbers; `expected`, from the numbers; `tolerance` of the difference, relative to `expected` where
    `is_relative`; `unit`; `slope`, the tolerance of its derivatives by the numbers relative to the largest (None: the
    closed form is another path than the run's, such as that of a limit).
    """

    subject: str
    name: str
    ours: Callable[[Any, Solution, Numbers], Scalar]
    expected: Callable[[Numbers], Scalar]
    tolerance: float
    unit: str = "1"
    is_relative: bool = False
    slope: float | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """A scene.

    **Arguments:** `name`; `draws` of its numbers; `build`, the model, its state at the start and the times s, from the
    numbers; `engine`, the options of the solver; `observe`, the part of a state that is compared: no phase of contact,
    which is not a number; `units`, of each number of that part (None: the model's own scales); `integrals` that are
    taken beside the state; `drives`, the losses that may be gains; `conserved`, of (model, solution), vectors [T, 3]
    that stay, each with its size; `gain`, of (model, solution), the share of energy that appears where the solution
    has no balance; `exact`, what is known in closed form, and `cases`, numbers for which the validation prints it.
    """

    name: str
    draws: Mapping[str, Draw]
    build: Callable[[Numbers], tuple[Any, Any, Float[Array, " T"]]]
    engine: Motion
    observe: Callable[[Any], Any] = lambda state: state
    units: Callable[[Numbers], Any] | None = None
    integrals: Any = None
    drives: tuple[str, ...] = ()
    conserved: Callable[[Any, Solution], Conserved] = lambda model, solution: []
    gain: Callable[[Any, Solution], Scalar] | None = None
    exact: tuple[Exact, ...] = ()
    cases: tuple[Mapping[str, Any], ...] = field(default=({},))

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

    def point_inwards(self, numbers: Numbers, direction: Numbers) -> tuple[Numbers, bool]:
        """Return a direction that leaves no range, and whether the opposite one would."""
        pointed = {name: draw.point_inwards(numbers[name], direction[name]) for name, draw in self.draws.items()}
        return {name: way for name, (way, _) in pointed.items()}, any(limited for _, limited in pointed.values())


def until_time(end: Array) -> Float[Array, " T"]:
    """Return the saved times of a scene that ends at `end` s."""
    return jnp.linspace(0.0, 1.0, SAVED) * end


class Record(eqx.Module):
    """The record of one run.

    `status`; `finite`, whether the states and energies of all saved times are; `energy`, the drift of the energy's sum
    as a share of the energy that is there, counted here from its parts, and `allowed`, the share that the library
    allows; `gain`, by how much losses of energy fell again, as a share; `drift` of what is conserved, relative to its
    own size; `contacts`; `error`, the bound that `Solution.validity` gives for a derivative (NaN where it gives none).
    """

    status: Int[Array, ""]
    finite: Bool[Array, ""]
    energy: Scalar
    allowed: Scalar
    gain: Scalar
    drift: Scalar
    contacts: Int[Array, ""]
    error: Scalar


class Prepared(eqx.Module):
    """The data of a run besides its numbers: `origin` and `unit` of what is observed, sizes of `exact`, `lists`."""

    origin: Any
    unit: Any
    exact: Float[Array, " k"]
    lists: Any


def prepare(scene: Scene, numbers: Numbers) -> Prepared:
    """Return the data of a scene that no derivative sees, so that all runs of differences share them."""
    return _prepare(scene, numbers, scene.engine.make_room(scene))


@eqx.filter_jit
def _prepare(scene, numbers, room):
    model, state, times = scene.build(numbers)
    if scene.units is None:
        origin, unit = (scene.observe(_spread(of, state)) for of in model.scales(times[0], state))
    else:
        part = scene.observe(state)
        origin, unit = _spread(0.0, part), _spread(scene.units(numbers), part)
    sizes = jnp.abs(evaluate_exact(scene, numbers))
    lists = scene.engine.prepare(model, state, room)
    return Prepared(origin, unit, jnp.where(sizes > 0, sizes, 1.0), lists)


def _spread(of, tree):
    """Return a tree of values, such as a number for all, with the shapes of another."""

    def fill(value, part):
        return jax.tree.map(lambda x: jnp.broadcast_to(value, jnp.shape(x)), part)

    return jax.tree.map(fill, of, tree)


def follow(scene: Scene, numbers: Numbers, prepared: Prepared, options: Options) -> tuple[Any, Any, Solution]:
    """Return the model, its state at the start and the solution. Traceable."""
    model, state, times = scene.build(numbers)
    options, times = scene.engine.complete(options, times, prepared.lists)
    return model, state, simulate(model, state, times, **options, integrals=scene.integrals, throw=False)


def end(scene: Scene, numbers: Numbers, prepared: Prepared, options: Options) -> tuple[Array, Array, Solution]:
    """Return what is observed of the last state, and the quantities known in closed form, both in units."""
    model, _, solution = follow(scene, numbers, prepared, options)
    return *_end(scene, numbers, prepared, model, solution), solution


def _end(scene, numbers, prepared, model, solution):
    watched = jax.tree.map(
        lambda x, o, u: (x - o) / u, scene.observe(solution.last), prepared.origin, prepared.unit
    )
    ours = [jnp.asarray(each.ours(model, solution, numbers)) for each in scene.exact]
    ours = jnp.stack(ours) / prepared.exact if ours else jnp.zeros(0)
    return ravel_pytree(watched)[0], ours


def evaluate_exact(scene: Scene, numbers: Numbers) -> Float[Array, " k"]:
    """Return the closed forms."""
    values = [jnp.asarray(each.expected(numbers), float) for each in scene.exact]
    return jnp.stack(values) if values else jnp.zeros(0)


def evaluate_slopes(scene: Scene, numbers: Numbers) -> dict[str, Array]:
    """Return the derivatives of the closed forms by the numbers, by name [k, ...]."""
    return jax.jacfwd(lambda numbers: evaluate_exact(scene, numbers))(jax.tree.map(jnp.asarray, numbers))


def _run(scene, numbers, prepared, tolerance, derivative):
    """Return the end as one vector, and the record."""
    options = scene.engine.options(tolerance, derivative)
    model, state, solution = follow(scene, numbers, prepared, options)
    watched, ours = _end(scene, numbers, prepared, model, solution)
    return jnp.concatenate([watched, ours]), jax.lax.stop_gradient(
        _record(scene, model, state, solution, tolerance)
    )


def _record(scene, model, state, solution, tolerance):
    energy = solution.energy
    held = {*model.energy(solution.times[0], state), *scene.drives} if energy else set()
    # A solution whose error of the energy is NaN keeps no balance of it.
    has_none = jnp.isnan(solution.energy_error)
    drift, gain = (jnp.where(has_none, 0.0, share) for share in account_energy(energy, held))
    if scene.gain is not None:
        gain = scene.gain(model, solution)
    contacts = solution.stats.contacts if solution.impacts is None else solution.impacts.count
    contacts = jnp.asarray(0 if contacts is None else contacts)
    stated = solution.validity.error  # NaN where there is no such figure
    return Record(
        status=solution.status,
        finite=are_finite((solution.states, solution.energy)),
        energy=drift,
        allowed=scene.engine.allowed_share(tolerance),
        gain=gain,
        drift=_drift(scene.conserved(model, solution)),
        contacts=contacts,
        error=jnp.where(jnp.isnan(stated), jnp.where(contacts > 0, *UNSTATED), stated),
    )


@eqx.filter_jit
def run(scene: Scene, numbers: Numbers, prepared: Prepared, tolerance: Array) -> tuple[Array, Record]:
    """Return the end, and the record of the run."""
    return _run(scene, numbers, prepared, tolerance, Forward())


@eqx.filter_jit
def run_forward(
    scene: Scene,
    numbers: Numbers,
    direction: Numbers,
    prepared: Prepared,
    tolerance: Array,
    derivative: AbstractDerivative,
) -> tuple[Array, Array, Record]:
    """Return the end, its derivative along a direction in the numbers, and the record of the run."""

    def evaluate(numbers):
        return _run(scene, numbers, prepared, tolerance, derivative)

    return jax.jvp(evaluate, (numbers,), (direction,), has_aux=True)


@eqx.filter_jit
def run_reverse(
    scene: Scene,
    numbers: Numbers,
    weights: Array,
    prepared: Prepared,
    tolerance: Array,
    derivative: AbstractDerivative,
) -> tuple[Numbers, Record]:
    """Return the gradient by the numbers of the weighted sum of the end, and the record of the run."""
    _, pull, record = jax.vjp(lambda x: _run(scene, x, prepared, tolerance, derivative), numbers, has_aux=True)
    return pull(weights)[0], record


def measure(scene: Scene, numbers: Numbers) -> Float[Array, " k"]:
    """Return our values of the quantities that are known in closed form."""
    return _measure(scene, numbers, prepare(scene, numbers))


def measure_slopes(scene: Scene, numbers: Numbers) -> dict[str, Array]:
    """Return their derivatives by the numbers, by name [k, ...]."""
    prepared, numbers = prepare(scene, numbers), jax.tree.map(jnp.asarray, numbers)
    return eqx.filter_jit(jax.jacfwd(lambda n: _measure(scene, n, prepared)))(numbers)


@eqx.filter_jit
def _measure(scene, numbers, prepared):
    options = scene.engine.options(jnp.asarray(scene.engine.tolerance), Forward())
    return end(scene, numbers, prepared, options)[1] * prepared.exact


def account_energy(energy: dict[str, Array], held: set[str]) -> tuple[Scalar, Scalar]:
    """Return the drift of the energy's sum and the largest fall of a loss, as shares of the energy that is there.

    **Arguments:** `energy`, its parts [T] J by name; `held`, the names of those that the model holds, or that a drive
    gives: the others left it, and can only grow.
    """
    parts = {name: jnp.asarray(part) for name, part in energy.items()}
    if not parts:
        return jnp.zeros(()), jnp.zeros(())
    there = jnp.max(sum(jnp.abs(x - x[0] if name in RELATIVE else x) for name, x in parts.items()))
    total = sum(parts.values())
    # A sum of large potentials is known to their rounding only.
    rounding = 100 * jnp.finfo(total.dtype).eps * jnp.max(sum(jnp.abs(x) for x in parts.values()))
    drift = jnp.maximum(jnp.max(jnp.abs(total - total[0])) - rounding, 0.0)
    falls = [jnp.max(-jnp.diff(x)) for name, x in parts.items() if name not in held]
    fall = jnp.maximum(jnp.max(jnp.stack(falls)) - rounding, 0.0) if falls else jnp.zeros(())
    return safe.divide(drift, there), safe.divide(fall, there)


def _drift(conserved: Conserved) -> Scalar:
    """Return the largest change of conserved vectors relative to their sizes."""
    changes = [safe.divide(jnp.max(jnp.abs(x - x[:1])), size) for x, size in conserved]
    return jnp.max(jnp.stack(changes)) if changes else jnp.zeros(())


def are_finite(tree: Any) -> Bool[Array, ""]:
    """Return whether all floating numbers of a pytree are finite."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(tree) if eqx.is_inexact_array(x)]))
