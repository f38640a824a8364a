"""The validity of derivatives: growth of the tangents, and the refusal of discontinuous laws.

A tangent that a contact magnifies by a tells of a change a times smaller only; after n contacts aⁿ. The error of
the trajectory grows alike, and the derivative's own relative error like the product of both.
"""

import inspect
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from difsim import safe
from difsim.stepping.tangents import call_for_all
from difsim.stepping.trust import AbstractTrust, Ignore
from difsim.stepping.variational import relative_size
from difsim.typing import Scalar

KINKS = 1e4  # by which contacts of a clipped or stiff law magnify the tolerance of a derivative


class Validity(eqx.Module):
    """The range in which the derivatives of a solution hold.

    `growth` A: the largest change of the state, relative to max(1, size) as the solver's error is, for a small
    change of what it was differentiated by, relative to its size, over all tangents and saved times; NaN where no
    derivative was taken, or in reverse mode. `contacts` n until the last time, NaN where they are not counted;
    `tolerance` ε of the solve, relative, NaN where the solver has none.
    """

    growth: Scalar
    contacts: Int[Array, ""] | Scalar
    tolerance: Scalar

    @property
    def linear_range(self) -> Scalar:
        """1/A: the relative change (of a parameter, of the start) that moves the state by its own size.

        A linear prediction over a larger spread is meaningless: smooth it (`inversion.smoothed_gradient`).
        """
        return 1 / self.growth

    @property
    def limit(self) -> Scalar:
        """ε^(-1/2), the growth at which the derivative is lost.

        Its own derivative grows as A², so that an error ε of the trajectory changes it by some A² ε of itself.
        """
        return self.tolerance**-0.5

    @property
    def error(self) -> Scalar:
        """An upper bound of the derivative's error relative to its largest entry, to an order of magnitude.

        A² ε by the change of the derivative along the trajectory's own error, and no less than the tolerance ε that
        the tangents share, however small A is; and through regularised contact KINKS ε, an upper bound of what was
        measured (docs/performance.md): 1e-4 at the default tolerance, 1e-2 in float32. NaN where no derivative was
        taken.
        """
        return self.tolerance * (jnp.maximum(1.0, self.growth**2) + jnp.where(self.contacts > 0, KINKS, 0.0))

    @property
    def growth_per_contact(self) -> Scalar:
        """A^(1/n), the mean growth in a contact; NaN without contact."""
        return jnp.where(self.contacts > 0, self.growth ** (1 / jnp.maximum(self.contacts, 1)), jnp.nan)

    @property
    def horizon(self) -> Scalar:
        """Contacts after which the derivative says nothing, ln(ε^(-1/2))/ln(A^(1/n)); inf where none grows it."""
        rate = jnp.log(self.growth_per_contact)
        return jnp.where(rate <= 0, jnp.inf, jnp.log(self.limit) / jnp.where(rate <= 0, 1.0, rate))

    @property
    def is_past(self) -> Array:
        """Whether the tangents have grown beyond `limit`; no where nothing is known."""
        return self.growth > self.limit


def discontinuous_laws(model: Any) -> list[str]:
    """Names of the force laws in `model` that are discontinuous, or do not say that they are not.

    A force law is any Module with `is_discontinuous`, and any with a method `force` of two arguments, such as a
    user's own `force(depth, rate)`: what a law does not say, no derivative is trusted to. What jumps in a model's own
    `vector_field` is not seen.
    """
    is_law = lambda x: x is not model and _is_force_law(x)  # noqa: E731  # a model may have a helper of that name
    nodes = jax.tree.leaves(model, is_leaf=is_law)
    return [type(x).__name__ for x in nodes if _is_force_law(x) and getattr(x, "is_discontinuous", True)]


def _is_force_law(x: Any) -> bool:
    if not isinstance(x, eqx.Module):
        return False
    force = getattr(type(x), "force", None)
    return hasattr(type(x), "is_discontinuous") or (
        inspect.isfunction(force) and len(inspect.signature(force).parameters) == 3
    )


def watch_discontinuous(model: Any, state: Any, trust: AbstractTrust) -> tuple[Any, Any]:
    """`model` and `state` as they are; a derivative through a discontinuous law is met as `trust` says.

    The law is known before any number is: so this happens when the derivative is traced, inside `jit` too, in
    either mode. Values pass.

    **Arguments:** `model`; `state`; `trust`. **Returns:** both.
    """
    laws = discontinuous_laws(model)
    if not laws or isinstance(trust, Ignore):
        return model, state
    message = (
        f"simulate: the force of {', '.join(laws)} jumps at touch, or rises there with an infinite slope, or does not "
        "say that it does neither, and a derivative through the steps may be wrong by orders of magnitude while the "
        "value converges: give the law a Smoothing(width in m); a law of your own whose force is continuous says so "
        "by a property is_discontinuous that is False"
    )

    @jax.custom_jvp
    def watch(arrays):
        return arrays

    @watch.defjvp
    def watch_jvp(primals, tangents):
        trust.meet(message)
        return primals[0], tangents[0]

    arrays, rest = eqx.partition((model, state), eqx.is_inexact_array)
    return eqx.combine(watch(arrays), rest)


@eqx.filter_custom_jvp
def tangent_growth(inputs: Any, states: Any) -> Scalar:
    """NaN; where `states` are differentiated (forward mode), the growth A of `Validity` from `inputs` to them."""
    return jnp.full((), jnp.nan)


@tangent_growth.def_jvp
def _(primals, tangents):
    moved, states = (_moving_leaves(x, t) for x, t in zip(primals, tangents, strict=True))
    if not moved:  # differentiated by the times alone
        return tangent_growth(*primals), None

    def rows(given, tangents):
        (moved, states), (t_moved, t_states) = given, tangents
        growths = safe.divide(relative_size(states, t_states), relative_size(moved, t_moved, _size))
        return jnp.max(growths), ()  # one number for all tangents of `jacfwd`, as there is one solution for all

    t_moved, t_states = map(jax.tree.leaves, tangents)
    growth, _ = call_for_all(rows, *jax.lax.stop_gradient(((moved, states), (t_moved, t_states))))
    growth = growth.astype(tangent_growth(*primals).dtype)  # of states in float32 too
    return growth, jnp.zeros_like(growth)


def _size(x: Array) -> Array:
    """The size of an array itself: a grain of 0.1 mm that grows by 0.1 mm has doubled. One of zeros counts as 1."""
    size = jnp.max(jnp.abs(x))
    return jnp.where(size > 0, size, 1.0)


def _moving_leaves(primal: Any, tangent: Any) -> list[Array]:
    """The leaves that have a tangent."""
    kept = jax.tree.map(lambda t, x: None if t is None else x, tangent, primal, is_leaf=lambda x: x is None)
    return jax.tree.leaves(kept)
