"""The blocks of docs/examples.md run as they stand."""

import re
from pathlib import Path

import pytest

from tests.helpers import python_blocks

PAGE = Path(__file__).parents[2] / "docs" / "examples.md"
BLOCKS = python_blocks(PAGE)[1:]
# A start that differs by 1e-13 m has the box rest after 13, 14 or 15 contacts, within 2 mm of 1.35 m.
SAID = (
    r"1[345] contacts, at \[ 1\.3[45]",
    r"0\.6587",
    r"the front is at 0\.176 m",
    r"1 cm deep: 47\d N/m upwards, work 3\.\d+ J/m",
    r"OK: -0\.0233 m/s .* friction 0\.0299 m",
)


@pytest.mark.parametrize(
    ("block", "said"), list(zip(BLOCKS, SAID, strict=True)), ids=["box", "stones", "sand", "plate", "grains"]
)
def test_an_example_runs(block, said, capsys):
    exec(compile(block, str(PAGE), "exec"), {})
    assert re.search(said, capsys.readouterr().out)
