"""STL files, binary and text."""

import re
from pathlib import Path

import numpy as np

from difsim.mesh.polygons import Polygons
from difsim.mesh.text_rows import text_of

FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
HEADER = 84  # bytes, of which the last four are the number of facets
_THREE = r"(\S+)\s+(\S+)\s+(\S+)\s+"
_LOOP = rf"vertex\s+{_THREE}" * 3
TEXT = re.compile(rf"\bfacet\s+normal\s+{_THREE}outer\s+loop\s+{_LOOP}endloop\s+endfacet\b", re.IGNORECASE)


def read_stl(path: Path) -> Polygons:
    """The facets of an STL file, of all its solids; their normals and attributes are not read."""
    raw = path.read_bytes()
    count = int.from_bytes(raw[HEADER - 4 : HEADER], "little")
    if len(raw) == HEADER + count * FACET.itemsize:
        return _facets(np.frombuffer(raw, FACET, offset=HEADER)["corners"].astype(float))
    if raw.removeprefix(b"\xef\xbb\xbf").lstrip()[:5].lower() != b"solid":
        raise ValueError(
            f"has {len(raw)} bytes, and a binary STL of {count} facets, as its header states, has "
            f"{HEADER + count * FACET.itemsize}: is the file whole?"
        )
    text = text_of(path)
    corners = [match[3:] for match in TEXT.findall(text)]
    for line in TEXT.sub("", text).split("\n"):
        if line.strip() and line.split()[0].lower() not in ("solid", "endsolid"):
            raise ValueError(
                f"{line.strip()[:60]!r} is not understood: a facet has a normal and a loop of three vertices"
            )
    return _facets(np.array(corners, float).reshape(-1, 3, 3))


def _facets(corners) -> Polygons:
    return Polygons(corners.reshape(-1, 3), np.arange(3 * len(corners)), np.full(len(corners), 3))
