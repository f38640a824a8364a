"""A check that attitudes are unit quaternions, since any other one stretches or flattens what it rotates."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from difsim.quantity import UnitQuaternion
from difsim.typing import is_known

# Tolerance of the length. Solvers leave 2e-6 after 160 turns at the tolerance 1e-8, 3e-5 at 1e-6 (single
# precision too), and finite differences some 1e-4; the relative error of a rotated vector is twice as large.
TOLERANCE = 1e-3


def attitude_is_unit(state: Any) -> Bool[Array, ""]:
    """True if all attitudes in a state are unit quaternions to 1e-3, also under jit.

    `state` is a pytree of Modules, one or a batch. Attitudes are the fields made by `difsim.fields.quaternion()`.
    One that is not finite passes: other checks report it.
    """
    sound = [jnp.all(_is_unit(value)) for _, value in _attitudes(state)]
    return jnp.all(jnp.stack(sound)) if sound else jnp.asarray(True)


def require_attitude(what: str, state: Any) -> None:
    """Refuse a state with a known attitude that is no unit quaternion.

    `RigidState` does not check it, since a rate has the same structure and the rate of an attitude has any length.

    **Arguments:** `what`, the start of the message; `state`, a pytree of Modules. **Raises:** ValueError.
    """
    for name, value in _attitudes(state):
        if is_known(value) and not np.all(_is_unit(np.asarray(value))):
            length = np.linalg.norm(value, axis=-1)
            remedy = "divide it by its length" if np.all(length > 0) else "give (1, 0, 0, 0) for no turn"
            raise ValueError(
                f"{what}: {name} = {value} has the length {length}, and is no unit quaternion: {remedy}"
            )


def _is_unit(q):
    """True where quaternions [..., 4] of NumPy or JAX are of unit length."""
    length2 = (q * q).sum(axis=-1)
    # 1 ± 2 δ for the square, without a root, which has no derivative at 0.
    return (abs(length2 - 1) <= 2 * TOLERANCE) | ~(abs(length2) < jnp.inf)


def _attitudes(x: Any, name: str = "") -> Iterator[tuple[str, Array]]:
    """The names, such as `first.attitude`, and values of all attitudes."""
    if isinstance(x, eqx.Module):
        for field in dataclasses.fields(x):
            value, path = getattr(x, field.name), f"{name}.{field.name}".lstrip(".")
            if isinstance(getattr(field.metadata.get("converter"), "quantity", None), UnitQuaternion):
                yield path, value
            elif not field.metadata.get("static", False):
                yield from _attitudes(value, path)
    elif isinstance(x, tuple | list):
        for i, value in enumerate(x):
            yield from _attitudes(value, f"{name}[{i}]")
    elif isinstance(x, dict):
        for key, value in x.items():
            yield from _attitudes(value, f"{name}[{key!r}]")
