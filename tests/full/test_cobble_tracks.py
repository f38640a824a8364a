"""A user's tracks: what is read, what is refused and on which line, and what comes out of the example."""

import json

import numpy as np

from experiments.cobbles import tracks
from experiments.cobbles.run import Cobbles
from experiments.harness import write
from tests.more.test_cobble_tracks import EXAMPLE, MESHES, TRUE

README = EXAMPLE.parents[1] / "experiments" / "cobbles" / "README.md"


def test_the_example_gives_its_truth(tmp_path):
    told = tracks.estimate_tracks(EXAMPLE / "tracks.csv", EXAMPLE / "cams.json", MESHES)
    about = {"stage": "estimate", "created": "", "version": "", "wall_seconds": 1.0, "command": ""}
    write(tmp_path, told, about, Cobbles)
    found = told.summary
    assert abs(found["energy_ratio"] - 0.85194) < 3 * found["energy_ratio_sigma"] < 0.02
    readme = " ".join(README.read_text(encoding="utf-8").split())
    assert f"CoR_E {found['energy_ratio']:.4f} ± {found['energy_ratio_sigma']:.4f} for a truth of 0.8519" in readme
    for state in found["states"]:
        if state["arc"] == 1:
            true = np.array(TRUE[state["body"], 0])
            for k, name in enumerate(("position, m", "velocity, m/s")):
                off = np.array(state[name]["value"]) - true[3 * k : 3 * k + 3]
                assert np.all(np.abs(off) < 4 * np.array(state[name]["sigma"]))
    assert json.loads((tmp_path / "estimate.json").read_text()) == about | found
