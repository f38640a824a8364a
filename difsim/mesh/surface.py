"""Closed triangle meshes: their checks and their mass properties."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from difsim.checks import host_numbers, instance
from difsim.extras import require

LARGEST = 1e12  # m, of a body: beyond it squares and volumes overflow sooner or later


def require_mesh(name: str, given: Any) -> None:
    """Check that an argument is a mesh. **Arguments:** `name`, the function; `given`. **Raises:** ValueError."""
    instance(f"{name}: mesh", given, TriMesh, "a TriMesh, such as difsim.mesh.load(path, unit='m')")


@dataclass(frozen=True, eq=False)
class TriMesh:
    """A closed surface of triangles around one body, counter-clockwise seen from outside.

    **Arguments:** `vertices` [V,3], m; `faces` [F,3], indices into them.
    **Raises:** `ValueError` for a coordinate that is not finite, fewer than 4 vertices or faces, an index out of
    range, a triangle without area, or a surface that is open, wound inconsistently, in several pieces, or inside
    out. **Warns:** where the surface crosses itself at the middle of a face.
    """

    vertices: Float[np.ndarray, "V 3"]
    faces: Int[np.ndarray, "F 3"]

    def __repr__(self):
        return f"TriMesh({len(self.vertices)} vertices, {len(self.faces)} faces)"

    def __post_init__(self):
        # libigl accepts contiguous rows and one of the two 64-bit integer types only.
        # Checked below, with the number of the vertex.
        vertices = host_numbers("TriMesh: vertices", self.vertices, "V 3", is_finite=False)
        faces = host_numbers("TriMesh: faces", self.faces, "F 3")
        if (faces != np.round(faces)).any():
            raise ValueError("TriMesh: faces are not integers: give [F, 3] indices of vertices")
        object.__setattr__(self, "vertices", np.ascontiguousarray(vertices, np.float64))
        object.__setattr__(self, "faces", np.ascontiguousarray(faces.astype(np.int64)))
        bad = np.flatnonzero(~np.isfinite(self.vertices).all(axis=1))
        if bad.size:
            raise ValueError(
                f"{bad.size} vertices are not finite, the first is number {bad[0]}, {self.vertices[bad[0]]}: "
                "correct the file, or let mesh.repair drop them and close the holes"
            )
        if len(self.vertices) < 4 or len(self.faces) < 4:
            raise ValueError(
                f"{len(self.vertices)} vertices and {len(self.faces)} faces enclose no volume: "
                "the smallest body, a tetrahedron, has 4 of each; is the file whole?"
            )
        if (extent := np.ptp(self.vertices, axis=0).max()) > LARGEST:
            raise ValueError(
                f"the body is {extent:.3g} m long: give its vertices in m, at most {LARGEST:g} m apart"
            )
        low, high = self.faces.min(), self.faces.max()
        if low < 0 or high >= len(self.vertices):
            raise ValueError(
                f"faces with indices {low} to {high} do not fit {len(self.vertices)} vertices: "
                "give indices that start at 0"
            )
        if (self._trimesh.area_faces == 0).any():
            raise ValueError(
                f"face {np.argmin(self._trimesh.area_faces)} has no area and so no normal: "
                "merge its vertices, which closes the gap that it fills"
            )
        self._check_closed()

    def _check_closed(self):
        trimesh = require("mesh", "trimesh")
        edges, uses = np.unique(self._trimesh.edges_sorted, axis=0, return_counts=True)
        if (uses != 2).any():
            first = edges[np.argmax(uses != 2)]
            raise ValueError(
                f"the surface is not closed: {np.sum(uses != 2)} edges do not belong to exactly two faces, "
                f"the first joins vertices {first[0]} and {first[1]}: "
                "fill the holes (mesh.repair does so up to a size)"
            )
        if not self._trimesh.is_winding_consistent:
            raise ValueError("some faces are wound against their neighbours: turn them round (mesh.repair does)")
        pieces = trimesh.graph.connected_components(
            self._trimesh.face_adjacency, nodes=np.arange(len(self.faces)), min_len=1
        )
        if len(pieces) != 1:
            sizes = sorted((len(piece) for piece in pieces), reverse=True)
            raise ValueError(
                f"the mesh has {len(pieces)} separate pieces, of {sizes[:5]} faces: a body is one closed "
                "surface; make one TriMesh for each (mesh.repair drops small pieces)"
            )
        if self.volume <= 0:
            raise ValueError(
                f"the volume is {self.volume:.6g} m3, so the normals point inwards: "
                "reverse the faces (faces[:, ::-1], or mesh.repair)"
            )
        self._warn_of_crossings()

    def _warn_of_crossings(self):
        """Warn where the surface folds over itself: elsewhere the winding number just below a face is 1."""
        igl = require("mesh", "igl")

        a, b, c = np.moveaxis(self._trimesh.vertices[self.faces], 1, 0)
        normal = np.cross(b - a, c - a)
        below = (a + b + c) / 3 - 1e-3 * normal / np.linalg.norm(normal, axis=1, keepdims=True) ** 0.5
        winding = igl.fast_winding_number(np.ascontiguousarray(self._trimesh.vertices), self.faces, below)
        if (wrong := np.abs(np.asarray(winding) - 1) > 0.5).any():
            warnings.warn(
                f"TriMesh: the surface crosses itself: {wrong.sum()} of {len(self.faces)} faces, the first is number "
                f"{np.argmax(wrong)}, lie inside the body or inside out, where its volume counts twice or not: "
                "correct the mesh",
                stacklevel=5,
            )

    @cached_property
    def _trimesh(self) -> Any:  # trimesh.Trimesh
        trimesh = require("mesh", "trimesh")
        # Relative to the mean vertex: the integrals of a body far from the origin lose digits.
        return trimesh.Trimesh(self.vertices - self.vertices.mean(axis=0), self.faces, process=False)

    @property
    def volume(self) -> float:
        """Volume, m3."""
        return float(self._trimesh.volume)

    @property
    def area(self) -> float:
        """Area of the surface, m2."""
        return float(self._trimesh.area)

    @property
    def centroid(self) -> Float[np.ndarray, "3"]:
        """Centre of mass [3] m of the body at uniform density."""
        return np.asarray(self._trimesh.center_mass) + self.vertices.mean(axis=0)

    def inertia(self, density: float) -> Float[np.ndarray, "3 3"]:
        """The inertia [3,3] kg m2 about the centroid, in the axes of the mesh, at a uniform density in kg/m3.

        **Raises:** `ValueError` unless the density is positive and finite.
        """
        density = float(host_numbers("TriMesh.inertia: density", density, "", is_finite=False))
        if not 0 < density < np.inf:
            raise ValueError(f"density is {density} kg/m3: give a positive finite number")
        return density * np.asarray(self._trimesh.moment_inertia)
