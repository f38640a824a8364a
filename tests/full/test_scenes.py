"""Scenes that tests/core/test_scenes.py leaves out, by its assertions; and the cases of the validation."""

import json

import pytest

from experiments.benchmark import gradient_scenes
from experiments.scenes.catalogue import SCENES
from experiments.validation.run import Validation
from tests.core.test_scenes import CHEAP, assert_passes

OTHERS = {scene.name: scene for scene in (*SCENES, *gradient_scenes.SCENES) if scene.name not in CHEAP}


@pytest.mark.parametrize("name", OTHERS)
def test_the_middle_of_a_scene_passes_the_judge(name):
    assert_passes(OTHERS[name])


def test_all_cases_of_the_validation_pass(tmp_path):
    Validation(out=tmp_path).run()
    found = json.loads((tmp_path / "summary.json").read_text())
    assert found["failed"] == [] and found["cases"] > 60
