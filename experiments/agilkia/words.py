"""What the reports on Agilkia say: each function has the summary of a stage."""

import math
from collections.abc import Mapping
from typing import Any

from difsim import Status
from experiments.agilkia.keys import COMET, PHILAE
from experiments.foot.footpads import LOAD, SPEED
from experiments.foot.scene import RADIUS
from experiments.posteriors import span, table
from experiments.report import Report, Table, digits, failures, share
from inversion.information import CHANGED, SPLIT

ASSUMED = "Priors and uncertainties that the input files mark as assumed are no measurements."
ACCOUNTS = "Forces are reported and not fitted: the accounts of them contradict the speeds and the depth."
GROUNDED = (
    f"Only {COMET} can be flown about: where the lander comes down next is not computed, and [site] position_m has no "
    "effect."
)
CALIBRATED = (
    f"The factors of the calibrated law are those of a footpad of {2 * RADIUS:g} m with {LOAD:g} kg/m², thrown at "
    f"{SPEED:g} m/s under the gravity of {COMET}."
)


def concerns(found: Mapping[str, Any]) -> list[str]:
    """Reasons to doubt the answer of an inversion."""
    branch, stuck, said = found["branch"], found["stuck"], []
    if found["status"] != "ok":
        name = found["status"].upper()
        remedy = f" {Status[name]}." if name in Status.__members__ else ""
        said.append(f"The best fit is no answer yet: {found['verdict']}.{remedy}")
    if not branch["agrees_with_enumeration"]:
        tree, leaves = branch["incumbent_misfit"], branch["enumeration_misfit"]
        said.append(
            f"Branch and bound ended at a misfit of {digits(tree, 6)}, the enumeration of all leaves at "
            f"{digits(leaves, 6)}: "
            f"{'the first' if tree > leaves else 'the second'} is a local minimum. Search more (--starts, --keep)."
        )
    for name, values in stuck["leaves"].items():
        said.append(f"The best searches at {_values(name, values)} lie above both neighbours: they look stuck.")
    if not found["posterior"]["is_good"]:
        said.append(f"The posterior has no intervals: {found['posterior']['verdict']}.")
    if "chain" in found and found["chain"]["status"] != "ok":
        said.append("A flight of the chain failed, or does not come down again: its numbers are left out.")
    return said


