"""VRML text of a box with known volume: what is read, and what is refused by name."""

import pytest

from tests.mesh_files import BOX, PLACES, holds, lines, refuse, write

POINT = f"point [ {lines(PLACES)} ]"
INDEX = f"coordIndex [ {lines([*face, -1] for face in BOX.faces)} ]"
SHAPE = f"Shape {{ geometry IndexedFaceSet {{ coord Coordinate {{ {POINT} }} {INDEX} }} }}"


OLD = f"Coordinate3 {{ {POINT} }} IndexedFaceSet {{ {INDEX} }}"


@pytest.mark.parametrize(
    "content",
    [
        f"#VRML V2.0 utf8\n{SHAPE}",
        f"#VRML V2.0 utf8\nGroup {{ children [ Viewpoint {{ position 0 0 9 }} DEF a {SHAPE} ] }} # }} }}",
        f'#VRML V1.0 ascii\nSeparator {{ Material {{ diffuseColor 1 0 0 }} Info {{ string "a }} b" }} {OLD} }}',
        f"#VRML V1.0 ascii\nSeparator {{ ShapeHints {{ vertexOrdering COUNTERCLOCKWISE creaseAngle 0.5 }} {OLD} }}",
    ],
)
def test_one_surface_is_read(tmp_path, content):
    holds(write(tmp_path, content, "wrl"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("point [0 0 0]", "is no VRML text"),
        (f"#VRML V2.0 utf8\nInline {{ url [] }} {SHAPE}", "'Inline' is not understood"),
        (f"#VRML V2.0 utf8\nGroup {{ children [ {SHAPE} USE again ] }}", "'USE' is not understood"),
        ("#VRML V2.0 utf8\nShape { geometry Box { size 1 2 3 } }", "'Box' is not understood"),
        (f"#VRML V2.0 utf8\nTransform {{ scale 0.001 0.001 0.001 children [ {SHAPE} ] }}", "'Transform' is not"),
        (f"#VRML V1.0 ascii\nSeparator {{ Scale {{ scaleFactor 2 2 2 }} {OLD} }}", "'Scale' is not understood"),
        (
            f"#VRML V1.0 ascii\nSeparator {{ ShapeHints {{ vertexOrdering CLOCKWISE }} {OLD} }}",
            "'CLOCKWISE' is not",
        ),
        (f"#VRML V2.0 utf8\n{SHAPE.replace(INDEX, INDEX + ' ccw FALSE')}", "'ccw' is not understood"),
        (f"#VRML V2.0 utf8\nGroup {{ children [ {SHAPE} {SHAPE} ] }}", "2 point and 2 coordIndex lists"),
        (
            f"#VRML V2.0 utf8\n{SHAPE.replace('coordIndex', 'displaced 2 coordIndex')}",
            "'displaced' is not understood",
        ),
        ("#VRML V1.0 ascii\nSeparator { MatrixTransform { matrix 2 } }", "'MatrixTransform' is not understood"),
        (f"#VRML V2.0 utf8\n{SHAPE[:-2]}", "braces do not match"),
        (
            f"#VRML V2.0 utf8\n{SHAPE.replace(INDEX, INDEX.replace(' -1', '', 1))}",
            "none sees all of it|not closed",
        ),
    ],
)
def test_what_a_vrml_reader_does_not_understand_is_refused(tmp_path, content, message):
    refuse(write(tmp_path, content, "wrl"), message)
