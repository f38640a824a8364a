"""A search for mesh files that are read wrongly without a word, among odd and damaged ones of known bodies.

`python -m tests.mesh_search --files 500 --seed 0`
"""

import argparse
import re
import struct
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from difsim import mesh
from tests.mesh_files import WRITERS, Body, drawn, with_loose_vertex

# --- damage, of a kind that a reader can see: a digit of a coordinate that changes is not among it


def _line(content: bytes, random, pick=lambda line: True) -> tuple[list[bytes], int]:
    lines = content.split(b"\n")
    some = [i for i, line in enumerate(lines) if line.strip() and pick(line)]
    return lines, int(random.choice(some)) if some else 0


def cut(suffix, content, random):
    """The end is lost."""
    return content[: int(random.integers(1, len(content)))]


def lost_face(suffix, content, random):
    """A line is lost; of an OBJ file, that of a face."""
    lines, at = _line(
        content, random, lambda line: suffix not in (".obj", ".tab", ".txt", ".plt") or line.strip()[:1] == b"f"
    )
    del lines[at]
    return b"\n".join(lines)


def foreign(suffix, content, random):
    """Something that changes the meaning and that no reader here knows."""
    words = {
        ".obj": [
            b"call other.obj",
            b"curv 0 1 1 2",
            b"v 0 0 0 2",
            b"xform 1 0 0",
            b"f 0 1 2",
            b"f 1 2",
            b"fo 1 2 3",
        ],
        ".off": [b"9 9 9", b"3 0 1 99"],
        ".stl": [b"scale 2", b"facet normal 0 0 1"],
        ".ply": [b"element tristrips 3", b"property quaternion q", b"end_header", b"transform 2"],
        ".wrl": [
            b"Inline { url [ ] }",
            b"MatrixTransform { matrix 2 0 0 0 }",
            b"USE a",
            b"scale 2 2 2",
            b"}",
            b"Switch { }",
        ],
    }.get(suffix, [b"v 0 0", b"scale 2", b"1 2"])
    lines, at = _line(content, random)
    lines.insert(at, words[random.integers(len(words))])
    return b"\n".join(lines)


def no_number(suffix, content, random):
    """A number of one line is none, or has a comma for its point."""
    lines, at = _line(content, random)
    by = random.choice([b"1,5", b"nan", b"1e999", b"x", b"--1", b"1.2.3", b"0x10"])
    lines[at] = re.sub(rb"(?<=[ \t])[-+]?\d\S*", lambda match: by, lines[at], count=1)
    return b"\n".join(lines)


def from_zero(suffix, content, random):
    """All indices of an OBJ file or a PLY text are one less, or one more."""
    by = int(random.choice([-1, 1]))
    shifted = lambda match: b" %d" % (int(match[0]) + by)  # noqa: E731
    lines = [
        re.sub(rb"[ \t]+\d+(?=\s|$)", shifted, line) if line.strip()[:1] == b"f" and suffix == ".obj" else line
        for line in content.split(b"\n")
    ]
    return b"\n".join(lines)


def wrong_count(suffix, content, random):
    """The first number of a header is one more or less."""
    by = int(random.choice([-1, 1]))
    if suffix == ".stl" and len(content) > 84:
        return (
            content[:80] + struct.pack("<I", max(0, int.from_bytes(content[80:84], "little") + by)) + content[84:]
        )
    return re.sub(rb"(?<=[\s])\d+(?=\s)", lambda match: b"%d" % max(0, int(match[0]) + by), content, count=1)


DAMAGES = (cut, lost_face, foreign, no_number, from_zero, wrong_count)


def verdict(path: Path, body: Body, tolerance: float = 2e-5) -> str:
    """right; refused by an error that names the file; warned; or what is wrong."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            read = mesh.load(path, "m")
        except ValueError as refused:
            return f"{'refused' if str(path) in str(refused) else 'wrong'}: {refused}"
    moments = np.linalg.eigvalsh(read.inertia(1.0))
    if abs(read.volume / body.volume - 1) < tolerance and np.allclose(moments, body.moments, rtol=10 * tolerance):
        return "right"
    return "warned" if told else f"wrong: {read.volume:.6g} m3 for {body.volume:.6g}"


def search(folder: Path, files: int, seed: int) -> tuple[dict[tuple[str, str], Counter], list[str]]:
    """Verdicts by kind, for valid and for damaged files, and a line for each file that is wrong."""
    found, wrong = {}, []
    for i in range(files):
        random = np.random.default_rng([seed, i])
        kind = list(WRITERS)[i % len(WRITERS)]
        body = drawn(random)
        if random.random() < 0.5:
            body = with_loose_vertex(body, random)
        suffix, content = WRITERS[kind](body, random)
        state = "valid" if (i // len(WRITERS)) % 2 == 0 else "damaged"
        note = ""
        if state == "damaged":
            whole = content
            while content == whole:
                damage = DAMAGES[random.integers(len(DAMAGES))]
                content, note = damage(suffix, whole, random), damage.__name__
        path = Path(folder, f"{i}{suffix}")
        path.write_bytes(content)
        said = verdict(path, body)
        found.setdefault((kind, state), Counter())[said.split(":")[0]] += 1
        # A table without a 0 and without its last vertex may count from either.
        is_refused = state == "valid" and said != "right" and "may count from 0 or from 1" not in said
        if said.startswith("wrong") or is_refused:
            wrong.append(f"{path.name} {kind} {state} {note}: {said}")
        else:
            path.unlink()
    return found, wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    table_of, wrong = search(folder, options.files, options.seed)
    for (kind, state), counts in sorted(table_of.items()):
        sys.stdout.write(f"{kind} {state} {dict(counts)}\n")
    sys.stdout.write("\n".join([*wrong, f"{len(wrong)} wrong, kept in {folder}\n"]))
