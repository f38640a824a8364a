"""A body that is thrown into a ground that is simulated, and its motion."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from experiments.contact.solids import Ball, Solid
from experiments.contact.world import Motion

Track = Float[np.ndarray, "3 t"]  # time s, depth m of the lowest point below the surface, and speed m/s downwards


class Thrown(NamedTuple):
    """A body as it touches: its `solid`, kg, m, m/s, and the gravity m/s² there. It does not tilt."""

    solid: Ball | Solid
    mass: float
    radius: float
    speed: float
    gravity: float


def end_at_stop(path: Track) -> Track:
    """The path until its stop; all of it, with a speed that is left, where there is none."""
    if np.all(path[2] > 0):
        return path
    end = int(np.argmax(path[2] <= 0))
    before, after = path[:, end - 1], path[:, end]
    stop = before + before[2] / (before[2] - after[2]) * (after - before)
    stop[2] = 0.0  # but for rounding
    return np.append(path[:, :end], stop[:, None], axis=1)


def begin_at_surface(path: Track) -> Track:
    """The path from where its depth is 0 on, with times from there."""
    begun = np.array([np.interp(0.0, path[1], row) for row in path])
    inside = np.append(begun[:, None], path[:, path[1] > 0], axis=1)
    return inside - np.array([[begun[0]], [0.0], [0.0]])


def follow_path(path: Track, gravity: float) -> Motion:
    """The motion along a path, whose forces are those between its times.

    **Arguments:** `path`; `gravity`, m/s². **Returns:** the motion.
    """
    time, depth, speed = path
    force = gravity - np.gradient(speed, time)
    rows = time, depth, speed, force, np.gradient(force, time), gravity
    return Motion(*map(jnp.asarray, rows), jnp.asarray(speed[-1] <= 0))
