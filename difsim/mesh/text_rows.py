"""Meshes as rows of text: OBJ and tables of plates."""

from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from difsim.mesh.polygons import Polygons

# Rows of an OBJ file that do not change its surface: normals, texture, names of parts, looks, and lines and points.
HARMLESS = ("vn", "vt", "g", "o", "s", "mg", "usemtl", "mtllib", "usemap", "maplib", "l", "p", "bevel", "c_interp")
HARMLESS += ("d_interp", "lod", "shadow_obj", "trace_obj")
FORTRAN = str.maketrans("dD", "ee")  # exponents as in 1.5D+00

Row = list[str]


def text_of(path: Path) -> str:
    """The text of a file, in UTF-8 or UTF-16, without its byte order mark, its lines ended by a line feed.

    Names of parts may be in any encoding: what is not UTF-8 becomes U+FFFD, which no number holds.
    """
    raw = path.read_bytes()
    wide = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = raw.decode("utf-16" if wide else "utf-8-sig", errors="replace")
    if "\0" in text:
        raise ValueError("is binary where text is expected: does its suffix name its format?")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_obj(path: Path) -> Polygons:
    """A Wavefront OBJ file. Indices count from 1, or, if negative, back from the last vertex above their row."""

    def index(corner: str, known: int) -> int:
        number = int(corner.partition("/")[0])  # the others are of its texture and normal
        if number == 0 or number < -known:
            from_zero = "OBJ counts from 1; give a table that counts from 0 the suffix .tab"
            raise ValueError(f"{number} is no vertex: {f'{known} vertices are above it' if number else from_zero}")
        return number - 1 if number > 0 else known + number

    return _wavefront(text_of(path), HARMLESS, index)


def read_table(path: Path) -> Polygons:
    """A plate model: rows `v x y z` and `f i j k`, or tables after their lengths.

    Both lengths are in the first line, or each precedes its table. A row of a table is `x y z`, or `1 x y z` with a
    running number; plates are such rows, too, or pairs of rows with the number of corners and the corners. Plates count
    vertices from 0 if a 0 occurs, from 1 if the number of vertices occurs, else as the running numbers do.
    """
    text = text_of(path)
    if next(_rows(text), (0, [""]))[1][0] in ("v", "f"):
        vertices, corners, counts = _wavefront(text, (), lambda corner, _: int(corner))
        return Polygons(vertices, _from_zero(corners, len(vertices)), counts)
    sizes, rows = _sizes([row for _, row in _rows(text.replace(",", " "))], (1, 2))
    if len(sizes) == 1 and len(rows) == 6 * (sizes[0] + 1) ** 2:
        raise ValueError(f"is an implicitly connected quadrilateral model (ICQ) of q = {sizes[0]}: {OF_ICQ}")
    vertices, first, rows = _table(rows, sizes[0], "vertices")
    if len(sizes) == 1:
        sizes, rows = _sizes(rows, (1,))
    if rows and len(rows[0]) == 1:
        corners, counts, rest = _read_counted_faces(rows, sizes[-1])
    else:
        plates, _, rest = _table(rows, sizes[-1], "plates")
        corners, counts = _to_integers(plates.ravel()), np.full(len(plates), 3)
    if rest:
        raise ValueError(f"{len(rest)} lines follow after {len(vertices)} vertices and {len(counts)} plates")
    return Polygons(vertices, _from_zero(corners, len(vertices), first), counts)


OF_ICQ = "make an OBJ file of it with NAIF's tools mkdsk (input format 2) and dskexp (-format 3)"


def _rows(text: str) -> Iterator[tuple[int, Row]]:
    """The words of each row, with the number of its last line; a backslash joins a line to the next."""
    held = []
    for number, line in enumerate(text.split("\n"), 1):
        words = held + (line.partition("#")[0] if "#" in line else line).split()
        held = []
        if words and words[-1][-1] == "\\":
            held = [word for word in (*words[:-1], words[-1][:-1]) if word]
        elif words:
            yield number, words
    if held:
        raise ValueError("the last line ends with a backslash: is the file whole?")


