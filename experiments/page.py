"""A report as one page of HTML that needs nothing beside it: pictures are inside, and no script runs."""

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from matplotlib.figure import Figure

from experiments.report import ROUNDED, Report, Table, label, shown, tables_of, unit_of

PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
:root { --text: #1b1f24; --soft: #57606a; --back: #ffffff; --panel: #f4f6f8; --line: #d0d7de; --mark: #0b5cad;
  --doubt: #fff4d6; --doubt-line: #b7791f; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --soft: #9da7b3; --back: #12161c; --panel: #1b2129; --line: #3a434d; --mark: #79b8ff;
    --doubt: #33290f; --doubt-line: #d8a23a; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 0.25rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 0.6rem; padding-bottom: 0.25rem; border-bottom: 1px solid var(--line); }
p, li { max-width: 46rem; }
.under { color: var(--soft); margin: 0 0 1.5rem; }
.question { font-size: 1.1rem; }
.answer { border-left: 4px solid var(--mark); padding: 0.1rem 0 0.1rem 1rem; }
.answer p:first-child { font-weight: 600; font-size: 1.1rem; }
.doubt { background: var(--doubt); border-left: 4px solid var(--doubt-line); padding: 0.6rem 1rem; margin: 1rem 0; }
.doubt p, .doubt ul { margin: 0.2rem 0; }
.tables { display: flex; flex-wrap: wrap; gap: 0 2.5rem; align-items: flex-start; }
.table { overflow-x: auto; max-width: 100%; margin: 0.8rem 0 1.4rem; }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 0.2rem 0 0.4rem; }
th, td { padding: 0.3rem 0.8rem; border-bottom: 1px solid var(--line); vertical-align: top; text-align: left; }
th:first-child, td:first-child { padding-left: 0.3rem; }
thead th { border-bottom: 2px solid var(--line); background: var(--panel); }
tbody th { font-weight: 500; }
td.number { white-space: nowrap; }
.note { color: var(--soft); font-size: 0.9rem; margin-top: 0.3rem; }
figure { margin: 1.2rem 0 1.8rem; }
figure img { max-width: 100%; height: auto; display: block; background: #ffffff; padding: 0.5rem;
  border: 1px solid var(--line); border-radius: 4px; }
