"""The blocks of docs/examples.md and of docstrings run as they stand."""

import inspect
import re
from pathlib import Path

import pytest

import difsim
import inversion
from difsim import contact, gravity, rotation
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

WITH_EXAMPLE = (
    difsim.simulate,
    rotation.Rotation,
    contact.NormalForce,
    gravity.Polyhedron,
    inversion.Problem,
    inversion.fit,
    inversion.sample,
    inversion.identify,
    inversion.branch_and_bound,
    inversion.sweep,
)


@pytest.mark.parametrize(
    ("block", "said"), list(zip(BLOCKS, SAID, strict=True)), ids=["box", "stones", "sand", "plate", "grains"]
)
def test_an_example_runs(block, said, capsys):
    exec(compile(block, str(PAGE), "exec"), {})
    assert re.search(said, capsys.readouterr().out)


@pytest.mark.parametrize("name", WITH_EXAMPLE, ids=lambda name: name.__name__)
def test_the_example_of_a_docstring_runs(name, capsys):
    (block,) = python_blocks(inspect.getdoc(name))
    exec(block, {})
    said = capsys.readouterr().out
    assert said and "nan" not in said
