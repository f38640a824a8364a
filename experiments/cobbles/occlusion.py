"""Occlusion: one stone hides a part of the other."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from difsim.body import RigidState, Stone
from experiments.cobbles.cameras import Rig

# Of the chord of a line of sight through the ball around the other stone: 4 mm apart in a ball of 12 cm.
SAMPLES = np.linspace(0.0, 1.0, 31)


def is_occluded(
    other: Stone, rig: Rig, markers: Float[Array, "M 3"], path: RigidState, hider: RigidState
) -> Bool[Array, "T C M"]:
    """Whether the line from a camera to a marker of the body on `path` goes through the stone `other`, which is on
    the path `hider`. Not for derivatives."""

    def is_hidden(camera, marker, body, stone):
        ends = camera, body.point(marker)
        eye, mark = (stone.rotation.inverse @ (p - stone.position) for p in ends)
        way = mark - eye
        nearest, length = -(eye @ way) / (way @ way), jnp.sqrt(way @ way)
        apart = eye + nearest * way
        half = jnp.sqrt(jnp.maximum(other.radius**2 - apart @ apart, 0.0)) / length
        share = jnp.clip(nearest + half * (2 * SAMPLES - 1), 0.0, 1.0)
        return jnp.any(jax.vmap(other.shape.distance)(eye[None] + share[:, None] * way[None]) < 0)

    over_markers = jax.vmap(is_hidden, in_axes=(None, 0, None, None))
    over_cameras = jax.vmap(over_markers, in_axes=(0, None, None, None))
    eyes = jax.vmap(lambda camera: camera.position)(rig)
    return jax.vmap(over_cameras, in_axes=(None, None, 0, 0))(eyes, markers, path, hider)
