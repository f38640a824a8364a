"""What the reports of the brushes say."""

from collections.abc import Mapping
from typing import Any

from experiments.report import Report, Table, digits

MODEL = "The simulation is in the plane, with a spacing that is coarser than the paper's 1.2 mm unless it is asked for."


def cases(found: Mapping[str, Any]) -> Report:
    """The report on the runs of Table 1."""
    orders, runs = found["orderings"], found["runs"]
    kept = sum(row["holds"] for row in orders.values())
    columns = {
        "status": "status",
        "in the tray at the end, cm²": "tray_at_end_cm2",
        "first entry, s": "first_entry_s",
        "fullest, s": "fullest_s",
        "dust at the end, cm²": "dust_at_end_cm2",
        "fastest dust, m/s": "fastest_dust_m_per_s",
    }
    most = max(runs, key=lambda name: runs[name]["tray_at_end_cm2"])
    area = runs[most]["tray_at_end_cm2"]
    answer = [f"Most gets into the tray in {most}: {digits(area)} cm²." if area else "Nothing gets into the tray."]
    if orders:
        answer.append(f"{kept} of {len(orders)} orderings of the paper hold.")
    return Report(
        question="How much regolith do two brushes move into a tray, and what does it depend on?",
        answer=answer,
        concerns=[f"{name}: {row['status']}" for name, row in runs.items() if row["status"] != "OK"],
        tables=[
            Table("runs", [{"": name, **{c: row[k] for c, k in columns.items()}} for name, row in runs.items()]),
            Table(
                "orderings of the paper",
                [{"": k, "holds": row["holds"], "areas, cm²": row["cm2"]} for k, row in orders.items()],
            ),
        ],
        limits=[
            MODEL,
            "One run of a case is one arrangement of particles: areas of a few particles are chance.",
            "Tools are rigid, and the soil does not slip along them.",
        ],
    )


def _errors_from_zero(slope: Mapping[str, float]) -> float:
    """The size of a slope over its error; 0 for one without an error, since then no run has collected anything."""
    return abs(slope["cm2_per_spread"]) / slope["error_cm2"] if slope["error_cm2"] > 0 else 0.0


def sensitivity(found: Mapping[str, Any]) -> Report:
    """The report on the regression over pairs of runs."""
    slopes = found["slopes"]
    strongest = max(slopes, key=lambda k: _errors_from_zero(slopes[k]))
    row = slopes[strongest]
    return Report(
        question="Which inputs does the collected area depend on?",
        answer=[
            f"Most surely on {strongest}: {digits(row['spread'])} more of it changes the area by "
            f"{digits(row['cm2_per_spread'], 2)} ± {digits(row['error_cm2'], 2)} cm². The mean area is "
            f"{digits(found['mean_cm2'])} cm²."
            if row["error_cm2"] > 0
            else "On none of them here: no run has collected anything.",
            f"A single run scatters by {digits(found['scatter_of_a_run_cm2'], 2)} cm².",
        ],
        concerns=[f"{found['failed_pairs']} pairs failed and are left out."] if found["failed_pairs"] else [],
        tables=[
            Table(
                "change of the area by one spread of each input",
                [{"": k, **v, "errors from zero": digits(_errors_from_zero(v), 2)} for k, v in slopes.items()],
            )
        ],
        limits=[MODEL, "Slopes are linear over two spreads; a threshold between them does not show."],
    )
