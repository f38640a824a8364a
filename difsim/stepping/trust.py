"""Policies for derivatives that are not to be trusted."""

import warnings
from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int

from difsim.status import Status
from difsim.typing import is_known


class AbstractTrust(eqx.Module):
    """A policy for derivatives that are not to be trusted."""

    @abstractmethod
    def meet(self, message: str) -> None:
        """Act on a derivative through a discontinuous law, as it is traced. **Arguments:** `message` for the user."""

    @abstractmethod
    def judge(self, doubt: Int[Array, ""]) -> Int[Array, ""]:
        """The status of a run that went well, but for a `doubt` about its derivatives. Under jit."""

    def report(self, doubt: Int[Array, ""]) -> None:
        """Act on a `doubt` once the run is over."""


class Refuse(AbstractTrust):
    """No derivative without trust.

    One through a law that `is_discontinuous` (its force jumps at touch, or rises there with an infinite slope) raises
    `ValueError`. Too few steps per contact are the status UNDER_RESOLVED, for values too, and tangents that grew
    beyond `validity.limit` are PAST_VALIDITY.
    """

    def meet(self, message):
        raise ValueError(f"{message}, or take the wrong derivative with trust=Ignore()")

    def judge(self, doubt):
        return doubt


class Warn(AbstractTrust):
    """Warnings where `Refuse` refuses, of the statuses where they are known (outside `jit`)."""

    def meet(self, message):
        warnings.warn(message, stacklevel=2)

    def judge(self, doubt):
        return jnp.full_like(doubt, int(Status.OK))

    def report(self, doubt):
        if is_known(doubt) and doubt != Status.OK:
            warnings.warn(f"simulate: {Status(int(doubt))}", stacklevel=3)


class Ignore(AbstractTrust):
    """Nothing is refused: for runs of which only values are wanted."""

    def meet(self, message):
        del message

    def judge(self, doubt):
        return jnp.full_like(doubt, int(Status.OK))
