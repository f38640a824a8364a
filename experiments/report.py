"""The report of a stage: its study's text with the numbers of the summary, tables, pictures, and how it was made.

The text is Markdown by Jinja, `report.md.j2` in the folder of a study. It has the entries of the summary as names, the
whole of it as `found`, the name of the stage as `report`, and

    {{ tables("thrown", late=thrown.late) }}   the entry `thrown` of the summary as tables, and one that is called late
    {{ grid("share", rows, columns, values) }} a table of numbers by two lists of headings
    {{ picture("fall", "Height by time.") }}   a picture that the stage has made, with its caption
"""

import base64
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from difsim import Status
from experiments.records import file_hash

FRAME = Path(__file__).parent / "templates"
WELL = (Status.OK, Status.TARGET, Status.RUNNING)  # a search that goes on is no end
FAULTS = {status.name for status in Status if not status.is_converged and status not in WELL}
LONGEST = 6  # numbers of a list that are written out in one cell
WIDEST = 8  # columns of a table that has few rows: with more, rows and columns are exchanged
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


@dataclass(frozen=True)
class Report:
    """The report of a stage.

    **Arguments:** `summary`, as JSON holds it; `folder` of the study, which may hold a `report.md.j2`; `name` of the
    report in it; `pictures`: name -> PNG file and a caption for a picture that the text does not show.
    """

    summary: Mapping[str, Any]
    folder: Path = FRAME
    name: str = ""
    pictures: Mapping[str, tuple[Path, str]] = ()

    def text(self) -> str:
        """Return the report as plain text, a paragraph a line, without its pictures."""
        text = self._write(is_page=False, tables=_as_text, picture=lambda *_: "")
        text = re.sub(r"(?m)(?<=\S)\n(?![\s*#>|+]|$)", " ", text)
        return re.sub(r"\n{3,}", "\n\n", text).strip()

    def page(self, title: str, lead: str, about: Mapping[str, Any], files: Iterable[Path]) -> str:
        """Return the report as a page of HTML that holds its pictures and needs nothing else.

        **Arguments:** `title`; `lead`, a sentence below it; `about`, the provenance; `files` that the run wrote.
        """
        shown = set()

        def picture(name: str, caption: str) -> Markup:
            shown.add(name)
            data = base64.b64encode(self.pictures[name][0].read_bytes()).decode("ascii")
            image = f'<img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
            return Markup(f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>\n")

        prose = self._write(is_page=True, tables=_as_html, picture=picture)
        body = MarkdownIt("commonmark", {"html": True}).render(prose)
        run = {key: value for key, value in about.items() if key not in ("command", "inputs")}
        written = {path.name: file_hash(path) for path in files}
        hashes = {"files that were read": about.get("inputs", {}), "files that were written": written}
        for heading, of in hashes.items():
            run[heading] = [{"file": name, "SHA-256": value} for name, value in of.items()]
        others = [
            picture(name, caption) for name, (_, caption) in dict(self.pictures).items() if name not in shown
        ]
        page = read_template(FRAME / "page.html.j2", is_page=True)
        text = page.render(
            title=title,
            lead=lead,
            about=about,
            body=Markup(body),
            others=others,
            made=_as_html(tables_of(run, "this run")),
            numbers=_as_html(tables_of(self.summary)),
        )
        return re.sub(r"10\^(−?\d+)", r"10<sup>\1</sup>", text)

    def _write(self, is_page: bool, tables: Callable, picture: Callable) -> str:
        """The text of the study, and what each status means that the summary names as a fault."""
        text, path = "", self.folder / "report.md.j2"
        if path.is_file():
            text = read_template(path, is_page).render(
                self.summary,
                found=self.summary,
                report=self.name,
                picture=picture,
                tables=lambda *keys, **more: tables(tables_of({key: self.summary[key] for key in keys} | more)),
                grid=lambda title, *parts: tables({title: _grid(*parts)}),
            )
        faults = [each for each in remedies(self.summary) if each not in text]
        return "\n".join([text, *(f"> {each}\n" for each in faults)])


def read_template(path: Path, is_page: bool = False) -> Template:
    """Return the template in a file. **Arguments:** `path`; `is_page`: escape what it is given, for HTML."""
    environment = Environment(
        loader=FileSystemLoader(path.parent),
        undefined=StrictUndefined,
        autoescape=is_page,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"digits": digits, "share": share, "label": label}
    return environment.get_template(path.name)


def _as_text(tables: Mapping[str, pd.DataFrame]) -> str:
    texts = (f"{title}:\n\n{indent(frame.to_string(index=False), '  ')}\n" for title, frame in tables.items())
    return "\n".join(texts)


def _as_html(tables: Mapping[str, pd.DataFrame]) -> Markup:
    shown = "".join(
        f"<div><h3>{escape(title[:1].upper() + title[1:])}</h3>{frame.to_html(index=False, border=0)}</div>"
        for title, frame in tables.items()
    )
    return Markup(f'<div class="tables">{shown}</div>\n')


def tables_of(summary: Mapping[str, Any], title: str = "numbers") -> dict[str, pd.DataFrame]:
    """Return every number of a summary in tables of texts, by title.

    A mapping of single numbers is one table, and so is one of like mappings, or a list of rows.
    """
    single = {k: v for k, v in summary.items() if _is_cell(v)}
    tables = {title: _frame([{"": label(k), "value": v} for k, v in single.items()])} if single else {}
    for key, value in summary.items():
        path = label(key) if title in ("numbers", "this run") else f"{title}: {label(key)}"
        if key in single or not value:
            continue
        rows = list(value.values()) if isinstance(value, Mapping) else value
        names = list(value) if isinstance(value, Mapping) else range(1, len(value) + 1)
        if not isinstance(value, Mapping) or _are_alike(rows):
            tables[path] = _frame([{"": label(n), **cells} for n, cells in zip(names, _cells(rows), strict=True)])
        else:
            tables |= tables_of(value, path)
    return tables


def _frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    names = list(dict.fromkeys(name for row in rows for name in row))
    texts = [
        [format_value(row.get(k, ""), unit_of(row.get("unit", ""), k, row[names[0]])) for k in names]
        for row in rows
    ]
    frame = pd.DataFrame(texts, columns=[label(name) for name in names])
    if len(names) <= max(WIDEST if len(rows) > 1 else 2, 2 * len(rows)):
        return frame
    return frame.set_index("").T.rename_axis(None, axis=1).rename_axis("").reset_index()


def _grid(rows: Sequence[Any], columns: Sequence[Any], values: Sequence[Sequence[float]]) -> pd.DataFrame:
    return pd.DataFrame(
        [[format_value(row), *map(format_value, line)] for row, line in zip(rows, values, strict=True)],
        columns=["", *map(format_value, columns)],
    )


def _cells(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """The cells of rows. A mapping within them is a group of columns, if it has the same keys in all of them."""
    made = [
        row if isinstance(row, Mapping) else dict(enumerate(row, 1)) if _is_list(row) else {"value": row}
        for row in rows
    ]
    for key in [key for key, value in made[0].items() if isinstance(value, Mapping)]:
        if len({tuple(row[key]) if isinstance(row.get(key), Mapping) else () for row in made}) == 1:
            made = [
                {k: v for k, v in row.items() if k != key}
                | {f"{label(key)}: {label(k)}": v for k, v in row[key].items()}
                for row in made
            ]
    return [_join_ends(row) for row in made]


def _join_ends(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with one cell for both ends of an interval: `lo95` and `hi95` are "95 %"."""
    joined, unit = {}, unit_of(row.get("unit", ""))
    for key, value in row.items():
        end, percent = str(key)[:2], str(key)[2:]
        if end == "lo" and f"hi{percent}" in row:
            ends = value, row[f"hi{percent}"]
            joined[f"{percent} %"] = None if None in ends else " to ".join(format_value(x, unit) for x in ends)
        elif not (end == "hi" and f"lo{percent}" in row):
            joined[key] = value
    return joined


def label(key: Any) -> str:
    """Return a key of a summary as a heading: words, and the unit after a comma."""
    text = str(key)
    for ending, unit in UNITS.items():
        if text.endswith(ending) and len(text) > len(ending):
            return f"{text.removesuffix(ending).replace('_', ' ')}, {unit}"
    return text.replace("_", " ")


def unit_of(*headings: Any) -> str:
    """Return the unit that one of the headings is or ends with, after a comma, if numbers in it have a `RESOLUTION`."""
    found = (label(heading).rpartition(", ")[2] for heading in headings)
    return next((unit for unit in found if unit in RESOLUTION), "")


def round_to_resolution(value: float, unit: str) -> float:
    """Return a number in a unit, and 0 where it is below the resolution."""
    return 0.0 if abs(value) < RESOLUTION.get(unit, 0.0) else value


def format_value(value: Any, unit: str = "") -> str:
    """Return the text of a cell: four digits of a number, yes or no, a dash for what is not known.

    Of numbers in a `unit` with a `RESOLUTION` those below it are 0.
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "; ".join(f"{label(k)}: {format_value(v, unit_of(k))}" for k, v in value.items())
    if isinstance(value, Sequence):
        if len(value) > LONGEST and all(isinstance(v, int | float) for v in value):
            return f"{len(value)} numbers, {format_value(min(value), unit)} to {format_value(max(value), unit)}"
        return ", ".join(format_value(v, unit) for v in value)
    return _number(round_to_resolution(value, unit))


def digits(value: float | Sequence[float] | None, count: int = 3) -> str:
    """Return a number in a sentence with so many digits, a dash for what is not known; two numbers are a range."""
    if _is_list(value):
        return " to ".join(digits(each, count) for each in value)
    return "–" if value is None else _number(float(f"{value:.{count}g}"))


def share(value: float | None) -> str:
    """Return a share in a sentence, in per cent."""
    return "–" if value is None else f"{100 * value:.3g} %"


def remedies(summary: Any) -> list[str]:
    """Return the event and the remedy for each status that a summary names, anywhere, and that is a fault."""
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
    return not _is_list(value) or not any(isinstance(v, Mapping) or _is_list(v) for v in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _are_alike(rows: Sequence[Any]) -> bool:
    """Whether all are mappings that have most of their keys in common, and no tables in them."""
    if not all(isinstance(row, Mapping) for row in rows):
        return False
    if len(rows) == 1:
        return all(map(_is_cell, rows[0].values()))
    cells = _cells(rows)
    deep = [
        v
        for row in cells
        for value in row.values()
        for v in (value.values() if isinstance(value, Mapping) else [value])
    ]
    common, every = set.intersection(*map(set, cells)), set.union(*map(set, cells))
    return all(map(_is_cell, deep)) and 2 * len(common) > len(every)
