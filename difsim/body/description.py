"""On the host: a rigid body from a robot description, URDF or MJCF, read by MuJoCo (extra `import`)."""

# pyright: reportAttributeAccessIssue=false
# The compiled modules of MuJoCo have no types.

from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from difsim.body.rigid import RigidBody
from difsim.body.urdf import read_urdf
from difsim.extras import require
from difsim.mesh import TriMesh, box, cylinder
from difsim.mesh.solids import ellipsoid_mesh
from difsim.saving.texts import MOST, check_file


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

    Every link counts, with its own inertia: in a URDF that of its `<inertial>`, or none; in an MJCF also that which its
    geometry has by density. Surfaces are those that collide, or all where none does; boxes, cylinders, spheres,
    ellipsoids and closed meshes. Joints are locked where the file has them (in a URDF at zero), since a body here has
    no joints. Meshes of a URDF are looked for next to the file, and under package:// in the folders above it. Geometry
    in the world of an MJCF is the ground and is left out. Springs, motors, sensors, friction, gravity and settings of
    the simulation are not read.

    **Arguments:** `path`. **Returns:** the body, its surfaces, its centre and the joints that were locked.
    **Raises:** ValueError for a file that MuJoCo refuses or that has what is not known here, for one without mass or of
    several bodies, and for a surface that is open or of another kind; FileNotFoundError; ImportError without MuJoCo.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no robot description at {path}")
    if path.suffix.lower() not in (".urdf", ".xml"):
        raise ValueError(f"{path}: give a robot as URDF (.urdf) or as MJCF (.xml)")
    mujoco = require("import", "mujoco")
    try:
        check_file(path, MOST)
        root = ElementTree.parse(path).getroot()
        if root.tag == "robot":
            text, locked = read_urdf(path, root)
            spec = mujoco.MjSpec.from_string(text)
        else:
            _refuse_nan(root)
            if path.suffix == ".xml":
                spec = mujoco.MjSpec.from_file(str(path))
            else:  # MuJoCo knows a file by its suffix in lower case alone
                spec = mujoco.MjSpec.from_string(path.read_text(encoding="utf-8-sig"))
                spec.modelfiledir = str(path.parent)
            locked = _lock(spec)
        for link in spec.bodies:
            if link.explicitinertial and link.mass < 0:  # MuJoCo makes it 0
                raise ValueError(f"link {link.name!r}: mass = {link.mass:g} kg must be 0 or more")
        model = spec.compile()
    # LookupError: an encoding that Python does not know.
    except (ValueError, LookupError, ElementTree.ParseError) as error:
        raise ValueError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mass, centre, inertia = _composite(model, data)
    if not mass > 0:
        raise ValueError(
            f"{path}: no link has a mass: give each an <inertial>, or in an MJCF the geometries a density"
        )
    shapes = [i for i in range(model.ngeom) if model.geom_bodyid[i] != 0]  # 0 is the world
    heavy = [i for i in range(model.nbody) if model.body_mass[i] > 0]
    apart = {int(model.body_rootid[i]) for i in [*heavy, *(model.geom_bodyid[i] for i in shapes)]}
    if len(apart) > 1:
        names = [model.body(i).name for i in sorted(apart)]
        raise ValueError(f"{path}: the bodies {names} stand apart in the world: give each a file of its own")
    surfaces = {}
    for i in [i for i in shapes if model.geom_contype[i] or model.geom_conaffinity[i]] or shapes:
        name = model.geom(i).name or f"{model.body(model.geom_bodyid[i]).name}_{i}"
        try:
            if name in surfaces:
                raise ValueError("another has this name: give each its own")
            surfaces[name] = _surface(model, data, i, centre)
        except ValueError as error:
            raise ValueError(f"{path}: geometry {name!r}: {error}") from error
    try:
        return Description(RigidBody(jnp.asarray(mass), jnp.asarray(inertia)), surfaces, centre, locked)
    except ValueError as error:  # inertia that no body has
        raise ValueError(f"{path}: {error}") from error


def _refuse_nan(root: Element) -> None:
    """**Raises:** ValueError for a number that is none: MuJoCo takes it as not given, and so a mass by density."""
    for element in root.iter():
        for name, text in element.items():
            if "nan" in text.lower().split():
                raise ValueError(f"<{element.tag}>: {name} = {text!r}: give numbers")


def _lock(spec: Any) -> tuple[str, ...]:
    """Take the joints out of an MJCF, and what refers to them. **Returns:** their names.

    A link that moves must have a mass for MuJoCo; one that is locked need not.
    """
    mujoco = require("import", "mujoco")
    if spec.flexes:
        raise ValueError(f"flex {spec.flexes[0].name!r} can be deformed: give rigid bodies alone")
    spec.compiler.fusestatic = False  # links that are welded to the world keep their mass
    moving = tuple(joint.name for joint in spec.joints if joint.type != mujoco.mjtJoint.mjJNT_FREE)
    referring = (spec.keys, spec.sensors, spec.tuples, spec.actuators, spec.equalities, spec.tendons)
    for kind in (*referring, spec.joints):
        for each in list(kind):
            spec.delete(each)
    return moving


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
    mujoco = require("import", "mujoco")
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
