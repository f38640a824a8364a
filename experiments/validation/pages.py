"""The page `validation.md` of the documentation, from the summary of the cases: no number is typed."""

import json
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# Cases of the list that take minutes, or that are bounds on many numbers: each has a test, and no number here.
ELSEWHERE = (
    (
        "Gravity",
        "fast field, ellipsoids and mascons, compared with the polyhedron",
        "`difsim gravity`, tests/more/test_gridded.py",
    ),
    (
        "Rigid body",
        "flight in the rotating and the inertial frame, forward and backward",
        "tests/core/test_flight.py",
    ),
    ("Friction", "slopes, rolling and spinning decay, cohesion", "tests/more/test_hopper_rolling.py"),
    (
        "Friction",
        "impacts of Chung & Ooi (2011)",
        "tests/more/test_chung_ooi.py, tests/full/test_chung_ooi_grains.py",
    ),
    ("Friction", "plane, table and mesh give the same rebound", "tests/full/test_hopper.py"),
    (
        "Grains",
        "energy, momentum, order of the integrator, Haff's law",
        "tests/core/test_grains.py, tests/full/test_haff.py",
    ),
    (
        "Soil",
        "waves, plates, columns, rotating bodies",
        "tests/core/test_sph_elements.py, tests/full/test_sph_plate.py",
    ),
    ("Derivatives", "steps per contact and the error of the gradient", "`difsim benchmark gradients`"),
)
SYMBOLS = (
    (
        "Gravity",
        "U is the gravity potential at the given point (in m) and g its gradient; G is the gravitational constant and "
        "ρ the density; the cube has edges of 2 m, the ellipsoid semi-axes of 3, 2 and 1 m",
    ),
    ("Rigid body", "L is the angular momentum; spins are in rad/s"),
    (
        "Normal contact",
        "e is the coefficient of restitution; ratio is the damping ratio ζ; asked is the e that a damper gives where "
        "its force is not clipped",
    ),
    ("Friction", "v is the speed along the ground, μ the coefficient of friction"),
    ("Soil", "d is the number of dimensions, J₂ the second invariant of the deviatoric stress"),
    (
        "Derivatives",
        "∂/∂ means the derivative by a number of the scene; bounces: a ball falls from a height, and its height after "
        "a time is found; two balls: places and velocities are those at the start",
    ),
)
HEAD = "<!-- Made by `difsim validation --stage pages --out docs`; edit experiments/validation/ instead. -->\n\n"


def number(x: Any) -> str:
    """A number with as many digits as a reader needs."""
    return str(x) if not isinstance(x, float) else f"{x:.10g}" if abs(x) >= 1e-3 else f"{x:.2g}"


def paragraph(text: str) -> str:
    """Running text in lines of at most 118 characters."""
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False) + "\n"


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table in Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *[[number(x) for x in row] for row in rows]]
    return "\n".join("| " + " | ".join(str(x).replace("|", "\\|") for x in line) + " |" for line in lines) + "\n"


def validation(results: Path) -> str:
    """The page of all cases. **Raises:** `ValueError` where the cases have not been run."""
    path = results / "validation" / "analytic" / "summary.json"
    if not path.is_file():
        raise ValueError(f"{path} is not there: run `difsim validation` first")
    found = json.loads(path.read_text(encoding="utf-8"))
    if found["quick"]:
        raise ValueError(f"{path} is of a run with --quick: run `difsim validation` first")
    text = [
        HEAD + "# Validation\n",
        paragraph(
            f"{found['passed']} of {found['cases']} cases pass. `difsim validation` ran them on {found['date']} with "
            f"difsim {found['version']} ({found['machine']}). Tolerances were fixed before the run. A case that fails "
            "stays in the table."
        ),
        paragraph(
            "The expected numbers follow from closed forms. A unit of 1 means a number without a unit. An error is "
            "relative if its tolerance is; otherwise it has the unit of its row. The [glossary](glossary.md) defines "
            "the terms."
        ),
        table(("subject", "symbols and bodies"), SYMBOLS),
    ]
    plain = [row for row in found["table"] if "tolerance" in row]
    for subject in dict.fromkeys(row["subject"] for row in plain):
        text.append(f"## {subject}\n")
        rows = [row for row in plain if row["subject"] == subject]
        columns = ("case", "verdict", "expected", "ours", "unit", "error", "tolerance")
        text.append(
            table(
                columns,
                [
                    (
                        row["case"],
                        row["verdict"],
                        row["expected"],
                        row["ours"],
                        row["unit"],
                        f"{row['error']:.2g}",
                        f"{row['tolerance']:g}{' relative' if row['relative'] else ''}",
                    )
                    for row in rows
                ],
            )
        )
    text.append("## Convergence\n")
    text.append(
        paragraph(
            "Each case has three resolutions, each twice as fine as the one before. U is in Gρ m² and g in Gρ m. "
            "As in ASME V&V 20, the numerical uncertainty is the grid convergence index of the finest resolution, with "
            "a factor of safety of 1.25. A case passes if its error is within that uncertainty and its order of "
            "convergence is within 0.2 of the expected one."
        )
    )
    text.append(
        table(
            (
                "case",
                "verdict",
                "coarse",
                "middle",
                "fine",
                "exact",
                "order",
                "expected order",
                "error",
                "uncertainty",
            ),
            [
                (
                    row["case"],
                    row["verdict"],
                    *(f"{value:.7g}" for value in (*row["values"], row["exact"])),
                    f"{row['observed_order']:.3f}",
                    f"{row['expected_order']:g}",
                    f"{row['error']:.2g}",
                    f"{row['uncertainty']:.2g}",
                )
                for row in found["table"]
                if "values" in row
            ],
        )
    )
    text.append("## Cases that only tests cover\n")
    text.append(
        "These cases take minutes, or they check many numbers against one bound. `make test-full` runs them.\n"
    )
    text.append(table(("subject", "cases", "where"), ELSEWHERE))
    return "\n".join(text)
