"""Host only: an ellipsoid inside a closed mesh, and tests that it is inside and apart from another one.

The mesh need not be convex. In coordinates in which the ellipsoid is the unit ball, the ellipsoid is inside if its
centre is and no facet is nearer to the origin than 1. Two ellipsoids are apart if a plane separates them.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from difsim.gravity.ellipsoid import Ellipsoid
from difsim.mesh import TriMesh
from difsim.mesh.distance import signed_distance


@dataclass(frozen=True, eq=False)
class Inscribed:
    """An ellipsoid on the host, the image x = d + B u of the unit ball |u| ≤ 1.

    **Arguments:** `centre` d [3], m; `matrix` B [3,3], m, not singular.
    """

    centre: Float[np.ndarray, "3"]
    matrix: Float[np.ndarray, "3 3"]

    @property
    def volume(self) -> float:
        """Volume, m³."""
        return float(4 / 3 * np.pi * abs(np.linalg.det(self.matrix)))

    @property
    def semi_axes(self) -> Float[np.ndarray, "3"]:
        """Semi-axes [3] m, longest first."""
        return np.linalg.svd(self.matrix)[1]

    @property
    def axes(self) -> Float[np.ndarray, "3 3"]:
        """Unit vectors [3,3], row i along semi-axis i."""
        return np.linalg.svd(self.matrix)[0].T

    def field(self, density: float) -> Ellipsoid:
        """Its gravity field at a density in kg/m³."""
        return Ellipsoid(*map(jnp.asarray, (self.centre, self.axes, self.semi_axes, density)))

    def coordinates(self, points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3"]:
        """The coordinates u = B⁻¹ (x - d) of points [..., 3] m, in which the ellipsoid is |u| ≤ 1."""
        return (points - self.centre) @ np.linalg.inv(self.matrix).T

    def distance(self, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        """Distances [n] m of points [n,3] m from the surface to first order, (|u| - 1)/|∇|u||; negative inside."""
        u = self.coordinates(points)
        size = np.linalg.norm(u, axis=1)
        slope = np.linalg.norm(u @ np.linalg.inv(self.matrix), axis=1)
        return (size - 1) * size / np.where(slope > 0, slope, np.inf)  # 0 in the centre itself

    def reach(self, direction: Float[np.ndarray, "3"]) -> float:
        """The extent of the ellipsoid from its centre along a unit vector m, |Bᵀ m|, m."""
        return float(np.linalg.norm(self.matrix.T @ direction))

    def scale(self, factor: float) -> "Inscribed":
        """The ellipsoid `factor` times as large about the same centre."""
        return Inscribed(self.centre, factor * self.matrix)


def clearance(mesh: TriMesh, ball: Inscribed) -> float:
    """The growth factor, minus 1, at which the ellipsoid would touch the mesh.

    It is exact: the smallest distance of all facets from the origin in the ellipsoid's own coordinates. A positive
    value proves that the whole ellipsoid is inside; times the shortest semi-axis it is a lower bound of the
    clearance in metres.

    **Arguments:** `mesh`; `ball`, the ellipsoid. **Returns:** the number; -∞ if the centre is outside.
    """
    if signed_distance(mesh, ball.centre[None])[0] >= 0:
        return -np.inf
    return float(np.linalg.norm(_nearest(ball.coordinates(mesh.vertices)[mesh.faces]), axis=1).min() - 1)


def gap(a: Inscribed, b: Inscribed) -> float:
    """The distance between two ellipsoids along the normal of the plane that separates them best.

    **Arguments:** `a`, `b`. **Returns:** the distance, m; negative if they overlap.
    """
    return separation(a, b, separator(a, b))


def separation(a: Inscribed, b: Inscribed, normal) -> float:
    """The width of the empty slab between two ellipsoids normal to a direction.

    **Arguments:** `a`, `b`; `normal` [3], a unit vector from a to b. **Returns:** the width, m.
    """
    return float((b.centre - a.centre) @ normal) - a.reach(normal) - b.reach(normal)


def separator(a: Inscribed, b: Inscribed) -> np.ndarray:
    """The unit normal of the widest empty slab between two ellipsoids.

    The width is concave in the normal, so a local descent finds the widest; it is negative if they overlap.

    **Arguments:** `a`, `b`. **Returns:** the unit normal [3] from a to b.
    """
    from scipy.optimize import minimize

    size = a.semi_axes[0] + b.semi_axes[0]

    def overlap(normal):
        length = np.linalg.norm(normal)
        unit = normal / length
        pulls = sum(ball.matrix @ ball.matrix.T @ unit / ball.reach(unit) for ball in (a, b))
        slope = a.centre - b.centre + pulls  # at unit length; constant along the normal
        return -separation(a, b, unit) / size, (slope - slope @ unit * unit) / length / size

    line = b.centre - a.centre
    start = line / np.linalg.norm(line) if line.any() else np.eye(3)[0]
    normal = minimize(overlap, start, jac=True, method="BFGS", options={"gtol": 1e-10}).x
    return normal / np.linalg.norm(normal)


def _nearest(triangles) -> np.ndarray:
    """The point [F,3] of each triangle [F,3,3] that is nearest to the origin."""
    edges = np.roll(triangles, -1, axis=1) - triangles
    along = np.clip(-np.sum(triangles * edges, -1) / np.sum(edges**2, -1), 0, 1)
    on_edges = triangles + along[..., None] * edges
    nearest = on_edges[np.arange(len(triangles)), np.argmin(np.sum(on_edges**2, -1), axis=1)]
    normal = np.cross(edges[:, 0], edges[:, 1])
    foot = normal * (np.sum(normal * triangles[:, 0], -1) / np.sum(normal**2, -1))[:, None]
    inside = (np.sum(np.cross(edges, foot[:, None] - triangles) * normal[:, None], -1) >= 0).all(axis=1)
    return np.where(inside[:, None], foot, nearest)


def planes(mesh: TriMesh, ball: Inscribed) -> tuple[np.ndarray, np.ndarray]:
    """Planes n·u = r in the ball's coordinates, with every facet behind at least one of them.

    **Arguments:** `mesh`; `ball`. **Returns:** unit normals n [k,3] and distances r [k].
    """
    vertices = ball.coordinates(mesh.vertices)
    nearest = _nearest(vertices[mesh.faces])
    distance = np.linalg.norm(nearest, axis=1)
    order = np.argsort(distance)
    normals, distances = [], []
    while order.size:
        first = order[0]
        normal = nearest[first] / distance[first]
        behind = vertices @ normal >= distance[first] * (1 - 1e-12)
        normals.append(normal)
        distances.append(distance[first])
        order = order[1:]
        order = order[~behind[mesh.faces[order]].all(axis=1)]
    return np.array(normals), np.array(distances)