def inversion(found: Mapping[str, Any]) -> Report:
    """The report on the ground from the touchdown."""
    parameters, observables = found["parameters"], found["observables"]
    fixed = [name.replace("_", " ") for name, row in parameters.items() if row["verdict"].startswith("fixed")]
    bounded = [
        f"{name.replace('_', ' ')} ({span(row, 95)}{'' if row['unit'] == '1' else ' ' + row['unit']})"
        for name, row in parameters.items()
        if row["verdict"].startswith("bounded")
    ]
    changed = [
        name.replace("_", " ") for name, row in parameters.items() if row["verdict"].startswith((CHANGED, SPLIT))
    ]
    scene = "without a boulder" if found["scenario"] == "no boulder" else f"one of scenario {found['scenario']}"
    answer = [
        f"The data fix the {_join(fixed)}." if fixed else "The data fix none of the unknowns by themselves.",
        f"The best touchdown is {scene}. Its search {found['verdict']}.",
    ]
    if changed:
        answer.insert(1, f"They change what is probable of the {_join(changed)}, without fixing it.")
    if bounded:
        answer.insert(1, f"They bound the {_join(bounded)} on one side.")
    chain = found.get("chain", {"status": "none"})
    if chain["status"] == "ok":
        answer.append(
            f"From there the lander flies {digits(chain['second_contact_time'], 4)} s and comes down "
            f"{digits(chain['second_contact_distance'])} m away."
        )
        if (time := (chain.get("posterior") or {}).get("second_contact_time")) is not None:
            answer.append(
                f"Over the posterior that contact is {digits(time['lo95'])} to {digits(time['hi95'])} s later (95 %)."
            )
    against = [
        {
            "": name.replace("_", " "),
            "simulated": row["simulated"],
            "observed": row["observed"],
            "sigma": row["sigma"],
            "unit": row["unit"],
            "off by, sigma": (row["simulated"] - row["observed"]) / row["sigma"] if row["sigma"] else None,
            "fitted": row["fitted"],
        }
        for name, row in observables.items()
        if row["observed"] is not None
    ]
    energy = {k: v for k, v in found["energy"].items() if k.endswith("_J")}
    branch = found["branch"]
    return Report(
        question=f"What is the ground on {found['body']} made of, by the touchdown of {found['lander']} (data set "
        f"{found['data_set']!r})?",
        answer=answer,
        concerns=concerns(found),
        tables=[
            table(parameters),
            Table("data against model", against),
            Table("energy at the end, J", [{"": k[:-2].replace("_", " "), "J": v} for k, v in energy.items()]),
            Table(
                "search",
                [
                    {"": "nodes of the tree", "value": branch["nodes_visited"]},
                    {"": "leaves, each solved alone", "value": branch["leaves"]},
                    {"": "misfit by branch and bound", "value": branch["incumbent_misfit"]},
                    {"": "misfit by enumeration", "value": branch["enumeration_misfit"]},
                    {"": "proof", "value": branch["verdict"]},
                    {"": "nodes dropped unsolved, by their bounds", "value": _counted(branch["dropped"])},
                    {"": "simulations", "value": found["simulator_calls"]},
                    {"": "with sensitivities", "value": found["jacobian_calls"]},
                ],
            ),
            Table(
                "bounds of the tree: no leaf below has a lower misfit",
                [
                    {
                        "": row["node"] or "all relaxed",
                        "bound": row["bound"] if math.isfinite(row["bound"]) else "none",
                        "label": row["label"],
                        "a lower one was missed, probability at most": row["missed"],
                    }
                    for row in branch["bounds"]
                ],
            ),
            Table(
                "correlations (friction and grain modulus relaxed)",
                [
                    {"": a.replace("_", " ")} | {b.replace("_", " "): c for b, c in row.items()}
                    for a, row in found["correlations"].items()
                ],
            ),
        ],
        limits=[
            "The ground is a law of a footpad, not grains; its own error is not in the intervals.",
            "All searches are local, with random starts: a better minimum cannot be excluded.",
            *([ACCOUNTS] if found["lander"] == PHILAE else []),
            *([] if "chain" in found else [GROUNDED]),
            ASSUMED,
        ],
        assumed=[*found["assumed"], *([CALIBRATED] if "calibration" in found else [])],
        captions={
            "touchdown": f"The best touchdown of {found['lander']} on {found['body']}: motion, forces, penetration "
            "and energy against time"
        },
    )


def flights(found: Mapping[str, Any]) -> Report:
    """The report on descent and bounce in several worlds."""
    down, up = found["descent"], found["bounce"]
    ended = {f"descent, {k}": v["status"] for k, v in down.items()} | {
        f"bounce, {k}": v["status"] for k, v in up.items()
    }
    answer = [
        f"In the world {world!r} it lands {digits(row['landing_off'])} m from the touchdown after "
        f"{digits(row['landing_time'], 5)} s."
        for world, row in down.items()
        if row["status"] == "OK"
    ]
    return Report(
        question="Where does Philae land and bounce to, by gravity fields and shapes of different fidelity?",
        answer=answer,
        concerns=failures(ended),
        tables=[
            Table("descent", [{"world": k, **_spaced(v)} for k, v in down.items()]),
            Table("bounce", [{"world": k, **_spaced(v)} for k, v in up.items()]),
        ],
        limits=["The state at separation is synthetic: it was shot from the touchdown.", ASSUMED],
        assumed=found["assumed"],
    )


def coverage(found: Mapping[str, Any]) -> Report:
    """The report on posteriors of synthetic touchdowns."""
    low = [name for name, p in found["p_value"].items() if p < 0.01]
    rows = [
        {"": k.replace("_", " "), "p of uniform ranks": p, "95 % hold": share(found["holds_95"].get(k))}
        for k, p in found["p_value"].items()
    ]
    without = found["without_intervals"]
    return Report(
        question="How often do intervals of the posterior hold the truth, on synthetic touchdowns?",
        answer=[
            f"{share(found['all_hold_95'])} of the 95 % intervals of {found['repetitions']} touchdowns hold the truth.",
            f"The ranks of {_join(low)} are not uniform (below 1 %)."
            if low
            else "All ranks may be uniform (1 %).",
        ],
        concerns=[f"{without} of the samples are too small for an interval."] if without else [],
        tables=[Table("ranks and intervals", rows)],
        limits=["Truths are drawn from the prior, and data from the model: an error of either does not show."],
        captions={
            "ranks": "Ranks of truths among draws of their posteriors. Grey: 99 % of counts of uniform ones."
        },
    )


