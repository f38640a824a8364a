"""The pages `validation.md` and `papers.md` of the documentation, from the studies' summaries: no number is typed."""

import json
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cobbles import paper as cobbles_paper

# Cases of the list that take minutes, or that are bounds on many numbers: each has a test, and no number here.
ELSEWHERE = (
    (
        "Gravity",
        "fast field, ellipsoids and mascons against the polyhedron",
        "`difsim gravity`, tests/test_gridded.py",
    ),
    ("Rigid body", "flight in the rotating and the inertial frame, forward and backward", "tests/test_flight.py"),
    ("Friction", "slopes, rolling and spinning decay, cohesion", "tests/test_hopper_rolling.py"),
    ("Friction", "impacts of Chung & Ooi (2011)", "tests/test_chung_ooi.py, tests/test_chung_ooi_grains.py"),
    ("Friction", "plane, table and mesh give one rebound", "tests/test_hopper.py"),
    (
        "Grains",
        "energy, momentum, order of the integrator, Haff's law",
        "tests/test_grains.py, tests/test_haff.py",
    ),
    ("Soil", "waves, plates, columns, turning bodies", "tests/test_sph_elements.py, tests/test_sph_plate.py"),
    ("Derivatives", "steps per contact and the error of the gradient", "`difsim benchmark gradients`"),
)
HEAD = "<!-- Made by `difsim validation --stage pages`; edit experiments/validation/pages.py instead. -->\n\n"


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
            f"{found['passed']} of {found['cases']} cases pass. They were run on {found['date']} with difsim "
            f"{found['version']} ({found['machine']}) by `difsim validation`. Tolerances were fixed before the run. "
            "A case that fails stays in the table."
        ),
    ]
    plain = [row for row in found["table"] if "tolerance" in row]
    for subject in dict.fromkeys(row["subject"] for row in plain):
        text.append(f"## {subject}\n")
        rows = [row for row in plain if row["subject"] == subject]
        columns = ("case", "basis", "number to hit", "ours", "unit", "error", "tolerance", "verdict")
        text.append(
            table(
                columns,
                [
                    (
                        row["case"],
                        row["basis"],
                        row["expected"],
                        row["ours"],
                        row["unit"],
                        row["error"],
                        f"{row['tolerance']:g}{' relative' if row['relative'] else ''}",
                        row["verdict"],
                    )
                    for row in rows
                ],
            )
        )
    text.append("## Convergence\n")
    text.append(
        paragraph(
            "These cases have three resolutions, each twice as fine as the one before. As in ASME V&V 20, the "
            "numerical uncertainty is the grid convergence index of the finest one, with a factor of safety of 1.25. "
            "A case passes where the exact value lies within that uncertainty, and the order is within 0.2 of the "
            "expected one."
        )
    )
    text.append(
        table(
            (
                "case",
                "coarse",
                "middle",
                "fine",
                "exact",
                "order",
                "expected order",
                "error",
                "uncertainty",
                "verdict",
            ),
            [
                (
                    row["case"],
                    *row["values"],
                    row["exact"],
                    f"{row['observed_order']:.3f}",
                    f"{row['expected_order']:g}",
                    row["error"],
                    row["uncertainty"],
                    row["verdict"],
                )
                for row in found["table"]
                if "values" in row
            ],
        )
    )
    text.append("## Cases that only tests hold\n")
    text.append("These take minutes, or are bounds on many numbers. `make test-full` runs them.\n")
    text.append(table(("subject", "cases", "where"), ELSEWHERE))
    return "\n".join(text)


def papers(results: Path) -> str:
    """The page of the four papers, as far as there are results of the studies."""
    text = [
        HEAD + "# The papers\n",
        paragraph(
            "This page sets the numbers of the four papers beside those of the studies. Each section names the command "
            "whose result it shows. A difference is not hidden: the study's page says why it is there."
        ),
    ]
    for title, command, place, rows, study in SECTIONS:
        text.append(f"## {title}\n")
        path = results / place / "summary.json"
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        if found is None or found["quick"]:
            text.append(
                f"No result is at hand: run `{command}`. ([The study](../experiments/{study}/README.md).)\n"
            )
            continue
        text.append(f"`{command}`, {found['created'][:10]}. ([The study](../experiments/{study}/README.md).)\n")
        text.append(table(("", "paper", "ours", "tolerance", "verdict"), rows(found)))
    return "\n".join(text)


def _compared(name: str, theirs: float, ours: float, tolerance: float | None = None) -> tuple:
    if tolerance is None:
        return name, theirs, f"{ours:.4g}", "none fixed", "reported"
    return name, theirs, f"{ours:.4g}", tolerance, "pass" if abs(ours - theirs) <= tolerance else "FAIL"


def _cells(work: str, theirs: np.ndarray, ours: list, tolerance: float | None) -> list[tuple]:
    """The rows of one of the paper's tables over restitution and inclination.

    At 15 degrees the paper's own shape dips: those cells are reported only.
    """
    return [
        _compared(
            f"{work}, e = {e}, α = {angle:g}°",
            float(theirs[i, j]),
            ours[i][j],
            None if angle == 15.0 else tolerance,
        )
        for i, e in enumerate(cobbles_paper.RESTITUTIONS)
        for j, angle in enumerate(cobbles_paper.INCLINATIONS)
    ]


