"""VRML text with one surface: one list of points, and one of faces."""

import re
from pathlib import Path

import numpy as np

from difsim.mesh.polygons import Polygons
from difsim.mesh.text_rows import text_of

COMMENT_OR_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|#[^\n]*')
# Nodes that do not change the surface, with all that stands in their braces.
NODES = "Info|WorldInfo|NavigationInfo|Viewpoint|Background|Fog|DirectionalLight|PointLight|SpotLight"
NODES += "|PerspectiveCamera|OrthographicCamera|Material|Normal|Color|TextureCoordinate2?|ImageTexture|Texture2"
HARMLESS = re.compile(rf"\b(?:{NODES})\s*\{{[^{{}}]*\}}")
LIST = re.compile(r"\b(point|coordIndex|(?:normal|color|texCoord|textureCoord|material)Index)\s*\[([^\[\]]*)\]")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
# What may stand around the two lists. Transforms, a clockwise order of corners and whatever else are refused.
KNOWN = {"Separator", "Group", "Shape", "IndexedFaceSet", "Coordinate", "Coordinate3", "ShapeHints", "Appearance"}
KNOWN |= {"children", "geometry", "coord", "appearance", "material", "normal", "color", "texCoord", "texture"}
KNOWN |= {"vertexOrdering", "COUNTERCLOCKWISE", "shapeType", "SOLID", "faceType", "CONVEX", "creaseAngle", "solid"}
KNOWN |= {"convex", "normalPerVertex", "colorPerVertex", "TRUE"}


def read_vrml(path: Path) -> Polygons:
    """The `IndexedFaceSet` of a VRML file, version 1 or 2.

    **Raises:** `ValueError` for another number of surfaces than one, and a word that is not understood.
    """
    text = text_of(path)
    if re.match(r"#VRML V[12][.]0\b", text) is None:
        raise ValueError("is no VRML text: it does not begin with #VRML V1.0 or #VRML V2.0")
    text = re.sub(r"\b(?:DEF\s+\S+|solid\s+FALSE|convex\s+FALSE|ccw\s+TRUE)", "", COMMENT_OR_TEXT.sub("", text))
    text = HARMLESS.sub("", text.replace(",", " "))
    lists = {"point": [], "coordIndex": []}
    for name, content in LIST.findall(text):
        lists.setdefault(name, []).append(content.split())
    if text.count("{") != text.count("}"):
        raise ValueError("its braces do not match: is the file whole?")
    for word in re.findall(r"[^\s\[\]{}]+", LIST.sub("", text)):
        if word not in KNOWN and not NUMBER.fullmatch(word):
            raise ValueError(
                f"{word[:40]!r} is not understood: write one IndexedFaceSet of all faces, with transforms applied to "
                "its points and its corners counterclockwise, as an OBJ file for example"
            )
    if len(lists["point"]) != 1 or len(lists["coordIndex"]) != 1:
        counts = f"{len(lists['point'])} point and {len(lists['coordIndex'])} coordIndex lists"
        raise ValueError(f"it has {counts}: keep one body, with one of each")
    points, index = np.array(lists["point"][0], float), np.array(lists["coordIndex"][0], np.int64)
    if points.size % 3:
        raise ValueError(f"its list of points has {points.size} numbers: give 3 for each")
    if index.size and index[-1] != -1:
        index = np.append(index, -1)  # the last face needs no end
    ends = np.flatnonzero(index == -1)
    counts = np.diff(ends, prepend=-1) - 1
    return Polygons(points.reshape(-1, 3), index[index != -1], counts[counts > 0])
