"""The text of the report of a random search, and of its page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.report import Report, Table, shown
from experiments.validation.pages import paragraph, table

HEAD = (
    "<!-- Made by `difsim soak --stage page --out docs`; edit experiments/soak/ instead. -->\n\n# Random search\n"
)
CHECKS = {
    "finite": "all saved states and energies are finite",
    "energy": "the drift of the energy balance, recomputed from its parts, is within the allowed share of the energy; "
    "no contact gives back energy that was dissipated",
    "momentum": "momentum and angular momentum are constant to 1e-6 where they are conserved",
    "bits": "two runs give identical bits",
    "tighter": "the final state differs from that of a run with 0.01 of the tolerance by at most 10 `Validity.error`",
    "derivative": "the forward derivative along one random direction in the space of all numbers of the scene differs "
    "from central differences (Richardson extrapolation of runs at a tolerance of 1e-12) by at most "
    "10 `Validity.error`; for two stones by at most 1e-3, for particles by at most 1e-5",
    "exact": "quantities that are known in closed form are met to the tolerance of the validation",
    "slope": "their forward derivatives agree with those of the closed forms",
    "reverse": "the reverse derivative agrees with the forward one: to 1e-7 with equal steps, to 1e-4 with adaptive "
    "steps",
}


def search(found: Mapping[str, Any]) -> Report:
    """Return the report of a search."""
    failed = [each for each in found["table"] if each["failures"]]
    return Report(
        question="Does any random scene end with the status OK and a wrong result?",
        answer=[
            f"Of {found['scenes']} random scenes {found['OK']} ended with the status OK, and {found['failures']} "
            "failed a check.",
        ],
        concerns=[
            f"{each['model']}: {each['failures']} of {each['scenes']} scenes failed ({shown(each['failed checks'])}); "
            "their files are in failures/."
            for each in failed
        ],
        tables=[
            Table("models", found["table"], "The errors are relative, and only scenes with the status OK count.")
        ],
        limits=[
            "A random search finds common faults. It proves nothing about scenes that it did not draw.",
            "Derivatives are checked in every fourth scene, along one random direction in the space of all its "
            "numbers, and only if finite differences of two steps agree with each other.",
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
                "scene is one model with random parameters and a random start. Some of its numbers are at the ends of "
                "their ranges, such as a friction of 0 or a restitution of 1. A scene that fails a check is written "
                "to a file, and `difsim soak --repeat FILE` runs it alone."
            ),
            table(("check", "requirement for a scene with the status OK"), CHECKS.items()),
            paragraph(
                f"Of {found['scenes']} scenes {found['OK']} ended with the status OK, and {found['failures']} failed a "
                f"check. They were drawn on {found['created'][:10]} with seed {found['seed']} and difsim "
                f"{found['version']} ({found['machine']}). They cover {len(rows)} of the {len(found['table'])} scenes "
                "of the list. The columns energy to reverse show the largest relative error. Derivatives are compared "
                "in every fourth draw. The number in brackets counts draws without a reference, in which the finite "
                "differences did not agree with each other; these are no failures. Faults that a search found and that "
                "are not mended are among the [known issues](known-issues.md#stepping-and-derivatives)."
            ),
            table(head, rows),
            (Path(__file__).parent / "inputs.md").read_text(),
        ]
    )


def digits(value: float | None) -> str:
    """Two digits of an error, or an empty text if it was not measured."""
    return "" if value is None else f"{value:.1e}"
