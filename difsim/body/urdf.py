"""On the host: a URDF as MuJoCo reads it rightly."""

import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

TYPES = {"fixed", "revolute", "continuous", "prismatic", "planar", "floating"}
COMPILER = {"fusestatic": "false", "strippath": "false"}  # links keep their own names and meshes their whole paths


def read_urdf(path: Path, root: Element) -> tuple[str, tuple[str, ...]]:
    """The text of a URDF whose joints are locked, whose meshes are found, and whose links weigh what they say.

    A link without `<inertial>` has no mass, as URDF defines it; MuJoCo would weigh its geometry. Surfaces that are only
    seen are kept where none collides.

    **Arguments:** `path` of the file, whose folder is searched for meshes; `root`, its tree, which is changed.
    **Returns:** the text, and the names of the joints that could move.
    **Raises:** ValueError for a macro, a joint of an unknown type or between two bodies, and a mesh that is not there.
    """
    for element in root.iter():
        for attribute, text in element.items():
            if "${" in text or "$(" in text:
                raise ValueError(
                    f"<{element.tag}>: {attribute} = {text!r} is a macro: run xacro on the file first"
                )
    links = {link.get("name"): link for link in root.findall("link")}
    moving, beyond = [], []
    for joint in root.findall("joint"):
        name, kind = joint.get("name"), joint.get("type")
        if kind not in TYPES:
            raise ValueError(f"joint {name!r}: type {kind!r}: give one of {sorted(TYPES)}")
        parent = joint.find("parent")
        above = links.get(parent.get("link")) if parent is not None else None  # which MuJoCo says
        if kind == "floating" and above is not None and len(above):
            raise ValueError(f"joint {name!r} is floating: two bodies: give each a file of its own")
        if kind not in ("fixed", "floating"):
            moving.append(name)
            beyond += [name] * (not _has_zero(joint, kind))
        joint.set("type", "fixed")
        for child in [child for child in joint if child.tag in ("limit", "mimic")]:
            joint.remove(child)
    if beyond:
        warnings.warn(
            f"{path}: the joints {beyond} are taken at zero, where their limits or their <mimic> do not let them be: "
            "write the pose into their <origin>",
            stacklevel=4,
        )
    shapes = [*root.iter("visual"), *root.iter("collision")]
    names = Counter(shape.get("name") for shape in shapes)
    for shape in shapes:
        if names[shape.get("name")] > 1:  # URDF allows it, MuJoCo does not
            shape.attrib.pop("name", None)
    settings = root.find("mujoco")
    settings = ElementTree.SubElement(root, "mujoco") if settings is None else settings
    compiler = settings.find("compiler")
    compiler = ElementTree.SubElement(settings, "compiler") if compiler is None else compiler
    beside = path.parent / compiler.attrib.pop("meshdir", "")
    collides = next(root.iter("collision"), None) is not None
    for shape in root.iter("collision" if collides else "visual"):
        for mesh in shape.iter("mesh"):
            mesh.set("filename", str(_find(mesh.attrib["filename"], path.parent, beside)))
    compiler.attrib.setdefault("inertiafromgeom", "false")
    compiler.attrib.update(COMPILER, discardvisual=str(collides).lower())
    for link in root.findall("link"):
        for shape in link.findall("visual") if collides else ():
            link.remove(shape)  # whose mesh may be of a kind that MuJoCo does not read
    return ElementTree.tostring(root, encoding="unicode"), tuple(moving)


def _has_zero(joint: Element, kind: str) -> bool:
    """Whether a joint may be at zero, together with the joint that it copies."""
    limit, mimic = joint.find("limit"), joint.find("mimic")
    if mimic is not None and float(mimic.get("offset", 0)) != 0:
        return False
    if limit is None or kind not in ("revolute", "prismatic"):
        return True
    return float(limit.get("lower", 0)) <= 0 <= float(limit.get("upper", 0))


def _find(name: str, folder: Path, beside: Path) -> Path:
    """The file of a mesh. **Raises:** ValueError that says where it was looked for."""
    places = [*dict.fromkeys(place.resolve() for place in _places(name, folder.resolve(), beside))]
    for place in places:
        if place.is_file():
            return place
    raise ValueError(f"no mesh {name!r}: looked for at {[str(place) for place in places]}")


def _places(name: str, folder: Path, beside: Path) -> Iterator[Path]:
    scheme, mark, rest = name.partition("://")
    if not mark:
        yield from (folder / name, beside / name)
    elif scheme == "file":
        yield folder / unquote(rest.removeprefix("localhost"))
    elif scheme in ("package", "model"):
        package, _, inner = rest.partition("/")
        for above in (folder, *folder.parents):
            if above.name == package:
                yield above / inner
            yield above / rest
        for above in (folder, folder.parent):  # a package in a folder of another name
            yield above / inner
    else:
        raise ValueError(f"mesh {name!r}: {scheme}:// is not read: give package://, file:// or a path")
    yield from (each / Path(name).name for each in (folder, beside))
