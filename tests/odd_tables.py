"""Tables with times drawn at random: numbers or dates in any form of ISO 8601."""

import datetime
from pathlib import Path

import numpy as np

from inversion import Series
from tests.odd_drawn import Drawn, number, pick


def a_date(rng, when: datetime.datetime, fraction: str) -> str:
    """An instant in one of the forms of ISO 8601."""
    ahead = int(pick(rng, 0, 0, 60, -330, 765))
    local = when + datetime.timedelta(minutes=ahead)
    sign, size = "-" if ahead < 0 else "+", abs(ahead)
    mark = pick(rng, "-", "")
    day = local.strftime(f"%Y{mark}%m{mark}%d" if rng.integers(2) else f"%Y{mark}%j")
    clock = local.strftime("%H:%M:%S" if mark else "%H%M%S")
    zone = (
        pick(rng, "", "Z", "z", "+00:00", "+00")
        if not ahead
        else f"{sign}{size // 60:02d}{pick(rng, ':', '')}{size % 60:02d}"
    )
    return day + pick(rng, "T", "t", " ") + clock + (f".{fraction}" if fraction else "") + zone


def read_series(epoch, columns, **options):
    def read(path: Path) -> list[np.ndarray]:
        series = Series.read(path, columns, epoch=epoch, **options)
        return [np.asarray(series.times), np.asarray(series.observed.value), np.asarray(series.observed.sigma)]

    return read


def a_table(rng, folder: Path) -> Drawn:
    count, dated = rng.integers(3, 12), rng.integers(2)
    start = datetime.datetime(2014, 1, 1) + datetime.timedelta(seconds=int(rng.integers(3e7)))
    steps = np.cumsum(rng.integers(1, 5000, count))
    digits = [
        "" if rng.integers(3) == 0 else str(rng.integers(10**9)).zfill(9)[: rng.integers(1, 10)] for _ in steps
    ]
    values, sigma = rng.normal(size=count), rng.uniform(0.1, 1, count)
    if dated:
        times = steps + np.array([float(f"0.{each or 0}") for each in digits])
        texts = [
            a_date(rng, start + datetime.timedelta(seconds=int(t)), each)
            for t, each in zip(steps, digits, strict=True)
        ]
        epoch = a_date(rng, start, "")
    else:
        times, texts, epoch = steps * 0.01, [number(rng, t) for t in steps * 0.01], None
    columns = {"t": texts, "a [m/s2]": [number(rng, x) for x in values], "s": [number(rng, x) for x in sigma]}
    gaps = rng.random(count) < 0.2
    gaps[0] = False
    for i in np.flatnonzero(gaps):
        columns["a [m/s2]"][i] = pick(rng, "", "nan", "NaN", "NA", "n/a", "null")
    columns["note"] = [pick(rng, "", "ok", '"a, b"', "x y") for _ in texts]
    order = list(rng.permutation(list(columns)))
    mark = pick(rng, ",", ", ", " , ")
    lines = [mark.join(order)] + [mark.join(columns[name][i] for name in order) for i in range(count)]
    damage, at = "", int(rng.integers(1, count + 1))

    def field(name: str, text: str, line: int = at) -> None:
        fields = [columns[key][line - 1] for key in order]
        fields[order.index(name)] = text
        lines[line] = mark.join(fields)

    if rng.integers(2):
        changes = {
            "a date of another form": lambda: field(
                "t", pick(rng, "12.11.2014", "12/11/2014 10:00", "10:00:00", "Nov 12 2014")
            ),
            "no such date": lambda: field(
                "t", pick(rng, "2014-02-30", "2014-13-01", "2014-366", "2014-11-12T25:00", "2014-05-05T10:00:60")
            ),
            "another time scale": lambda: field("t", columns["t"][at - 1] + " TDB"),
            "a date among numbers, or a number among dates": lambda: field("t", "12.5" if dated else "2014-11-12"),
            "a time that is not there": lambda: field("t", ""),
            "a decimal comma": lambda: field("s", "0,25"),
            "a field more": lambda: lines.__setitem__(at, lines[at] + ",1"),
            "a trailing comma in each row": lambda: lines.__setitem__(
                slice(1, None), [line + "," for line in lines[1:]]
            ),
            "a cut row": lambda: lines.__setitem__(at, lines[at].rsplit(",", 1)[0].replace('"', "")),
            "a column twice": lambda: lines.__setitem__(
                slice(None),
                [line + mark + pick(rng, "s") * (i == 0) + "1" * (i > 0) for i, line in enumerate(lines)],
            ),
            "a text": lambda: field("s", pick(rng, "big", "True", "1_0", "0x10", "1.0D-3", "1 2", "--")),
            "a sigma of zero": lambda: field("s", "0", 1),
            "semicolons": lambda: lines.__setitem__(slice(None), [line.replace(",", ";") for line in lines]),
            "no header": lambda: lines.pop(0),
            "rows exchanged": lambda: lines.__setitem__(slice(1, 3), [lines[2], lines[1]]),
            "a unit of the time": lambda: lines.__setitem__(0, lines[0]),
        }
        damage = pick(rng, *changes)
        changes[damage]()
    name = "a [m/s2]"
    time = "t"
    if damage == "a unit of the time":
        time = pick(rng, "t [ms]", "t_min", "hours") if not dated else "t"
        lines[0] = mark.join(time if key == "t" else key for key in order)
    for _ in range(rng.integers(3)):
        lines.insert(int(rng.integers(len(lines) + 1)), pick(rng, "", "# a remark, with commas", "   "))
    path = folder / f"table{rng.integers(10**9)}.csv"
    text = pick(rng, "\n", "\r\n").join(lines) + pick(rng, "", "\n")
    path.write_bytes((pick(rng, "", "\ufeff") + text).encode())
    right = [times[~gaps], values[~gaps], sigma[~gaps]]
    return Drawn(path, read_series(epoch, (time, name, "s"), unit=pick(rng, "m/s2", "m s-2", "")), right, damage)
