"""Contacts of bodies of different materials: the law of each pair is one of several, by who touches."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from difsim.contact.elastic import AbstractElastic
from difsim.contact.friction import AbstractTangentialSpring
from difsim.dem.laws import AbstractGrainLaw
from difsim.typing import Scalar


class SelectedLaw(AbstractGrainLaw):
    """One law out of a `LawTable`: with the numbers of one of the laws, and its damping ratio, which is known."""

    tag = "chosen"
    law: AbstractGrainLaw
    damping_ratio: Scalar

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


class LawTable(eqx.Module):
    """Several laws of one class, as one law whose numbers have a leading axis, and their damping ratios [k]."""

    laws: AbstractGrainLaw
    ratios: Float[Array, " k"]

    @classmethod
    def stack(cls, laws: tuple[AbstractGrainLaw, ...]) -> "LawTable":
        """The table of `laws`, which `is_same_class` has compared."""
        return cls(jax.tree.map(lambda *x: jnp.stack(x), *laws), jnp.stack([law.damping_ratio for law in laws]))

    def __getitem__(self, index: Any) -> SelectedLaw:
        law = jax.tree.map(lambda x: x[index], self.laws)
        # To pyright the numbers that are the law's are arguments too.
        return SelectedLaw(law=law, damping_ratio=self.ratios[index])  # pyright: ignore[reportCallIssue]


def law_of(laws: AbstractGrainLaw | LawTable, index: Int[Array, ""] | None) -> AbstractGrainLaw:
    """The law of a contact: the only one, or that of the `index` in a table."""
    return laws if isinstance(laws, AbstractGrainLaw) else laws[index]


def is_same_class(laws: tuple[Any, ...]) -> bool:
    """Whether laws differ in their numbers only: of one class, with resistances and attractions of one class."""
    return len({jax.tree.structure(law) for law in laws}) == 1
