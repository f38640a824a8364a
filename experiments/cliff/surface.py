"""Where a heap of particles ends: its surface, its front, and what of it has moved."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from difsim.sph.kernel import AbstractKernel
from difsim.typing import Scalar, Vec2

LEVELS = 128  # heights at which the surface is looked for, before Newton's steps
NEWTON = 3
TOGETHER = 2.0  # spacings: particles closer than that belong to one heap


def share(kernel: AbstractKernel, area: Scalar, position: Float[Array, "2 n"], point: Vec2) -> Scalar:
    """Σ A W(x - x_b): the share of soil around a point, one inside; wall and floor mirror it.

    **Arguments:** `area` A of a particle, m²; `position`, m; `point`, m.
    """
    signs = jnp.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    mirrored = position[None] * signs[:, :, None]
    near = jax.vmap(jax.vmap(kernel.value, in_axes=-1))(point[None, :, None] - mirrored)
    return area * jnp.sum(near)


def height(
    kernel: AbstractKernel, area: Scalar, position: Float[Array, "2 n"], x: Scalar, highest: float
) -> Scalar:
    """The highest y m at `x` m where the share of soil falls to one half; zero where it is less all the way.

    Half a spacing above the upper row of a lattice. It is differentiable by where the particles are: the last of
    Newton's steps carries dy = -d(share)/∂(share)/∂y.
    """
    still = jax.lax.stop_gradient(position)

    def height_at(y, where):
        return share(kernel, area, where, jnp.stack([x, y]))

    levels = jnp.linspace(0.0, highest, LEVELS)
    inside = jax.lax.map(lambda y: height_at(y, still), levels, batch_size=16) > 0.5
    last = LEVELS - 1 - jnp.argmax(inside[::-1])
    y = levels[last] + 0.5 * (levels[1] - levels[0])
    slope = jax.grad(height_at)
    for _ in range(NEWTON):
        y = jax.lax.stop_gradient(y - (height_at(y, still) - 0.5) / jnp.minimum(slope(y, still), -1.0))
    y = y - (height_at(y, position) - 0.5) / jax.lax.stop_gradient(jnp.minimum(slope(y, still), -1.0))
    return jnp.where(jnp.any(inside), y, 0.0)


@eqx.filter_jit
def heights(
    kernel: AbstractKernel, area: Scalar, position: Float[Array, "2 n"], x: Float[Array, " k"], highest: float
) -> Float[Array, " k"]:
    """`height` at each of `x` m."""
    return jax.lax.map(lambda at: height(kernel, area, position, at, highest), x)


def heap(position: Float[np.ndarray, "2 n"], spacing: float, together: float = TOGETHER) -> np.ndarray:
    """Which particles belong to the largest body of particles that touch, within `together` spacings; the rest is
    scattered."""
    tree = cKDTree(position.T)
    label = connected_components(tree.sparse_distance_matrix(tree, together * spacing), directed=False)[1]
    return label == np.bincount(label).argmax()


def surface_at_rest(
    start: Float[np.ndarray, "2 n"], end: Float[np.ndarray, "2 n"], moved: float
) -> tuple[np.ndarray, np.ndarray]:
    """Upper border of what has moved less than `moved` m, as x and y m: in each column of the lattice `start`."""
    far = np.hypot(*(end - start))
    columns = np.unique(start[0].round(9))
    border = []
    for column in columns:
        here = np.flatnonzero(np.abs(start[0] - column) < 1e-8)
        here = here[np.argsort(start[1, here])]
        # From the floor up: the first particle that moved, and how far between it and the one below the limit is.
        k = int(np.argmax(far[here] > moved)) if (far[here] > moved).any() else len(here)
        levels, path = np.append(0.0, start[1, here]), np.append(0.0, far[here])
        top = levels[-1] if k == len(here) else np.interp(moved, path[k : k + 2], levels[k : k + 2])
        border.append(top)
    return columns, np.array(border)
