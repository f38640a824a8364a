"""Mesh files of bodies with known volumes, in the forms that tools and archives write; and what is refused by name."""

import struct
from dataclasses import dataclass

import numpy as np
import pytest

from difsim import mesh


@dataclass
class Body:
    """Polygons, counter-clockwise from outside; the volume, m3; the principal moments of inertia at 1 kg/m3."""

    places: np.ndarray
    faces: list[list[int]]
    volume: float
    moments: np.ndarray


def prism(sectors: int, radius: float, height: float) -> Body:
    """A regular prism of polygons about z, whose volume and moments are those of a regular polygon."""
    angle = 2 * np.pi * np.arange(sectors) / sectors
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    places = np.concatenate([np.column_stack([ring, np.full(sectors, z)]) for z in (-height / 2, height / 2)])
    faces = [[i, (i + 1) % sectors, (i + 1) % sectors + sectors, i + sectors] for i in range(sectors)]
    faces += [list(range(sectors))[::-1], list(range(sectors, 2 * sectors))]
    area = sectors / 2 * radius**2 * np.sin(angle[1])
    across = (
        area * radius**2 / 12 * (2 + np.cos(angle[1]))
    )  # second moment of the polygon about an axis in its plane
    flat = across * height + area * height**3 / 12
    return Body(places, faces, area * height, np.sort([flat, flat, 2 * across * height]))


def triangles(body: Body) -> Body:
    fans = [[face[0], *face[k : k + 2]] for face in body.faces for k in range(1, len(face) - 1)]
    return Body(body.places, fans, body.volume, body.moments)


def with_loose_vertex(body: Body, random) -> Body:
    """A vertex that no face names, somewhere in the table."""
    at = int(random.integers(len(body.places) + 1))
    places = np.insert(body.places, at, random.normal(size=3) * 50, axis=0)
    faces = [[corner + (corner >= at) for corner in face] for face in body.faces]
    return Body(places, faces, body.volume, body.moments)


def draw(random) -> Body:
    """A turned and moved prism, of polygons, triangles or both, with its faces in any order and from any corner."""
    body = prism(int(random.integers(3, 9)), *random.uniform(0.5, 3, 2))
    axes = np.linalg.qr(random.normal(size=(3, 3)))[0]
    body.places = body.places @ (axes * np.linalg.det(axes)).T + random.normal(size=3) * random.choice([0, 3])
    if random.random() < 0.4:
        body = triangles(body)
    faces = [list(np.roll(face, random.integers(len(face)))) for face in body.faces]
    body.faces = [faces[i] for i in random.permutation(len(faces))]
    return body


# --- a box by hand

BOX = prism(4, 2.0, 3.0)  # 24 m3, of quadrilaterals
TRIANGLES = triangles(BOX)


def lines(rows, first=0, prefix=""):
    return "".join(f"{prefix}{' '.join(str(x + first) for x in row)}\n" for row in rows)


PLACES = BOX.places.tolist()
V, F = lines(PLACES, prefix="v "), lines(BOX.faces, 1, "f ")


def write(tmp_path, content, suffix="obj"):
    path = tmp_path / f"body.{suffix}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def holds(path, volume=BOX.volume, moments=BOX.moments, rel=1e-12):
    body = mesh.load(path, unit="m")
    assert body.volume == pytest.approx(volume, rel=rel)
    np.testing.assert_allclose(np.linalg.eigvalsh(body.inertia(1.0)), moments, rtol=10 * rel)


def refuse(path, message):
    with pytest.raises(ValueError, match=message) as error:
        mesh.load(path, unit="m")
    assert str(path) in str(error.value)


# --- writers: the suffix and the content of a file, odd but legal


def number(x: float, random=None) -> str:
    """As computers write it: in full, in exponents, or with a sign."""
    forms = ("{!r}", "{:.16e}", "{:+.24f}", "{:.17g}")
    return forms[0 if random is None else random.integers(len(forms))].format(float(x))


def row(words, random) -> str:
    return " " * random.integers(2) + random.choice([" ", "  ", "\t"]).join(map(str, words))


def end_lines(lines: list[str], random) -> bytes:
    """Lines with the ends of one system, perhaps after a byte order mark, perhaps in UTF-16."""
    text = random.choice(["\n", "\r\n", "\r"]).join([*lines, ""])
    encoding = random.choice(["utf-8", "utf-8-sig", "utf-16"], p=[0.6, 0.3, 0.1])
    return text.encode(str(encoding))


