"""What the report of the validation says."""

from collections.abc import Mapping
from typing import Any

from experiments.report import Report, Table


def analytic(found: Mapping[str, Any]) -> Report:
    """The report on the cases in closed form."""
    plain = [row for row in found["table"] if "tolerance" in row]
    columns = ("case", "expected", "ours", "unit", "error", "tolerance", "verdict")
    subjects = dict.fromkeys(row["subject"] for row in plain)
    return Report(
        question="Does difsim return the known answers of cases in closed form?",
        answer=[f"{found['passed']} of {found['cases']} cases are within their tolerance."],
        concerns=[f"{case} is outside its tolerance." for case in found["failed"]],
        tables=[
            Table(subject, [{k: row[k] for k in columns} for row in plain if row["subject"] == subject])
            for subject in subjects
        ],
        limits=["A closed form tests the code, not whether the model is right for a real ground."],
    )
