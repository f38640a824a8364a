"""Files in odd but legal forms are read as what they are; damaged ones are refused by name or read the same."""

import importlib.util

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from difsim.body import read_description
from tests.more.test_random_files import Kind, changed, edits, read_or_refused
from tests.odd_files import KINDS, search

HAS_MUJOCO = importlib.util.find_spec("mujoco") is not None
LINK = '<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
ROBOTS = {
    "URDF": Kind(".urdf", f'<robot name="r">{LINK}</link></robot>'.encode(), read_description),
    "MJCF": Kind(
        ".xml", b'<mujoco><worldbody><body><geom size="0.1"/></body></worldbody></mujoco>', read_description
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_file_is_wrong_in_silence(kind, tmp_path):
    if kind in ROBOTS and not HAS_MUJOCO:
        pytest.skip("the extra import")
    found, faults = search(kind, 12, 0, tmp_path)
    assert faults == [] and found["legal", "right"] and found["damaged", "refused by name"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("robots")


@pytest.mark.skipif(not HAS_MUJOCO, reason="the extra import")
@pytest.mark.parametrize("name", ROBOTS)
@settings(max_examples=60)
@given(content=st.one_of(st.binary(max_size=300), edits))
def test_a_robot_of_random_bytes_is_read_or_refused(name, folder, content):
    kind = ROBOTS[name]
    path = folder / f"random{kind.suffix}"
    path.write_bytes(content if isinstance(content, bytes) else changed(kind.valid, content))
    read_or_refused(kind, path)
