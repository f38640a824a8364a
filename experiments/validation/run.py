"""`difsim validation`: the cases with a known answer, each with ours, its tolerance and a verdict."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from difsim.saving.atomic import write_atomically
from experiments.harness import Found, Study
from experiments.validation import gravity, pages, papers, scenes, soil
from experiments.validation.cases import Case, Cases, Convergence
from inversion.progress import show_progress

EVERY: tuple[Cases, ...] = (gravity.cases, scenes.cases, soil.cases)
QUICK: tuple[Cases, ...] = (partial(scenes.cases, scenes.DERIVATIVES),)


@dataclass
class Validation(Study):
    """Compare with closed forms and with published numbers, and write the pages of the documentation from it."""

    stage: Literal["analytic", "pages"] = "analytic"
    """"analytic": the cases in closed form; "pages": validation.md and papers.md, from the results of all studies. With
    --out docs the pages are written where they are; parts of papers.md without a result stay as they were."""
    results: Path = Path("results")
    """For the stage "pages": the folder into which the studies have written."""


def judge(rows: Sequence[Case | Convergence]) -> dict[str, Any]:
    """The summary: all cases, how many pass, and the date."""
    table = [case.row() for case in rows]
    failed = [row["case"] for row in table if row["verdict"] != "pass"]
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cases": len(table),
        "passed": len(table) - len(failed),
        "failed": failed,
        "table": table,
    }


def _analytic(options: Validation, out: Path) -> Found:
    chosen = QUICK if options.quick else EVERY
    rows = [case for make in show_progress(chosen, "validation") for case in make()]
    rows.sort(key=lambda case: case.subject)
    return Found(judge(rows))


def _pages(options: Validation, out: Path) -> Found:
    now = out / "papers.md"
    kept = now.read_text(encoding="utf-8") if now.is_file() else ""
    written = {"validation.md": pages.validation(options.results), now.name: papers.papers(options.results, kept)}
    for name, page in written.items():
        with write_atomically(out / name) as whole:
            whole.write_text(page, encoding="utf-8")
    return Found(text="\n".join(f"{out / name}" for name in written))


Validation.stages = {"analytic": _analytic, "pages": _pages}
