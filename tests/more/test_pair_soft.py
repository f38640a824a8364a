"""Contact of a pair that takes time: smooth, and hard with compliance and cohesion. From the instant of touch."""

from tests.core.test_pair_soft import DURATION, compliant, episode, smooth, touching_state


def test_a_contact_of_too_few_steps_is_told():
    for step, coarse in ((DURATION / 200, False), (DURATION / 25, False), (DURATION / 10, True), (DURATION, True)):
        after, _ = episode(smooth(0.6, step=step), touching_state())
        assert after.coarse == coarse and not after.unfinished
        after, _ = episode(compliant(step=step), touching_state())
        assert after.coarse == coarse
