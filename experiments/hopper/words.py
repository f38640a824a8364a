"""What the reports of the hoppers say: each function has the summary of a stage."""

from collections.abc import Mapping
from typing import Any

from difsim import Status
from experiments.agilkia.worlds import assumed
from experiments.report import Report, Table, digits, failures, grid, label, share

ROUGH = "Impacts on rough ground amplify small changes: a single place of rest is no prediction."
OURS = "The paper prints no initial state, stiffness, friction or restitution: these are ours."


def cube(found: Mapping[str, Any]) -> Report:
    """The report on the cube in three gravities."""
    thrown = {f"{target}, {law} law": row for law, rows in found["thrown"].items() for target, row in rows.items()}
    columns = ("settling_time_s", "distance_m", "path_m", "highest_m", "contacts", "steps", "ledger_error")
    first = next(iter(found["thrown"].values()))
    slides = next(iter(found["sliding"].values()))
    ending = "slip_m_s_at_"
    late = {k.removeprefix(ending).replace("_", " "): v for k, v in slides.items() if k.startswith(ending)}
    return Report(
        question="Does a cube that is thrown in weak gravity come to rest, and what takes its energy?",
        answer=[
            "It comes to rest after "
            + ", ".join(f"{digits(r['settling_time_s'])} s ({t})" for t, r in first.items())
            + ".",
            "A point that should stick creeps instead: the smaller the speed of the regularisation, the slower.",
        ],
        concerns=failures({k: row["status"] for k, row in thrown.items()}),
        tables=[
            Table("throws", [{"": k, **{c: row[c] for c in columns}} for k, row in thrown.items()]),
            Table("shares of the energy lost to", [{"": k, **row["lost_to"]} for k, row in thrown.items()]),
            grid(
                "slip, m/s", "at", slides["regularisation_m_s"], late, "Columns: speed of the regularisation, m/s."
            ),
        ],
        limits=[OURS, ROUGH],
    )


def minerva(found: Mapping[str, Any]) -> Report:
    """The report on one release over Imhotep."""
    grids = {f"grid of {digits(found['grid_m'])} m": found}
    if found["paper_grid"]:
        grids[f"grid of {digits(found['paper_grid']['grid_m'])} m"] = found["paper_grid"]
    keys = (
        *("touchdown_time_s", "touchdown_speed_m_s", "settling_time_s", "distance_from_touchdown_m"),
        *("path_from_touchdown_m", "axis_to_normal_deg", "lever_m", "last_spin_rad_s", "contacts", "steps"),
    )
    energy = found["energy"]
    return Report(
        question="Where does a MINERVA-II hopper come to rest that is released over Imhotep on comet 67P?",
        answer=[
            f"It touches the ground after {digits(found['touchdown_time_s'], 4)} s and rests from "
            f"{digits(found['settling_time_s'], 4)} s on, {digits(found['distance_from_touchdown_m'])} m from there.",
            f"It loses {digits(energy['lost_J'])} J: "
            + ", ".join(f"{share(v)} to {k}" for k, v in energy["lost_to"].items())
            + ".",
        ],
        concerns=failures({name: row["status"] for name, row in grids.items()}),
        tables=[Table("release", [{"": label(k), **{n: row[k] for n, row in grids.items()}} for k in keys])],
        limits=[
            ROUGH,
            f"The shape is {found['shape']}, and its roughness is drawn at random.",
            "A slow roll below the threshold of spin counts as rest.",
        ],
        assumed=assumed(found["shape"]),
    )


def ensemble(found: Mapping[str, Any]) -> Report:
    """The report on thousands of releases."""
    ellipse, times = found["landing_ellipse"], found["settling_time_s"]
    unsettled = {name: n for name, n in found["statuses"].items() if name != "OK"}
    settled = found["statuses"].get("OK", 0)
    rows = [
        {"output": label(output), "input": label(name), **numbers}
        for output, inputs in found["sensitivities"]["of_one_sigma_of"].items()
        for name, numbers in inputs.items()
    ]
    return Report(
        question="Where and when do hoppers come to rest, and on which inputs does that depend?",
        answer=[
            f"Of {found['members']} hoppers {settled} came to rest: half of these within "
            f"{digits(times['50_percent'])} s of the release, 95 % within {digits(times['95_percent'])} s.",
            "The 1 σ landing ellipse has semi-axes of "
            + " and ".join(f"{digits(a)} m" for a in ellipse["semi_axes_1_sigma_m"])
            + f". Its long axis has an azimuth of {digits(ellipse['azimuth_deg'])}° from north.",
        ],
        concerns=[f"{n} hoppers: {Status[name]}" for name, n in unsettled.items()],
        tables=[
            Table(
                "share of the hoppers within the landing ellipse",
                [
                    {
                        "ellipse": k.replace("_sigma", " σ"),
                        "simulated": v,
                        "Gaussian": ellipse["share_inside_if_gaussian"][k],
                    }
                    for k, v in ellipse["share_inside"].items()
                ],
            ),
            Table(
                "percentiles of the settling time, s", [{k.replace("_percent", " %"): v for k, v in times.items()}]
            ),
            Table(
                "change of an output by one standard deviation of an input",
                rows,
                "Each output is listed with its four strongest inputs. Changes have the unit of the output: m for "
                "places, s for the settling time. Regression and smoothed are two estimates, each with its standard "
                "error.",
            ),
        ],
        limits=[
            "The spread of the inputs is our assumption.",
            "The law of rolling resistance decides whether a hopper rests on a face or on its rim: see the README.",
        ],
        assumed=assumed(found["shape"]),
        captions={
            "ensemble": "Places of rest around the site with the landing ellipses of 1, 2 and 3 σ; times until rest; "
            "and the change of each output by one standard deviation of each input.",
        },
    )


