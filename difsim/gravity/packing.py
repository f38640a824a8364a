"""Host only: a body as a few inscribed ellipsoids, which are exact, and mass concentrations for the rest.

It is some hundred times faster than a polyhedron of 20 000 facets, and as good at a distance; near the surface the
concentrations show in the acceleration more than in the potential. `pack` runs the two steps, `inscribe` and
`cluster_lumps`, and checks the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from difsim.checks import host_numbers
from difsim.extras import require
from difsim.gravity.field import Sum
from difsim.gravity.growth import inscribe
from difsim.gravity.inscribed import Inscribed, clearance, gap
from difsim.gravity.mascon import Mascons
from difsim.mesh import TriMesh
from difsim.mesh.surface import require_mesh
from difsim.units import G

SAMPLES, ROUNDS = 40, 15  # sample points per lump; moves of the centres


@dataclass(frozen=True, eq=False)
class Lumps:
    """Parts of a body, each replaced by a ball or a point in its centroid.

    `position` [n,3] m; `volume` [n] m³ of the part; `radius` [n] m of the ball, 0 for a point; `lobe` [n], the
    ellipsoid whose density it has.
    """

    position: Float[np.ndarray, "n 3"]
    volume: Float[np.ndarray, " n"]
    radius: Float[np.ndarray, " n"]
    lobe: Int[np.ndarray, " n"]


@dataclass(frozen=True, eq=False)
class Packing:
    """Ellipsoids and lumps that make up one body, with the results of checks.

    `densities` [one per ellipsoid] kg/m³; `share` of the body's volume in the ellipsoids; `clearance`, the
    smallest of `difsim.gravity.inscribed.clearance` (positive: strictly inside); `gap` between the two nearest
    ellipsoids, m (infinite for one alone).
    """

    ellipsoids: tuple[Inscribed, ...]
    lumps: Lumps
    densities: Float[np.ndarray, " m"]
    share: float
    clearance: float
    gap: float

    @property
    def mascons(self) -> Mascons:
        """The lumps as mascons, with the densities of their lobes."""
        lumps = self.lumps
        GM = G * self.densities[lumps.lobe] * lumps.volume
        return Mascons(*map(jnp.asarray, (GM, lumps.position, lumps.radius)))

    @property
    def field(self) -> Sum:
        """The gravity of the body: one `Ellipsoid` each, then the `Mascons`."""
        pairs = zip(self.ellipsoids, self.densities, strict=True)
        return Sum((*(ellipsoid.field(density) for ellipsoid, density in pairs), self.mascons))

    @property
    def mass(self) -> float:
        """Mass, kg."""
        solid = self.densities @ [ellipsoid.volume for ellipsoid in self.ellipsoids]
        return float(solid + self.densities[self.lumps.lobe] @ self.lumps.volume)


def pack(
    mesh: TriMesh,
    densities: float | Sequence[float] | Float[np.ndarray, " m"],
    *,
    ellipsoids: int | Sequence[Inscribed] = 3,
    mascons: int | Lumps = 1200,
    GM: float | None = None,
) -> Packing:
    """A fast field of a body: ellipsoids inscribed in its mesh, and mass concentrations in the rest.

    **Arguments:** `mesh`; `densities`, kg/m³, one number or one for each ellipsoid, largest first (the rest has
    the density of the nearest ellipsoid); `ellipsoids`, their number (found by `inscribe`), or the ellipsoids
    themselves; `mascons`, their number (found by `cluster_lumps`), or the lumps themselves; `GM`, m³/s², if
    given, to which all densities are scaled.
    **Returns:** a `Packing`; its `.field` is the gravity.
    **Raises:** `ValueError` for densities that are not positive or not one for each ellipsoid, a GM that is not
    positive, ellipsoids that leave the mesh or overlap, and as `inscribe` and `cluster_lumps`.
    """
    require_mesh("pack", mesh)
    if GM is not None and not 0 < GM < np.inf:
        raise ValueError(f"pack: GM = {GM} m³/s²: give a positive finite number, or none to keep the densities")
    found = tuple(inscribe(mesh, ellipsoids) if isinstance(ellipsoids, int) else ellipsoids)
    if not found:
        raise ValueError("pack: no ellipsoids: give at least one, or take `Polyhedron` or `Mascons` alone")
    density = host_numbers("pack: densities", densities)
    if density.ndim > 1 or density.shape not in ((), (len(found),)) or not (density > 0).all():
        raise ValueError(
            f"pack: densities = {densities} kg/m³: give one positive number, or one for each of {len(found)} "
            "ellipsoids, largest first"
        )
    density = np.broadcast_to(density, (len(found),)).copy()
    inside = min(clearance(mesh, ellipsoid) for ellipsoid in found)
    apart = min((gap(a, b) for a, b in combinations(found, 2)), default=np.inf)
    if inside < 0 or apart < 0:
        raise ValueError(
            f"pack: an ellipsoid leaves the mesh (clearance {inside:.3g} of its size) or two overlap (gap "
            f"{apart:.3g} m): mass would count twice; shrink them, or let `inscribe` find them"
        )
    lumps = cluster_lumps(mesh, found, mascons) if isinstance(mascons, int) else mascons
    packing = Packing(
        ellipsoids=found,
        lumps=lumps,
        densities=density,
        share=float(sum(ellipsoid.volume for ellipsoid in found) / mesh.volume),
        clearance=inside,
        gap=apart,
    )
    return packing if GM is None else replace(packing, densities=density * (GM / (G * packing.mass)))


def cluster_lumps(mesh: TriMesh, ellipsoids: Sequence[Inscribed], count: int = 1200) -> Lumps:
    """The rest of a mesh outside its ellipsoids as `count` balls, with its exact multipoles up to degree 2.

    Points of a grid in the rest are assigned to the nearest of `count` centres, which move to the mean of their
    points, `ROUNDS` times: parts of small inertia, and so of small error. Each becomes a ball of its volume, since
    the pull of a point is unbounded near it. The grid gives volumes to some per mille only: they are then
    corrected, by shares that are least in the mean square, so that volume, centroid and quadrupole of ellipsoids
    and balls are those of the mesh.

    **Arguments:** `mesh`; `ellipsoids` in it; `count` ≥ 10 lumps.
    **Returns:** `Lumps`, `count` of them or, rarely, a few less.
    **Raises:** `ValueError` for a count below 10, or too small for positive volumes.
    """
    from scipy.spatial import KDTree

    require_mesh("cluster_lumps", mesh)
    if count < 10:
        raise ValueError(f"cluster_lumps: count = {count}, but nine multipoles are matched: give 10 or more")
    points, volume = _samples(mesh, ellipsoids, count * SAMPLES)
    if len(points) < count:
        raise ValueError(
            f"cluster_lumps: {len(points)} sample points cannot make {count} lumps: the ellipsoids fill "
            "the mesh; ask for fewer lumps"
        )
    centres = np.random.default_rng(0).choice(points, count, replace=False)
    for _ in range(ROUNDS):
        # The leaves decide between centres that are equally near.
        nearest = np.unique(KDTree(centres, leafsize=16).query(points)[1], return_inverse=True)[1]
        members = np.bincount(nearest)
        centres = np.column_stack([np.bincount(nearest, axis) / members for axis in points.T])
    volumes = _with_exact_multipoles(mesh, ellipsoids, centres, volume * members)
    radii = np.cbrt(volumes * 3 / (4 * np.pi))
    return Lumps(centres, volumes, radii, _nearest(ellipsoids, centres))


def _rest(mesh: TriMesh, ellipsoids: Sequence[Inscribed]) -> float:
    return mesh.volume - sum(ellipsoid.volume for ellipsoid in ellipsoids)


def _nearest(ellipsoids: Sequence[Inscribed], points) -> np.ndarray:
    return np.argmin([ellipsoid.distance(points) for ellipsoid in ellipsoids], axis=0)


def _samples(mesh: TriMesh, ellipsoids: Sequence[Inscribed], count: int) -> tuple[np.ndarray, float]:
    """About `count` points of a cubic grid in the rest, and the volume of each, m³."""
    igl = require("mesh", "igl")

    pitch = (_rest(mesh, ellipsoids) / count) ** (1 / 3)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    sides = [np.arange(a + pitch / 2, b, pitch) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 3)
    for ellipsoid in ellipsoids:
        points = points[np.linalg.norm(ellipsoid.coordinates(points), axis=1) > 1]
    winding = np.asarray(igl.fast_winding_number(mesh.vertices, mesh.faces, points))
    return points[winding > 0.5], pitch**3


def _with_exact_multipoles(mesh: TriMesh, ellipsoids: Sequence[Inscribed], positions, volumes) -> np.ndarray:
    """Volumes [n], changed by the smallest shares, with the multipoles of the rest up to degree 2."""
    origin, size = mesh.centroid, mesh.volume ** (1 / 3)
    inertia = mesh.inertia(1.0)
    wanted = _multipoles(mesh.volume, np.zeros(3), np.trace(inertia) / 2 * np.eye(3) - inertia, size)
    for ellipsoid in ellipsoids:
        d, B = ellipsoid.centre - origin, ellipsoid.matrix
        wanted -= ellipsoid.volume * _multipoles(1.0, d, B @ B.T / 5 + np.outer(d, d), size)
    each = np.array([_multipoles(1.0, d, np.outer(d, d), size) for d in positions - origin])
    share = each @ np.linalg.solve((each.T * volumes) @ each, wanted - volumes @ each)
    if not (share > -1).all():
        raise ValueError(
            f"cluster_lumps: {len(volumes)} lumps cannot match the mesh's multipoles with positive volumes "
            f"(the worst would change by {100 * share.min():.0f} %): give more lumps"
        )
    return volumes * (1 + share)


def _multipoles(volume: float, first, second, size: float) -> np.ndarray:
    """Nine numbers, lengths in units of `size`, from volume, first [3] and second [3,3] moments.

    Only the trace-free part of the second moments makes gravity. To match the trace too, which points lack since
    they have no size, would move the lumps outwards and spoil the field close to the body.
    """
    (xx, xy, xz), (_, yy, yz), (*_, zz) = second / size**2
    return np.array([volume, *(first / size), xy, yz, xz, xx - yy, (xx + yy) / 2 - zz])
