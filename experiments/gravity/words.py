"""What the report of a fast field says."""

from collections.abc import Mapping
from typing import Any

from experiments.report import Report, digits


def errors(found: Mapping[str, Any]) -> Report:
    """The report on the errors in three planes."""
    worst = found["greatest_error"]
    return Report(
        question="Where, and by how much, does the fast field of a body differ from its polyhedron?",
        answer=[
            f"By at most {digits(worst['acceleration'], 2)} of the acceleration and {digits(worst['potential'], 2)} "
            "of the potential in the three planes.",
        ],
        limits=[
            "The planes go through the centroid: the largest error may lie elsewhere.",
            "The polyhedron is uniform; the error of that assumption is not in these numbers.",
        ],
        assumed=[
            f"The mesh is in {found['unit']} (--unit). Its GM is {digits(found['GM_m3_s2'], 4)} m³/s² (--GM), on which "
            "relative errors of a uniform body do not depend.",
        ],
    )
