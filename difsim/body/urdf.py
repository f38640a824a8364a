"""On the host: a URDF as MuJoCo reads it rightly, with every element and attribute known or refused by name."""

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from difsim.saving.texts import read_number

# What each element may hold: its attributes, with the count of their numbers (0: a text), and its children.
ATTRIBUTES = {
    "robot": {"name": 0, "version": 0},
    "link": {"name": 0},
    "visual": {"name": 0},
    "collision": {"name": 0},
    "origin": {"xyz": 3, "rpy": 3},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 1),
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
    "mesh": {"filename": 0, "scale": 3},
    "joint": {"name": 0, "type": 0},
    "parent": {"link": 0},
    "child": {"link": 0},
    "axis": {"xyz": 3},
    "limit": dict.fromkeys(("lower", "upper", "effort", "velocity"), 1),
    "mimic": {"joint": 0, "multiplier": 1, "offset": 1},
}
CHILDREN = {
    "robot": {"link", "joint", "mujoco"},
    "link": {"inertial", "visual", "collision"},
    "inertial": {"origin", "mass", "inertia"},
    "visual": {"origin", "geometry"},
    "collision": {"origin", "geometry"},
    "geometry": {"box", "cylinder", "capsule", "sphere", "mesh"},
    "joint": {"parent", "child", "origin", "axis", "limit", "mimic"},
}
OPTIONAL = {"version", "xyz", "rpy", "scale", "lower", "upper", "effort", "velocity", "multiplier", "offset"}
REQUIRED = {"inertial": {"mass", "inertia"}, "visual": {"geometry"}, "collision": {"geometry"}}
REQUIRED |= {"joint": {"parent", "child"}}
SEVERAL = {"link", "joint", "visual", "collision"}  # children that may stand more than once
# Looks, motors, sensors, friction and other programs' settings: they move no mass and no surface of a locked body.
HARMLESS = {"material", "transmission", "gazebo", "ros2_control", "sensor", "contact", "self_collision_checking"}
HARMLESS |= {"dynamics", "safety_controller", "calibration", "verbose"}
TYPES = {"fixed", "revolute", "continuous", "prismatic", "planar", "floating"}
COMPILER = {"fusestatic": "false", "strippath": "false"}  # links keep their own names and meshes their whole paths


def read_urdf(path: Path, root: Element) -> tuple[str, tuple[str, ...]]:
    """The text of a URDF whose joints are locked, whose meshes are found, and whose links weigh what they say.

    A link without `<inertial>` has no mass, as URDF defines it; MuJoCo would weigh its geometry. Surfaces that are only
    seen are kept where none collides.

    **Arguments:** `path` of the file, whose folder is searched for meshes; `root`, its tree, which is changed.
    **Returns:** the text, and the names of the joints that could move.
    **Raises:** ValueError for what is not known, missing, repeated or no number, and for a mesh that is not there.
    """
    _check(root)
    links = {link.get("name"): link for link in root.findall("link")}
    moving, beyond = [], []
    for joint in root.findall("joint"):
        name, kind = joint.get("name"), joint.get("type")
        if kind not in TYPES:
            raise ValueError(f"joint {name!r}: type {kind!r}: give one of {sorted(TYPES)}")
        above = links.get(next(joint.iter("parent")).get("link"))
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


def _check(element: Element, where: str = "") -> None:
    """Every element is known and has what it needs. Harmless ones are taken out."""
    tag, name = element.tag, element.get("name")
    where = f"{where}<{tag}{f' name={name!r}' if name else ''}>"
    known = ATTRIBUTES.get(tag, {})
    if unknown := sorted(set(element.keys()) - known.keys()):
        raise ValueError(f"{where}: unknown attributes {unknown}: there are {sorted(known)}")
    optional = {"visual": {"name"}, "collision": {"name"}, "robot": {"name"}, "axis": set()}.get(
        tag, set()
    ) | OPTIONAL
    if missing := sorted(known.keys() - set(element.keys()) - optional):
        raise ValueError(f"{where}: give {missing}")
    for attribute, text in element.items():
        if "${" in text or "$(" in text:
            raise ValueError(f"{where}: {attribute} = {text!r} is a macro: run xacro on the file first")
        if known[attribute]:
            _check_numbers(f"{where}: {attribute}", text, known[attribute])
    for child in list(element):
        if child.tag in HARMLESS or not isinstance(child.tag, str):
            element.remove(child)
    counts = Counter(child.tag for child in element)
    if unknown := sorted(counts.keys() - CHILDREN.get(tag, set())):
        raise ValueError(f"{where}: unknown elements {unknown}: there are {sorted(CHILDREN.get(tag, set()))}")
    if missing := sorted(REQUIRED.get(tag, set()) - counts.keys()):
        raise ValueError(f"{where}: give {missing}")
    if twice := sorted(child for child, count in counts.items() if count > 1 and child not in SEVERAL):
        raise ValueError(f"{where}: {twice} stand twice: leave one out")
    if tag == "geometry" and len(element) != 1:
        raise ValueError(f"{where}: {len(element)} shapes: give one")
    if text := "".join([element.text or "", *(child.tail or "" for child in element)]).strip():
        raise ValueError(f"{where}: the text {text!r} has no meaning there: remove it")
    for child in element:
        if child.tag != "mujoco":  # which MuJoCo checks
            _check(child, where)


def _check_numbers(what: str, text: str, count: int) -> None:
    try:
        found = [read_number(each) for each in text.split()]
    except ValueError:
        found = []
    if len(found) != count or not all(map(math.isfinite, found)):
        raise ValueError(f"{what} = {text!r}: give {count} finite numbers, with blanks between them")


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
