"""PLY files, text and binary."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from difsim.mesh.polygons import Polygons

TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"}
TYPES |= {"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"}
TYPES |= {"int64": "i8", "uint64": "u8", "float": "f4", "double": "f8", "float32": "f4", "float64": "f8"}
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
KNOWN = ("vertex", "face", "edge", "material", "camera")  # the last three are no part of the surface
CORNERS = ("vertex_indices", "vertex_index")


class Property(NamedTuple):
    """A column: its `name`, the NumPy code of its numbers, and that of their `count` if it holds lists."""

    name: str
    code: str
    count: str = ""


class Element(NamedTuple):
    """A table: its `name`, its number of `rows`, and its columns."""

    name: str
    rows: int
    properties: list[Property]


def read_ply(path: Path) -> Polygons:
    """The elements `vertex` and `face`. Further properties of them are attributes, by the rules of the format."""
    raw = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    end = re.search(rb"^end_header[ \t]*\r?\n", raw, re.MULTILINE)
    if end is None or not re.match(rb"ply\s", raw):
        raise ValueError("is no PLY file: it does not begin with a header from ply to end_header")
    order, elements = _header(raw[: end.start()].decode("latin-1"))
    body: Any = raw[end.end() :]
    if not order:
        body = [line.split() for line in body.decode("latin-1").splitlines() if line.strip()]
    at, columns = 0, {}
    for element in elements:
        if element.properties:
            table, at = (_binary if order else _text)(element, body, at, order)
            columns |= {(element.name, name): column for name, column in table.items()}
    if at != len(body):
        raise ValueError(f"{len(body) - at} {'bytes' if order else 'lines'} follow after what its header promises")
    places = np.stack([columns["vertex", name] for name in "xyz"], axis=1).astype(float).reshape(-1, 3)
    corners = next(columns["face", name] for name in CORNERS if ("face", name) in columns)
    counts = np.array([len(each) for each in corners], np.int64)
    flat = np.concatenate([np.empty(0), *corners]) if isinstance(corners, list) else corners.ravel()
    if not ((flat == np.round(flat)) & (np.abs(flat.astype(float)) < 2.0**53)).all():
        raise ValueError("a face names a vertex by what is no whole number")
    return Polygons(places, flat.astype(np.int64), counts)


def _header(text: str) -> tuple[str, list[Element]]:
    """The order of the bytes, nothing for text, and the elements."""
    order, elements = None, {}
    for line in text.splitlines()[1:]:
        match line.split():
            case [] | ["comment" | "obj_info", *_]:
                pass
            case ["format", name, "1.0"] if name in ORDERS and order is None:
                order = ORDERS[name]
            case ["element", name, rows] if name in KNOWN and name not in elements and rows.isdigit():
                elements[name] = last = Element(name, int(rows), [])
            case ["property", "list", count, kind, name] if (
                elements and TYPES.get(count, "f")[0] in "iu" and kind in TYPES
            ):
                last.properties.append(Property(name, TYPES[kind], TYPES[count]))
            case ["property", kind, name] if elements and kind in TYPES:
                last.properties.append(Property(name, TYPES[kind]))
            case _:
                raise ValueError(
                    f"its header has {line.strip()[:60]!r}, which is not understood: write vertices and faces"
                )
    names = [(e.name, each.name, bool(each.count)) for e in elements.values() for each in e.properties]
    if order is None or len({name[:2] for name in names}) < len(names):
        raise ValueError("its header states no format, or one name twice")
    if not {("vertex", name, False) for name in "xyz"} <= set(names):
        raise ValueError("its header has no element vertex with properties x, y and z")
    if sum(("face", name, True) in names for name in CORNERS) != 1:
        raise ValueError(
            f"its header has no element face with one list {' or '.join(CORNERS)}: is it a cloud of points?"
        )
    return order, list(elements.values())


def _binary(element: Element, body: bytes, at: int, order: str) -> tuple[dict, int]:
    """The columns of an element from a place of the body, and the place after it.

    Lists are an array [rows, n] where all have one length, else a list of arrays.
    """

    def take(code: str, n: int, at: int) -> np.ndarray:
        if not 0 <= n <= (len(body) - at) // np.dtype(code).itemsize:
            raise ValueError(f"ends before the {element.rows} rows of {element.name}: is the file whole?")
        return np.frombuffer(body, order + code, n, at)

    def row(at: int) -> tuple[list, int]:
        values = []
        for each in element.properties:
            n = 1
            if each.count:
                n = int(take(each.count, 1, at)[0])
                at += np.dtype(each.count).itemsize
            values.append(take(each.code, n, at))
            at += values[-1].nbytes
        return values, at

    least = sum(np.dtype(each.count or each.code).itemsize for each in element.properties)
    if len(body) - at < element.rows * least:
        raise ValueError(f"ends before the {element.rows} rows of {element.name}: is the file whole?")
    columns = {each.name: [] for each in element.properties}
    if not element.rows:
        return columns, at
    kinds = []
    for each, first in zip(element.properties, row(at)[0], strict=True):
        kinds += [(f"{each.name} count", order + each.count)] if each.count else []
        kinds += [(each.name, order + each.code, (len(first),) if each.count else ())]
    alike = np.dtype(kinds)
    if len(body) - at >= element.rows * alike.itemsize:  # the quick way
        table = np.frombuffer(body, alike, element.rows, at)
        lists = [each.name for each in element.properties if each.count]
        if all((table[f"{name} count"] == table[name].shape[1]).all() for name in lists):
            return {each.name: table[each.name] for each in element.properties}, at + table.nbytes
    for _ in range(element.rows):
        values, at = row(at)
        for each, value in zip(element.properties, values, strict=True):
            columns[each.name].append(value if each.count else value[0])
    return columns, at


def _text(element: Element, body: list[list[str]], at: int, order: str) -> tuple[dict, int]:
    """The columns of an element from a place of a list of rows, and the place after it. Lists are lists."""
    rows = body[at : at + element.rows]
    if len(rows) < element.rows:
        raise ValueError(f"ends before the {element.rows} rows of {element.name}: is the file whole?")
    columns = {each.name: [] for each in element.properties}
    for words in rows:
        numbers, place = [float(word) for word in words], 0
        for each in element.properties:
            if each.count:
                n, place = next(iter(numbers[place:]), np.nan), place + 1
                columns[each.name].append(numbers[place : place + int(n)])
                place += int(n)
            else:
                columns[each.name] += numbers[place : place + 1]
                place += 1
        if place != len(numbers):
            raise ValueError(
                f"a row of {element.name} is {' '.join(words)[:60]!r}, which its header does not describe"
            )
    return columns, at + element.rows
