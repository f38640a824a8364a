"""The study's cobbles: a generated stone that is always there, Bennu under DIFSIM_DATA, or a user's mesh."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.spatial import ConvexHull

from difsim import mesh
from difsim.body import Stone
from difsim.mesh import TriMesh
from difsim.session import CACHE
from experiments.cobbles.paper import INERTIA, LENGTH, MARKERS, MASS, VERTICES

BENNU = Path("Bennu") / "bennu_osirisrex2019_2692f.obj"
# Which way a principal axis points is free, and so which sides of the cobbles meet. Without this half turn about z
# they meet 1.1 cm further off the line of centres, and CoR_E is off Table 5 by up to 0.083 instead of 0.068.
HALF_TURN = np.array([-1.0, -1.0, 1.0])
SIZES = (0.02, 0.5)  # m: longest sides that a user's cobble may have

# The generated stone.
FACES, DENTS = 24, 6  # planes that cut it, hollows in it
SHARPNESS = 24.0  # of the edges between the planes: the norm in which the planes' cuts are summed
DEPTH, SPREAD = 0.08, 0.35  # of a hollow: share of the radius, half-width in rad
ROUGHNESS = 0.01  # of the radius, rms, from one vertex to the next


class Cobble(NamedTuple):
    """A rigid cobble: its surface in m, about the centre of mass and along the principal axes, mass kg, and
    principal moments of inertia [3] kg m². `name` says which it is."""

    name: str
    mesh: TriMesh
    mass: float
    inertia: np.ndarray

    @property
    def markers(self) -> Float[np.ndarray, "M 3"]:
        """Vertices far from each other, m: the furthest from the centre, then always the one furthest from those that
        are taken. The paper takes vertices of its mesh too, and does not say which."""
        vertices = self.mesh.vertices
        taken = [int(np.argmax(np.linalg.norm(vertices, axis=1)))]
        distance = np.full(len(vertices), np.inf)
        while len(taken) < MARKERS:
            distance = np.minimum(distance, np.linalg.norm(vertices - vertices[taken[-1]], axis=1))
            taken.append(int(np.argmax(distance)))
        return vertices[taken]


def cobble(shape: str, seed: int) -> Cobble:
    """The cobble that `shape` names: "generated" (from `seed`), "bennu", or the path of a mesh file in m.

    * generated: an angular stone with hollows, of the paper's mass, inertia and number of vertices, uniform;
    * bennu: the asteroid of OSIRIS-REx with the paper's number of vertices, in place of the paper's radar shape;
      scaled to the paper's length. Mass and inertia are the paper's too: uniform, it would have moments that are
      22 to 46 % larger;
    * a file: at its own size, with the paper's mass, uniform.

    **Raises:** `FileNotFoundError` where DIFSIM_DATA has no Bennu or there is no such file; `ValueError` for a
    mesh that is not closed, or not 2 to 50 cm long.
    """
    if shape == "generated":
        return Cobble("generated", generate(seed), MASS, INERTIA)
    if shape == "bennu":
        body = _principal(mesh.load(bennu(), "km"))
        scale = LENGTH / np.ptp(body.vertices, axis=0).max()
        return Cobble("Bennu", TriMesh(body.vertices * HALF_TURN * scale, body.faces), MASS, INERTIA)
    body = _principal(mesh.load(shape, "m", SIZES))
    return Cobble(Path(shape).stem, body, MASS, np.diag(body.inertia(MASS / body.volume)).copy())


def stone(cobble: Cobble, fineness: int = 80, count: int = 0) -> Stone:
    """The rigid body and its surface: a table of its distance with `fineness` cells along the longest side, and
    `count` points on the faces besides the vertices."""
    spacing = np.ptp(cobble.mesh.vertices, axis=0).max() / fineness
    return Stone.from_mesh(
        cobble.mesh, cobble.mass, np.diag(cobble.inertia), count=count, spacing=spacing, cache=CACHE
    )


def generate(seed: int) -> TriMesh:
    """An angular stone with hollows: a ball cut by random planes, dented, roughened and stretched.

    Star-shaped and concave. Uniform, of the paper's mass, it has exactly the paper's inertia, along its axes: an
    affine map A turns the second moments S = ∫ ρ x xᵀ dV into A S Aᵀ, at the same mass.
    """
    rng = np.random.default_rng(seed)
    u = _sphere(VERTICES)
    normals, depths = _directions(rng, FACES), rng.uniform(0.72, 1.0, FACES)
    radius = (1 + (np.maximum(u @ normals.T, 0) / depths) ** SHARPNESS @ np.ones(FACES)) ** (-1 / SHARPNESS)
    dents = np.exp((u @ _directions(rng, DENTS).T - 1) / SPREAD**2).max(axis=1)
    radius *= (1 - DEPTH * dents) * (1 + ROUGHNESS * rng.standard_normal(VERTICES))
    # Outward: the hull of points on a sphere about the origin is wound at random.
    faces = ConvexHull(u).simplices
    inward = np.linalg.det(u[faces]) < 0
    faces[inward] = faces[inward, ::-1]
    rough = TriMesh(radius[:, None] * u, faces)
    spread, axes = np.linalg.eigh(_second_moments(rough.inertia(1 / rough.volume)))
    wanted = np.diag(_second_moments(np.diag(INERTIA))) / MASS
    order = np.argsort(np.argsort(wanted))  # its longest axis becomes the paper's longest
    stretch = np.sqrt(wanted / spread[order])
    turned = _make_right_handed(axes[:, order])
    return TriMesh((rough.vertices - rough.centroid) @ turned * stretch, faces)


def bennu() -> Path:
    """The published shape. **Raises:** `FileNotFoundError` where DIFSIM_DATA has none."""
    folder = os.environ.get("DIFSIM_DATA")
    if folder is None or not (Path(folder) / BENNU).is_file():
        raise FileNotFoundError(
            f"no {BENNU} under DIFSIM_DATA ({folder or 'not set'}): set it to the folder with the published "
            "shapes, or take --shape generated"
        )
    return Path(folder) / BENNU


def _principal(body: TriMesh) -> TriMesh:
    """About the centre of mass and along the principal axes, moments falling from x to z as in Table 1."""
    moments, axes = np.linalg.eigh(body.inertia(1.0))
    axes = _make_right_handed(axes[:, np.argsort(-moments)])
    return TriMesh((body.vertices - body.centroid) @ axes, body.faces)


def _make_right_handed(axes: np.ndarray) -> np.ndarray:
    """Columns that make a rotation, each along +: an eigenvector's sign is the solver's choice."""
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), range(3)])
    axes = axes * signs
    return axes * np.array([1.0, 1.0, np.linalg.det(axes)])


def _second_moments(inertia: np.ndarray) -> np.ndarray:
    """∫ ρ x xᵀ dV = ½ tr(I) - I."""
    return 0.5 * np.trace(inertia) * np.eye(3) - inertia


def _directions(rng: np.random.Generator, count: int) -> np.ndarray:
    """Random unit vectors [count, 3]."""
    v = rng.standard_normal((count, 3))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def _sphere(count: int) -> np.ndarray:
    """Unit vectors [count, 3] spread evenly, along a spiral with the golden angle (Fibonacci's)."""
    i = np.arange(count)
    z, angle = 1 - (2 * i + 1) / count, np.pi * (3 - np.sqrt(5)) * i
    return np.stack([np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z], axis=1)
