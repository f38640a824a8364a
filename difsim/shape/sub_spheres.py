"""On the host: a polyhedron filled with overlapping sub-spheres."""

import heapq
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from difsim.checks import host_numbers
from difsim.mesh import TriMesh
from difsim.mesh.distance import signed_distance
from difsim.mesh.surface import require_mesh

RUNG = 0.8  # ratio of the radii of consecutive spheres on a bisector
FLAT = 1e-6  # sine of half the angle of an edge below which no sphere fits into it
SHORT = 1e-9  # relative tolerance of distances, for rounding
HALVINGS = 40  # halvings of a bisector's length: to 1e-12 of it
DRAWN = 4096  # points per call: Sobol points are even in powers of two


@dataclass(frozen=True, eq=False)
class SubSpheres:
    """Overlapping spheres in the order of their insertion.

    `centre` [p, 3] m; `radius` [p] m; `vacancy` [p], the share of the solid's volume outside of all spheres so
    far.
    """

    centre: Float[np.ndarray, "p 3"]
    radius: Float[np.ndarray, " p"]
    vacancy: Float[np.ndarray, " p"]


def fill_with_spheres(
    mesh: TriMesh, vacancy: float, points: int = 1000, smallest: float = 0.05, samples: int = 8192
) -> SubSpheres:
    """Fill a polyhedron with overlapping spheres, one after the other, until little is vacant.

    The edges are cut into `points` equidistant points. From each the bisector of the two faces goes inwards, with
    the centres of spheres that touch both faces: the largest that touches no other face, and smaller ones. The
    first sphere is the largest of all; each further one adds the most volume.

    The paper does not state this choice (the next largest sphere would almost repeat the previous one), the places
    on a bisector, or how a plate is filled, whose middle no bisector of its rim crosses: here the edges between
    triangles of one flat face count too, and their bisector is the normal.

    **Arguments:** `mesh`; `vacancy`, in (0, 1): volume outside of all spheres over that of the mesh; `points` on
    the edges; `smallest` radius over the largest; `samples`: points inside that measure volumes (8192: to 0.003).
    **Returns:** the spheres. **Raises:** ValueError for numbers out of range, and if no sphere adds volume any
    more, with the vacancy reached.
    **Source:** Wu et al. (2019), sec. 2.3.
    """
    require_mesh("fill_with_spheres", mesh)
    vacancy = float(host_numbers("fill_with_spheres: vacancy", vacancy, "", is_finite=False))
    if not 0 < vacancy < 1:
        raise ValueError(f"fill_with_spheres: vacancy = {vacancy} must be between 0 and 1, such as 0.1")
    if points < 1 or samples < 1:
        raise ValueError(f"fill_with_spheres: points = {points} and samples = {samples} must be at least 1")
    if not 0 < smallest <= 1:
        raise ValueError(f"fill_with_spheres: smallest = {smallest} must be in (0, 1], such as 0.05")
    centre, radius = _candidates(mesh, points, smallest)
    empty = _sample_inside(mesh, samples)
    chosen, left = [], []
    # The volume that a sphere adds only decreases: it is the best if it still adds more than others did before.
    heap = [(-np.inf, i) for i in range(len(radius))]
    while not left or left[-1] > vacancy:
        adds, i = heapq.heappop(heap) if heap else (0, -1)
        if adds == 0:
            reached = left[-1] if left else 1.0
            raise ValueError(
                f"fill_with_spheres: {len(left)} sub-spheres leave {reached:.3f} vacant and no other adds volume: "
                f"ask for a vacancy above that, or give more points than {points}, a `smallest` below {smallest}"
            )
        filled = ((empty - centre[i]) ** 2).sum(axis=1) < radius[i] ** 2
        now = (-int(filled.sum()), i)
        if heap and now > heap[0]:
            heapq.heappush(heap, now)
            continue
        empty = empty[~filled]
        chosen.append(i)
        left.append(len(empty) / samples)
    return SubSpheres(centre[chosen], radius[chosen], np.array(left))


def _candidates(mesh: TriMesh, points: int, smallest: float) -> tuple[np.ndarray, np.ndarray]:
    """Centres [c, 3] and radii [c], m, of spheres on the bisectors; the largest first."""
    start, inward, sine = _bisectors(mesh, points)
    low, high = np.zeros(len(start)), np.full(len(start), np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        inside = -signed_distance(mesh, start + middle[:, None] * inward)
        touches = inside >= sine * middle * (1 - SHORT)  # touches both faces, and no third one is closer
        low, high = np.where(touches, middle, low), np.where(touches, high, middle)
    rungs = RUNG ** np.arange(1 + int(np.log(smallest) / np.log(RUNG)))
    along = (low[:, None] * rungs)[..., None]
    centre = (start[:, None] + along * inward[:, None]).reshape(-1, 3)
    radius = -signed_distance(mesh, centre)
    kept = radius >= smallest * radius.max()
    order = np.argsort(-radius[kept], kind="stable")
    return centre[kept][order], radius[kept][order]


def _bisectors(mesh: TriMesh, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equidistant points on the edges, with their bisectors.

    The points [n, 3] m, the inward direction between the two faces [n, 3], and the sine of half their angle [n].
    """
    # In a closed mesh each edge occurs twice among those of the faces.
    edges = np.sort(mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    order = np.lexsort(edges.T)
    edges, faces = edges[order[::2]], order.reshape(-1, 2) // 3
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    both = normal[faces].sum(axis=1)
    sine = 0.5 * np.linalg.norm(both, axis=1)
    edges, both, sine = edges[sine > FLAT], both[sine > FLAT], sine[sine > FLAT]
    begin, along = mesh.vertices[edges[:, 0]], np.diff(mesh.vertices[edges], axis=1)[:, 0]
    end = np.cumsum(np.linalg.norm(along, axis=1))
    place = (np.arange(points) + 0.5) / points * end[-1]
    which = np.searchsorted(end, place)
    share = (end[which] - place) / np.linalg.norm(along[which], axis=1)
    return begin[which] + share[:, None] * along[which], -both[which] / (2 * sine[which])[:, None], sine[which]


def _sample_inside(mesh: TriMesh, samples: int) -> np.ndarray:
    """Points [samples, 3] m spread evenly in the mesh."""
    from scipy.stats import qmc

    low, size = mesh.vertices.min(axis=0), np.ptp(mesh.vertices, axis=0)
    source, found = qmc.Sobol(3, scramble=True, rng=0), np.zeros((0, 3))
    while len(found) < samples:
        drawn = low + size * source.random(DRAWN)
        found = np.concatenate([found, drawn[signed_distance(mesh, drawn) < 0]])
    return found[:samples]
