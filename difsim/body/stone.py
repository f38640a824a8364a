"""A stone: a rigid body with its surface as points, edges and a signed distance."""

from itertools import pairwise
from os import PathLike

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from difsim import safe
from difsim.body.rigid import RigidBody
from difsim.checks import host_numbers, integer, numbers
from difsim.declarations import part, quantity, rule
from difsim.mesh import TriMesh, surface_points
from difsim.mesh.surface import require_mesh
from difsim.shape import AbstractSDF, GridSDF
from difsim.typing import Scalar

_FLAT = 1e-4  # rad: an edge with a smaller angle is part of a flat face


class Edges(eqx.Module):
    """Convex edges of a surface, cut into short pieces.

    `nodes` [E, 2] are the ends of a piece, indices into `Stone.nodes`. The outward normals n̂ of an edge are those with
    n̂·wing ≤ 0 for both of its wings.
    """

    nodes: Int[Array, "E 2"] = eqx.field(converter=jnp.asarray)
    wings: Float[Array, "E 2 3"] = quantity(
        "", "wings, unit vectors from an edge into its two faces, at right angles to it"
    )
    lengths: Float[Array, " E"] = quantity("m", "lengths of the pieces", ge=0)


class Stone(eqx.Module):
    """A rigid body and its surface, all in one frame about the centre of mass.

    Points touch the other stone's `shape`; edges touch its edges, which points alone miss; a round solid has no edges.
    `marks` do not touch: they identify the piece of a long edge that is near. Use `from_mesh` for a mesh.
    """

    body: RigidBody = part("mass and inertia")
    points: Float[Array, "N 3"] = quantity("m", "points of the surface", slip="mm")
    shape: AbstractSDF = part("signed distance of the solid")
    edges: Edges = part("convex edges")
    marks: Float[Array, "L 3"] = quantity("m", "marks on long edges", slip="mm")
    radius: Scalar = quantity("m", "largest distance of a point, which the constructor derives", ge=0)

    def __init__(self, body, points, shape, edges=None, marks=None):
        self.body = body
        self.points = jnp.asarray(numbers("Stone: points", points, "N 3"), float)
        self.shape = shape
        self.edges = Edges(jnp.zeros((0, 2), int), jnp.zeros((0, 2, 3)), jnp.zeros(0)) if edges is None else edges
        self.marks = jnp.zeros((0, 3)) if marks is None else jnp.asarray(numbers("Stone: marks", marks), float)
        self.radius = jnp.max(safe.norm(self.points), initial=0.0)

    @rule("there are no points: give at least one, [N, 3] in m")
    def _has_points(self):
        return self.points.shape[0] > 0

    @rule("an edge ends in a node that is not there: give nodes below the number of points and marks")
    def _has_nodes_of_edges(self):
        return self.edges.nodes < self.points.shape[0] + self.marks.shape[0]

    @property
    def nodes(self) -> Float[Array, "P 3"]:
        """Points and marks [P, 3], m, which the ends of the edges index."""
        return jnp.concatenate([self.points, self.marks])

    @staticmethod
    def from_mesh(
        mesh: TriMesh,
        mass: ArrayLike,
        inertia: ArrayLike | None = None,
        count: int = 0,
        spacing: float | None = None,
        shape: AbstractSDF | None = None,
        cache: str | PathLike | None = None,
    ) -> "Stone":
        """On the host: the stone that a closed mesh bounds, at uniform density.

        The vertices of the mesh are its points, its convex edges the edges. Its distance is tabulated on a grid,
        with an error of some 0.2 of the spacing along sharp edges, and much less where the surface is smooth.

        **Arguments:** `mesh` in m, any place; `mass` kg; `inertia` [3, 3] kg m² about the centroid in the mesh's
        axes, instead of that of a uniform density; `count`, further points on the faces, uniform by area;
        `spacing` of the grid, m (1/80 of the longest side); `shape`, an exact distance in the frame of the mesh
        moved to its centroid, instead of the grid; `cache`, a folder that keeps the grid.
        **Returns:** the stone. **Raises:** `ValueError` for a path instead of a mesh, a mass or inertia that no
        body has, a negative count, a spacing above a tenth of the longest side, and as `GridSDF.from_mesh`.
        """
        require_mesh("Stone", mesh)
        count = integer("Stone: count", count, 0)
        if not np.all(host_numbers("Stone: mass", mass) > 0):
            raise ValueError(f"Stone: mass = {mass} kg must be positive")
        centred = TriMesh(mesh.vertices - mesh.centroid, mesh.faces)
        if inertia is None:
            inertia = np.asarray(mass) * centred.inertia(1.0) / centred.volume
        extra = surface_points(centred, count).points if count else np.zeros((0, 3))
        points = np.concatenate([centred.vertices, extra])
        size = np.ptp(centred.vertices, axis=0).max()
        edges, marks = _edges(centred, len(points), longest=size / 10)
        if shape is None:
            spacing = size / 80 if spacing is None else spacing
            spacing = float(host_numbers("Stone: spacing", spacing, "", is_finite=False))
            if spacing > size / 10:
                raise ValueError(
                    f"Stone: spacing = {spacing} m is above a tenth of the longest side, {size:.3g} m: too few "
                    f"nodes to hold a surface; give about {size / 80:.2g} m, or leave it out"
                )
            shape = GridSDF.from_mesh(centred, spacing, cache=cache)
        return Stone(RigidBody(jnp.asarray(mass), jnp.asarray(inertia)), points, shape, edges, marks)


def _edges(mesh: TriMesh, points: int, longest: float) -> tuple[Edges, np.ndarray]:
    """The convex edges in pieces no longer than `longest`, and the points where they are cut."""
    faces, vertices = mesh.faces, mesh.vertices
    sides = np.concatenate([faces[:, [0, 1, 2]], faces[:, [1, 2, 0]], faces[:, [2, 0, 1]]])
    # Each edge has two sides, in neighbouring rows once sorted by its ends.
    order = np.lexsort(np.sort(sides[:, :2], axis=1).T)
    (a, b, c), d = sides[order[0::2]].T, sides[order[1::2], 2]
    along = _unit(vertices[b] - vertices[a])
    wings = np.stack([_unit(_remove_component(vertices[third] - vertices[a], along)) for third in (c, d)], axis=1)
    outward = np.cross(along, wings[:, 0])
    convex = np.sum(outward * wings[:, 1], axis=1) < -np.sin(_FLAT)
    a, b, wings = a[convex], b[convex], wings[convex]

    pieces = np.ceil(np.linalg.norm(vertices[b] - vertices[a], axis=1) / longest).astype(int)
    nodes, marks = [], []
    for start, end, count in zip(a, b, pieces, strict=True):
        cuts = np.arange(1, count)[:, None] / count
        first = points + len(marks)
        marks.extend(vertices[start] + cuts * (vertices[end] - vertices[start]))
        chain = [start, *range(first, first + count - 1), end]
        nodes.extend(pairwise(chain))
    nodes, marks = np.array(nodes, int).reshape(-1, 2), np.array(marks).reshape(-1, 3)
    lengths = np.linalg.norm(vertices[b] - vertices[a], axis=1) / pieces
    parts = (nodes, np.repeat(wings, pieces, axis=0), np.repeat(lengths, pieces))
    return Edges(*map(jnp.asarray, parts)), marks


def _remove_component(vectors: np.ndarray, along: np.ndarray) -> np.ndarray:
    return vectors - np.sum(vectors * along, axis=1, keepdims=True) * along


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
