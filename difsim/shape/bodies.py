"""On the host: comet 67P, as an analogue from published numbers and as the real SHAP5 surface.

Both are in the comet-fixed Cheops frame, m, with the comet's rotation about z. For other bodies load a file with
`difsim.mesh.load`.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from difsim import mesh
from difsim.checks import host_numbers
from difsim.declarations import part, quantity
from difsim.extras import require
from difsim.mesh import TriMesh
from difsim.rotation import nearest_rotation
from difsim.shape.ellipsoid import Ellipsoid
from difsim.shape.sdf import AbstractSDF, Posed
from difsim.typing import Scalar, Vec3
from difsim.units import LOBES_67P

VOLUME_67P = 18.752e9  # m³, of SHAP5; Jorda et al. 2016: 18.7 km³
CENTROID_67P = (12.7, -28.8, 4.1)  # m, of SHAP5 at uniform density, from the origin of the frame


class _Blend(AbstractSDF):
    """Solids united with rounded joints: -w log Σ exp(-dᵢ/w), at most the smallest distance."""

    tag = "blend"
    solids: tuple[AbstractSDF, ...] = part("solids of distances dᵢ")
    width: Scalar = quantity("m", "width w of the joints", gt=0)

    def distance(self, x: Vec3) -> Scalar:
        d = jnp.stack([solid.distance(x) for solid in self.solids])
        return -self.width * jax.nn.logsumexp(-d / self.width)


def comet_67p(spacing: float = 150.0) -> TriMesh:
    """An analogue of comet 67P from published numbers alone: two ellipsoids and a neck, blended.

    The ellipsoids have the inertia of the lobes of SHAP5 (full axes 4.20 x 3.24 x 1.95 and 2.74 x 2.25 x 1.85 km),
    shrunk by 3.5 % to compensate for their overlap and the neck; the neck is the largest ellipsoid that fits into
    the real one. The joints are rounded over 100 m. Volume and centroid are then set to those of SHAP5.

    Errors against SHAP5: the surfaces are 100 m rms apart, 340 m at most; they share 84 % of the volume of their
    union; the sides of the box are 0.28 to 0.33 km short of 5.03 x 3.70 x 3.27 km; the principal moments of
    inertia are 4 to 6 % low. Gravity at uniform density: 1.2 % rms and 5 % at most between 2.9 and 5 km from the
    centre, 6 % rms and 15 % at most 500 m above the surface, 13 % rms and 27 % at most on it, 2.2 % at Philae's
    first touchdown. It has no real relief: use it for flight, not for landing sites.

    **Arguments:** `spacing`, m: the approximate length of an edge (150 m: some 5 000 faces, 100 m: 11 000).
    **Raises:** `ValueError` for a spacing that is not between 20 and 300 m.
    **Source:** computed from the shape model of Jorda et al., Icarus 277 (2016) 257-278.
    """
    spacing = float(host_numbers("comet_67p: spacing", spacing, ""))
    if not 20 <= spacing <= 300:
        raise ValueError(f"spacing is {spacing} m: give 20 to 300 m (the neck is 500 m thick)")
    lobes = [_lobe(centre, axes, 0.965 * np.array(semi_axes)) for _, centre, axes, semi_axes in LOBES_67P]
    blend = _Blend((*lobes, _lobe(*_NECK)), jnp.asarray(100.0))
    low, high = np.array([-3000.0, -2400.0, -2200.0]), np.array([3000.0, 2400.0, 2200.0])
    rough = TriMesh(*_level_set(blend, low, high, spacing))
    scale = (VOLUME_67P / rough.volume) ** (1 / 3)
    return TriMesh(CENTROID_67P + scale * (rough.vertices - rough.centroid), rough.faces)


_NECK = (  # centre, axes in columns, semi-axes
    (497.72, -152.12, -186.05),
    ((0.473044, -0.279886, 0.8354), (0.878474, 0.077531, -0.471459), (0.067185, 0.956897, 0.282548)),
    (948.77, 509.99, 249.32),
)


def _lobe(centre: tuple, axes: tuple, semi_axes: np.ndarray | tuple) -> Posed:
    return Posed(Ellipsoid(jnp.asarray(semi_axes)), jnp.asarray(centre), jnp.asarray(nearest_rotation(axes)))


def _level_set(sdf: AbstractSDF, low: np.ndarray, high: np.ndarray, spacing: float):
    """Vertices and faces of the surface by marching cubes, evened out along the surface."""
    igl = require("mesh", "igl")

    axes = [np.arange(start, stop + spacing, spacing) for start, stop in zip(low, high, strict=True)]
    z, y, x = np.meshgrid(*axes[::-1], indexing="ij")  # x runs fastest
    nodes = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    value = jax.jit(jax.vmap(jax.value_and_grad(sdf.distance)))
    depths = np.asarray(value(jnp.asarray(nodes))[0], float)
    vertices, faces = map(np.asarray, igl.marching_cubes(depths, nodes, *(len(axis) for axis in axes))[:2])
    outward = np.linalg.det(vertices[faces]).sum() > 0
    faces = (faces if outward else faces[:, ::-1]).astype(np.int64)
    near = igl.adjacency_matrix(faces).astype(float)
    near = near.multiply(1 / near.sum(axis=1)).tocsr()
    # The cubes' corners give thin triangles: move vertices to the mean of their neighbours, then back to the surface.
    for _ in range(10):
        vertices = (vertices + near @ vertices) / 2
        distance, gradient = (np.asarray(a, float) for a in value(jnp.asarray(vertices)))
        vertices = vertices - (distance / (gradient**2).sum(axis=1))[:, None] * gradient
    return vertices, faces


@dataclass(frozen=True)
class Download:
    """A public file: its address, the hash of its bytes, its path under the folder of data."""

    url: str
    sha256: str
    place: str


SHAP5 = Download(
    url="https://raw.githubusercontent.com/cosmonium/cosmonium-data/bba772a5bee612f585f37f242b8f527d1823b6c3/"
    "solar-system/comets/models/67p-spc.ply",
    sha256="2a2905efff139438c479210e3a4e66eedf47de471bd8957629ed5269325d73e1",
    place="67P/67p-spc.ply",
)

# From the frame of the file (SPC, in which SHAP5 was delivered) to Cheops, r' = L r + offset: C. Feller, IDL
# routine conv_coords_spc2cheops.
_SPC_TO_CHEOPS = np.array(
    [
        [0.999988115010352, -0.00486673862742470, 0.000291020917157006],
        [0.00486651407512085, 0.999987863999109, 0.000767395110673006],
        [-0.000294752096754503, -0.000765969732800629, 0.999999663205728],
    ]
)
_SPC_OFFSET = np.array([-2.9655, 1.2162, -16.9312])  # m


def shap5() -> TriMesh:
    """The shape of comet 67P from the OSIRIS images: SHAP5 in its reduction to 48 420 vertices, 96 834 faces.

    The file (1.8 MB) is downloaded once, checked by its hash, and kept in the folder that the environment variable
    DIFSIM_DATA names, or else in the user's cache folder.

    **Raises:** `ConnectionError` if it is not there and cannot be downloaded; `ValueError` for a wrong hash.
    **Source:** Jorda et al., Icarus 277 (2016) 257-278, RO-C-MULTI-5-67P-SHAPE-V2.0:CG_SPC_SHAP5_001M_CART;
    reduced and published by the Cosmonium project.
    """
    surface = mesh.load(fetch(SHAP5), unit="km", size=(4.5e3, 5.5e3))
    return TriMesh(surface.vertices @ _SPC_TO_CHEOPS.T + _SPC_OFFSET, surface.faces)


def fetch(download: Download) -> Path:
    """The path of a public file, which is downloaded if needed. **Raises:** as `shap5`."""
    pooch = require("mesh", "pooch")
    folder = Path(os.environ.get("DIFSIM_DATA") or pooch.os_cache("difsim"))
    path = folder / download.place
    try:
        found = pooch.retrieve(download.url, f"sha256:{download.sha256}", fname=path.name, path=path.parent)
    except OSError as error:
        raise ConnectionError(
            f"{path} is not there and could not be downloaded ({error}). Either connect and try again; or put the "
            f"file from {download.url} there by hand; or set DIFSIM_DATA to the folder that has "
            f"{download.place}; or use the analogue, comet_67p()"
        ) from error
    return Path(found)
