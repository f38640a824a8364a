"""VRML text of a box with known volume: transforms, versions, and what is refused by name."""

import numpy as np
import pytest

from difsim import mesh
from tests.mesh_files import BOX, PLACES, holds, lines, refused, written

POINT = f"point [ {lines(PLACES)} ]"
INDEX = f"coordIndex [ {lines([*face, -1] for face in BOX.faces)} ]"
SHAPE = f"Shape {{ geometry IndexedFaceSet {{ coord Coordinate {{ {POINT} }} {INDEX} }} }}"


@pytest.mark.parametrize(
    ("content", "factor"),
    [
        (SHAPE, 1.0),
        (f"Transform {{ scale 0.001 0.001 0.001 children [ {SHAPE} ] }}", 0.001),
        (
            f"Transform {{ scale 2 2 2 children Transform {{ translation 1 2 3 scale 3 3 3 children {SHAPE} }} }}",
            6.0,
        ),
        (
            "Transform { rotation 0 1 0 1 scale 2 2 2 center 1 0 0 scaleOrientation 1 0 0 0.5 "
            f"children [ Viewpoint {{ position 0 0 9 }} Group {{ children [ {SHAPE} ] }} ] }}",
            2.0,
        ),
    ],
)
def test_the_transforms_of_vrml_are_applied(tmp_path, content, factor):
    path = written(tmp_path, f"#VRML V2.0 utf8\n{content}", "wrl")
    holds(path, 24 * factor**3, factor**5 * BOX.moments, rel=1e-10)


def test_a_stretch_along_turned_axes(tmp_path):
    """Twice along x, in axes that are turned by a quarter about z, is twice along y."""
    content = f"Transform {{ scale 2 1 1 scaleOrientation 0 0 1 {np.pi / 2} translation 5 0 0 children {SHAPE} }}"
    body = mesh.load(written(tmp_path, f"#VRML V2.0 utf8\n{content}", "wrl"), unit="m")
    np.testing.assert_allclose(np.ptp(body.vertices, axis=0), [4, 8, 3], rtol=1e-12)
    np.testing.assert_allclose(body.centroid, [5, 0, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("before", "factor"),
    [
        ('Material { diffuseColor 1 0 0 } DEF a Info { string "a } b" }', 1.0),
        ("Scale { scaleFactor 2 2 2 }", 2.0),
        ("Separator { Scale { scaleFactor 2 2 2 } }", 1.0),
        ("Transform { translation 1 1 1 scaleFactor 3 3 3 } Rotation { rotation 1 1 1 2 }", 3.0),
    ],
)
def test_in_old_vrml_a_transform_holds_for_what_follows(tmp_path, before, factor):
    content = f"#VRML V1.0 ascii\nSeparator {{ {before} Coordinate3 {{ {POINT} }} IndexedFaceSet {{ {INDEX} }} }}"
    holds(written(tmp_path, content, "wrl"), 24 * factor**3, factor**5 * BOX.moments, rel=1e-10)


def test_clockwise_faces_are_turned(tmp_path):
    turned = f"coordIndex [ {lines([*face[::-1], -1] for face in BOX.faces)} ]"
    content = f"#VRML V2.0 utf8\n{SHAPE.replace(INDEX, turned + ' ccw FALSE')}"
    holds(written(tmp_path, content, "wrl"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("point [0 0 0]", "is no VRML text"),
        (f"#VRML V2.0 utf8\nInline {{ url [] }} {SHAPE}", "the node Inline is not understood"),
        (f"#VRML V2.0 utf8\nGroup {{ children [ {SHAPE} USE again ] }}", "'USE again' is no node"),
        ("#VRML V2.0 utf8\nShape { geometry Box { size 1 2 3 } }", "the node Box is not understood"),
        (
            f"#VRML V2.0 utf8\n{SHAPE.replace('coordIndex', 'displaced 2 coordIndex')}",
            "IndexedFaceSet, 'displaced'",
        ),
        ("#VRML V1.0 ascii\nSeparator { MatrixTransform { matrix 2 } }", "the node MatrixTransform"),
        (f"#VRML V2.0 utf8\nTransform {{ scale 2 2 children {SHAPE} }}", "scale has 2 numbers: give 3"),
        (f"#VRML V2.0 utf8\n{SHAPE[:-2]}", "brackets do not match"),
        (
            f"#VRML V2.0 utf8\n{SHAPE.replace(INDEX, INDEX.replace(' -1', '', 1))}",
            "none sees all of it|not closed",
        ),
        (f"#VRML V2.0 utf8\n{'Group { children ' * 300}{'}' * 300}", "nested more than 200 deep"),
    ],
)
def test_what_a_vrml_reader_does_not_understand_is_refused(tmp_path, content, message):
    refused(written(tmp_path, content, "wrl"), message)
