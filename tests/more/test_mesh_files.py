"""Mesh files of bodies with known volumes, in the forms that tools and archives write; and what is refused by name."""

import struct

import numpy as np
import pytest
import trimesh

from difsim import mesh
from tests.mesh_files import (
    BOX,
    PLACES,
    TRIANGLES,
    WRITERS,
    F,
    V,
    draw,
    holds,
    lines,
    prism,
    refuse,
    triangles,
    with_loose_vertex,
    write,
)


@pytest.mark.parametrize("kind", WRITERS)
def test_each_form_of_a_body_has_its_volume_and_inertia(tmp_path, kind):
    for seed in range(8):
        random = np.random.default_rng(seed)
        body = draw(random)
        if kind != "tables":  # see below
            body = with_loose_vertex(body, random)
        suffix, content = WRITERS[kind](body, random)
        holds(write(tmp_path, content, suffix[1:]), body.volume, body.moments, rel=1e-6)


@pytest.mark.parametrize("suffix", ["obj", "ply", "stl", "off"])
def test_a_file_of_trimesh_is_read(tmp_path, suffix):
    path = tmp_path / f"box.{suffix}"
    trimesh.Trimesh(BOX.places, TRIANGLES.faces).export(path)
    kilometres = mesh.load(str(path), unit="km")
    assert kilometres.vertices.shape == (8, 3) and kilometres.faces.shape == (12, 3)
    assert kilometres.volume == pytest.approx(24e9, rel=1e-6)
    np.testing.assert_allclose(kilometres.vertices, 1000 * mesh.load(path, unit="m").vertices)


@pytest.mark.parametrize(
    "content",
    [
        V + lines(BOX.faces, -8, "f ") + "v 9 9 9\n",
        V + "g sides\n" + F + "g none\nv 9 9 9\n",
        "\ufeff" + V + F,
        (V + F).encode("utf-16"),
        (V + "# a path C:\\\n" + F.replace("f ", "f \\\n")).replace("\n", "\r\n"),
        (V + "usemtl gr\u00fcn\n" + F).encode("latin-1"),
        "".join(f"{line} 0.5 0.5 0.5\n" for line in V.splitlines()) + F,
        V.replace("e-16", "D-16") + F.replace(" 5", " 5/2/7"),
    ],
)
def test_an_obj_in_an_odd_form(tmp_path, content):
    holds(write(tmp_path, content))


def test_relative_indices_count_from_the_last_vertex_above(tmp_path):
    """A stack of rings, each with the faces to the one below it, and a loose vertex at the end."""
    sectors, heights = 24, np.linspace(0, 5, 11)
    ring = prism(sectors, 2.0, 1.0).places[:sectors, :2].tolist()
    content = "".join(f"v {x!r} {y!r} 0.0\n" for x, y in ring)
    content += "g below\nf " + " ".join(str(-1 - i) for i in range(sectors)) + "\n"
    for height in heights[1:].tolist():
        content += f"g ring_{height}\n" + "".join(f"v {x!r} {y!r} {height!r}\n" for x, y in ring)
        for i in range(sectors):
            j = (i + 1) % sectors
            content += f"f {i - 2 * sectors} {j - 2 * sectors} {j - sectors} {i - sectors}\n"
    content += "f " + " ".join(str(i - sectors) for i in range(sectors)) + "\nv 100 0 0\n"
    whole = prism(sectors, 2.0, 5.0)
    holds(write(tmp_path, content), whole.volume, whole.moments, rel=1e-10)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (V + lines(BOX.faces, 0, "f "), r"line \d+, 'f .*0.*': 0 is no vertex: OBJ counts from 1"),
        (V + F + "f 1 2 9\n", r"a corner of face 6 .* is no vertex: it has index 8, counted from 0, of 8"),
        (V + F + "curv 0 1 1 2\n", "line 15, 'curv 0 1 1 2': 'curv' is not understood"),
        ("v 1 2\n" + F, "has 2 numbers: give three coordinates"),
    ],
)
def test_what_an_obj_reader_does_not_understand_is_refused(tmp_path, content, message):
    refuse(write(tmp_path, content), message)


# --- polygons


def build_walls(cap):
    """A prism of height 1 over a polygon [n, 2]."""
    n = len(cap)
    places = [[*corner, z] for z in (0, 1) for corner in cap]
    faces = [[i, (i + 1) % n, (i + 1) % n + n, i + n] for i in range(n)]
    return lines(places, prefix="v ") + lines([*faces, range(n - 1, -1, -1), range(n, 2 * n)], 1, "f ")


def test_a_polygon_that_is_not_convex_does_not_fold(tmp_path):
    """The fan from the first corner of an L would cover the notch twice, with the right volume."""
    body = mesh.load(write(tmp_path, build_walls([(0, 2), (0, 0), (2, 0), (2, 1), (1, 1), (1, 2)])), unit="m")
    assert body.volume == pytest.approx(3, rel=1e-12)
    assert body.area == pytest.approx(2 * 3 + 8, rel=1e-12)


