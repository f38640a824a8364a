"""What the reports of the columns say."""

from collections.abc import Mapping
from typing import Any

from experiments.report import Report, Table, digits, share

SMALL = (
    "A column here has a radius of 4 to 9 grains, in the experiments of hundreds of grains. So only trends can be "
    "compared."
)
COLLAPSE = {  # headings
    "aspect": "aspect ratio",
    "run_out": "run-out, initial radii",
    "run_out_lube": "measured law, initial radii",
    "front_m": "radius of the front, m",
    "top_m": "height of the top, m",
    "slope_deg": "slope of the flank, °",
    "beyond_front": "share of the volume beyond the front",
    "kinetic_left": "kinetic energy left, of the fall's energy",
}
REPOSE = {
    "friction": "friction coefficient",
    "rolling": "rolling coefficient C/R",
    "slope_deg": "slope of the flank, °",
    "run_out": "run-out, initial radii",
    "top_over_radius": "height of the top, initial radii",
    "kinetic_left": "kinetic energy left, of the fall's energy",
}


def collapse(found: Mapping[str, Any]) -> Report:
    """The report on run-out against aspect ratio."""
    name, finest = list(found.items())[-1]
    ratios = [row["run_out"] / row["run_out_lube"] for row in finest["columns"]]
    exponents = ", ".join(digits(e, 2) for e in finest["exponents"])
    return Report(
        question="Do simulated columns of grains run out as far as those of the experiments (Lube et al. 2004)?",
        answer=[
            f"With {name} the run-out is {digits(min(ratios), 2)} to {digits(max(ratios), 2)} times that of the "
            "measured law.",
            f"The run-out grows as a power of the aspect ratio. From each column to the next taller one the exponent "
            f"is: {exponents}. In the experiments it is 1 for squat columns and 0.5 for tall ones.",
        ],
        concerns=[
            f"{name}, aspect ratio {digits(row['aspect'])}: {share(row['kinetic_left'])} of the energy of the fall is "
            "still kinetic at the end."
            for row in finest["columns"]
            if row["kinetic_left"] > 0.01
        ],
        tables=[
            Table(f"columns of {n}", [{COLLAPSE[k]: row[k] for k in COLLAPSE} for row in of["columns"]])
            for n, of in found.items()
        ],
        limits=[SMALL, "The floor is smooth, so single grains roll on over it. These count as beyond the front."],
        captions={
            "collapse": "Cuts through one column at four times; the final heaps of all columns; and the run-out "
            "against the aspect ratio, with the law of the experiments.",
        },
    )


def repose(found: Mapping[str, Any]) -> Report:
    """The report on slopes of heaps."""
    heaps = found["heaps"]
    flattest, steepest = (find(heaps, key=lambda row: row["slope_deg"]) for find in (min, max))
    return Report(
        question="How does the slope of a heap of grains depend on friction and on rolling resistance?",
        answer=[
            f"The slopes are {digits(flattest['slope_deg'])}° to {digits(steepest['slope_deg'])}°. The steepest heap "
            f"has a friction coefficient of {steepest['friction']:g} and a rolling coefficient C/R of "
            f"{steepest['rolling']:g}.",
        ],
        tables=[Table("heaps", [{REPOSE[k]: row[k] for k in REPOSE} for row in heaps])],
        limits=[SMALL, "A heap that a column leaves is flatter than one that is poured."],
        captions={
            "repose": "Final heaps, in grain diameters; and the slope of the flank against the friction coefficient, "
            "for each rolling coefficient C/R. Heaps with open symbols still flow at the end.",
        },
    )
