"""A branch that a single run takes or skips, and an ensemble takes where any of its members needs it."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool


def compute_if(needed: Bool[Array, ""], compute: Callable[[], Any], otherwise: Any) -> Any:
    """Return `compute()` where it is needed, and `otherwise` elsewhere.

    Under `vmap`, `jax.lax.cond` computes both branches for all members, and copies each array that a branch reads for
    each of them: a table of distances of 4 MB is then 33 GB for 8192 members. This branch copies nothing, and is
    skipped where no member needs it.

    **Arguments:** `needed`; `compute`, a function of nothing; `otherwise`, of the structure of its result.
    **Returns:** that structure.
    """
    of_any, of_this = _ask_members(needed)

    def branch():
        return jax.tree.map(lambda x, y: jnp.where(of_this, x, y), compute(), otherwise)

    return jax.lax.cond(of_any, branch, lambda: otherwise)


@jax.custom_batching.custom_vmap
def _ask_members(needed: Bool[Array, ""]) -> tuple[Bool[Array, ""], Bool[Array, ""]]:
    """Whether any member needs it, and whether this one does if any does: in a single run that is a constant."""
    return needed, jnp.asarray(True)


@_ask_members.def_vmap
def _(_: int, __: list[bool], needed: Bool[Array, " n"]) -> tuple[tuple[Array, Array], tuple[bool, bool]]:
    # The first has no axis of members, so that `cond` stays a branch. An outer `vmap` meets this function again.
    return (_ask_members(jnp.any(needed))[0], needed), (False, True)
