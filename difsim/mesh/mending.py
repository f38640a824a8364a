"""Repair of a broken surface on request, with a list of all changes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from difsim.checks import host_numbers
from difsim.extras import require
from difsim.mesh.surface import TriMesh

MOST = 0.05  # share of the area that a repair may drop or add: more of it is another body


class Repaired(NamedTuple):
    """A repaired surface and one line for each change; no line if nothing was changed."""

    mesh: TriMesh
    changes: tuple[str, ...]


def repair(vertices: Float[np.ndarray, "V 3"], faces: Int[np.ndarray, "F 3"], largest_hole: int = 12) -> Repaired:
    """Make one closed surface with outward normals from one that `TriMesh` refuses.

    The steps: drop faces with a coordinate that is not finite or with a repeated corner; keep the piece of the
    largest area; turn faces that are wound against their neighbours; close holes of up to `largest_hole` edges by
    a fan around their middle; turn the whole surface outwards. Holes are closed flat: check that this is the body. A
    repair that drops or adds more than 5 % of the area is refused: the cause is then in the file, or in its reading.

    **Arguments:** `vertices` [V,3], m, and `faces` [F,3], as `read` gives them; `largest_hole`, edges.
    **Returns:** the mesh and the list of changes.
    **Raises:** `ValueError` for larger holes, edges of three faces, faces without area, and a surface of which more
    than 5 % would change.
    """
    igl = require("mesh", "igl")

    changes = []
    vertices = host_numbers("repair: vertices", vertices, "V 3", is_finite=False)
    faces = host_numbers("repair: faces", faces, "F 3").astype(np.int64)
    if len(faces) == 0 or faces.min() < 0 or faces.max() >= len(vertices):
        raise ValueError(f"{len(faces)} faces do not fit {len(vertices)} vertices: is the file whole?")
    good = np.isfinite(vertices[faces]).all(axis=(1, 2))
    good &= (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    if not good.all():
        changes.append(f"dropped {np.sum(~good)} faces with a coordinate that is not finite or a corner twice")
        faces = faces[good]
    count, piece = igl.facet_components(faces)
    if count > 1:
        area = np.bincount(piece, np.asarray(igl.doublearea(np.nan_to_num(vertices), faces)) / 2)
        kept = piece == area.argmax()
        changes.append(f"kept 1 of {count} pieces, {area.max() / area.sum():.4%} of the area")
        if area.max() < (1 - MOST) * area.sum():
            raise ValueError(
                f"the largest of {count} pieces has {area.max() / area.sum():.2%} of the area only: if they are one "
                "body, merge their vertices along the seams; if not, keep the faces of one of them"
            )
        faces = faces[kept]
    oriented = np.asarray(igl.bfs_orient(faces)[0])
    if turned := np.sum((oriented != faces).any(axis=1)):
        # The orientation that libigl starts from is arbitrary; the minority of the faces is taken as wrong.
        oriented = oriented if 2 * turned <= len(faces) else oriented[:, ::-1]
        if wrong := min(turned, len(faces) - turned):
            changes.append(f"turned {wrong} faces that were wound against their neighbours")
    used, faces = np.unique(oriented, return_inverse=True)
    vertices, faces = vertices[used], faces.reshape(-1, 3)
    whole = len(faces)
    for hole in _holes(faces):
        if len(hole) > largest_hole:
            raise ValueError(f"a hole of {len(hole)} edges is larger than largest_hole = {largest_hole}: raise it")
        changes.append(f"closed a hole of {len(hole)} edges")
        vertices, faces = _close(vertices, faces, hole)
    area = np.asarray(igl.doublearea(vertices, faces))
    if area[whole:].sum() > MOST * area.sum():
        raise ValueError(
            f"the faces that close the holes have {area[whole:].sum() / area.sum():.2%} of the area: too much of the "
            "surface is missing to know the body; is the file whole?"
        )
    if np.linalg.det(vertices[faces] - vertices.mean(axis=0)).sum() < 0:
        changes.append("turned the whole surface outwards")
        faces = faces[:, ::-1]
    return Repaired(TriMesh(vertices, np.ascontiguousarray(faces)), tuple(changes))


def _holes(faces: Int[np.ndarray, "F 3"]) -> list[list[int]]:
    """Closed walks along the edges that have a face on one side only, in the direction of that face."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    _, uses = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)
    if uses.max() > 2:
        raise ValueError(
            f"{np.sum(uses > 2)} edges belong to more than two faces, and which two bound the body is not known: "
            "drop the extra faces in the file first"
        )
    known = set(map(tuple, edges.tolist()))
    border = [(a, b) for a, b in edges.tolist() if (b, a) not in known]
    follows = dict(border)
    if len(follows) < len(border):
        raise ValueError("two holes touch in one vertex: split that vertex in the file first")
    holes = []
    while follows:
        start, then = follows.popitem()
        hole = [start]
        while then != start:
            hole.append(then)
            then = follows.pop(then)
        holes.append(hole)
    return holes


def _close(vertices, faces, hole: list[int]):
    if len(hole) == 3:
        return vertices, np.vstack([faces, hole[::-1]])
    middle = len(vertices)
    fan = [(b, a, middle) for a, b in zip(hole, hole[1:] + hole[:1], strict=True)]
    return np.vstack([vertices, vertices[hole].mean(axis=0)]), np.vstack([faces, fan])
