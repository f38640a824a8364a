"""Pages made from the code: statuses with their remedies, and the keys of the files of a lander with their ranges."""

from collections.abc import Iterator
from math import inf

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from difsim.status import Status
from experiments.agilkia import keys
from experiments.agilkia.catalogue import STANDARD

STATUSES = """# Statuses

A status says how a run or a search ended. `difsim.Status(code)` gives its name, message and remedy. UNDER_RESOLVED and
PAST_VALIDITY concern derivatives only. For all others except OK, `simulate` raises an exception. Inside `jit`, or with
`throw=False`, it returns the status instead.

| code | status | what happened | what to do |
|---|---|---|---|
"""


KEYS = """# Keys of the files of a lander

The files of `difsim agilkia --lander FILE --observations FILE`. A number that is not possible is refused, with the
usual mistake of units. One that is not usual is a warning. To confirm one that is right, write
`confirmed = ["lander.mass_kg"]` at the top of the file. Of a vector the range is that of its length. A standard
deviation has the unit of its value; it is usual from 1e-6 times to once the largest usual reading.

| key | meaning | unit | possible | usual | usual mistake |
|---|---|---|---|---|---|
"""


def _numbers() -> Iterator[tuple[str, keys.Numbers]]:
    tables = keys.LANDER | {"site": keys.LANDER["site"] | keys.OPTIONAL["site"], "lander": keys.BODY | keys.LEGS}
    tables |= {"gear": keys.GEAR, "obstacle": keys.OBSTACLE, "unknowns": keys.UNKNOWNS}
    tables |= {"sub_spheres": keys.SUB_SPHERES, "initial": keys.INITIAL}
    for place, holds in tables.items():
        yield from ((f"{place}.{key}", each) for key, each in holds.items() if isinstance(each, keys.Numbers))
    yield from ((f"observables.{row.name}", row.reading) for row in STANDARD.observables)


def _row(key: str, each: keys.Numbers) -> str:
    number = each.quantity
    ranges = (number.possible, number.usual or (-inf, inf))
    possible, usual = ("" if low == -inf and high == inf else f"{low:g} to {high:g}" for low, high in ranges)
    return f"| `{key}` | {number.meaning} | {number.unit} | {possible} | {usual} | {number.slip} |"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    rows = [f"| {s.value} | `{s.name}` | {s.message} | {s.remedy} |" for s in Status]
    for name, text in (
        ("statuses.md", STATUSES + "\n".join(rows)),
        ("lander-files.md", KEYS + "\n".join(_row(key, each) for key, each in _numbers())),
    ):
        files.append(File.generated(config, name, content=text + "\n"))
    return files
