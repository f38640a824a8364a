"""The page `validation.md` of the documentation, from the summary of the cases: no number is typed."""

import json
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from experiments.report import read_template


def paragraph(text: str) -> str:
    """Return running text in lines of at most 118 characters."""
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False) + "\n"


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table in Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def validation(results: Path) -> str:
    """Return the page of all cases. **Raises:** ValueError where the cases have not been run."""
    path = results / "validation" / "analytic" / "summary.json"
    if not path.is_file():
        raise ValueError(f"{path} is not there: run `difsim validation` first")
    found = json.loads(path.read_text(encoding="utf-8"))
    if found["quick"]:
        raise ValueError(f"{path} is of a run with --quick: run `difsim validation` first")
    return read_template(Path(__file__).parent / "validation.md.j2").render(found)
