"""Files in odd but legal forms are read as what they are; damaged ones are refused by name or read the same."""

import importlib.util

import pytest

from tests.odd_files import KINDS, search


@pytest.mark.parametrize("kind", KINDS)
def test_no_file_is_wrong_in_silence(kind, tmp_path):
    if kind in ("URDF", "MJCF") and importlib.util.find_spec("mujoco") is None:
        pytest.skip("the extra import")
    found, faults = search(kind, 12, 0, tmp_path)
    assert faults == [] and found["legal", "right"] and found["damaged", "refused by name"]
