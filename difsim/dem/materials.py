"""The laws of all contacts: with what follows from their numbers, and that of each pair by who touches."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from difsim.contact.elastic import AbstractElastic
from difsim.contact.friction import AbstractTangentialSpring
from difsim.dem.laws import AbstractGrainLaw
from difsim.typing import Scalar


class DampedLaw(AbstractGrainLaw):
    """A law, or several of one class whose numbers have a leading axis, with the damping ratio, which is known.

    It is the root of an equation: found once for a run, and not in each contact of each step.
    """

    tag = "damped-law"
    law: AbstractGrainLaw
    damping_ratio: Scalar

    @classmethod
    def know(cls, law: AbstractGrainLaw) -> "DampedLaw":
        """The law with its damping ratio."""
        if isinstance(law, DampedLaw):
            return law
        # To pyright the numbers that are the law's are arguments too.
        return cls(law=law, damping_ratio=law.damping_ratio)  # pyright: ignore[reportCallIssue]

    @property
    def restitution(self) -> Scalar:
        return self.law.restitution

    @property
    def friction(self) -> Scalar:
        return self.law.friction

    @property
    def rolling(self) -> tuple:
        return self.law.rolling

    @property
    def cohesion(self) -> tuple:
        return self.law.cohesion

    def elastic(self, radius: Scalar) -> AbstractElastic:
        return self.law.elastic(radius)

    def tangential(self, radius: Scalar) -> AbstractTangentialSpring:
        return self.law.tangential(radius)


def stack_laws(laws: tuple[AbstractGrainLaw, ...]) -> DampedLaw:
    """One law as it is; several, which `is_same_class` has compared, as a table by a leading axis."""
    known = [DampedLaw.know(law) for law in laws]
    return known[0] if len(known) == 1 else jax.tree.map(lambda *x: jnp.stack(x), *known)


def choose_law(laws: DampedLaw, index: Int[Array, ""] | None) -> DampedLaw:
    """The law of a contact: that of the `index` in a table, or the only one."""
    return laws if index is None else jax.tree.map(lambda x: x[index], laws)


def is_same_class(laws: tuple[Any, ...]) -> bool:
    """Whether laws differ in their numbers only: of one class, with resistances and attractions of one class."""
    return len({jax.tree.structure(law) for law in laws}) == 1
