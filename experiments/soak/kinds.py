"""A kind of random scene: how its numbers are drawn, and one compiled program that serves all of them.

The numbers of a scene are arrays by name. So one program runs all scenes of a kind, and a direction in the space of the
numbers tests the derivatives by all of them at once.
"""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from difsim import safe
from difsim.stepping.energy import RELATIVE
from difsim.typing import Scalar

Numbers = dict[str, Any]
Rng = np.random.Generator

AT_LIMIT = 0.15  # how often a number takes a limit of its range
VALUES, FORWARD, REVERSE, UNROLLED = "values", "forward", "reverse", "unrolled"


class Told(eqx.Module):
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


@dataclass(frozen=True, eq=False)
class Kind(ABC):
    """A kind of scene.

    **Arguments:** `name`; `draw`, numbers from a generator; `tolerance` of its steps, and whether it has one that can
    be made finer (`has_tolerance`); `reverse`, how its reverse derivative is taken (`REVERSE`, through adaptive steps,
    `UNROLLED`, through equal ones, or None), and `backward`, the relative difference from the forward one that it may
    have: equal steps give the same number but for rounding; `least` and `most`, ends of the ranges of numbers by
    their names, which scenes take now and then; `zeros`, names of numbers whose entries may be 0, each for itself.
    """

    name: str
    draw: Callable[[Rng], Numbers]
    tolerance: float = 1e-8
    has_tolerance: bool = True
    reverse: str | None = UNROLLED
    backward: float = 1e-7
    least: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    zeros: tuple[str, ...] = ()

    def prepare(self, numbers: Numbers) -> Any:
        """Data of a run besides its numbers, made once a scene on the host; no derivative sees them."""
        return None

    @abstractmethod
    def end(
        self, numbers: Numbers, prepared: Any, tolerance: Scalar, mode: str
    ) -> tuple[Float[Array, " m"], Told]:
        """The last state in units of the motion, and what the run says of itself. Traceable.

        **Arguments:** `numbers`; `prepared`; `tolerance`; `mode`, one of `VALUES`, `FORWARD`, `REVERSE`, `UNROLLED`.
        """

    def numbers(self, seed: int, index: int) -> Numbers:
        """The numbers of one scene, the same for the same seed and index; some take limits of their ranges."""
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode()), index])
        numbers = {name: np.asarray(value, float) for name, value in self.draw(rng).items()}
        for name, value in (*self.least.items(), *self.most.items()):
            if rng.uniform() < AT_LIMIT:
                numbers[name] = np.full_like(numbers[name], value)
        for name in self.zeros:
            numbers[name] = np.where(rng.uniform(size=numbers[name].shape) < AT_LIMIT, 0.0, numbers[name])
        return numbers

    def inwards(self, numbers: Numbers, way: Numbers) -> tuple[Numbers, bool]:
        """A way that leaves no range, and whether the opposite one would.

        **Arguments:** `numbers`; `way`, of each of them. **Returns:** the way with the signs that it must have.
        """
        signs = {name: 1.0 for name, value in self.least.items() if (numbers[name] == value).all()}
        signs |= {name: -1.0 for name, value in self.most.items() if (numbers[name] == value).all()}
        return way | {name: sign * np.abs(way[name]) for name, sign in signs.items()}, bool(signs)


@eqx.filter_jit
def values(kind: Kind, numbers: Numbers, prepared: Any, tolerance: Array) -> tuple[Array, Told]:
    """The last state, and what the run says of itself."""
    return kind.end(numbers, prepared, tolerance, VALUES)


@eqx.filter_jit
def forward(
    kind: Kind, numbers: Numbers, way: Numbers, prepared: Any, tolerance: Array, mode: str
) -> tuple[Array, Array, Told]:
    """The last state, its derivative along a way in the numbers, and what the run says of itself."""
    return jax.jvp(lambda x: kind.end(x, prepared, tolerance, mode), (numbers,), (way,), has_aux=True)


@eqx.filter_jit
def reverse(
    kind: Kind, numbers: Numbers, weights: Array, prepared: Any, tolerance: Array, mode: str
) -> tuple[Numbers, Told]:
    """The gradient by the numbers of the weighted sum of the last state, and what the run says of itself."""
    _, pull, told = jax.vjp(lambda x: kind.end(x, prepared, tolerance, mode), numbers, has_aux=True)
    return pull(weights)[0], told


def sizes(numbers: Numbers) -> Numbers:
    """The size of each number, by which it is moved: of a vector that of its largest entry, of zeros 1."""
    largest = {name: np.max(np.abs(value), initial=0.0) for name, value in numbers.items()}
    return {
        name: np.full(np.shape(value), largest[name] if largest[name] > 0 else 1.0)
        for name, value in numbers.items()
    }


def energy_account(energy: dict[str, Array], held: set[str], dtype: jnp.dtype) -> tuple[Scalar, Scalar]:
    """The drift of the energy's sum and the largest fall of a loss, as shares of the energy that is there.

    **Arguments:** `energy`, its parts at each time, by name; `held`, the names of those that the model holds, or
    that a drive gives: the others left it, and can only grow; `dtype`.
    """
    parts = {name: jnp.asarray(part) for name, part in energy.items()}
    if not parts:
        return jnp.zeros((), dtype), jnp.zeros((), dtype)
    there = jnp.max(sum(jnp.abs(x - x[0] if name in RELATIVE else x) for name, x in parts.items()))
    total = sum(parts.values())
    # A sum of large potentials is known to their rounding only.
    rounding = 100 * jnp.finfo(dtype).eps * jnp.max(sum(jnp.abs(x) for x in parts.values()))
    drift = jnp.maximum(jnp.max(jnp.abs(total - total[0])) - rounding, 0.0)
    falls = [jnp.max(-jnp.diff(x)) for name, x in parts.items() if name not in held]
    fall = jnp.maximum(jnp.max(jnp.stack(falls)) - rounding, 0.0) if falls else jnp.zeros((), dtype)
    return safe.divide(drift, there), safe.divide(fall, there)


def drift_of(kept: list[tuple[Array, Array]]) -> Scalar:
    """The largest change of conserved vectors [T, 3] relative to their sizes."""
    changes = [safe.divide(jnp.max(jnp.abs(x - x[:1])), size) for x, size in kept]
    return jnp.max(jnp.stack(changes)) if changes else jnp.zeros(())


def all_finite(tree: Any) -> Bool[Array, ""]:
    """Whether all floating numbers of a pytree are finite."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(tree) if eqx.is_inexact_array(x)]))
