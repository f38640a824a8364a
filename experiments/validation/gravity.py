"""Gravity against closed forms: a cube, an ellipsoid, spheres of triangles."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim.gravity import Ellipsoid, Mascons, Polyhedron
from difsim.mesh import TriMesh, box
from difsim.units import G
from experiments.validation.cases import Case, Convergence

# Of the cube of edge 2 with G ρ = 1: place, U, and one component of g (its axis and value).
CUBE = (
    ((0, 0, 0), 9.520309455918, None),
    ((1, 0, 0), 7.171240972715, (0, -5.19379316)),
    ((1, 1, 1), 4.760154727959, (0, -1.93877611)),
    ((2, 0, 0), 3.950369616696, (0, -1.88599552)),
    ((0.3, -0.2, 0.5), 8.733615088214, (2, -2.12313896)),
    ((3, 2, 1), 2.138715364973, (1, -0.30512413)),
    ((-5, -5, -5), 0.923786350029, None),
)
# Of the homogeneous ellipsoid 3 : 2 : 1 with G = ρ = 1.
ELLIPSOID = (
    ((0, 0, 0), 19.175450363851, None),
    ((3, 0, 0), 10.336854074377, (0, -5.89239753)),
    ((0, 0, 1), 15.552909651585, (2, -7.24508142)),
    ((1, 0.5, 0.3), 17.447710860229, (1, -1.67857834)),
    ((4, 1, 2), 5.674197741112, (0, -1.07889249)),
    ((6, 6, 6), 2.418063595174, None),
)
# The trace of the gravity gradient over 4 π G ρ.
SHARES = (
    ("inside", (0.2, 0.1, -0.3), -1),
    ("outside", (1.5, 0, 0), 0),
    ("on a face", (1, 0.3, 0.2), -0.5),
    ("at a corner", (1, 1, 1), -0.125),
)


def cases() -> list[Case | Convergence]:
    """Potentials and accelerations, Laplace and Poisson, closed loops, convergence of a mesh."""
    cube = Polyhedron(box((2, 2, 2)), 1 / G)
    ellipsoid = Ellipsoid((0, 0, 0), np.eye(3), (3.0, 2.0, 1.0), 1 / G)
    found = []
    for name, body, numbers in (("cube", cube, CUBE), ("ellipsoid 3:2:1", ellipsoid, ELLIPSOID)):
        at = jax.jit(lambda x, body=body: (body.potential(x), body.acceleration(x)))
        for x, potential, component in numbers:
            U, g = at(jnp.asarray(x, float))
            found.append(Case("Gravity", f"{name}: U at {x}", potential, U, 1e-10, "Gρ m²", True))
            if component:
                axis, value = component
                label = f"{name}: g_{'xyz'[axis]} at {x}"
                found.append(Case("Gravity", label, value, g[axis], 1e-8, "Gρ m"))
    laplacian = jax.jit(lambda x: cube.laplacian(x))
    for where, x, share in SHARES:
        ours = laplacian(jnp.asarray(x, float)) / (4 * jnp.pi)
        found.append(Case("Gravity", f"cube: ∇²U/(4πGρ) {where}", share, ours, 1e-11))
    packed = ellipsoid + Mascons([1 / G], [[0.5, 0.1, 0.2]])
    for name, body in (("polyhedron", cube), ("ellipsoid and mascon", packed)):
        label = f"{name}: work along a closed loop over U"
        found.append(Case("Gravity", label, 0.0, _loop(body), 1e-12))
    found += [_sphere("U", lambda body, x: body.potential(x)), _sphere("|g|", _strength)]
    return found


def _loop(body) -> float:
    """The work along a circle outside the body, over the potential there; the trapezoidal rule converges fast."""
    angle = 2 * jnp.pi * jnp.arange(256) / 256
    zero = jnp.zeros_like(angle)
    places = jnp.array([3.0, 0.5, 0.4]) + 1.2 * jnp.stack([jnp.cos(angle), jnp.sin(angle), zero], axis=1)
    tangents = 1.2 * jnp.stack([-jnp.sin(angle), jnp.cos(angle), zero], axis=1)
    pull = jax.jit(jax.vmap(body.acceleration))(places)
    return float(jnp.sum(pull * tangents) * 2 * jnp.pi / 256 / body.potential(places[0]))


def _strength(body, x):
    return jnp.linalg.norm(body.acceleration(x))


def _sphere(name: str, read) -> Convergence:
    """A sphere of triangles, each divided into four: its error falls as the edge squared."""
    x = jnp.array([1.5, 0.2, -0.7])
    exact = 4 * np.pi / 3 / float(jnp.linalg.norm(x)) ** (1 if name == "U" else 2)
    values = tuple(float(read(Polyhedron(_ball(n), 1 / G), x)) for n in (3, 4, 5))
    return Convergence(
        "Gravity", f"sphere of 768, 3072, 12288 triangles: {name} at 1.67 radii", values, exact, 2.0
    )


def _ball(divisions: int) -> TriMesh:
    """A unit sphere of 12·4ⁿ triangles: a cube whose triangles are quartered and lifted to the sphere."""
    cube = box((2.0, 2.0, 2.0))
    points, faces = cube.vertices / np.linalg.norm(cube.vertices, axis=1, keepdims=True), cube.faces
    for _ in range(divisions):
        edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        pairs, which = np.unique(edges, axis=0, return_inverse=True)
        middles = points[pairs].sum(axis=1)
        (a, b, c), (ab, bc, ca) = faces.T, len(points) + which.reshape(-1, 3).T
        points = np.concatenate([points, middles / np.linalg.norm(middles, axis=1, keepdims=True)])
        faces = np.concatenate(
            [np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        )
    return TriMesh(points, faces)
