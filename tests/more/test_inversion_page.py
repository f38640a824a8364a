"""The blocks of docs/inversion.md run one after the other, and say what the page says."""

from pathlib import Path

import numpy as np

from tests.helpers import python_blocks

PAGE = Path(__file__).parents[2] / "docs" / "inversion.md"


def test_the_page_runs(capsys, monkeypatch):
    monkeypatch.setattr("difsim.configure", lambda: None)  # the session of the tests is configured
    names = {}
    for block in python_blocks(PAGE):
        exec(compile(block, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert "not fixed: the prior came back" in said and "the errors are as large as they must be" in said
    assert said.count("converged (") == 4 and "the model explains the data" in said
    assert abs(names["bearing"].values["strength"] - 20.1) < 0.2
    assert abs(names["heights"].values["ground"][3] - 0.3 * np.sin(names["place"][3])) < 0.3
    assert names["problem"].data["acceleration"].gaps == 11
    assert names["many"].status.is_converged and names["thrown"].status.is_converged
    assert np.abs(names["many"].values["ground"] - names["heights"].values["ground"]).max() < 0.05
    assert abs(names["thrown"].value - 0.04) < 0.02
