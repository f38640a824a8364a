"""What the reports of the ball in grains say."""

from collections.abc import Mapping
from typing import Any

from difsim import Status
from experiments.report import Report, Table, digits, failures, share

OUTCOMES = {"depth": "m", "rebound": "m/s"}
UNITS = {"modulus": " Pa"}  # of the unknowns; the others have none
SMALL = "The bed has a few hundred grains in a narrow drum; a wide one was not tried."


def derivatives(found: Mapping[str, Any]) -> Report:
    """The report on derivatives of a path and of the mean."""
    until = found["right_until_s"]
    widest = max(until, key=float)
    failed = {k: v for k, v in found["failed"].items() if v}
    return Report(
        question="How long does the derivative of one path through grains describe the motion of the ball?",
        answer=[
            f"Over a change of {100 * float(widest):g} % it agrees with differences to 10 % until "
            + ", ".join(f"{digits(1e3 * t, 2)} ms ({name})" for name, t in until[widest].items())
            + ".",
            f"Reverse and forward mode differ by {digits(found['reverse_from_forward'], 2)} at most.",
        ],
        concerns=failures({"the throw": found["status"]})
        + [f"{v} throws of the {k} gradient failed and are left out." for k, v in failed.items()],
        tables=[
            Table(
                "time up to which the derivative agrees, s",
                [{"change": k, **row} for k, row in until.items()],
            ),
            *(
                Table(
                    f"gradient of the mean speed by ln {name}, m/s",
                    [{"time": t, **row} for t, row in rows.items()],
                )
                for name, rows in found["error_of_the_mean"].items()
            ),
        ],
        limits=[
            SMALL,
            "Past its horizon few paths dominate the mean of derivatives, and its error bar is too small.",
        ],
        captions={
            "derivatives": "Speed of the ball in one throw and in the mean; difference of the derivative from finite "
            "differences; and derivatives of the mean speed, by three methods.",
        },
    )


def surrogate(found: Mapping[str, Any]) -> Report:
    """The report on the grains from rebounds."""
    unknowns = {k: v for k, v in found.items() if isinstance(v, Mapping) and "verdict" in v}
    return Report(
        question="Which properties of the grains do the depth and the rebound of a ball determine, by a response "
        "surface?",
        answer=[
            f"{name}: {digits(row['mean'])} ± {digits(row['scatter'], 2)}{UNITS.get(name, '')} for a truth of "
            f"{digits(row['truth'])}: {row['verdict']}."
            for name, row in unknowns.items()
        ],
        concerns=[f"{found['failed']} of the throws that make the surface failed."] if found["failed"] else [],
        tables=[
            Table(
                "unknowns",
                [
                    {"": f"{name},{UNITS[name]}" if name in UNITS else name, **row}
                    for name, row in unknowns.items()
                ],
            ),
            Table(
                "error of the response surface",
                [
                    {
                        "": f"{k}, {unit}",
                        "error": found["error"][k],
                        "share of the spread": share(found["error_over_spread"][k]),
                    }
                    for k, unit in OUTCOMES.items()
                ],
            ),
        ],
        limits=[SMALL, "The throws that are fitted come from the model that made the surface."],
        captions={
            "surrogate": "Outcomes of the response surface against those of the simulation; and the fits of each "
            "unknown, with 95 % intervals. Line: the truth.",
        },
    )


def descent(found: Mapping[str, Any]) -> Report:
    """The report on the stochastic descent beside the surface."""
    status = Status[found["status"]]
    return Report(
        question="Does a stochastic descent through grains find their friction and restitution, as a response surface "
        "does?",
        answer=[
            "; ".join(
                f"{name}: {digits(row['descent'], 2)} by the descent, {digits(row['surface'], 2)} ± "
                f"{digits(row['surface_sigma'], 2)} by the surface, for a truth of {digits(row['truth'])}"
                for name, row in found["unknowns"].items()
            )
            + ".",
            f"The descent takes {found['throws_of_the_descent']} throws, the surface {found['throws_of_the_surface']}.",
        ],
        concerns=[] if status.is_converged else [f"The descent: {status}"],
        tables=[Table("unknowns", [{"": name, **row} for name, row in found["unknowns"].items()])],
        limits=[
            SMALL,
            "The throws that are fitted come from the bed that is simulated; modulus and speed are known.",
        ],
        captions={
            "descent": "Path of the descent over friction and restitution, and the fit by the surface; and the"
            " objective during the descent.",
        },
    )
