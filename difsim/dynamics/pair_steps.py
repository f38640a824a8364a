"""Contact of a pair that takes time: equal steps from touch until the surfaces have parted."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import safe
from difsim.dynamics.pair import ContactEpisode, Pair, PairState, Record
from difsim.dynamics.pair_touch import ContactFeatures, NearestFeatures, touches
from difsim.typing import Scalar

_FEWEST = 20  # steps of a contact: in ten CoR_E errs by up to 0.01, in two by 0.3, in one by any factor


class FeatureMotion(eqx.Module):
    """The features of a contact at one instant.

    `touches`; relative velocity `u` [M, 3] m/s of the second body; `depth` [M] m, negative where nothing touches;
    `rate` [M] m/s, at which it grows.
    """

    touches: ContactFeatures
    u: Float[Array, "M 3"]
    depth: Float[Array, " M"]
    rate: Float[Array, " M"]

    @property
    def slip(self) -> Float[Array, "M 3"]:
        """u without its part along the normal."""
        n = self.touches.normal
        return self.u - jnp.sum(self.u * n, axis=1)[:, None] * n


def measure_features(pair: Pair, state: PairState, near: NearestFeatures) -> FeatureMotion:
    """The features that are `near`, as they are now."""
    found = touches(pair, state, near)
    u = jax.vmap(lambda x: pair.relative_velocity(state, x))(found.point)
    # Edges that do not cross have no gap; a depth of -1 m touches as little.
    depth = jnp.where(jnp.isinf(found.gap), -1.0, -found.gap)
    return FeatureMotion(found, u, depth, -jnp.sum(found.slope * u, axis=1))


def effective_mass(pair: Pair, state: PairState, found: ContactFeatures) -> Scalar:
    """1/(n̂·W n̂) kg, the mass that an impulse along the normal moves at the feature that touches."""
    one = jnp.argmin(found.gap)
    n = found.normal[one]
    return 1 / (n @ pair.response(state, found.point[one]) @ n)


def step_until_parted(
    pair: Pair,
    state: PairState,
    found: ContactFeatures,
    record: Record,
    advance: Callable[[PairState, Any], tuple[PairState, Any, FeatureMotion, Float[Array, " M"]]],
    memory: Any,
    step: Scalar,
    max_steps: int,
    reach: Scalar,
) -> tuple[ContactEpisode, Record]:
    """Go on by `advance` until every feature has a gap above `reach` m, or the last wanted time is past.

    **Arguments:** `found`, the features at the start; `advance(state, memory)`: both one `step` s later, and how
    the features are pressed in it, with normal forces [M] N; `memory`, whatever the law remembers.
    """

    def is_unfinished(now):
        in_time = (now["count"] < max_steps) & (now["count"] * step < record.times[-1])
        return now["touching"] & in_time

    def go(now):
        before = now["state"]
        state, memory, was, push = advance(before, now["memory"])
        push = jnp.abs(push)
        return {
            "state": state,
            "memory": memory,
            "count": now["count"] + 1,
            "touching": jnp.any(was.depth > -reach),
            "push": now["push"] + jnp.sum(push),
            "place": now["place"] + push @ was.touches.point,
            "along": now["along"] + push @ was.touches.normal,
            "record": now["record"].fill(now["count"] * step, before, state, step),
        }

    one = jnp.argmin(found.gap)
    # A push so small that any other outweighs it: for a contact without a force. The cube root, since subnormal
    # numbers are flushed to 0, and the squares of its components along the normal must stay above.
    tiny = jnp.asarray(jnp.finfo(step.dtype).tiny ** (1 / 3), step.dtype)
    start = {
        "state": state,
        "memory": memory,
        "count": jnp.asarray(0),
        "touching": jnp.asarray(True),
        "push": tiny,
        "place": tiny * found.point[one],
        "along": tiny * found.normal[one],
        "record": record,
    }
    end = jax.lax.while_loop(is_unfinished, go, start)
    duration = end["count"] * step
    free = pair.second.body.mass * (state.second.velocity + duration * pair.gravity)
    episode = ContactEpisode(
        state=end["state"],
        duration=duration,
        impulse=pair.second.body.mass * end["state"].second.velocity - free,
        point=end["place"] / end["push"],
        normal=safe.unit(end["along"]),
        unfinished=end["touching"] & (duration < record.times[-1]),
        coarse=~end["touching"] & (end["count"] < _FEWEST),
    )
    return episode, end["record"]