def _table_5(found: dict) -> list[tuple]:
    """Energetic restitution of the cobbles."""
    return _cells("Table 5: CoR_E", cobbles_paper.ENERGY_RATIO, found["table"]["hard"]["energy_ratio"], 0.08)


def _table_6(found: dict) -> list[tuple]:
    """Ratio of normal speeds: the paper holds them within 6 % of the restitution that was put in."""
    ours = found["table"]["hard"]["normal_ratio"]
    return _cells("Table 6: ratio of normal speeds", cobbles_paper.NORMAL_RATIO, ours, None)


def _monte_carlo(found: dict) -> list[tuple]:
    """Tables 14 to 16: CoR_E from cameras, its scatter, and the share of fits that converge."""
    names = {"converged": "converged share", "energy_ratio": "mean CoR_E", "sigma": "σ of CoR_E"}
    return [
        _compared(f"scenario {which}, {pixel} px: {text}", row["paper"][name], row[name])
        for which, rows in found["monte_carlo"].items()
        for pixel, row in rows.items()
        for name, text in names.items()
    ]


def _cube(found: dict) -> list[tuple]:
    """What the figures of the hopper paper show, which prints no numbers."""
    rows = []
    for law in found["thrown"]:
        paths = {target: row["path_m"] for target, row in found["thrown"][law].items()}
        said = ", ".join(f"{target} {path:.3g} m" for target, path in paths.items())
        rows.append(
            (f"Fig. 8, {law}: Phobos has the shortest path", "holds", said, paths["phobos"] == min(paths.values()))
        )
        share = found["collision"][law]["share_lost_in_compression"]
        rows.append(
            (
                f"Fig. 10, {law}: energy is lost in compression",
                "only",
                f"{share:.3f} of it",
                share > 0.9 if law == "paper" else None,
            )
        )
        slips = found["sliding"][law]["slip_m_s_at_40_s"]
        falls = slips == sorted(slips, reverse=True)
        said = ", ".join(f"{slip:.2g}" for slip in slips) + " m/s"
        rows.append((f"Fig. 9, {law}: sliding is closer to zero as v* falls", "holds", said, falls))
    verdicts = {True: "pass", False: "FAIL", None: "reported"}  # None: another law than the paper's
    return [(name, theirs, ours, "trend", verdicts[holds]) for name, theirs, ours, holds in rows]


def _cliff(found: dict) -> list[tuple]:
    """The surface of the heap; the digitised area is 1.5 % larger than the block, so 2 mm is the resolution."""
    rows = [
        ("surface: rms difference, m", 0.0, f"{found['surface_rms_m']:.2g}", 2e-3,
         "pass" if found["surface_rms_m"] <= 2e-3 else "FAIL"),
        _compared("front, m", found["front_measured_m"], found["front_m"]),
    ]  # fmt: skip
    rows += [_compared(f"slope over {k}, °", theirs, ours) for k, (ours, theirs) in found["slopes_deg"].items()]
    ours, theirs = found["failure_slope_deg"]
    return [*rows, _compared("mean slope of the failure surface, °", theirs, ours)]


def _sampling(found: dict) -> list[tuple]:
    """The orderings of the collected soil."""
    return [
        (
            order,
            "holds",
            f"{row['cm2'][0]:.2f} and {row['cm2'][1]:.2f} cm²",
            "trend",
            "pass" if row["holds"] else "FAIL",
        )
        for order, row in found["orderings"].items()
    ]


def _agilkia(found: dict) -> list[tuple]:
    """The observables of the touchdown, within three standard deviations where they are fitted."""
    return [
        (f"{name}, {row['unit']}", f"{row['observed']:.4g}", f"{row['simulated']:.4g}", f"{3 * row['sigma']:.2g} (3 σ)",
         "reported" if not row["fitted"] else
         "pass" if abs(row["simulated"] - row["observed"]) <= 3 * row["sigma"] else "FAIL")
        for name, row in found["observables"].items()
        if row["observed"] is not None
    ]  # fmt: skip


Section = tuple[str, str, str, Callable[[dict], list[tuple]], str]
SECTIONS: tuple[Section, ...] = (
    (
        "Paper 000: Philae at Agilkia",
        "difsim agilkia --data paper --out results/agilkia-paper",
        "agilkia-paper",
        _agilkia,
        "agilkia",
    ),
    ("Paper 001: energies of two cobbles", "difsim cobbles", "cobbles/collision", _table_5, "cobbles"),
    ("Paper 001: normal speeds", "difsim cobbles", "cobbles/collision", _table_6, "cobbles"),
    ("Paper 001: estimation", "difsim cobbles --stage estimate", "cobbles/estimate", _monte_carlo, "cobbles"),
    ("Paper 002: a cliff", "difsim cliff --stage paper", "cliff/paper", _cliff, "cliff"),
    ("Paper 002: brushes", "difsim sampling", "sampling/cases", _sampling, "sampling"),
    ("Paper 003: a cube", "difsim hopper --stage cube", "hopper/cube", _cube, "hopper"),
)