def test_a_polygon_that_no_corner_sees_is_refused(tmp_path):
    u_shape = [(0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3)]
    refuse(write(tmp_path, build_walls(u_shape)), r"face 8 .* has 8 corners, of which none sees all of it")


def test_a_triangle_written_as_a_quadrilateral_is_one(tmp_path):
    holds(write(tmp_path, V + lines(([*f, f[2]] for f in TRIANGLES.faces), 1, "f ")))


# --- tables of plates


def number_rows(rows, first=1):
    return [[i + first, *row] for i, row in enumerate(rows)]


SIZES = f"{len(PLACES)} {len(TRIANGLES.faces)}\n"


@pytest.mark.parametrize("suffix", ["tab", "txt"])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(
    "table",
    [
        lambda v, f: SIZES + lines(v) + lines(f),  # DAMIT
        lambda v, f: SIZES + lines(number_rows(v)) + lines(number_rows(f)),
        lambda v, f: (
            f"{len(v)}\n" + lines(number_rows(v)) + f"  {len(f)}\n" + lines(number_rows(f)) + "\n\n"
        ),  # NAIF
        lambda v, f: SIZES + lines(v) + "".join(f"3\n{lines([each])}" for each in f),  # ver
        lambda v, f: lines(v, prefix="v ") + lines(f, prefix="f  "),  # radar shapes
        lambda v, f: SIZES + lines(v).replace("e-16", "D-16").replace("2.0", "0.2D+01") + lines(f),
    ],
    ids=["damit", "numbered", "apart", "ver", "rows v and f", "D exponents"],
)
def test_plate_models(tmp_path, table, first, suffix):
    faces = (np.array(TRIANGLES.faces) + first).tolist()
    holds(write(tmp_path, table(PLACES, faces), suffix))


@pytest.mark.parametrize("first", [0, 1])
def test_running_numbers_say_from_where_plates_count(tmp_path, first):
    """Where the first and the last vertex are in no plate, else nothing says so."""
    places = [[9.0, 9.0, 9.0], *PLACES, [8.0, 8.0, 8.0]]
    faces = (np.array(TRIANGLES.faces) + 1 + first).tolist()
    sizes = f"{len(places)} {len(faces)}\n"
    holds(write(tmp_path, sizes + lines(number_rows(places, first)) + lines(faces), "tab"))
    refuse(write(tmp_path, sizes + lines(places) + lines(faces), "tab"), "may count from 0 or from 1")


@pytest.mark.parametrize(
    "spoil,message",
    [
        (lambda lines: lines[:-1], r"promises 12 plates, of which 11 lines are left"),
        (lambda lines: [*lines, "1 2 3"], r"1 lines follow after 8 vertices and 12 plates"),
        (lambda lines: [*lines[:3], "1 2", *lines[4:]], r"promises 8 vertices, .* columns"),
        (
            lambda lines: ["2", *["0 0 1"] * 54],
            r"implicitly connected quadrilateral model \(ICQ\) of q = 2: .* mkdsk",
        ),
    ],
)
def test_broken_plate_models(tmp_path, spoil, message):
    faces = (np.array(TRIANGLES.faces) + 1).tolist()
    rows = [*SIZES.splitlines(), *(lines(number_rows(PLACES)) + lines(number_rows(faces))).splitlines()]
    refuse(write(tmp_path, "\n".join(spoil(rows)), "tab"), message)


@pytest.mark.parametrize(
    ("suffix", "message"),
    [
        ("bds", "is a SPICE DSK, which is not read: .*dskexp"),
        ("icq", r"\(ICQ\), which is not read: .*mkdsk"),
        ("msh", r"no reader for '.msh'; give one of .obj, .ply"),
    ],
)
def test_other_forms_are_refused_by_their_name(tmp_path, suffix, message):
    refuse(write(tmp_path, "", suffix), message)


# --- forms that trimesh reads


def binary_stl(facets, count=None):
    parts = [struct.pack("<12fH", 0, 0, 0, *facet.ravel(), 0) for facet in facets]
    return bytes(80) + struct.pack("<I", len(facets) if count is None else count) + b"".join(parts)


FAR = np.array([431_234.0, 5_412_345.0, 400.0])
SMALLER = prism(7, 2.9, 3.1)  # with no lengths that are round


@pytest.mark.parametrize("is_binary", [True, False])
def test_map_coordinates_that_are_rounded_are_told(tmp_path, is_binary):
    """In single precision there are steps of 1/32 m and 1/2 m in a body of 6 m; with six digits of 1 and 10 m."""
    places = SMALLER.places + FAR
    if is_binary:
        path = write(tmp_path, binary_stl(places[np.array(triangles(SMALLER).faces)]), "stl")
    else:
        rows = "".join(f"v {x:.6g} {y:.6g} {z:.6g}\n" for x, y, z in places)
        path = write(tmp_path, rows + lines(SMALLER.faces, 1, "f "))
    with pytest.warns(
        UserWarning, match=r"body\.\w+: the coordinates [xy], around .* m, are multiples of .* rounded"
    ):
        mesh.read(path, unit="m")
