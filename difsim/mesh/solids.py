"""Simple solids as meshes, centred in the origin."""

from collections.abc import Sequence

from difsim.mesh.surface import TriMesh


def box(size: Sequence[float]) -> TriMesh:
    """A box with edges `size` [3] m along the axes.

    **Raises:** ValueError unless each is positive.
    """
    from trimesh import creation

    if min(size) <= 0:
        raise ValueError(f"box: size = {size} m must be positive")
    return _meshed(creation.box(size))


def cylinder(radius: float, height: float, sectors: int = 48) -> TriMesh:
    """A prism of `sectors` sides about z that approximates a cylinder.

    **Arguments:** `radius` of the corners, m; `height`, m; `sectors`, at least 3. **Returns:** the mesh.
    **Raises:** ValueError unless both lengths are positive, or for fewer than three sectors.
    """
    from trimesh import creation

    if min(radius, height) <= 0 or sectors < 3:
        raise ValueError(f"cylinder: radius {radius} m, height {height} m, {sectors} sectors make no solid")
    return _meshed(creation.cylinder(radius, height, sections=sectors))


def _meshed(solid) -> TriMesh:
    return TriMesh(solid.vertices, solid.faces)
