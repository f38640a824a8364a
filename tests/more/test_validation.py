"""The validation: verdicts of single cases, the order of a convergence, pages without a number that was typed."""

import json

import numpy as np
import pytest

from experiments.validation import pages, papers
from experiments.validation.cases import Case, Convergence
from experiments.validation.run import judge


def test_a_case_passes_within_its_tolerance_and_never_for_nan():
    assert Case("s", "c", 2.0, 2.1, 0.1 + 1e-12).passes
    assert not Case("s", "c", 2.0, 2.1, 0.049, relative=True).passes
    assert not Case("s", "c", 2.0, float("nan"), 1e9).passes


def test_a_convergence_finds_its_order_and_uncertainty():
    case = Convergence("s", "c", (1.16, 1.04, 1.01), 1.0, 2.0)  # 1 + h², h = 0.4, 0.2, 0.1
    assert case.observed_order == pytest.approx(2.0) and case.uncertainty == pytest.approx(1.25 * 0.03 / 3)
    assert case.row()["verdict"] == "pass"
    assert Convergence("s", "c", (1.16, 1.04, 1.01), 1.5, 2.0).row()["verdict"] == "FAIL"


def test_the_page_shows_what_the_summary_says(tmp_path):
    folder = tmp_path / "validation" / "analytic"
    folder.mkdir(parents=True)
    with pytest.raises(ValueError, match="run `difsim validation` first"):
        pages.validation(tmp_path)
    rows = [
        Case("Gravity", "a | b", 2.0, np.float64(2.5), 0.1),
        Convergence("Gravity", "sphere", (1.16, 1.04, 1.01), 1.0, 2.0),
    ]
    about = {"quick": False, "version": "1.2.3", "machine": "mine"}
    (folder / "summary.json").write_text(json.dumps(judge(rows) | about))
    page = pages.validation(tmp_path)
    assert "1 of 2 cases pass" in page and "| a \\| b | FAIL | 2 | 2.5 | 1 | 0.5 | 0.1 |" in page
    assert "difsim 1.2.3 (mine)" in page and "| sphere | pass | 1.16 | 1.04 | 1.01 | 1 | 2.000 | 2 |" in page


def test_the_papers_page_keeps_what_has_no_new_result(tmp_path):
    first = papers.papers(tmp_path)
    part = "Our\nnumbers of last year.\n"
    page = first.replace("No result is at hand: run `difsim cliff --stage paper`", part + "made by `difsim cliff`")
    assert part in page and papers.papers(tmp_path, page) == page