def _wavefront(text: str, harmless: tuple[str, ...], index) -> Polygons:
    """Rows `v` and `f`; `index(corner, vertices above)` is that of a vertex."""
    places, corners, counts = array("d"), array("q"), array("q")
    for number, (word, *rest) in _rows(text):
        try:
            if word == "v":
                places.extend(_place(rest))
            elif word == "f":
                corners.extend([index(corner, len(places) // 3) for corner in rest])
                counts.append(len(rest))
            elif word not in harmless:
                raise ValueError(
                    f"{word!r} is not understood, so the surface is not known without it: remove or convert it"
                )
        except (ValueError, OverflowError) as error:
            raise ValueError(f"line {number}, {' '.join([word, *rest])[:60]!r}: {error}") from None
    return _polygons(np.array(places).reshape(-1, 3), corners, counts)


def _place(words: Row) -> list[float]:
    """Three coordinates, perhaps with the weight 1 or a colour after them."""
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = [float(word.translate(FORTRAN)) for word in words]
    if len(numbers) not in (3, 4, 6):
        raise ValueError(
            f"has {len(numbers)} numbers: give three coordinates, perhaps with a colour of three numbers"
        )
    if len(numbers) == 4 and numbers[3] != 1:
        raise ValueError("its fourth number is a weight, which must be 1: divide the coordinates by it")
    return numbers[:3]


def _polygons(vertices, corners: array, counts: array) -> Polygons:
    return Polygons(vertices, np.array(corners, np.int64), np.array(counts, np.int64))


def _sizes(rows: list[Row], lengths: tuple[int, ...]) -> tuple[list[int], list[Row]]:
    """The sizes of the next tables, from the first row, and the rows after it."""
    first = rows[0] if rows else []
    if len(first) not in lengths or not all(word.isdigit() for word in first):
        raise ValueError(
            f"{' '.join(first)!r} stands where the number of rows of the next table is expected: "
            "put it there (vertices, or vertices and plates, in the first line)"
        )
    return [int(word) for word in first], rows[1:]


def _table(rows: list[Row], count: int, what: str) -> tuple[Float[np.ndarray, "N 3"], int | None, list[Row]]:
    """The first `count` rows as three numbers each, the first running number or None, and the rows after them."""
    taken = rows[:count]
    widths = {len(row) for row in taken}
    if not taken or len(taken) < count or not widths <= {3, 4} or len(widths) > 1:
        raise ValueError(
            f"the header promises {count} {what}, of which {len(taken)} lines are left, with {sorted(widths)} "
            "columns: each needs 3, or 4 with a running number"
        )
    numbers = _numbers(taken).reshape(count, -1)
    if widths != {4}:
        return numbers[:, -3:], None, rows[count:]
    if (numbers[:, 0] - numbers[0, 0] != np.arange(count)).any():
        raise ValueError(f"the first of 4 columns of the {what} is no running number")
    return numbers[:, 1:], int(numbers[0, 0]), rows[count:]


def _read_counted_faces(
    rows: list[Row], count: int
) -> tuple[Int[np.ndarray, " C"], Int[np.ndarray, " F"], list[Row]]:
    """The corners of `count` faces of two rows each, how many they are and which; and the rows after them."""
    heads, bodies = rows[: 2 * count : 2], rows[1 : 2 * count : 2]
    if len(bodies) < count or any(head != [str(len(body))] for head, body in zip(heads, bodies, strict=True)):
        raise ValueError(
            f"the header promises {count} plates, each a row with the number of its corners and a row with them: "
            "is the file whole?"
        )
    corners = _to_integers(_numbers([[word] for body in bodies for word in body]).ravel())
    return corners, np.array([len(body) for body in bodies]), rows[2 * count :]


def _numbers(rows: list[Row]) -> Float[np.ndarray, "..."]:
    try:
        return np.array(rows, float)
    except ValueError:
        return np.array([[word.translate(FORTRAN) for word in row] for row in rows], float)


def _to_integers(numbers: Float[np.ndarray, " C"]) -> Int[np.ndarray, " C"]:
    if not ((numbers == np.round(numbers)) & (np.abs(numbers) < 2.0**53)).all():  # NaN and inf, too
        raise ValueError("a plate names a vertex by what is no whole number")
    return numbers.astype(np.int64)


def _from_zero(corners: Int[np.ndarray, " C"], size: int, first: int | None = None) -> Int[np.ndarray, " C"]:
    """Corners that count `size` vertices from 0; `first` is the running number of the first vertex."""
    low, high = corners.min(initial=size), corners.max(initial=0)
    if low == 0 or not corners.size:
        return corners
    if high >= size:
        return corners - 1
    if first is None:
        raise ValueError(
            f"the plates name vertices {low} to {high} of {size}, which may count from 0 or from 1: remove the "
            "vertices that no plate names, or write running numbers before the vertices"
        )
    return corners - first
