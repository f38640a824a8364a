"""On the host: a rigid body from a robot description, URDF or MJCF, read by MuJoCo (extra `import`)."""

import importlib.util
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from difsim.body.rigid import RigidBody
from difsim.checks import instance
from difsim.mesh import TriMesh, box, cylinder
from difsim.mesh.solids import ellipsoid_mesh


class Description(NamedTuple):
    """One rigid body of a file: all links at the zero of their joints.

    `body`: mass and inertia about the centre of mass, along the axes of the file; `surfaces`: what it collides with,
    by name, m from the centre of mass; `centre` [3] m: the centre of mass in the coordinates of the file; `locked`: the
    joints that were taken as rigid.
    """

    body: RigidBody
    surfaces: dict[str, TriMesh]
    centre: Float[np.ndarray, "3"]
    locked: tuple[str, ...]


def read_description(path: str | PathLike) -> Description:
    """The rigid body that a URDF or MJCF file describes.

    Every link counts, with its own inertia. Surfaces are those that collide, or all where none does; boxes, cylinders,
    spheres, ellipsoids and closed meshes. Joints are locked at zero, since a body here has no joints. Meshes of a URDF
    are looked for beside the file.

    **Arguments:** `path`. **Returns:** the body, its surfaces, its centre and the joints that were locked.
    **Raises:** `ValueError` without MuJoCo, for a file that MuJoCo refuses, for one without mass, and for a surface
    that is open or of another kind; `FileNotFoundError`.
    """
    path = Path(instance("read_description: path", path, str | PathLike, "the path of a file"))
    if not path.is_file():
        raise FileNotFoundError(f"no robot description at {path}")
    if path.suffix not in (".urdf", ".xml"):  # MuJoCo tells them apart by that
        raise ValueError(f"{path}: give a robot as URDF (.urdf) or as MJCF (.xml)")
    if importlib.util.find_spec("mujoco") is None:
        raise ValueError('read_description needs MuJoCo: pip install "difsim[import]"')
    import mujoco

    try:
        spec = mujoco.MjSpec.from_file(str(path))
        spec.compiler.fusestatic = False  # links that are welded to the world keep their mass
        model = spec.compile()
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mass, centre, inertia = _composite(model, data)
    if not mass > 0:
        raise ValueError(f"{path}: no link has a mass: give each an <inertial>, or the geometries a density")
    joints = [model.joint(i) for i in range(model.njnt)]
    locked = tuple(joint.name for joint in joints if joint.type[0] != mujoco.mjtJoint.mjJNT_FREE)
    collide = [i for i in range(model.ngeom) if model.geom_contype[i] or model.geom_conaffinity[i]]
    surfaces = {}
    for i in collide or range(model.ngeom):
        name = model.geom(i).name or f"{model.body(model.geom_bodyid[i]).name}_{i}"
        try:
            surfaces[name] = _surface(model, data, i, centre)
        except ValueError as error:
            raise ValueError(f"{path}: geometry {name!r}: {error}") from error
    return Description(RigidBody(mass, inertia), surfaces, centre, locked)


def _composite(model: Any, data: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass kg, centre of mass m and inertia kg m² about it, of all links together."""
    mass, places = model.body_mass, data.xipos
    total = float(mass.sum())
    centre = mass @ places / total if total > 0 else np.zeros(3)
    inertia = np.zeros((3, 3))
    for m, place, axes, moments in zip(mass, places, data.ximat, model.body_inertia, strict=True):
        turn, arm = axes.reshape(3, 3), place - centre
        inertia += turn @ np.diag(moments) @ turn.T + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return total, centre, 0.5 * (inertia + inertia.T)  # symmetric but for rounding


def _surface(model: Any, data: Any, i: int, centre: np.ndarray) -> TriMesh:
    """One geometry, m from the centre of mass along the axes of the file."""
    import mujoco

    kinds, size = mujoco.mjtGeom, model.geom_size[i]
    kind = kinds(model.geom_type[i])
    if kind == kinds.mjGEOM_BOX:
        own = box((2 * size).tolist())
    elif kind == kinds.mjGEOM_CYLINDER:
        own = cylinder(size[0], 2 * size[1])
    elif kind == kinds.mjGEOM_SPHERE:
        own = ellipsoid_mesh([size[0]] * 3)
    elif kind == kinds.mjGEOM_ELLIPSOID:
        own = ellipsoid_mesh(size.tolist())
    elif kind == kinds.mjGEOM_MESH:
        own = _mesh(model, int(model.geom_dataid[i]))
    else:
        raise ValueError(f"{kind.name} is no closed surface: give a box, cylinder, sphere, ellipsoid or mesh")
    turn = data.geom_xmat[i].reshape(3, 3)
    return TriMesh(own.vertices @ turn.T + data.geom_xpos[i] - centre, own.faces)


def _mesh(model: Any, i: int) -> TriMesh:
    first, count = model.mesh_vertadr[i], model.mesh_vertnum[i]
    begin, faces = model.mesh_faceadr[i], model.mesh_facenum[i]
    # An STL repeats a vertex at each of its faces.
    vertices, index = np.unique(model.mesh_vert[first : first + count].astype(float), axis=0, return_inverse=True)
    return TriMesh(vertices, index.ravel()[model.mesh_face[begin : begin + faces]])
