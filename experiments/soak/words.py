"""The text of the report of a random search, and of its page."""

from collections.abc import Mapping
from typing import Any

from experiments.report import Report, Table, shown
from experiments.validation.pages import paragraph, table

HEAD = (
    "<!-- Made by `difsim soak --stage page --out docs`; edit experiments/soak/ instead. -->\n\n# Random search\n"
)
CHECKS = {
    "finite": "all saved states and energies",
    "energy": "the drift of its sum, counted from its parts, is within the allowed share; no loss gives energy back",
    "momentum": "momentum and angular momentum stay to 1e-6 where nothing changes them",
    "bits": "two runs give the same",
    "tighter": "the end differs from that with a hundredth of the tolerance by at most 10 `Validity.error`",
    "derivative": "along one random way in all numbers of the scene, the forward derivative differs from central "
    "differences (after Richardson, of runs at 1e-12) by at most 10 `Validity.error` (two stones 1e-3, particles 1e-5)",
    "reverse": "it agrees with the forward derivative: to 1e-7 through equal steps, to 1e-4 through adaptive ones",
}


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


def page(found: Mapping[str, Any]) -> str:
    """The page soak.md of the documentation, from the summary of a search."""
    errors = ("energy", "tighter", "derivative", "reverse")
    rows = [
        (
            each["model"],
            each["scenes"],
            each["OK"],
            ", ".join(f"{name} {count}" for name, count in each["other statuses"].items()),
            *(digits(each[f"worst {check}"]) for check in errors),
            f"{each['derivatives compared']} ({each['no reference']})",
            each["failures"],
        )
        for each in found["table"]
        if each["scenes"]
    ]
    head = (
        "model",
        "scenes",
        "OK",
        "other statuses",
        "energy",
        "tighter",
        "derivative",
        "reverse",
        "compared",
        "failed",
    )
    return "\n".join(
        [
            HEAD,
            paragraph(
                "`difsim soak --hours N` draws random scenes over all models and laws, and checks each of them. A "
                "scene that fails is written as a file, and `difsim soak --repeat FILE` runs it alone."
            ),
            table(("check", "of scenes with the status OK"), CHECKS.items()),
            paragraph(
                f"{found['scenes']} scenes were drawn on {found['created'][:10]} with seed {found['seed']} and difsim "
                f"{found['version']} ({found['machine']}), of {len(rows)} of the {len(found['table'])} kinds: "
                f"{found['OK']} ended with the status OK, and {found['failures']} failed a check. Errors in the table "
                "are the worst, relative. Compared are the derivatives of every fourth scene (in brackets: where no "
                "differences agreed with each other, which is no failure)."
            ),
            table(head, rows),
        ]
    )


def digits(value: float | None) -> str:
    """Two digits of an error; nothing of what was not measured."""
    return "" if value is None else f"{value:.1e}"
