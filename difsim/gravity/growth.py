"""Host only: the largest non-overlapping ellipsoids inside a closed mesh, which need not be convex.

Planes replace the facets: an ellipsoid within its `planes` cannot touch a facet, and a plane between each two
ellipsoids separates them. For fixed planes the largest ellipsoids are a small smooth problem; the new ellipsoids
give new planes. The volume grows in every round, every round ends inside the mesh, and the final ellipsoids are a
local optimum of the problem without planes: at a point of contact the plane and the facet bound them alike to
first order.

For one ellipsoid this is the method of R. Deits, R. Tedrake, Computing large convex regions of obstacle-free space
through semidefinite programming, Algorithmic Foundations of Robotics XI (2015) 109-124.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from difsim.checks import integer
from difsim.gravity.inscribed import Inscribed, clearance, gap, planes, separation, separator
from difsim.mesh import TriMesh
from difsim.mesh.distance import signed_distance
from difsim.mesh.surface import require_mesh

_LOWER = np.tril_indices(3)
_DIAGONAL = [3, 5, 8]  # of L among the nine unknowns w, L
_ROUNDS, _GROWTH = 60, 1e-4  # at most, of one growth; the share of its volume below which a round is the last
_MARGIN = 1e-6  # share by which all semi-axes are shortened, so that inclusion is strict


def inscribe(mesh: TriMesh, count: int, *, starts: int = 4) -> list[Inscribed]:
    """The `count` non-overlapping ellipsoids inside a mesh with the largest total volume found.

    Each of `starts` trials inserts its ellipsoids one by one, as a sphere at the deepest free point of the body
    (all trials but the first choose at random, deep points more often), and lets all grow together after each
    insertion until the volume hardly grows. The maxima are local: more starts may find a better one.

    **Arguments:** `mesh`; `count` ≥ 1; `starts` ≥ 1.
    **Returns:** the ellipsoids, largest first, none touching the mesh or another (`clearance`, `gap`).
    **Raises:** `ValueError` for a count or a number of starts below 1, or if no free space is left to start in.
    """
    require_mesh("inscribe", mesh)
    count, starts = integer("inscribe: count", count), integer("inscribe: starts", starts)
    points, depths = _depths(mesh)
    rng = np.random.default_rng(0)
    trials = []
    for trial in range(starts):
        balls: list[Inscribed] = []
        for number in range(1, count + 1):
            balls = _with_sphere(balls, points, depths, rng if trial else None)
            # Before the last insertion a few rounds are enough to show the free space.
            balls = _grow(mesh, balls, _ROUNDS if number == count else 6)
        trials.append(_shrink_inside(mesh, balls))
    best = max(trials, key=lambda balls: sum(ball.volume for ball in balls))
    return sorted(best, key=lambda ball: -ball.volume)


def _grow(mesh: TriMesh, balls: list[Inscribed], rounds: int) -> list[Inscribed]:
    volume = sum(ball.volume for ball in balls)
    for _ in range(rounds):
        balls = _largest_within(balls, [planes(mesh, ball) for ball in balls])
        before, volume = volume, sum(ball.volume for ball in balls)
        if volume < before * (1 + _GROWTH):
            break
    return balls


def _largest_within(balls: Sequence[Inscribed], planes: Sequence[tuple]) -> list[Inscribed]:
    """The ellipsoids of largest total volume between given planes and between planes that separate them.

    The unknowns are a centre w and a lower triangular matrix L for each, in the coordinates of the previous
    ellipsoid: d + B (w + L u), so that all sizes are about 1. Along a normal n an ellipsoid extends to n·w + |Lᵀ
    n|. Every condition bounds such an extent, or for a separating plane the sum of two.
    """
    from scipy.optimize import minimize

    # One row per term: its condition, its ellipsoid, its normal; one bound per condition.
    normals = np.concatenate([normal for normal, _ in planes])
    which = np.repeat(np.arange(len(balls)), [len(normal) for normal, _ in planes])
    condition, bounds = np.arange(len(normals)), np.concatenate([distance for _, distance in planes])
    for i, j in combinations(range(len(balls)), 2):
        between = balls[j].centre - balls[i].centre
        normal = separator(balls[i], balls[j]) / np.linalg.norm(between)  # a length of about 1 here too
        normals = np.concatenate([normals, [balls[i].matrix.T @ normal, -balls[j].matrix.T @ normal]])
        which = np.append(which, (i, j))
        condition = np.append(condition, [len(bounds)] * 2)
        bounds = np.append(bounds, normal @ between)
    shares = np.array([ball.volume for ball in balls]) / sum(ball.volume for ball in balls)

    def split(x):
        x = x.reshape(-1, 9)
        L = np.zeros((len(x), 3, 3))
        L[:, *_LOWER] = x[:, 3:]
        return x[:, :3], L

    def objective(x):
        """-log of the total volume, and its slope."""
        diagonal = np.diagonal(split(x)[1], axis1=1, axis2=2)
        volumes = shares * np.prod(diagonal, axis=1)
        slope = np.zeros((len(balls), 9))
        slope[:, _DIAGONAL] = -volumes[:, None] / diagonal / volumes.sum()
        return -np.log(volumes.sum()), slope.ravel()

    def slack(x):
        w, L = split(x)
        extent = np.sum(normals * w[which], axis=1) + np.linalg.norm(_times(normals, L[which]), axis=1)
        return bounds - np.bincount(condition, extent)

    def slack_slope(x):
        rows = _times(normals, split(x)[1][which])
        by_L = normals[:, :, None] * (rows / np.linalg.norm(rows, axis=1)[:, None])[:, None, :]
        slope = np.zeros((len(bounds), len(balls), 9))
        slope[condition, which] = -np.concatenate([normals, by_L[:, *_LOWER]], axis=1)
        return slope.reshape(len(bounds), -1)

    # At most a factor of 2 in size per round: the planes are valid in the neighbourhood only.
    limits = np.tile([[-1.0, 1.0]] * 3 + [[-2.0, 2.0]] * 6, (len(balls), 1, 1))
    limits[:, _DIAGONAL, 0] = 0.5
    start = np.zeros((len(balls), 9))
    start[:, _DIAGONAL] = 1
    found = minimize(
        objective,
        start.ravel(),
        jac=True,
        bounds=limits.reshape(-1, 2),
        constraints={"type": "ineq", "fun": slack, "jac": slack_slope},
        method="SLSQP",
        options={"maxiter": 60, "ftol": 1e-7},
    ).x
    # The search left the mesh or gave NaN: return no growth, which ends the rounds.
    if not slack(found).min() >= -1e-6:
        return list(balls)
    w, L = split(found)
    return [Inscribed(b.centre + b.matrix @ w_, b.matrix @ L_) for b, w_, L_ in zip(balls, w, L, strict=True)]


def _times(normals, L) -> np.ndarray:
    """Lᵀ n of rows [n,3] and matrices [n,3,3]."""
    return np.einsum("ni,nij->nj", normals, L)


def _shrink_inside(mesh: TriMesh, balls: Sequence[Inscribed]) -> list[Inscribed]:
    """The ellipsoids, shrunk until their exact distances to facets and to each other leave a margin."""
    balls = [ball.scale(min(1.0, 1 + clearance(mesh, ball)) * (1 - _MARGIN)) for ball in balls]
    for a, b in combinations(range(len(balls)), 2):
        normal = separator(balls[a], balls[b])
        overlap = -separation(balls[a], balls[b], normal)
        if overlap >= 0:
            factor = 1 - overlap / (balls[a].reach(normal) + balls[b].reach(normal)) - _MARGIN
            balls[a], balls[b] = balls[a].scale(factor), balls[b].scale(factor)
    return balls


def _depths(mesh: TriMesh) -> tuple[np.ndarray, np.ndarray]:
    """Points of a grid inside the mesh, 24 along its longest side, and their depths below the surface, m."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    step = (high - low).max() / 24
    counts = np.ceil((high - low) / step).astype(int)
    sides = [a + (np.arange(n) + 0.5) * (b - a) / n for a, b, n in zip(low, high, counts, strict=True)]
    points = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 3)
    depths = -signed_distance(mesh, points)
    return points[depths > 0], depths[depths > 0]


def _with_sphere(balls: list[Inscribed], points, depths, rng: np.random.Generator | None) -> list[Inscribed]:
    """The ellipsoids and one sphere more, half as large as the free space at the deepest (or a random) point."""
    depth = depths
    for ball in balls:
        depth = np.minimum(depth, ball.distance(points))
    if not (depth > 0).any():
        raise ValueError(
            f"inscribe: no free space for ellipsoid {len(balls) + 1} at any of {len(points)} grid points inside the "
            "mesh; ask for fewer, or check that the mesh is not a thin shell"
        )
    chance = np.maximum(depth, 0) ** 3
    chosen = np.argmax(depth) if rng is None else rng.choice(len(depth), p=chance / chance.sum())
    # The distance is of first order: shrink the sphere if an ellipsoid is nearer than that.
    new = Inscribed(points[chosen], 0.5 * depth[chosen] * np.eye(3))
    while any(gap(ball, new) <= 0 for ball in balls):
        new = new.scale(0.5)
    return [*balls, new]
