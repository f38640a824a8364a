"""VRML text, 1.0 and 2.0 (VRML97): the polygons of all its shapes, in the coordinates of the file."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Float

from difsim.mesh.polygons import Polygons
from difsim.mesh.text_rows import text_of

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|#[^\n]*|[\[\]{}]|[^\s,\[\]{}"#]+')
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
# Nodes that do not change a surface: what it looks like, who sees it, and who wrote it.
HARMLESS = ("Appearance", "Material", "MaterialBinding", "BaseColor", "Color", "Texture2", "Texture2Transform")
HARMLESS += (
    "Normal",
    "NormalBinding",
    "TextureCoordinate",
    "TextureCoordinate2",
    "WorldInfo",
    "Info",
    "NavigationInfo",
)
HARMLESS += ("Viewpoint", "PerspectiveCamera", "OrthographicCamera", "Background", "Fog")
HARMLESS += ("DirectionalLight", "PointLight", "SpotLight")
# The fields of the nodes that are understood; of IndexedFaceSet all but the first three are harmless.
FIELDS = {
    "Group": "children bboxCenter bboxSize",
    "Transform": "children bboxCenter bboxSize translation rotation scale scaleFactor scaleOrientation center",
    "Translation": "translation",
    "Rotation": "rotation",
    "Scale": "scaleFactor",
    "Shape": "geometry appearance",
    "ShapeHints": "vertexOrdering shapeType faceType creaseAngle",
    "Coordinate": "point",
    "Coordinate3": "point",
    "IndexedFaceSet": "coord coordIndex ccw solid convex creaseAngle normal normalIndex normalPerVertex color "
    "colorIndex colorPerVertex texCoord texCoordIndex textureCoordIndex materialIndex",
}
DEEPEST = 200  # brackets and braces in each other; `walk` calls itself


class _Braces(list):
    """The content of braces; that of brackets is a plain list."""


def read_vrml(path: Path) -> Polygons:
    """The faces of all `IndexedFaceSet`s, with the transforms that are above them.

    **Raises:** `ValueError` for a node or a field that is not understood.
    """
    text = text_of(path)
    version = re.match(r"#VRML V([12])\b", text)
    if version is None:
        raise ValueError("is no VRML text: it does not begin with #VRML V1.0 or #VRML V2.0")
    scene = _Scene(version[1] == "1")
    scene.walk(_nested(text), np.eye(4))
    return scene.polygons()


class _Scene:
    """The polygons that were found so far; in VRML V1 a node changes what stands after it in its Separator."""

    def __init__(self, is_old: bool):
        self.is_old = is_old
        self.places, self.corners, self.counts = [], [], []

    def walk(self, items: list, place: Float[np.ndarray, "4 4"], points=None, is_clockwise: bool = False) -> None:
        for name, content in _nodes(items):
            if name in HARMLESS:
                continue
            if name == "Separator":
                self.walk(content, place, points, is_clockwise)
                continue
            fields = _fields(name, content)
            if name in ("Group", "Transform", "Translation", "Rotation", "Scale"):
                here = place @ _transform(fields)
                if self.is_old:
                    place = here
                else:
                    self.walk(fields.get("children", []), here)
            elif name == "Shape":
                self.walk(fields.get("geometry", []), place)
            elif name in ("Coordinate", "Coordinate3"):
                points = _floats(fields, "point", [])
            elif name == "ShapeHints":
                is_clockwise = fields.get("vertexOrdering") == ["CLOCKWISE"]
            else:
                if "coord" in fields:
                    inner = [content for name, content in _nodes(fields["coord"]) if name == "Coordinate"]
                    points = _floats(_fields("Coordinate", *inner[:1]), "point", []) if inner else None
                is_turned = is_clockwise or fields.get("ccw") == ["FALSE"]
                self.add(points, fields.get("coordIndex", []), place, is_turned)

    def add(self, points, indices: list[str], place: Float[np.ndarray, "4 4"], is_turned: bool) -> None:
        if points is None or len(points) % 3:
            raise ValueError("an IndexedFaceSet has no points of 3 coordinates")
        polygon = []
        known = sum(len(each) for each in self.places)
        for index in [*map(int, indices), -1]:
            if index != -1:
                # Below -1 it would name a vertex of another shape.
                polygon.append(index + known if 0 <= index < len(points) // 3 else -1)
            elif polygon:
                self.corners += polygon[::-1] if is_turned else polygon
                self.counts.append(len(polygon))
                polygon = []
        self.places.append(points.reshape(-1, 3) @ place[:3, :3].T + place[:3, 3])

    def polygons(self) -> Polygons:
        places = np.concatenate([np.empty((0, 3)), *self.places])
        return Polygons(places, np.array(self.corners, np.int64), np.array(self.counts, np.int64))


def _nested(text: str) -> list:
    """The words, with what stands in brackets and braces as lists in the list."""
    stack = [[]]
    for token in TOKEN.findall(text):
        if token in "[{":
            stack.append(_Braces() if token == "{" else [])
            if len(stack) > DEEPEST:
                raise ValueError(f"its nodes are nested more than {DEEPEST} deep")
        elif token in "]}":
            inner = stack.pop()
            if not stack or isinstance(inner, _Braces) != (token == "}"):
                raise ValueError("its brackets do not match: is the file whole?")
            stack[-1].append(inner)
        elif not token.startswith("#"):
            stack[-1].append(token)
    if len(stack) > 1:
        raise ValueError("its brackets do not match: is the file whole?")
    return stack[0]


def _nodes(items: list) -> Iterator[tuple[str, list]]:
    """The nodes of a list: their type and their content, perhaps with a name (DEF) before them."""
    at = 0
    while at < len(items):
        if items[at] == "DEF":
            at += 2
        name, content = [*items[at : at + 2], None, None][:2]
        if not isinstance(name, str) or not isinstance(content, _Braces):
            raise ValueError(
                f"{_words(items[at : at + 3])} is no node that is understood: write the shapes without it"
            )
        if name not in HARMLESS and name not in FIELDS and name != "Separator":
            raise ValueError(f"the node {name} is not understood: write one IndexedFaceSet of all faces")
        yield name, content
        at += 2


def _fields(name: str, content: list) -> dict[str, list]:
    """The fields of a node, each with a list of its numbers or words, or of its nodes as in `_nodes`."""
    fields, at = {}, 0
    while at < len(content):
        field, at = content[at], at + 1
        if not isinstance(field, str) or field not in FIELDS[name].split() or field in fields:
            raise ValueError(f"in the node {name}, {_words([field])} is not understood, or stands there twice")
        end = at + 1
        if content[at : at + 1] in (["DEF"], ["USE"]):
            end += 1 + (content[at] == "DEF")
        elif _is_number(content[at : at + 1]):
            while _is_number(content[end : end + 1]):
                end += 1
        if end < len(content) and isinstance(content[end], _Braces):
            end += 1
        value, at = content[at:end], end
        is_list = len(value) == 1 and isinstance(value[0], list) and not isinstance(value[0], _Braces)
        fields[field] = value[0] if is_list else value
    return fields


def _is_number(items: list) -> bool:
    return len(items) == 1 and isinstance(items[0], str) and NUMBER.fullmatch(items[0]) is not None


def _words(items: list) -> str:
    return repr(" ".join(each[:40] if isinstance(each, str) else "{ }" for each in items))


def _floats(fields: dict[str, list], name: str, default: list[float]) -> Float[np.ndarray, " N"]:
    value = fields.get(name, default)
    if not all(isinstance(each, str | float) for each in value):
        raise ValueError(f"{name} does not hold numbers alone")
    return np.array(value, float)


def _transform(fields: dict[str, list]) -> Float[np.ndarray, "4 4"]:
    """Scale along turned axes around a centre, then rotation around it, then translation."""
    from scipy.spatial.transform import Rotation

    def turn(name: str) -> Float[np.ndarray, "4 4"]:
        *axis, angle = _sized(fields, name, [0.0, 0.0, 1.0, 0.0])
        matrix = np.eye(4)
        if angle == 0:  # tools write an axis of zeros then
            return matrix
        if not (length := np.linalg.norm(axis)) > 0:
            raise ValueError(f"{name} has an axis without length")
        matrix[:3, :3] = Rotation.from_rotvec(np.array(axis) / length * angle).as_matrix()
        return matrix

    def shift(by) -> Float[np.ndarray, "4 4"]:
        matrix = np.eye(4)
        matrix[:3, 3] = by
        return matrix

    centre, axes = _sized(fields, "center", [0.0, 0.0, 0.0]), turn("scaleOrientation")
    factors = _sized(fields, "scale", [1.0, 1.0, 1.0]) * _sized(fields, "scaleFactor", [1.0, 1.0, 1.0])
    scale = axes @ np.diag([*factors, 1]) @ axes.T
    return (
        shift(_sized(fields, "translation", [0.0, 0.0, 0.0]) + centre) @ turn("rotation") @ scale @ shift(-centre)
    )


def _sized(fields: dict[str, list], name: str, default: list[float]) -> Float[np.ndarray, " N"]:
    numbers = _floats(fields, name, default)
    if len(numbers) != len(default):
        raise ValueError(f"{name} has {len(numbers)} numbers: give {len(default)}")
    return numbers