def obj(body: Body, random) -> tuple[str, bytes]:
    """Relative and absolute indices, groups with their own vertices, and faces before the last vertices."""
    tail = random.choice(["", " 0.1 0.2 0.3", " 1.0"], p=[0.7, 0.15, 0.15])
    vertices = [row(["v", *(number(x, random) for x in place)], random) + tail for place in body.places]
    noise = [
        "# a comment \\",
        "g part_1",
        "o Stein gro\u00df",
        "s off",
        "usemtl grey#1",
        "mtllib a.mtl",
        "",
        "vt 0 1",
        "vn 0 0 1",
    ]
    noise += ["l 1 2", "p 1", "vn \\", "  1 0 0"]
    is_relative, slashes = random.random() < 0.5, random.choice(["", "/1", "/1/1", "//1"])
    lines, known, is_written = [], 0, np.zeros(len(body.faces), bool)
    for at, vertex in enumerate(vertices):
        lines.append(vertex)
        known = at + 1
        for i, face in enumerate(body.faces):
            # A face is due once its last vertex is written: at once, or at the end.
            due = max(face) < known and (random.random() < 0.3 or known == len(vertices))
            if due and not is_written[i]:
                is_written[i] = True
                corners = [c - known if is_relative and random.random() < 0.9 else c + 1 for c in face]
                lines.append(row(["f", *(f"{c}{slashes}" for c in corners)], random))
                if random.random() < 0.1:
                    lines[-1] = lines[-1].replace(" ", " \\\n", 1) if lines[-1][0] != " " else lines[-1]
        if random.random() < 0.2:
            i = random.integers(len(noise) - 1)
            lines += noise[i : i + 2] if noise[i] == "vn \\" else [noise[i]] if i < len(noise) - 2 else []
    content = end_lines(lines, random)
    if random.random() < 0.2 and content[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        content = content.replace("gro\u00df".encode(), b"gro\xdf")
    return ".obj", content


def table(body: Body, random) -> tuple[str, bytes]:
    """Rows v and f, or tables after their lengths: numbered, from 0 or 1, with D exponents, or faces in two rows."""
    first, form = int(random.integers(2)), random.choice(["v f", "together", "apart", "pairs"])
    if form in ("together", "apart"):
        body = triangles(body)
    exponent = random.choice(["e", "D", "d"])
    places = [[f"{x:.16e}".replace("e", exponent) for x in place] for place in body.places]
    faces = [[corner + first for corner in face] for face in body.faces]
    comma = random.choice([" ", ", "])
    if form == "v f":
        rows = [["v", *place] for place in places] + [["f", *face] for face in faces]
        return random.choice([".tab", ".txt", ".plt"]), end_lines([row(each, random) for each in rows], random)
    if random.random() < 0.5:
        places = [[i + first, *place] for i, place in enumerate(places)]
        faces = [[i + 1, *face] for i, face in enumerate(faces)] if form != "pairs" else faces
    sizes = [[len(places)], [len(faces)]]
    head, between = ([sizes[0]], [sizes[1]]) if form == "apart" else ([sizes[0] + sizes[1]], [])
    if form == "pairs":
        faces = [each for face in faces for each in ([len(face)], face)]
    rows = [*head, *places, *between, *faces]
    return random.choice([".tab", ".txt", ".ver"]), end_lines(
        [comma.join(map(str, each)) for each in rows], random
    )


WRITERS = {"OBJ": obj, "tables": table}


@pytest.mark.parametrize("kind", WRITERS)
def test_each_form_of_a_body_has_its_volume_and_inertia(tmp_path, kind):
    for seed in range(30):
        random = np.random.default_rng(seed)
        body = draw(random)
        if kind != "tables":  # see below
            body = with_loose_vertex(body, random)
        suffix, content = WRITERS[kind](body, random)
        holds(write(tmp_path, content, suffix[1:]), body.volume, body.moments, rel=1e-6)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (V + lines(BOX.faces, 0, "f "), r"line \d+, 'f .*0.*': 0 is no vertex: OBJ counts from 1"),
        (V + F + "curv 0 1 1 2\n", "line 15, 'curv 0 1 1 2': 'curv' is not understood"),
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
def test_map_coordinates_that_are_rounded_are_doubted(tmp_path, is_binary):
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
