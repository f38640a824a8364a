"""The validation: verdicts of single cases, the order of a convergence, pages without a number that was typed."""

import json

from experiments.validation.run import Validation


def test_all_cases_pass(tmp_path):
    Validation(out=tmp_path).run()
    found = json.loads((tmp_path / "summary.json").read_text())
    assert found["failed"] == [] and found["cases"] > 60
