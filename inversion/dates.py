"""Dates in ISO 8601 and UTC, as seconds from an epoch: what reads two ways is refused."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

import numpy as np
from jaxtyping import Float

# Year, then month and day or day of the year; hour, minute, second and its fraction; zone. Marks are all there or none.
FORM = re.compile(
    r"(\d{4})(-?)(?:(\d\d)\2(\d\d)|(\d{3}))"
    r"(?:[T ](\d\d)(?:(:?)(\d\d)(?:\7(\d\d)(?:[.,](\d+))?)?)? ?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?)?",
    re.ASCII,
)
DAY = 86400  # s
FIRST = date(1972, 1, 1).toordinal()  # before that the length of a second of UTC changed
# The days that ended with a leap second: IERS Bulletin C, of which none later had one up to 2026.
LONG_DAYS = [
    date(year, month, 30 if month == 6 else 31).toordinal()
    for years, months in (
        ((1972,), (6, 12)),
        ((1973, 1974, 1975, 1976, 1977, 1978, 1979), (12,)),
        ((1981, 1982, 1983, 1985), (6,)),
        ((1987, 1989, 1990), (12,)),
        ((1992, 1993, 1994), (6,)),
        ((1995,), (12,)),
        ((1997,), (6,)),
        ((1998, 2005, 2008), (12,)),
        ((2012, 2015), (6,)),
        ((2016,), (12,)),
    )
    for year in years
    for month in months
]


def seconds_from(epoch: Any, dates: Iterable[Any]) -> Float[np.ndarray, " k"]:
    """The time that elapsed from an epoch to each date, s, leap seconds counted.

    **Arguments:** `epoch` and `dates`: texts in ISO 8601 (2014-11-12T15:34:04.5Z, 2014-316T15:34:04, 20141112T153404,
    also with an offset such as +01:00), or dates of `datetime`, NumPy or pandas. Without a zone they are UTC.
    **Returns:** seconds [k].
    **Raises:** ValueError, which names the row, for another text, a time of day without a date, and dates before 1972.
    """
    try:
        start, rest = _instant(epoch)
    except ValueError as error:
        raise ValueError(f"epoch = {error}") from None
    found = []
    for i, each in enumerate(dates):
        try:
            whole, fraction = _instant(each)
        except ValueError as error:
            raise ValueError(f"row {i}: {error}") from None
        found.append((whole - start) + (fraction - rest))
    return np.array(found, float)


def _instant(given: Any) -> tuple[int, float]:
    """Whole seconds that elapsed since the year 0, and the fraction of one."""
    text = given if isinstance(given, str) else given.isoformat() if hasattr(given, "isoformat") else str(given)
    match = FORM.fullmatch(text.strip().upper())
    if match is None:
        raise ValueError(
            f"{text!r} is neither a number nor a date in ISO 8601, such as 2014-11-12T15:34:04.5Z or 2014-316T15:34:04"
        )
    year, _, month, day, of_year, hour, _, minute, second, fraction, sign, ahead, minutes = match.groups()
    try:
        at = date(int(year), int(month or 1), int(day or 1))
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None
    if of_year:
        at += timedelta(int(of_year) - 1)
    h, m, s, east, part = (int(x or 0) for x in (hour, minute, second, ahead, minutes))
    if (of_year and at.year != int(year)) or h > 23 or m > 59 or s > 60 or east > 23 or part > 59:
        raise ValueError(f"{text!r}: no such day or time of day")
    is_leap = s == 60
    shift = (60 * east + part) * 60 * (-1 if sign == "-" else 1)
    days, clock = divmod(at.toordinal() * DAY + 3600 * h + 60 * m + s - is_leap - shift, DAY)
    if is_leap and not (days in LONG_DAYS and clock == DAY - 1):
        raise ValueError(f"{text!r}: no leap second was there")
    if days < FIRST:
        raise ValueError(
            f"{text!r} is before 1972, when seconds of UTC had another length: give times as numbers in s"
        )
    whole = days * DAY + clock + bisect_right(LONG_DAYS, days - 1) + is_leap
    return whole, int(fraction) / 10 ** len(fraction) if fraction else 0.0
