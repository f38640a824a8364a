"""The blocks of docs/examples.md run as they stand."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "examples.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)[1:]
SAID = "at [ 1.348", "0.675", "the front is at 0.176 m"


@pytest.mark.slow
@pytest.mark.parametrize(("block", "said"), list(zip(BLOCKS, SAID, strict=True)), ids=["box", "stones", "sand"])
def test_an_example_runs(block, said, capsys):
    exec(compile(block, str(PAGE), "exec"), {})
    assert said in capsys.readouterr().out
