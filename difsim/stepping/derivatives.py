"""Rules for the derivatives of a motion."""

from typing import Any

import equinox as eqx
import jax

from difsim.checks import integer
from difsim.declarations import custom_field
from difsim.stepping.precision import Tolerance, tolerance


class AbstractDerivative(eqx.Module):
    """A rule for the derivatives of a solution."""


class Forward(AbstractDerivative):
    """Forward derivatives (`jax.jacfwd`, `jax.jvp`): tangents are further rows of the state, under error control.

    `jax.jacfwd` over p parameters makes one solve of (1 + p) n numbers. A contact force with a kink makes the
    derivative through steps that were chosen for the value alone wrong by a tenth; here the steps shrink until the
    derivative is right too (docs/gradients.md). Tangents are scaled by the size of what they change, so that
    parameters of any unit get the same relative accuracy. Best for up to some ten parameters. `jax.jacfwd` of
    `jax.jacfwd` gives second derivatives; reverse mode raises `ValueError`.
    """

    weight: Tolerance = tolerance(
        "weight of the tangents' errors, where the state's is 1", 1.0, ge=0, usual=(0, 1)
    )


def _count(name: str, annotation: Any, given: Any) -> int | None:
    return None if given is None else integer(name, given)


class Reverse(AbstractDerivative):
    """Reverse derivatives (`jax.grad`, `jax.vjp`) through the steps that were taken, with binomial checkpoints.

    The steps were chosen for the value. The derivative is right for smooth contact; through a kink or a jump it is
    wrong while the value converges. Best for many parameters. Forward mode and second derivatives, `jax.hessian` too,
    raise `ValueError`.
    """

    checkpoints: int | None = custom_field(
        _count, "number of states that are kept, by default some √(2 max_steps)", default=None, static=True
    )


class Unrolled(AbstractDerivative):
    """Forward and reverse derivatives of a fixed number of steps, of any order, exact for these steps.

    No figure of validity watches their growth: compare them with differences over the change that is meant.
    """


def without_derivative(given: Any) -> Any:
    """`given`, any structure, with its numbers as constants: what is computed from them has no derivative."""
    arrays, rest = eqx.partition(given, eqx.is_inexact_array)
    return eqx.combine(jax.lax.stop_gradient(arrays), rest)
