"""A few random landers at random sites; `python -m tests.random_landers 50 SEED` tries as many as are asked for."""

import pytest

from tests.random_landers import FAULTS, draw, judge

READ = range(12)


@pytest.mark.parametrize("seed", READ)
def test_a_random_lander_is_read_right_or_refused_by_name(seed, tmp_path):
    assert judge(draw(seed), tmp_path, fly=False) == ""


def test_random_landers_are_right_ones_and_wrong_ones():
    cases = [draw(seed) for seed in range(400)]
    faults = {case.kind.removeprefix("refused: ") for case in cases if case.fault}
    kinds = {case.kind for case in cases if not case.fault}
    assert faults == {*FAULTS} and len(kinds) > 10
    assert any("67P" in kind for kind in kinds) and any("another body, boulder" in kind for kind in kinds)
