"""Polygons of a mesh file as triangles."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

FLATTEST = (
    1e-9  # least share of a triangle in the area of its polygon: below it rounding decides on which side it lies
)
MOST_STARTS = 64  # corners of one polygon that are tried


class Polygons(NamedTuple):
    """The vertices and polygons of a mesh file.

    `vertices` [V,3], in the unit of the file; the `corners` [C] of all faces, one face after the other, which count
    vertices from 0; `counts` [F], how many of them each face has.
    """

    vertices: Float[np.ndarray, "V 3"]
    corners: Int[np.ndarray, " C"]
    counts: Int[np.ndarray, " F"]


def triangulate(polygons: Polygons) -> Int[np.ndarray, "T 3"]:
    """The faces as triangles, in the order of the faces.

    A polygon becomes a fan from its first corner, or from the next one whose fan does not fold over. A corner that
    repeats the one before it, as in triangles that are written as quadrilaterals, is dropped from it.

    **Arguments:** `polygons`. **Returns:** triangles [T,3].
    **Raises:** `ValueError` for a face of fewer than 3 corners, a corner that is no vertex, and a polygon that no fan
    from one of its corners fills.
    """
    vertices, corners, counts = polygons
    if (wrong := (corners < 0) | (corners >= len(vertices))).any():
        at = np.argmax(wrong)
        face = np.searchsorted(np.cumsum(counts), at, side="right")
        raise ValueError(
            f"a corner of face {face} (the first is 0) is no vertex: it has index {corners[at]}, counted from 0, "
            f"of {len(vertices)}: is the file whole?"
        )
    face = np.repeat(np.arange(len(counts)), counts)
    if (counts > 3).any():
        before = np.arange(len(corners)) - 1
        first = np.cumsum(counts) - counts
        before[first[counts > 0]] += counts[counts > 0]
        kept = (corners != corners[before]) | (counts <= 3)[face]
        corners, face = corners[kept], face[kept]
        counts = np.bincount(face, minlength=len(counts))
    if (few := counts < 3).any():
        raise ValueError(f"face {np.argmax(few)} (the first is 0) has {counts[few][0]} corners: give at least 3")
    parts, numbers = [], []
    for n in np.unique(counts):
        these = np.flatnonzero(counts == n)
        fans = _fans(vertices, corners[counts[face] == n].reshape(-1, n), these)
        parts.append(fans.reshape(-1, 3))
        numbers.append(np.repeat(these, n - 2))
    if not parts:
        return np.empty((0, 3), np.int64)
    return np.concatenate(parts)[np.argsort(np.concatenate(numbers), kind="stable")]


def _fans(
    vertices, polygons: Int[np.ndarray, "P n"], numbers: Int[np.ndarray, " P"]
) -> Int[np.ndarray, "P n-2 3"]:
    n = polygons.shape[1]
    if n == 3:
        return polygons[:, None]
    fans = np.empty((len(polygons), n - 2, 3), np.int64)
    left = np.arange(len(polygons))
    for start in range(min(n, MOST_STARTS)):
        turned = np.roll(polygons[left], -start, axis=1)
        fan = np.stack(
            [np.broadcast_to(turned[:, :1], turned[:, 2:].shape), turned[:, 1:-1], turned[:, 2:]], axis=-1
        )
        a, b, c = np.moveaxis(vertices[fan], 2, 0)
        normals = np.cross(b - a, c - a)
        whole = normals.sum(axis=1, keepdims=True)
        # A coordinate that is not finite passes: `TriMesh` names it.
        folded = (np.sum(normals * whole, axis=-1) <= FLATTEST * np.sum(whole**2, axis=-1)).any(axis=1)
        fans[left[~folded]] = fan[~folded]
        left = left[folded]
        if not left.size:
            return fans
    raise ValueError(
        f"face {numbers[left[0]]} (the first is 0) has {n} corners, of which none sees all of it, or no area: "
        "triangulate the surface first"
    )