def tracks(found: Mapping[str, Any]) -> Report:
    """The report on losses, coverage and what a track determines."""
    counts = list(next(iter(found["found"].values())))
    return Report(
        question="Which loss finds restitution, friction and rolling resistance from the track of a bouncing cube?",
        answer=[
            f"The loss {found['recommended']!r} finds all three in {share(found['found_at_5_bounces'])} of "
            f"{found['repetitions']} tracks of five bounces.",
        ],
        tables=[
            grid(
                "share of trials in which all three are found",
                "loss",
                counts,
                {k: list(v.values()) for k, v in found["found"].items()},
                "Columns: number of bounces.",
            ),
            Table(
                "coverage at five bounces", [{"": k, **row} for k, row in found["coverage_at_5_bounces"].items()]
            ),
            Table(
                "what a track determines where the depth is unknown too",
                [
                    {"track": t, "unknown": k, **row}
                    for t, rows in found["identifiability"].items()
                    for k, row in rows.items()
                ],
            ),
        ],
        limits=["Tracks are simulated by the model that is fitted.", "Noise is Gaussian and independent."],
        captions={
            "tracks": "Share of trials in which each loss finds the ground, against the length of the track; one track "
            "and its fit; and the intervals of the three unknowns, with the share that holds the truth.",
        },
    )


def hop(found: Mapping[str, Any]) -> Report:
    """The report on the hop to a target."""
    evolution = found["evolution"]
    status = Status[found["status"]]
    return Report(
        question="Which angular momenta of its wheels make a cube hop to a target?",
        answer=[
            "The cube lands "
            + f"{digits(1e3 * found['miss_m'], 2)} mm from the target with angular momenta of "
            + " and ".join(
                f"{digits(1e3 * v)} mN m s about {k.removeprefix('momentum_')}"
                for k, v in found["momentum_N_m_s"].items()
            )
            + ".",
            f"The search by derivatives tries {found['simulations']} hops and uses the derivatives of "
            f"{found['with_derivatives']}. A search without derivatives (differential "
            f"evolution) takes {evolution['simulations']} simulations and misses the target by "
            f"{digits(1e3 * evolution['miss_m'], 2)} mm.",
        ],
        concerns=[]
        if status in (Status.TARGET, *(s for s in Status if s.is_converged))
        else [f"The search: {status}"],
        tables=[
            Table(
                "The hop that was found",
                [
                    {"": "target, m", "value": found["target_m"]},
                    {"": "landing, m", "value": found["landing_m"]},
                    {"": "flight, s", "value": found["flight_time_s"]},
                    {"": "work of the motors, J", "value": found["work_of_the_motors_J"]},
                    {"": "error of the energy balance, J", "value": found["ledger_error_J"]},
                ],
            )
        ],
        limits=[
            "The ground is a plane.",
            "The target is the first landing. The bounces after it are not considered.",
        ],
        captions={
            "hop": "Range of the hop against the angular momentum of the wheel; the hop to the target; and the "
            "distance from the target against the number of simulations, with derivatives and by evolution.",
        },
    )


def field(found: Mapping[str, Any]) -> Report:
    """The report on the ground from tracks."""
    status = Status[found["status"]]
    return Report(
        question="Can the shape of the ground be found from the tracks of balls that roll over it?",
        answer=[
            f"{found['unknowns']} heights are found to {digits(1e3 * found['rms_error_m'], 2)} mm (rms) where balls "
            f"rolled; the ground itself varies by {digits(1e3 * found['rms_of_the_heights_m'], 2)} mm (rms).",
            f"{share(found['share_within_1.96_sigma'])} of the heights lie within 1.96 standard deviations, whose "
            f"median is {digits(1e3 * found['median_sigma_m'], 2)} mm.",
            f"The descent takes {found['steps']} steps of one reverse derivative each.",
        ],
        concerns=[] if status.is_converged else [f"The descent: {status}"],
        tables=[
            Table(
                "descent",
                [
                    {"": "data", "value": found["data"]},
                    {"": "misfit", "value": found["misfit"]},
                    {"": "largest error, mm", "value": 1e3 * found["largest_error_m"]},
                ],
            )
        ],
        limits=[
            "The tracks are simulated with the model that is fitted: errors of the contact law are not in them.",
            "Friction, restitution and the release of the balls are known.",
        ],
        captions={
            "field": "The ground, as it is and as it is found, with its error; the misfit during the descent; and one "
            "section through the ground.",
        },
    )
