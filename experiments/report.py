"""What a report says besides its numbers and pictures, and tables that are made of any summary."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from difsim import Status

WELL = (Status.OK, Status.TARGET, Status.RUNNING)  # a search that goes on is no end
FAULTS = {status.name for status in Status if not status.is_converged and status not in WELL}
LONGEST = 6  # numbers of a list that are written out in one cell
UNITS = {  # endings of keys, longest first
    "_m_per_s": "m/s",
    "_kg_m2": "kg m²",
    "_rad_s": "rad/s",
    "_kg_m3": "kg/m³",
    "_m_s2": "m/s²",
    "_N_m_s": "N m s",
    "_m_s": "m/s",
    "_N_s": "N s",
    "_cm2": "cm²",
    "_deg": "°",
    "_rad": "rad",
    "_mJ": "mJ",
    "_Pa": "Pa",
    "_kg": "kg",
    "_px": "px",
    "_m2": "m²",
    "_J": "J",
    "_N": "N",
    "_m": "m",
    "_s": "s",
}
# No run knows a quantity to less than this of its unit: a footpad that is 4e-27 m deep has not touched the ground.
RESOLUTION = dict.fromkeys(("m", "m/s", "m/s²", "s", "rad", "rad/s", "°"), 1e-9)
RESOLUTION |= dict.fromkeys(("N", "N s", "N m s", "J"), 1e-12)
ROUNDED = (
    "Lengths, times, angles and speeds below 1e-9 of their unit, and forces, impulses and energies below 1e-12 of it, "
    "are shown as 0."
)


@dataclass(frozen=True)
class Table:
    """A table of a report.

    **Arguments:** `title`; `rows`, each a mapping of the columns' headings to what stands there (a number, a text, a
    list of numbers, or None for an empty cell), the first column being the row's own heading; `note`, below it.
    """

    title: str
    rows: Sequence[Mapping[str, Any]]
    note: str = ""


@dataclass(frozen=True)
class Report:
    """The words of a report, and the tables that matter. All of it may be left out.

    **Arguments:** `question` that the study asks; `answer`, paragraphs, the first of which says the result;
    `concerns`, reasons to doubt this very result (a search that looks stuck, a run that failed); `tables`; `limits`,
    what the result does not say; `assumed`, what the run took because nobody gave it; `captions` of the figures by
    name, which also stand in for pictures that cannot be seen.
    """

    question: str = ""
    answer: Sequence[str] = ()
    concerns: Sequence[str] = ()
    tables: Sequence[Table] = ()
    limits: Sequence[str] = ()
    assumed: Sequence[str] = ()
    captions: Mapping[str, str] = field(default_factory=dict)


def tables_of(summary: Mapping[str, Any], title: str = "numbers") -> list[Table]:
    """Every number of a summary in tables: a mapping of single numbers is one, and so is one of like mappings."""
    single = {k: v for k, v in summary.items() if _is_cell(v)}
    tables = [Table(title, [{"": label(k), "value": v} for k, v in single.items()])] if single else []
    several = {k: v for k, v in summary.items() if k not in single}
    if len(several) > 1 and _are_alike(several.values()):
        return [*tables, Table(title, [{"": k, **_labelled(v)} for k, v in several.items()])]
    for key, value in several.items():
        path = label(key) if title == "numbers" else f"{title}: {label(key)}"
        tables += tables_of(value, path) if isinstance(value, Mapping) else [Table(path, list(_rows(value)))]
    return tables


def label(key: Any) -> str:
    """A key of a summary as a heading: words, and the unit after a comma."""
    text = str(key)
    for ending, unit in UNITS.items():
        if text.endswith(ending) and len(text) > len(ending):
            return f"{text.removesuffix(ending).replace('_', ' ')}, {unit}"
    return text.replace("_", " ")


def unit_of(*headings: Any) -> str:
    """The unit that one of the headings is or ends with, after a comma, if numbers in it have a `RESOLUTION`."""
    found = (label(heading).rpartition(", ")[2] for heading in headings)
    return next((unit for unit in found if unit in RESOLUTION), "")


def resolved(value: float, unit: str) -> float:
    """A number in a unit: 0 where it is below the resolution."""
    return 0.0 if abs(value) < RESOLUTION.get(unit, 0.0) else value


def shown(value: Any, unit: str = "") -> str:
    """What stands in a cell: four digits of a number, yes or no, a dash for what is not known.

    Of numbers in a `unit` with a `RESOLUTION` those below it are 0.
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "; ".join(f"{label(k)} {shown(v, unit_of(k))}" for k, v in value.items())
    if isinstance(value, Sequence):
        if len(value) > LONGEST and all(isinstance(v, int | float) for v in value):
            return f"{len(value)} numbers, {shown(min(value), unit)} to {shown(max(value), unit)}"
        return ", ".join(shown(v, unit) for v in value)
    return _number(resolved(value, unit))


def digits(value: float | None, count: int = 3) -> str:
    """A number in a sentence with so many digits; a dash for what is not known."""
    return "–" if value is None else _number(float(f"{value:.{count}g}"))


def share(value: float | None) -> str:
    """A share in a sentence, in per cent."""
    return "–" if value is None else f"{100 * value:.3g} %"


def grid(
    title: str, corner: str, columns: Sequence[Any], rows: Mapping[Any, Sequence[Any]], note: str = ""
) -> Table:
    """A table of one number by two quantities: `rows` by their headings, each as long as `columns`."""
    named = [shown(name) for name in columns]
    return Table(title, [{corner: k} | dict(zip(named, v, strict=True)) for k, v in rows.items()], note)


def failures(statuses: Mapping[str, str]) -> list[str]:
    """A concern for each run whose status, the name of a `Status`, is not OK: what happened, and the remedy."""
    return [f"{run}: {Status[name]}" for run, name in statuses.items() if name != "OK"]


def remedies(summary: Any) -> list[str]:
    """For each status that a summary names, anywhere, and that is a fault: the event and the remedy."""
    found: dict[str, None] = {}

    def look(value: Any) -> None:
        if isinstance(value, Mapping):
            for key, each in value.items():
                look(key)
                look(each)
        elif isinstance(value, str):
            found.update({value: None} if value in FAULTS else {})
        elif _is_list(value):
            for each in value:
                look(each)

    look(summary)
    return [str(Status[name]) for name in found]


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e6):
        return f"{int(value)}".replace("-", "−")
    mantissa, _, exponent = f"{value:.4g}".partition("e")
    text = f"{mantissa} × 10^{int(exponent)}" if exponent else mantissa
    return text.replace("-", "−")


def _is_cell(value: Any) -> bool:
    if isinstance(value, Mapping):
        return False
    if isinstance(value, Sequence) and not isinstance(value, str):
        return not any(isinstance(v, Mapping) or _is_list(v) for v in value)
    return True


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _are_alike(values: Any) -> bool:
    """Whether all are mappings with the same keys and single numbers."""
    values = list(values)
    return all(
        isinstance(v, Mapping) and v.keys() == values[0].keys() and all(map(_is_cell, v.values())) for v in values
    )


def _labelled(row: Mapping[str, Any]) -> dict[str, Any]:
    return {label(k): v for k, v in row.items()}


def _rows(values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """The table of a list of mappings, or of lists."""
    for i, value in enumerate(values):
        if isinstance(value, Mapping):
            yield {"": i + 1} | _labelled(value)
        else:
            yield {"": i + 1} | (
                {str(k + 1): v for k, v in enumerate(value)} if _is_list(value) else {"value": value}
            )
