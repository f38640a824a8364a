"""The cameras of the study: where the view-ports are, the paper's three scenarios, and how well they are known.

The paper names the view-ports and gives no dimensions. Ours: x is the line along which the cobbles approach, y is
up in the chamber, the cobbles drift along -y; the view-ports are in the wall z = 0.7 m, "opposite" is z = -0.7 m.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from difsim.camera import Camera, looking_at
from difsim.typing import Scalar
from experiments.cobbles.paper import FIELD_OF_VIEW, PHANTOM

RATE = 240.0  # frames a second: the slower of the paper's cameras
RADIAL = (-0.05, 0.01, -0.001)  # ours: the lens is not given; -3 % at the edge of the image
UP = (0.0, 1.0, 0.0)
# Position m and the point looked at, m.
LOWER_LEFT = ((-0.45, -0.45, 0.7), (0.0, -0.15, 0.0))
LOWER_RIGHT = ((0.45, -0.45, 0.7), (0.0, -0.15, 0.0))
# Turned to the release: it loses body 1 at the impact, as camera A does in the paper's Fig 13.
TO_THE_RELEASE = ((0.45, -0.45, 0.7), (0.25, 0.35, 0.0))
UPPER_LEFT = ((-0.45, 0.30, 0.7), (0.0, -0.20, 0.0))
OPPOSITE = ((0.0, -0.15, -0.7), (0.0, -0.20, 0.0))
SCENARIOS = {
    1: (LOWER_LEFT, LOWER_RIGHT, UPPER_LEFT),
    2: (TO_THE_RELEASE, OPPOSITE, UPPER_LEFT),
    3: (LOWER_LEFT, UPPER_LEFT),
}
# Table 13: half-widths of uniform errors.
INTRINSIC, SHIFT, TURN, DISTORTION = 10.0, 5e-3, 1e-4, 0.05  # px, m, rad (taken as a rotation vector), of nominal

Rig = Camera  # cameras stacked along a leading axis


def stack(several: Sequence[Any]) -> Any:
    """Several cameras, states or other objects as one, with a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *several)


def scenario(which: int) -> Rig:
    """The cameras of scenario 1, 2 or 3: resolution of the Phantom, field of view of the GoPro, as in the
    paper."""
    field = np.radians(FIELD_OF_VIEW)
    size = np.asarray(PHANTOM, float)
    pose = jax.jit(looking_at)
    poses = [pose(*np.array([position, target, UP])) for position, target in SCENARIOS[which]]
    return stack([Camera.from_field_of_view(field, size, RADIAL, *pose, RATE) for pose in poses])


def half_widths(rig: Rig) -> Rig:
    """Of the uniform errors of a calibration (Table 13), number by number; size and rate are known."""
    fields = {"fx": INTRINSIC, "fy": INTRINSIC, "cx": INTRINSIC, "cy": INTRINSIC, "rotation": TURN}
    widths = {name: jnp.full_like(getattr(rig, name), width) for name, width in fields.items()}
    widths["translation"] = jnp.full_like(rig.translation, SHIFT)
    widths["radial"] = DISTORTION * jnp.abs(rig.radial)
    none = jax.tree.map(jnp.zeros_like, rig)
    return eqx.tree_at(lambda c: [getattr(c, name) for name in widths], none, list(widths.values()))


def miscalibrate(rig: Rig, share: Scalar, key: Array) -> Rig:
    """`rig` as a calibration with the errors of Table 13 would have it, times `share`."""
    leaves, structure = jax.tree.flatten(rig)
    keys = jax.random.split(key, len(leaves))
    widths = jax.tree.leaves(half_widths(rig))
    return jax.tree.unflatten(
        structure,
        [
            x + share * w * jax.random.uniform(k, x.shape, x.dtype, -1.0, 1.0)
            for x, w, k in zip(leaves, widths, keys, strict=True)
        ],
    )
