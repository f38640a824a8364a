"""The lander and its ground as surfaces to be looked at."""

import numpy as np
from jaxtyping import Float, Int

from difsim import mesh
from difsim.body import Lander

WIDTH = 0.08  # m, of a leg that is drawn


def outline(lander: Lander) -> tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"]]:
    """The hull as its box, and each leg as a triangle from the hip to the foot, m in the body frame."""
    vertices, faces = np.zeros((0, 3)), np.zeros((0, 3), int)
    if lander.hull is not None:
        box = mesh.box(np.asarray(lander.hull.size).tolist())
        vertices, faces = box.vertices, box.faces
    for hip, foot in zip(np.asarray(lander.hips), np.asarray(lander.feet), strict=True):
        along = foot - hip
        across = np.cross(along, (0.0, 0.0, 1.0)) if np.any(along[:2]) else np.array([1.0, 0.0, 0.0])
        across *= 0.5 * WIDTH / np.linalg.norm(across)
        faces = np.concatenate([faces, [len(vertices) + np.arange(3)]])
        vertices = np.concatenate([vertices, [hip + across, hip - across, foot]])
    return vertices, faces


def level_ground(
    path: Float[np.ndarray, "T 3"], reach: float
) -> tuple[Float[np.ndarray, "4 3"], Int[np.ndarray, "2 3"]]:
    """The undisturbed ground z = 0 below a path and `reach` m around it: a rectangle."""
    (west, south), (east, north) = path[:, :2].min(axis=0) - reach, path[:, :2].max(axis=0) + reach
    corners = np.array([[west, south, 0.0], [east, south, 0.0], [east, north, 0.0], [west, north, 0.0]])
    return corners, np.array([[0, 1, 2], [0, 2, 3]])