figcaption { color: var(--soft); font-size: 0.92rem; margin-top: 0.4rem; max-width: 46rem; }
code { font: 0.92em/1.5 ui-monospace, "DejaVu Sans Mono", "Liberation Mono", Menlo, monospace;
  overflow-wrap: anywhere; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 4px; padding: 0.7rem 0.9rem;
  overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
td code { font-size: 0.85em; }
summary { cursor: pointer; font-weight: 600; padding: 0.3rem 0; }
a { color: var(--mark); }
:focus-visible { outline: 2px solid var(--mark); outline-offset: 2px; }
@media (max-width: 40rem) { main { padding: 1rem 0.9rem 3rem; } h1 { font-size: 1.35rem; }
  table { font-size: 0.85rem; } th, td { padding: 0.3rem 0.5rem; } ul { padding-left: 1.3rem; } }
@media print {
  :root { --text: #000000; --soft: #333333; --back: #ffffff; --panel: #ffffff; --mark: #000000; --doubt: #ffffff; }
  main { max-width: none; padding: 0; } figure, tr { break-inside: avoid; } h2 { break-after: avoid; }
  .table { overflow-x: visible; } table { font-size: 0.8rem; } details:not([open]) { display: none; }
}
</style>
</head>
<body>
<main>
$body
</main>
</body>
</html>
""")


def page(
    title: str,
    lead: str,
    report: Report,
    summary: Mapping[str, Any],
    about: Mapping[str, Any],
    pictures: Mapping[str, tuple[Path, str]],
    files: Iterable[Path],
) -> str:
    """The report of one stage as HTML.

    **Arguments:** `title`; `lead`, a sentence below it; `report`, whose missing parts are filled from the `summary`;
    `about`, the provenance; `pictures`, PNG files with their captions by name; `files` that the run wrote.
    **Returns:** the text of the page.
    """
    parts = [f"<h1>{_text(title)}</h1>", f"<p>{_text(lead)}</p>", _under(about)]
    if about.get("quick"):
        parts.append(_doubt("A smoke test", ["This run had --quick: do not quote its numbers."]))
    if report.question:
        parts.append(f'<h2>Question</h2>\n<p class="question">{_text(report.question)}</p>')
    if report.answer:
        paragraphs = "\n".join(f"<p>{_text(each)}</p>" for each in report.answer)
        parts.append(f'<h2>Answer</h2>\n<div class="answer">\n{paragraphs}\n</div>')
    if report.concerns:
        parts.append(_doubt("Look twice", report.concerns))
    everything = tables_of(summary)
    chosen = list(report.tables) or everything
    if chosen:
        parts += ["<h2>Results</h2>", _tables(chosen), f'<p class="note">{_text(ROUNDED)}</p>']
    if pictures:
        shown_as = [(path, report.captions.get(name, caption)) for name, (path, caption) in pictures.items()]
        parts += ["<h2>Pictures</h2>", *(_picture(*each) for each in shown_as)]
    if report.assumed:
        parts += ["<h2>Assumed, because it was not given</h2>", _list(report.assumed)]
    if report.limits:
        parts += ["<h2>What this does not say</h2>", _list(report.limits)]
    parts += ["<h2>How it was made</h2>", *_provenance(about, files)]
    if report.tables and everything:
        parts.append(
            f"<details>\n<summary>All numbers of the summary</summary>\n{_tables(everything)}\n</details>"
        )
    return PAGE.substitute(title=html.escape(title), body="\n".join(parts))


def caption_of(figure: Figure) -> str:
    """What a picture shows, from its titles and the labels of its axes, where nobody has written a caption."""
    heading = figure.get_suptitle()
    panels = []
    for axes in figure.axes:
        title = axes.get_title(loc="left") or axes.get_title()
        plotted = (
            f"{axes.get_ylabel()} against {axes.get_xlabel()}" if axes.get_ylabel() and axes.get_xlabel() else ""
        )
        panels.append(": ".join(filter(None, (title, plotted))))
    return ". ".join(dict.fromkeys(filter(None, (heading, *panels)))).replace("\n", " ").replace(r"\$", "$")


def _under(about: Mapping[str, Any]) -> str:
    told = [str(about.get("created", "")).replace("T", " ").replace("+00:00", " UTC")]
    told += [f"difsim {about['version']}"] if "version" in about else []
    told += [f"{about['wall_seconds']:.0f} s"] if "wall_seconds" in about else []
    return f'<p class="under">{_text(" · ".join(filter(None, told)))}</p>'


def _doubt(heading: str, lines: Sequence[str]) -> str:
    return f'<div class="doubt" role="note">\n<p><strong>{_text(heading)}</strong></p>\n{_list(lines)}\n</div>'


def _list(lines: Iterable[str]) -> str:
    items = "\n".join(f"<li>{_text(line)}</li>" for line in lines)
    return f"<ul>\n{items}\n</ul>"


def _tables(tables: Iterable[Table]) -> str:
    return '<div class="tables">\n' + "\n".join(map(_table, tables)) + "\n</div>"


def _table(table: Table) -> str:
    """Its columns are the keys of all rows, in order of appearance."""
    columns = list(dict.fromkeys(key for row in table.rows for key in row))
    head = "".join(f'<th scope="col">{_text(label(name))}</th>' for name in columns)
    body = "\n".join(f"<tr>{_cells(columns, row)}</tr>" for row in table.rows)
    note = f'\n<p class="note">{_text(table.note)}</p>' if table.note else ""
    caption = _text(table.title[:1].upper() + table.title[1:])
    return (
        f'<div class="table" role="region" tabindex="0" aria-label="{caption}">\n<table>\n'
        f"<caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>{note}\n</div>"
    )


def _cells(columns: Sequence[str], row: Mapping[str, Any]) -> str:
    cells = []
    for i, name in enumerate(columns):
        value = row.get(name, "")
        text = _text(shown(value, unit_of(row.get("unit", ""), name, row.get(columns[0], ""))))
        if i == 0:
            cells.append(f'<th scope="row">{text}</th>')
        else:
            kind = ' class="number"' if isinstance(value, int | float) and not isinstance(value, bool) else ""
            cells.append(f"<td{kind}>{text}</td>")
    return "".join(cells)


def _picture(path: Path, caption: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    text = _text(caption)
    image = f'<img alt="{text}" src="data:image/png;base64,{data}">'
    return f"<figure>\n{image}\n<figcaption>{text}</figcaption>\n</figure>"


def _provenance(about: Mapping[str, Any], files: Iterable[Path]) -> list[str]:
    """Command, versions, seed, options; the files that were read and written, by hash."""
    parts = [f"<pre><code>{html.escape(about['command'])}</code></pre>"] if "command" in about else []
    apart = ("command", "options", "inputs", "libraries")
    rows = [{"": label(k), "value": v} for k, v in about.items() if k not in apart]
    if "libraries" in about:
        rows.append({"": "libraries", "value": ", ".join(f"{k} {v}" for k, v in about["libraries"].items())})
    parts.append(_table(Table("this run", rows)))
    if options := about.get("options"):
        parts.append(_table(Table("options", [{"": k, "value": v} for k, v in options.items()])))
    read = [{"": k, "SHA-256": v} for k, v in about.get("inputs", {}).items()]
    if read:
        parts.append(_table(Table("files that were read", read)))
    written = [{"": path.name, "SHA-256": hashlib.sha256(path.read_bytes()).hexdigest()} for path in files]
    if written:
        parts.append(_table(Table("files beside this one", written)))
    return parts


def _text(text: Any) -> str:
    """Escaped, with powers of ten as such."""
    return re.sub(r"10\^(−?\d+)", r"10<sup>\1</sup>", html.escape(str(text)))
