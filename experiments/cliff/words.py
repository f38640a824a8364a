"""What the reports of the cliff say: each function has the summary of a stage."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from experiments.posteriors import span, table
from experiments.report import Report, Table, digits, failures, grid, share

PLANE = "The simulation is in the plane, as the experiment with rods is; a cliff of soil is not."
ONE = "There is one experiment, whose surface is digitised to 2 mm."


def collapse(found: Mapping[str, Any]) -> Report:
    """The report on one collapse."""
    concerns = []
    if "few published numbers" in found["points"]:
        concerns.append(f"The comparison has {found['points']}.")
    if found["scattered"] > 0.01:
        concerns.append(f"{share(found['scattered'])} of the particles left the heap.")
    return Report(
        question="Does a block of soil in SPH collapse to the heap that was measured?",
        answer=[
            f"The surface is {digits(1e3 * found['surface_rms_m'], 2)} mm rms from the measured one, "
            f"{digits(1e3 * found['surface_worst_m'], 2)} mm at worst.",
            f"The front of the heap lies at {digits(found['front_m'])} m (measured: {found['front_measured_m']} m). "
            f"The failure surface has a mean slope of {digits(found['failure_slope_deg'][0])}° (measured: "
            f"{found['failure_slope_deg'][1]}°).",
        ],
        concerns=concerns,
        tables=[
            grid("slopes of the surface, degrees", "", ["here", "measured"], found["slopes_deg"]),
            Table(
                "numbers",
                [
                    {"": "height at the wall, m", "value": found["height_at_wall_m"]},
                    {"": "kinetic energy left, share of the fall's", "value": found["kinetic_left"]},
                    {"": "largest rise of energy, share of the fall's", "value": found["largest_rise_of_energy"]},
                    {"": "particles", "value": found["particles"]},
                    {"": "steps", "value": found["steps"]},
                ],
            ),
        ],
        limits=[ONE, PLANE, "Agreement of the final surface does not test the motion before it."],
    )


def compared(found: Mapping[str, Any]) -> Report:
    """The report on collapses at several spacings, or by several rules of the step."""
    names, last = list(found), list(found)[-1]
    columns = {
        "particles": "particles",
        "steps": "steps",
        "from the measured surface, rms m": "surface_rms_m",
        f"from {last}, rms m": "surface_rms_from_last_m",
        f"from {last}, worst m": "surface_worst_from_last_m",
        "front, m": "front_m",
    }
    return Report(
        question="Does the heap depend on the spacing of the particles, or on the rule of the step?",
        answer=[
            f"Between {names[-2]} and {last} the surface changes by "
            f"{digits(1e3 * found[names[-2]]['surface_rms_from_last_m'], 2)} mm rms.",
        ],
        tables=[Table("runs", [{"": n, **{c: found[n][k] for c, k in columns.items()}} for n in names])],
        limits=[ONE, "The last run is the reference of the others: its own error is not known."],
    )


def cohesive(found: Mapping[str, Any]) -> Report:
    """The report on blocks that stand."""
    cases = found["cases"]
    by_cohesion: dict[str, list] = {}  # from no corrections to all of them
    for name, row in cases.items():
        by_cohesion.setdefault(name.split(",")[0], []).append(row)
    columns = {
        "furthest moved, m": "furthest_moved_m",
        "fastest, m/s": "fastest_m_s",
        "clumped": "clumped",
        "torn off": "torn_off",
        "reached, s": "reached_s",
    }
    return Report(
        question="Do particles of a cohesive block clump or tear, and do corrections of the sums over pairs help?",
        answer=[
            f"At {cohesion} {share(rows[0]['clumped'])} of the particles clump without corrections, "
            f"{share(rows[-1]['clumped'])} with all of them. It moves by {digits(rows[0]['furthest_moved_m'], 2)} and "
            f"{digits(rows[-1]['furthest_moved_m'], 2)} m at most."
            for cohesion, rows in by_cohesion.items()
        ],
        tables=[Table("cases", [{"": n, **{c: row[k] for c, k in columns.items()}} for n, row in cases.items()])],
        limits=["There is no measurement of a cohesive block to compare with.", PLANE],
    )


def inverse(found: Mapping[str, Any]) -> Report:
    """The report on the soil from the heap."""
    rows, concerns, told = [], [], {}
    for name, fit in found["fits"].items():
        if fit["status"] not in ("GRADIENT", "MISFIT", "STEP"):
            concerns += failures({f"the fit {name!r}": fit["status"]})
        for unknown, row in fit.items():
            if isinstance(row, Mapping) and "interval_95" in row:
                low, high = row["interval_95"]
                said = f"{unknown} {digits(row['value'])} {row['unit']} ({digits(low)} to {digits(high)})"
                told.setdefault(name, []).append(said)
                rows.append(
                    {
                        "fit": name,
                        "unknown": f"{unknown}, {row['unit']}",
                        "value": row["value"],
                        "95 %": f"{digits(low)} to {digits(high)}",
                        "truth": row.get("truth"),
                        "verdict": row["verdict"],
                    }
                )
    correlated = [{"fit": n, **fit["correlations"]} for n, fit in found["fits"].items() if "correlations" in fit]
    posteriors = found.get("posteriors", {})
    for name, posterior in posteriors.items():
        if not posterior["posterior"]["is_good"]:
            concerns.append(f"The posterior {name!r} has no intervals: {posterior['posterior']['verdict']}.")
    return Report(
        question="Which properties of the soil does the surface of its heap determine?",
        answer=[
            *(
                f"{name}: {'; '.join(told[name])}. The fit {fit['verdict']}."
                for name, fit in found["fits"].items()
            ),
            *(
                f"Posterior of all three by the surface {name!r}: friction {span(p['unknowns']['friction'], 95)}°, "
                f"cohesion {span(p['unknowns']['cohesion'], 95)} Pa (95 %), with a correlation of "
                f"{digits(p['correlations']['friction, cohesion'], 2)}."
                for name, p in posteriors.items()
            ),
            *(
                f"{share(held)} of the 95 % intervals of {name} hold the truth, with each collapse in turn as data."
                for name, held in found.get("left_out_hold_95", {}).items()
            ),
        ],
        concerns=concerns,
        tables=[
            Table("unknowns", rows),
            *([Table("correlations", correlated)] if correlated else []),
            *(
                replace(table(p["unknowns"]), title=f"posterior by the surface {n!r}")
                for n, p in posteriors.items()
            ),
        ],
        limits=[
            "Synthetic surfaces are made by the model that is fitted.",
            "Each fit starts at one guess: a second minimum would not be seen.",
            ONE,
        ],
        captions={
            f"posterior_{name}": f"Draws of all three unknowns by the surface {name!r}. Orange: what the covariance of "
            "the best fit says. Grey: the prior."
            for name in posteriors
        },
    )


def profile(found: Mapping[str, Any]) -> Report:
    """The report on the misfit against friction."""
    narrow, wide = (
        "{} to {}".format(*map(digits, found[k]))
        for k in ("interval_95_deg", "interval_95_with_the_models_error_deg")
    )
    return Report(
        question="Which friction angle explains the measured surface best?",
        answer=[
            f"{digits(found['friction_deg'])}°, with a 95 % interval of {wide}° that has the model's own error in it.",
            f"By the resolution of the measurement alone the interval is {narrow}°. At the best the surface is "
            f"{digits(1e3 * found['surface_rms_m'], 2)} mm rms from the measured one.",
        ],
        tables=[
            Table(
                "surface against the measured one, by friction",
                [{"friction": k, "rms, m": v} for k, v in found["surface_rms_at_m"].items()],
            )
        ],
        limits=[ONE, "The other properties of the soil are held at their values."],
        captions={
            "profile": "Misfit to the measured surface against the friction angle; and the difference of the simulated "
            "from the measured surface, for each angle.",
        },
    )


def derivatives(found: Mapping[str, Any]) -> Report:
    """The report on the range in which derivatives agree with differences."""
    tables = []
    for step, rows in found["forward_from_differences"].items():
        for name, seen in rows.items():
            times = list(next(iter(seen.values())))
            title = f"{name}, against differences over {step} of it"
            tables.append(grid(title, "observable", times, {k: list(v.values()) for k, v in seen.items()}))
    return Report(
        question="Until when do derivatives of a collapse agree with finite differences?",
        answer=["The tables hold the relative difference of both against time: where it is small, they agree."],
        concerns=failures({"the collapse": found["status"]}),
        tables=tables,
        limits=["A difference over a larger change has its own error, from the curvature of the outcome."],
        captions={
            "derivatives": "Relative difference between the derivative and finite differences, against the time of the "
            "collapse, for each property of the soil.",
        },
    )
