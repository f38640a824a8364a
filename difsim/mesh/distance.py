"""Signed distances from a mesh."""

import numpy as np
from jaxtyping import Float

from difsim.extras import require
from difsim.mesh.surface import TriMesh


def signed_distance(mesh: TriMesh, points: Float[np.ndarray, "N 3"]) -> Float[np.ndarray, "N"]:
    """Signed distances of points from the surface, negative inside.

    The sign is that of the angle-weighted pseudonormal, which is right at edges and vertices too. The fast winding
    number is not used: libigl's distances with it are wrong by up to 0.8 %.

    **Arguments:** `mesh`; `points` [N,3], m. **Returns:** distances [N], m.
    **Source:** Baerentzen and Aanaes, IEEE Trans. Vis. Comput. Graph. 11 (2005) 243; libigl.
    """
    igl = require("mesh", "igl")

    # Relative to the mean vertex, like the integrals of the mesh.
    middle = mesh.vertices.mean(axis=0)
    kind = igl.SignedDistanceType.SIGNED_DISTANCE_TYPE_PSEUDONORMAL
    near = np.ascontiguousarray(points - middle)
    return np.asarray(igl.signed_distance(near, mesh.vertices - middle, mesh.faces, sign_type=kind)[0])
