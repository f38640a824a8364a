"""Random posteriors are right within their stated errors, or say that they are not good."""

from tests import random_posteriors


def test_random_posteriors_are_right_or_say_that_they_are_not():
    counts, lines = random_posteriors.search(len(random_posteriors.KINDS), 3)
    assert not any(verdict == "wrong" for _, verdict in counts), lines
    assert sum(count for (_, verdict), count in counts.items() if verdict == "right") >= 5, lines
