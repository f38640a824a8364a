"""What the reports of the columns say."""

from collections.abc import Mapping
from typing import Any

from experiments.report import Report, Table, digits, share

SMALL = "A column here is 4 to 9 grains in radius, in the experiments hundreds: only trends can be compared."


def collapse(found: Mapping[str, Any]) -> Report:
    """The report on run-out against aspect ratio."""
    keys = ("aspect", "run_out", "run_out_lube", "front_m", "top_m", "slope_deg", "beyond_front", "kinetic_left")
    name, finest = list(found.items())[-1]
    ratios = [row["run_out"] / row["run_out_lube"] for row in finest["columns"]]
    exponents = ", ".join(digits(e, 2) for e in finest["exponents"])
    return Report(
        question="Do columns of grains run out as those of experiments do (Lube et al. 2004)?",
        answer=[
            f"With {name} the run-out is {digits(min(ratios), 2)} to {digits(max(ratios), 2)} of the measured law.",
            f"It grows with the aspect ratio with exponents of {exponents}; the experiments have 1 for squat columns "
            "and 1/2 for tall ones.",
        ],
        concerns=[
            f"{name}, aspect {digits(row['aspect'])}: {share(row['kinetic_left'])} of the fall's energy is still "
            "kinetic at the end."
            for row in finest["columns"]
            if row["kinetic_left"] > 0.01
        ],
        tables=[
            Table(f"columns of {n}", [{k: row[k] for k in keys} for row in of["columns"]])
            for n, of in found.items()
        ],
        limits=[SMALL, "The floor is smooth: grains that roll on over it are beyond the front."],
        captions={
            "collapse": "One collapse in time; the heaps at the end for all aspect ratios; and the run-out against the "
            "aspect ratio, with the law of the experiments.",
        },
    )


def repose(found: Mapping[str, Any]) -> Report:
    """The report on slopes of heaps."""
    heaps = found["heaps"]
    keys = ("friction", "rolling", "slope_deg", "run_out", "top_over_radius", "kinetic_left")
    steepest = max(heaps, key=lambda row: row["slope_deg"])
    return Report(
        question="How steep are heaps of grains, by friction and by resistance to rolling?",
        answer=[
            f"The steepest heap has {digits(steepest['slope_deg'])}°, at friction {steepest['friction']:g} and rolling "
            f"{steepest['rolling']:g}.",
        ],
        tables=[Table("heaps", [{k: row[k] for k in keys} for row in heaps])],
        limits=[SMALL, "A heap that a column leaves is flatter than one that is poured."],
        captions={
            "repose": "Heaps at the end, in diameters of a grain; and the slope of the flank against friction, for each"
            " rolling resistance. Open symbols still flow at the end.",
        },
    )
