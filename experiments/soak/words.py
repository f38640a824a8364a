"""What the report of a random search says."""

from collections.abc import Mapping
from typing import Any

from experiments.report import Report, Table, shown


def search(found: Mapping[str, Any]) -> Report:
    """The report on the scenes of all kinds."""
    failed = [each for each in found["table"] if each["failures"]]
    return Report(
        question="Does any random scene end with the status OK and a wrong result?",
        answer=[
            f"{found['scenes']} scenes were drawn, {found['OK']} of them ended with the status OK, and "
            f"{found['failures']} failed a check.",
        ],
        concerns=[
            f"{each['model']}: {each['failures']} of {each['scenes']} scenes failed ({shown(each['failed checks'])}); "
            "their files are in failures/."
            for each in failed
        ],
        tables=[Table("models", found["table"], "Errors are relative; of scenes with the status OK alone.")],
        limits=[
            "A random search finds what is common. It proves nothing about what it did not draw.",
            "Derivatives are compared along one random way in all numbers of every fourth scene, where differences "
            "agree with each other.",
        ],
    )
