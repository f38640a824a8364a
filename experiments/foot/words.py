"""What the reports of the footpad say: each function has the summary of a stage."""

from collections.abc import Mapping
from typing import Any

from experiments.foot.scene import GRAVITY, LAW
from experiments.report import Report, Table, digits, share

ASSUMED = (
    f"The soil is that of paper 000's optimum: a layer of {float(LAW.thickness):g} m of {float(LAW.bulk_density):.3g} "
    f"kg/m³ with a friction of {float(LAW.friction):g}, under the gravity of 67P, {GRAVITY:g} m/s²."
)
ROUND = "The footpad is guided: it does not tilt or slip, and no other one is near."


def push(found: Mapping[str, Any]) -> Report:
    """The report on a footpad at constant speed."""
    rows = [{"": name, **found[name]} for name in ("sph", "law") if name in found]
    answer = []
    if rows:
        sph = found["sph"]
        answer = [
            f"The soil bears {digits(sph['bearing_Pa'])} Pa at the surface, and its drag coefficient is "
            f"{digits(sph['drag_coefficient'])}."
        ]
    return Report(
        question="How much does a bed of soil resist a footpad that is pushed into it?",
        answer=answer or ["Too few speeds to tell bearing from drag: see the curves."],
        tables=[
            Table("force over area: q + q' z + d ρ v²", rows),
            Table("model", [{"": k, "value": found[k]} for k in ("particles", "sole_m2")]),
        ]
        if rows
        else [],
        assumed=[ASSUMED],
        limits=[ROUND, "The bearing of particles falls with their spacing: a single spacing is too high."],
        captions={
            "force": "Force over area against penetration, for each speed. Dotted: the reduced law of a disc.",
        },
    )


def throw(found: Mapping[str, Any]) -> Report:
    """The report on a footpad with a lander's mass."""
    throws = {k: v for k, v in found.items() if isinstance(v, Mapping)}
    last, row = list(throws.items())[-1]
    return Report(
        question="How deep does a footpad sink that is thrown into soil, and what takes its speed?",
        answer=[
            f"At {last} it sinks {digits(100 * row['depth_m'], 2)} cm deep; by the reduced law a disc sinks "
            f"{digits(100 * row['depth_of_the_law_of_a_disc_m'], 2)} cm.",
            f"The impact leaves it {share(row['speed_left_by_the_hit'])} of its speed.",
        ],
        concerns=[
            f"At {name} the footpad still moved at the end." for name, r in throws.items() if not r["stands"]
        ],
        tables=[Table("throws", [{"": name, **r} for name, r in throws.items()])],
        assumed=[ASSUMED],
        limits=[ROUND, "The soil cannot be compacted; soil that can takes less of the speed."],
        captions={
            "thrown": "Force over area, and speed of the footpad, against penetration.",
        },
    )


def grains(found: Mapping[str, Any]) -> Report:
    """The report on a footpad that is thrown into grains."""
    throws = {k: v for k, v in found.items() if "law" in v}
    last, row = list(throws.items())[-1]
    return Report(
        question="How deep does a footpad sink in grains, compared with the reduced law?",
        answer=[
            f"At {last} it sinks {digits(100 * row['grains']['depth_m'], 2)} cm deep in grains, and "
            f"{digits(100 * row['law']['depth_m'], 2)} cm by the law.",
        ],
        concerns=[f"{name}: the footpad still moved at the end." for name, r in throws.items() if not r["stands"]],
        tables=[
            Table("throws", [{"": f"{n}, {k}", **r[k]} for n, r in throws.items() for k in ("grains", "law")]),
            Table("beds", [{"": k, **v} for k, v in found.items() if k not in throws]),
        ],
        assumed=[ASSUMED],
        limits=[
            ROUND,
            "The wall and the floor of the cylinder resist too.",
            "One bed of each size is one sample.",
        ],
        captions={
            "grains": "Force over area, and speed of the footpad, against penetration in grains. Dotted: the reduced "
            "law.",
        },
    )


def calibrate(found: Mapping[str, Any]) -> Report:
    """The report on the factors of the reduced law."""
    factors, off = found["factors"], found["rms_ln_of_law_over_grains_way"]
    return Report(
        question="By which factors must the reduced law be multiplied to stop a footpad where grains stop it?",
        answer=[
            f"Bearing times {digits(factors['bearing'])}, inertia times {digits(factors['inertia'])}; sigma "
            f"{digits(found['sigma']['total'], 2)} in ln.",
            f"The way of a footpad is then off by {digits(off['calibrated'], 2)} rms in ln, and by "
            f"{digits(off['as it stands'], 2)} by the law as it stands.",
        ],
        tables=[
            Table("errors, in ln", [{"": k, "sigma": v} for k, v in found["sigma"].items()]),
            Table(
                "what else was tried", [{"": k.replace("_", " "), "value": v} for k, v in found["others"].items()]
            ),
        ],
        limits=[
            ROUND,
            "Walls and coarse grains err to one side: they resist more than the ground would.",
            "The factors hold within the box of soils that was sampled.",
        ],
        captions={
            "factors": "Energy that the law takes divided by that of grains, as the law stands (hollow) and with its "
            "factors (full); and grains over law with factors, against each quantity that was varied.",
        },
    )
