"""Host only: the largest ellipsoids that fit side by side into a closed mesh, which need not be convex.

Planes prove both conditions. A plane touches the ellipsoid's side of the nearest facet, in the coordinates in
which the ellipsoid is the unit ball; all facets that lie wholly behind it are settled, and the next nearest one
gives the next plane, until none is left. An ellipsoid that stays within its planes can meet no facet. In the
same way a plane between each two ellipsoids keeps them apart. With the planes held, the largest ellipsoids are
a small smooth problem; with the new ellipsoids come new planes. The volume grows in every round, every round
ends inside the mesh, and where the rounds end the ellipsoids are a local optimum of the problem without planes:
planes and facets bound the touching ellipsoids to first order alike.

One region at a time this is the method of R. Deits, R. Tedrake, Computing large convex regions of obstacle-free
space through semidefinite programming, Algorithmic Foundations of Robotics XI (2015) 109-124. The problem is
that of appendix A of the paper on Philae's landing in the list of sources.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import igl
import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from difsim.gravity.ellipsoid import Ellipsoid
from difsim.mesh import TriMesh

_LOWER = np.tril_indices(3)
_MARGIN = 1e-6  # all semi-axes are shortened by this share, so that inclusion is strict


@dataclass(frozen=True, eq=False)
class Inscribed:
    """The image x = d + B u of the unit ball |u| ≤ 1: an ellipsoid on the host.

    `centre` d [3] m, `matrix` B [3,3] m, not singular.
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
        """Its gravity at a density in kg/m³."""
        return Ellipsoid(self.centre, self.axes, self.semi_axes, density)

    def coordinates(self, points: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3"]:
        """u = B⁻¹ (x - d) of points [..., 3] m: the ellipsoid is |u| ≤ 1."""
        return (points - self.centre) @ np.linalg.inv(self.matrix).T

    def distance(self, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        """Distance of points [n,3] m from the surface to first order, (|u| - 1)/|∇|u||; negative inside."""
        u = self.coordinates(points)
        size = np.linalg.norm(u, axis=1)
        slope = np.linalg.norm(u @ np.linalg.inv(self.matrix), axis=1)
        return (size - 1) * size / np.where(slope > 0, slope, np.inf)  # in the centre itself: 0

    def reach(self, direction: Float[np.ndarray, "3"]) -> float:
        """How far the ellipsoid extends from its centre along a unit vector, |Bᵀ m|, m."""
        return float(np.linalg.norm(self.matrix.T @ direction))

    def scaled(self, factor: float) -> "Inscribed":
        """The same, `factor` times as large about its own centre."""
        return Inscribed(self.centre, factor * self.matrix)


def inscribe(
    mesh: TriMesh, count: int, *, starts: int = 4, seed: int = 0, rounds: int = 60, rtol: float = 1e-4
) -> list[Inscribed]:
    """The largest `count` ellipsoids inside a mesh that do not overlap: greatest total volume found.

    Each of `starts` trials puts its ellipsoids in one by one, as a sphere where the body is deepest beside those
    that are there (every trial but the first draws by chance, deep points more often), and grows all together
    after each, at most `rounds` times, until the volume grows by less than `rtol` in a round. The maxima are
    local: more starts may find a better one.

    **Arguments:** `mesh`; `count` ≥ 1; `starts` ≥ 1; `seed` of the trials.
    **Returns:** the ellipsoids, largest first, none touching the mesh or another (`clearance`, `gap`).
    **Raises:** `ValueError` for a count or a number of starts below 1, or where no room is left to start in.
    """
    if count < 1 or starts < 1:
        raise ValueError(f"inscribe: count = {count} ellipsoids and starts = {starts} must both be at least 1")
    points, depths = _depths(mesh)
    rng = np.random.default_rng(seed)
    trials = []
    for trial in range(starts):
        balls: list[Inscribed] = []
        for number in range(1, count + 1):
            balls = _with_sphere(balls, points, depths, rng if trial else None)
            # Those before the last are only on their way: a few rounds show where there is room.
            balls = _grow(mesh, balls, rounds if number == count else 6, rtol)
        trials.append(_strictly_inside(mesh, balls))
    best = max(trials, key=lambda balls: sum(ball.volume for ball in balls))
    return sorted(best, key=lambda ball: -ball.volume)


def clearance(mesh: TriMesh, ball: Inscribed) -> float:
    """How much larger than the ellipsoid, about its centre, the one is that touches the mesh, minus 1.

    Exact: over all facets the smallest distance from the origin in the ellipsoid's own coordinates. Positive
    with the centre inside, it proves that the whole ellipsoid is inside; times the shortest semi-axis it is a
    lower bound of the clearance in metres. Negative infinity where the centre is outside.
    """
    if _signed_distance(mesh, ball.centre[None])[0] >= 0:
        return -np.inf
    return float(np.linalg.norm(_nearest(ball.coordinates(mesh.vertices)[mesh.faces]), axis=1).min() - 1)


def gap(a: Inscribed, b: Inscribed) -> float:
    """Distance between two ellipsoids, m, by the plane that separates them best; negative when they overlap."""
    return _apart(a, b, _separator(a, b))


def _apart(a: Inscribed, b: Inscribed, normal) -> float:
    """Width of the empty slab between two ellipsoids that a unit normal from a to b is perpendicular to."""
    return float((b.centre - a.centre) @ normal) - a.reach(normal) - b.reach(normal)


def _separator(a: Inscribed, b: Inscribed) -> np.ndarray:
    """The unit normal of the widest empty slab between two ellipsoids (the flattest overlap if there is none)."""
    size = np.linalg.norm(b.centre - a.centre)

    def overlap(normal):
        length = np.linalg.norm(normal)
        unit = normal / length
        pulls = [ball.matrix @ ball.matrix.T @ unit / ball.reach(unit) for ball in (a, b)]
        slope = a.centre - b.centre + sum(pulls)  # of a function of degree 1 in the normal
        return -_apart(a, b, unit) / size, (slope - slope @ unit * unit) / length / size

    guess = (b.centre - a.centre) / size
    # Ahead of the middle of the line between them: the mean of both surface normals there.
    normals = [np.linalg.solve(ball.matrix @ ball.matrix.T, guess) for ball in (a, b)]
    candidates = [guess, *(n / np.linalg.norm(n) for n in normals)]
    found = [minimize(overlap, start, jac=True, method="BFGS", options={"gtol": 1e-10}) for start in candidates]
    normal = min(found, key=lambda result: result.fun).x
    return normal / np.linalg.norm(normal)


def _nearest(triangles) -> np.ndarray:
    """The point [F,3] of each triangle [F,3,3] that is nearest to the origin."""
    edges = np.roll(triangles, -1, axis=1) - triangles
    along = np.clip(-np.sum(triangles * edges, -1) / np.sum(edges**2, -1), 0, 1)
    on_edges = triangles + along[..., None] * edges
    nearest = on_edges[np.arange(len(triangles)), np.argmin(np.sum(on_edges**2, -1), axis=1)]
    normal = np.cross(edges[:, 0], edges[:, 1])
    square = np.sum(normal**2, -1)
    foot = normal * (np.sum(normal * triangles[:, 0], -1) / np.where(square > 0, square, 1))[:, None]
    sides = np.sum(np.cross(edges, foot[:, None] - triangles) * normal[:, None], -1)
    inside = (square > 0) & (sides >= 0).all(axis=1)
    return np.where(inside[:, None], foot, nearest)


def _planes(mesh: TriMesh, ball: Inscribed) -> tuple[np.ndarray, np.ndarray]:
    """Planes n·u = r in the ball's coordinates, every facet behind at least one of them: normals, distances."""
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


def _grow(mesh: TriMesh, balls: list[Inscribed], rounds: int, rtol: float) -> list[Inscribed]:
    volume = sum(ball.volume for ball in balls)
    for _ in range(rounds):
        balls = _largest_within(balls, [_planes(mesh, ball) for ball in balls])
        before, volume = volume, sum(ball.volume for ball in balls)
        if volume < before * (1 + rtol):
            break
    return balls


def _largest_within(balls: Sequence[Inscribed], planes: Sequence[tuple]) -> list[Inscribed]:
    """The ellipsoids of greatest total volume between given planes.

    Unknowns are a centre w and a lower triangular matrix L for each, in the coordinates of the ellipsoid
    before: d + B (w + L u). All sizes are then about 1.
    """
    pairs = [(i, j, _separator(balls[i], balls[j])) for i, j in combinations(range(len(balls)), 2)]
    weights = np.array([ball.volume for ball in balls]) / sum(ball.volume for ball in balls)
    unit = np.concatenate([np.zeros(3), np.eye(3)[_LOWER]])

    def split(x):
        x = x.reshape(-1, 9)
        L = np.zeros((len(x), 3, 3))
        L[:, *_LOWER] = x[:, 3:]
        return x[:, :3], L

    def objective(x):
        _, L = split(x)
        diagonal = np.diagonal(L, axis1=1, axis2=2)
        volumes = weights * np.prod(diagonal, axis=1)
        slope = np.zeros((len(balls), 3, 3))
        slope[:, range(3), range(3)] = volumes[:, None] / diagonal
        total = volumes.sum()
        slopes = np.concatenate([np.zeros((len(balls), 3)), slope[:, *_LOWER]], axis=1)
        return -np.log(total), -slopes.ravel() / total

    def extents(w, L, normals):
        """n·w + |Lᵀ n| for normals [n,3], with its derivatives [n,9]."""
        rows = normals @ L
        length = np.linalg.norm(rows, axis=1)
        by_L = normals[:, :, None] * (rows / length[:, None])[:, None, :]
        return normals @ w + length, np.concatenate([normals, by_L[:, *_LOWER]], axis=1)

    def room(x):
        w, L = split(x)
        return np.concatenate(
            [distance - extents(w[i], L[i], normal)[0] for i, (normal, distance) in enumerate(planes)]
            + [[between(w, L, *pair)[0]] for pair in pairs]
        )

    def room_slopes(x):
        w, L = split(x)
        blocks = []
        for i, (normal, _) in enumerate(planes):
            block = np.zeros((len(normal), len(balls), 9))
            block[:, i] = -extents(w[i], L[i], normal)[1]
            blocks.append(block)
        return np.concatenate(blocks + [between(w, L, *pair)[1][None] for pair in pairs]).reshape(-1, x.size)

    def between(w, L, i, j, normal):
        """Slab between ellipsoids i and j as a share of the distance of their centres, with derivatives."""
        size = np.linalg.norm(balls[j].centre - balls[i].centre)
        value, slope = normal @ (balls[j].centre - balls[i].centre), np.zeros((len(balls), 9))
        for k, m in ((i, normal), (j, -normal)):
            extent, by = extents(w[k], L[k], (balls[k].matrix.T @ m)[None])
            value, slope[k] = value - extent[0], -by[0]
        return value / size, slope / size

    # Not more than half or twice the size in one round: the planes know the neighbourhood only.
    low, high = np.full((3, 3), -2.0), np.full((3, 3), 2.0)
    np.fill_diagonal(low, 0.5)
    bounds = list(zip([-1] * 3 + list(low[_LOWER]), [1] * 3 + list(high[_LOWER]), strict=True)) * len(balls)
    result = minimize(
        objective,
        np.tile(unit, len(balls)),
        jac=True,
        bounds=bounds,
        constraints={"type": "ineq", "fun": room, "jac": room_slopes},
        method="SLSQP",
        options={"maxiter": 60, "ftol": 1e-7},
    )
    w, L = split(result.x)
    grown = [Inscribed(b.centre + b.matrix @ w_, b.matrix @ L_) for b, w_, L_ in zip(balls, w, L, strict=True)]
    return [ball.scaled(1 - max(0.0, -float(room(result.x).min()))) for ball in grown]


def _strictly_inside(mesh: TriMesh, balls: Sequence[Inscribed]) -> list[Inscribed]:
    """All shrunk until the exact distances, of facets and of each other, leave a margin."""
    balls = [ball.scaled(min(1.0, 1 + clearance(mesh, ball)) * (1 - _MARGIN)) for ball in balls]
    for a, b in combinations(range(len(balls)), 2):
        normal = _separator(balls[a], balls[b])
        overlap = -_apart(balls[a], balls[b], normal)
        if overlap >= 0:
            factor = 1 - overlap / (balls[a].reach(normal) + balls[b].reach(normal)) - _MARGIN
            balls[a], balls[b] = balls[a].scaled(factor), balls[b].scaled(factor)
    return balls


def _signed_distance(mesh: TriMesh, points) -> np.ndarray:
    """Signed distance [n] m to the mesh, negative inside (pseudonormals: right at edges and vertices too)."""
    return igl.signed_distance(
        np.ascontiguousarray(points),
        mesh.vertices,
        np.ascontiguousarray(mesh.faces),
        sign_type=igl.SIGNED_DISTANCE_TYPE_PSEUDONORMAL,
    )[0]


def _depths(mesh: TriMesh, cells: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Points of a grid inside the mesh, and how deep below the surface they are, m."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    step = (high - low).max() / cells
    counts = np.ceil((high - low) / step).astype(int)
    sides = [a + (np.arange(n) + 0.5) * (b - a) / n for a, b, n in zip(low, high, counts, strict=True)]
    points = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 3)
    depths = -_signed_distance(mesh, points)
    return points[depths > 0], depths[depths > 0]


def _with_sphere(balls: list[Inscribed], points, depths, rng: np.random.Generator | None) -> list[Inscribed]:
    """One more: a sphere half as large as there is room beside the others, where it is deepest (or by chance)."""
    room = depths
    for ball in balls:
        room = np.minimum(room, ball.distance(points))
    if not (room > 0).any():
        raise ValueError(
            f"inscribe: no room for ellipsoid {len(balls) + 1} at any of {len(points)} grid points inside the "
            "mesh; ask for fewer, or check that the mesh is not a thin shell"
        )
    chance = np.maximum(room, 0) ** 3
    chosen = np.argmax(room) if rng is None else rng.choice(len(room), p=chance / chance.sum())
    # An ellipsoid nearer than it seemed is passed by a smaller sphere.
    new = Inscribed(points[chosen], 0.5 * room[chosen] * np.eye(3))
    while any(gap(ball, new) <= 0 for ball in balls):
        new = new.scaled(0.5)
    return [*balls, new]
