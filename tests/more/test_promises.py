"""Numbers that the page of a study promises are those that its command writes."""

import re
from collections.abc import Sequence

import pytest

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")

Promises = dict[str, Sequence[float | None]]  # by a text of the page: the numbers that follow it; None: any number


def last_digit(written: str) -> float:
    """One unit of the last digit of a number as it is written: 0.01 for "2.50", 1e-6 for "9e-6"."""
    mantissa, _, exponent = written.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def broken(page: str, promises: Promises) -> list[str]:
    """The numbers of a page that differ from those of the command by more than one unit of their last digit."""
    text, found = " ".join(page.split()), []
    for place, numbers in promises.items():
        assert text.count(place) == 1, f"{place!r} stands {text.count(place)} times on the page"
        written = NUMBER.findall(text.partition(place)[2])[: len(numbers)]
        assert len(written) == len(numbers), place
        for said, number in zip(written, numbers, strict=True):
            if number is not None and not abs(float(said) - number) <= 1.001 * last_digit(said):
                found.append(f"{place!r}: the page says {said}, the command {number:.6g}")
    return found


def test_a_number_holds_to_one_unit_of_its_last_digit():
    page = "| depth | 2.50 m | 9e-6 |\n\nThe angle\nis -3°, of 120."
    assert broken(page, {"| depth |": [2.509, 8.1e-6], "The angle is": [-2.1, None]}) == []
    assert broken(page, {"| depth |": [2.52]}) == ["'| depth |': the page says 2.50, the command 2.52"]
    assert len(broken(page, {"| depth |": [float("nan"), 7e-6], "The angle is": [3]})) == 3
    with pytest.raises(AssertionError, match="stands 0 times"):
        broken(page, {"the height": [1]})