def grains(found: Mapping[str, Any]) -> Report:
    """The report on the touchdown on beds of grains."""
    columns = {k: found[k] for k in ("paper", "grains", "reduced") if k in found}
    ours, theirs = found["grains"], found.get("paper")
    beside = {
        key: f" (the paper: {theirs[key]} {key[-1]})" if theirs else ""
        for key in ("energy_after_J", "peak_force_N")
    }
    ground = ", ".join(f"{name.replace('_', ' ')} {digits(value)}" for name, value in found["ground"].items())
    keys = dict.fromkeys(key for column in columns.values() for key in column)
    return Report(
        question=f"What does the touchdown of {found['lander']} on {found['body']} look like on grains, at the optimum "
        "of the paper?",
        answer=[
            f"It gets {digits(100 * ours['deepest_sole_m'], 2)} cm deep, and keeps "
            f"{digits(ours['energy_after_J'], 2)} of {digits(ours['energy_before_J'])} J{beside['energy_after_J']}.",
            f"The greatest force is {digits(ours['peak_force_N'])} N{beside['peak_force_N']}.",
        ],
        assumed=[
            *found["assumed"],
            f"Ground and attitude are those of the paper's optimum, not the file's [unknowns]: {ground} (SI units).",
        ],
        concerns=[] if ours["left"] else ["The lander had not left the ground at the end of the run."],
        tables=[
            Table(
                f"this run beside {'the paper and ' if theirs else ''}the reduced law",
                [{"": k.replace("_", " "), **{n: c.get(k) for n, c in columns.items()}} for k in keys],
            ),
            Table(
                "first touch, and the deepest or last, s",
                [{"": k, "from, to": v} for k, v in found["sequence_s"].items()],
            ),
        ],
        limits=[
            f"Grains of {digits(100 * found['diameter_m'])} cm stand for those of 0.14 mm.",
            "One bed and one heading are one sample: the direction of the rebound is not reproducible.",
            "Floor and walls of a bed resist too.",
        ],
    )


def _counted(dropped: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {label}" for label, count in dropped.items() if count) or "none"


def _values(name: str, values: list[float]) -> str:
    return f"{name.replace('_', ' ')} {', '.join(digits(v) for v in values)}"


def _join(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _spaced(row: Mapping[str, Any]) -> dict[str, Any]:
    return {k.replace("_", " "): v for k, v in row.items()}


def draws(found: Mapping[str, Any]) -> Report:
    """The report on draws of the posterior that were simulated on grains."""
    count, rows = len(found["draws"]), found["compared"]
    best, worst = (pick(rows, key=lambda name: rows[name]["covered"]) for pick in (max, min))
    return Report(
        question="Does the error that the reduced law states cover what grains do?",
        answer=[
            f"Of {count} draws, the calibrated law's span holds between {digits(100 * rows[worst]['covered'], 2)} % "
            f"({worst.replace('_', ' ')}) and {digits(100 * rows[best]['covered'], 2)} % ({best.replace('_', ' ')}).",
            f"On grains the lander rebounds with {digits(rows['rebound_speed']['off'], 2)} m/s more than by the "
            "reduced law, on average (negative: less).",
        ],
        tables=[
            Table(
                "grains less reduced law, and what is stated",
                [
                    {
                        "": name.replace("_", " "),
                        "mean difference": row["off"],
                        "sigma of the datum": row["sigma"],
                        "share within two of them": row["within_data"],
                        "share within the calibrated law's span": row["covered"],
                    }
                    for name, row in rows.items()
                ],
            ),
        ],
        limits=[
            f"{count} draws, one bed for each; the run ends after {digits(found['horizon_s'])} s.",
            f"Grains of {digits(100 * found['diameter_m'])} cm stand for finer ones.",
        ],
        assumed=[*found["assumed"], CALIBRATED],
    )
