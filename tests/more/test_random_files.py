"""Files of random bytes, and valid ones with random changes: each is read, or refused by a ValueError that names it."""

import functools
import importlib.util
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from difsim.body import read_description
from difsim.camera.files import read_cameras
from difsim.mesh import load
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.cobbles.tracks_file import read_experiment, read_tracks
from experiments.foot import calibration
from experiments.scenes.catalogue import SCENES
from experiments.scenes.judge import Findings
from experiments.soak.run import read_failure, record
from inversion import Series

TETRAHEDRON = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
FACES = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)]
COBBLES = DATA / "cobbles"


def rows(table, start=0, prefix=""):
    return "".join(f"{prefix}{' '.join(str(x + start) for x in row)}\n" for row in table)


OBJ = rows(TETRAHEDRON, prefix="v ") + rows(FACES, 1, "f ")
YAML = (
    "%YAML:1.0\n---\nimage_width: 640\nimage_height: 480\ncamera_matrix: !!opencv-matrix\n  rows: 3\n  cols: 3\n"
    "  dt: d\n  data: [800., 0., 320., 0., 800., 240., 0., 0., 1.]\n"
    "distortion_coefficients: [0.1, 0.0, 0.0, 0.0, 0.0]\n"
)


@dataclass
class Kind:
    """A kind of file: the ending of its name, a valid content, and what reads it."""

    suffix: str
    valid: bytes
    read: Callable[[Path], Any]


def read_shipped(name: str) -> bytes:
    return (DATA / name).read_bytes()


@functools.cache
def experiment():
    return read_experiment(COBBLES / "cams.json", [COBBLES / "stone.obj"] * 2)


def read_in_metres(path: Path):
    return load(path, "m")


FAILURE = json.dumps(record(SCENES[0], 0, 0, Findings("OK"))).encode()
TRACKS = b"time_s,camera,body,marker,u_px,v_px\n" + b"".join(
    b"%s,A,%s,1,500.0,400.0\n" % (time, body) for time in (b"0.0", b"1.1") for body in (b"a", b"b")
)
SERIES = b"time,value,sigma\n0,1,0.1\n1,2,0.1\n2,2.5,0.2\n"
LINK = b'<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
ROBOTS = {
    "URDF": Kind(".urdf", b'<robot name="r"><link name="a">' + LINK + b"</link></robot>", read_description),
    "MJCF": Kind(
        ".xml", b'<mujoco><worldbody><body><geom size="0.1"/></body></worldbody></mujoco>', read_description
    ),
}
FILES = {
    "lander": Kind(".toml", read_shipped("philae.toml"), read_lander),
    "observations": Kind(".toml", read_shipped("philae_published.toml"), read_observations),
    "cameras, JSON": Kind(
        ".json", read_shipped("cobbles/cams.json"), lambda path: read_cameras(path, ("bodies", "arcs_s"))
    ),
    "cameras, YAML": Kind(".yaml", YAML.encode(), read_cameras),
    "experiment": Kind(
        ".json", read_shipped("cobbles/cams.json"), lambda path: read_experiment(path, [COBBLES / "stone.obj"] * 2)
    ),
    "tracks": Kind(".csv", TRACKS, lambda path: read_tracks(path, experiment())),
    "series": Kind(".csv", SERIES, Series.read),
    "calibration by grains": Kind(".json", read_shipped("sole_in_grains.json"), calibration.read),
    "failure of the soak": Kind(".json", FAILURE, read_failure),
    "OBJ": Kind(".obj", OBJ.encode(), read_in_metres),
    "plates": Kind(".tab", f"4 4\n{rows(TETRAHEDRON)}{rows(FACES, 1)}".encode(), read_in_metres),
    "plates, rows v and f": Kind(
        ".txt", (rows(TETRAHEDRON, prefix="v ") + rows(FACES, 1, "f ")).encode(), read_in_metres
    ),
}
HAS_MUJOCO = importlib.util.find_spec("mujoco") is not None
RANDOM = FILES | (ROBOTS if HAS_MUJOCO else {})
of_each_kind = pytest.mark.parametrize("name", FILES)
SECONDS = 10.0  # of this process, in which other threads may work, too; a parser that hangs takes longer

# What breaks parsers: other encodings, no numbers, too large ones, open brackets, ends of lines and of texts.
TOKENS = [
    b"",
    b"\0",
    b"\xff\xfe",
    b"nan",
    b"-inf",
    b"1e999",
    b"9" * 400,
    b"9" * 5000,
    b"-1",
    b"0",
    b"[" * 2000,
    b"{",
    b"]",
]
TOKENS += [
    b'"',
    b"\n",
    b"\r",
    b",",
    b"=",
    b":",
    b"*a",
    b"&a ",
    b"!!python/object:os.system",
    b"\xc2\xb2",
    b"#",
    b" " * 50,
]
TOKENS += [b"2147483648", b"1:60:60", b"true", b"null", b"a" * 200_000]
edits = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), st.sampled_from(TOKENS)), min_size=1, max_size=4)


def change(valid: bytes, changes) -> bytes:
    """Bytes in other bytes' place: (where as a share of the length, how many, by what)."""
    for where, length, token in changes:
        at = int(where * len(valid))
        valid = valid[:at] + token + valid[at + length :]
    return valid


def read_or_refused(kind: Kind, path: Path) -> None:
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubts about implausible numbers
        try:
            kind.read(path)
        except ValueError as refused:
            assert str(path) in str(refused), f"{type(refused).__name__} does not name the file: {refused}"
    assert time.process_time() - began < SECONDS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("random")


@of_each_kind
def test_the_valid_file_is_read(name, folder):
    kind = FILES[name]
    path = folder / f"valid{kind.suffix}"
    path.write_bytes(kind.valid)
    kind.read(path)


@pytest.mark.parametrize("name", RANDOM)
@settings(max_examples=60)
@given(changes=edits)
def test_a_changed_file(name, folder, changes):
    path = folder / f"changed{RANDOM[name].suffix}"
    path.write_bytes(change(RANDOM[name].valid, changes))
    read_or_refused(RANDOM[name], path)
