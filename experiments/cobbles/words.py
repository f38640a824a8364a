"""What the reports of the cobbles say: each function has the summary of a stage."""

from collections.abc import Mapping
from typing import Any

from experiments.cobbles import paper
from experiments.posteriors import span
from experiments.posteriors import table as table_of
from experiments.report import Report, Table, digits, failures, grid, share

STIFF = ("hard", "smooth", "compliant")  # laws that are to repeat the paper's Table 5
OURS = "The stones, the frame and the cameras are ours where the paper gives none: its shape is not public."

FITS = {  # what the report of the fit through the impact shows of its fits
    "count": "fits, each to other noise",
    "starts": "searches of each fit",
    "converged": "share of fits that explain the pixels",
    "searches_converged": "share of searches that do",
    "restitution_mean": "restitution, mean",
    "restitution_scatter": "restitution, scatter",
    "restitution_sigma": "restitution, standard deviation that a fit states",
    "restitution_within_1_96_sigma": "share of fits whose 95 % interval holds the restitution",
    "told_within_1_96_sigma": "share of all 95 % intervals that hold the truth",
    "ellipsoid_95_holds": "share of 95 % ellipsoids that hold the truth",
    "friction_scatter": "friction, scatter",
}


def collision(found: Mapping[str, Any]) -> Report:
    """The report on the collision in time, its tables and its convergence."""
    nominal, tables, attitudes = found["nominal"], found["table"], found["attitudes"]
    theirs = paper.ENERGY_RATIO[
        paper.RESTITUTIONS.index(paper.RESTITUTION), paper.INCLINATIONS.index(paper.INCLINATION)
    ]
    worst = {name: tables[name]["largest_difference_but_at_15_deg"] for name in STIFF}
    concerns = failures({"the nominal collision": nominal["status"]})
    for name, table in tables.items():
        concerns += failures({f"a collision of the table, {name} law": s for s in table["status"]})
        if name in STIFF and not table["within_tolerance"]:
            concerns.append(f"The {name} law differs from the paper's Table 5 by {digits(worst[name])}.")
    if attitudes["failed"]:
        concerns.append(f"{attitudes['failed']} of {attitudes['count']} other attitudes failed and are left out.")
    energy = nominal["energy_mJ"]
    return Report(
        question="How much of its kinetic energy does a pair of irregular stones keep in a collision?",
        answer=[
            f"The pair keeps {digits(nominal['energy_ratio'], 4)} of its kinetic energy (the paper: {theirs}).",
            f"This is the nominal collision, with a restitution of {paper.RESTITUTION} and a line of approach "
            f"{paper.INCLINATION:g}° from the normal. Apart from 15°, the largest difference from the paper's table is "
            + ", ".join(f"{digits(v)} ({k})" for k, v in worst.items())
            + ".",
            f"At other attitudes the pair keeps {digits(attitudes['energy_ratio_mean'])} ± "
            f"{digits(attitudes['energy_ratio_sigma'])} (mean and scatter of {attitudes['count']}).",
        ],
        concerns=concerns,
        tables=[
            Table("energy of both stones, mJ", [{"": k, **v} for k, v in energy.items()]),
            *(
                grid(
                    f"share of the energy that is kept, {name} law",
                    "restitution",
                    [f"{a:g}°" for a in table["inclination_deg"]],
                    dict(zip(map(str, table["restitution"]), table["energy_ratio"], strict=True)),
                )
                for name, table in tables.items()
            ),
            grid(
                "change of that share by the step in contact",
                "law",
                [f"{1e6 * s:.0f} µs" for s in found["convergence"]["step_s"]],
                found["convergence"]["by_step"],
            ),
        ],
        limits=[
            "The comparison is with another simulation, not with an experiment.",
            OURS,
            "The soft law has a contact of 24 ms at many points, which is not what the paper's table shows.",
            "The share depends on the place where the stones touch: one collision is not typical of all.",
        ],
    )


def estimate(found: Mapping[str, Any]) -> Report:
    """The report on the Monte Carlo of two arcs."""
    rows = [
        {
            "scenario": scenario,
            "noise, px": pixel,
            "converged": share(row["converged"]),
            "mean": row["energy_ratio"],
            "mean, paper": row["paper"]["energy_ratio"],
            "sigma": row["sigma"],
            "sigma, paper": row["paper"]["sigma"],
            "sigma that the fit states": row["sigma_stated"],
            "95 % ellipsoid holds": share(row["holds"]["all_95"]),
        }
        for scenario, noises in found["monte_carlo"].items()
        for pixel, row in noises.items()
    ]
    failed = sum(row["failed"] for noises in found["monte_carlo"].values() for row in noises.values())
    first = rows[0]
    return Report(
        question="How accurately do cameras measure the share of energy that two stones keep in a collision?",
        answer=[
            f"In scenario {first['scenario']} with {first['noise, px']} px of noise the estimate is "
            f"{digits(first['mean'], 4)} ± {digits(first['sigma'])} for a truth of {digits(found['energy_ratio'], 4)}.",
            f"The samples scatter by {digits(first['sigma'])}, and the fits state "
            f"{digits(first['sigma that the fit states'])}.",
        ],
        concerns=[f"{failed} samples have no fit and are left out."] if failed else [],
        tables=[Table("share of the energy that is kept", rows)],
        limits=[
            OURS,
            "The truth is a simulation by the same model of motion: an error of that model does not show.",
            "Markers that the other stone hides are taken as seen.",
        ],
        captions={
            "energy_ratio": "Energetic restitution from the images, with 3 sigma: ours and the paper's, for"
            " each scenario and pixel noise.",
            "ellipsoids": "Errors of position and spin of the samples, with the 3 sigma ellipses of the fits, for "
            "each arc and body.",
            "accuracy": "Mean residual, and standard deviations of the motion, against the noise of pixels and of "
            "markers.",
            "images": "Paths of the markers of one stone through the images of the three cameras.",
        },
    )


def tracks(found: Mapping[str, Any]) -> Report:
    """The report on the estimate from a user's tracks."""
    states = [
        {
            "": f"body {s['body']}, arc {s['arc']}",
            "images": s["images"],
            "rms, px": s["rms_px"],
            "from, s": s["time_s"],
        }
        for s in found["states"]
    ]
    return Report(
        question="Which share of its kinetic energy did the pair keep, by the tracked markers?",
        answer=[
            f"The pair kept {digits(found['energy_ratio'], 4)} ± {digits(found['energy_ratio_sigma'])} of it."
        ],
        tables=[Table("fits of the arcs", states)],
        limits=["An error of what is assumed is not in the stated uncertainty."],
        assumed=[
            f"Standard deviations: {digits(found['pixel_px'])} px of a marker in an image, "
            f"{digits(1e3 * found['marker_m'])} mm of its place on the body.",
            "The calibration of the cameras is exact.",
            "Bodies are rigid and uniform, and no force acts on them in the arcs.",
        ],
    )


def impact(found: Mapping[str, Any]) -> Report:
    """The report on the fit through the impact."""
    fits, angles = found["fits"], found["inclination_deg"]
    names = {
        "restitution, one fit": "restitution_sigma",
        "restitution, two arcs": "two_arcs_restitution_sigma",
        "energy kept, one fit": "energy_ratio_sigma",
        "energy kept, two arcs": "two_arcs_energy_ratio_sigma",
        "friction, one fit": "friction_sigma",
    }
    posterior, told = found.get("posterior"), []
    if posterior and posterior["posterior"]["is_good"]:
        rows = posterior["unknowns"]
        told = [
            f"By the posterior restitution is {span(rows['restitution'], 95)} and friction "
            f"{span(rows['friction'], 95)} (95 %)."
        ]
    if posterior and posterior.get("coverage") and (held := posterior["coverage"])["with_intervals"]:
        told.append(
            f"Of {held['count']} posteriors {held['with_intervals']} state intervals. Those of 95 % hold the true "
            f"restitution in {share(held['holds_95']['restitution'])} and the true friction in "
            f"{share(held['holds_95']['friction'])}."
        )
    gain = found["two_arcs_restitution_sigma"][-1] / found["restitution_sigma"][-1]
    return Report(
        question="How accurately does one fit through the impact determine restitution, beside a fit of each arc?",
        answer=[
            f"One fit through the impact determines restitution to {digits(found['restitution_sigma'][-1])} at "
            f"{angles[-1]:g}°, {digits(gain, 2)} times as accurately as two arcs.",
            f"{fits['count']} fits to noisy pixels give {digits(fits['restitution_mean'], 4)} ± "
            f"{digits(fits['restitution_scatter'], 2)}, and state {digits(fits['restitution_sigma'], 2)}. The truth is "
            f"{paper.RESTITUTION}, and lies within 1.96 sigma in {share(fits['restitution_within_1_96_sigma'])}.",
            *told,
        ],
        concerns=[f"{share(1 - fits['converged'])} of the fits found no motion that explains the pixels."]
        if fits["converged"] < 1
        else [],
        tables=[
            grid(
                "standard deviations that the pixels leave",
                "",
                [f"{a:g}°" for a in angles],
                {k: found[name] for k, name in names.items()},
            ),
            Table("fits", [{"": text, "value": fits[k]} for k, text in FITS.items()]),
            *([table_of(posterior["unknowns"])] if posterior else []),
        ],
        limits=[
            "Friction is known by its prior alone: the contact sticks.",
            "A fit may have several solutions, at several places of touch; a covariance describes one of them.",
            "Pixels are simulated by the same model.",
        ],
        captions={
            "impact": "Standard deviations of one fit through the impact and of a fit of each arc, against the "
            "inclination; and fits of the nominal collision with 95 % intervals. Line: the truth.",
            "posterior": "Draws of restitution and friction by the pixels of the first fit, with the states integrated "
            "out. Grey: the prior.",
        },
    )


def design(found: Mapping[str, Any]) -> Report:
    """The report on the designs of the experiment."""
    sigma = found["sigma"]["restitution"]
    best = {w: row["all"] / row["paper"] for w, row in sigma.items()}
    return Report(
        question="Which cameras, markers and release determine the restitution best?",
        answer=[
            "With the whole design free, the uncertainty of the restitution falls to "
            + ", ".join(f"{digits(v, 2)} of the paper's (scenario {w})" for w, v in best.items())
            + ".",
            "The part of the design that helps most by itself: "
            + ", ".join(f"{v} (scenario {w})" for w, v in found["tells_most"].items())
            + ".",
        ],
        tables=[
            Table(
                f"standard deviation of {name}",
                [{"scenario": w, **row} for w, row in found["sigma"][key].items()],
                "Columns: the paper's design, with one part of it free, and with all of it free.",
            )
            for name, key in (
                ("restitution", "restitution"),
                ("restitution, calibration and markers unknown too", "uncalibrated"),
                ("friction", "friction"),
            )
        ],
        limits=[
            "The standard deviations are a linear prediction.",
            "Friction keeps the standard deviation of its prior, because the contact sticks.",
            "Descents end after a fixed number of evaluations, not at a proven minimum.",
            "A design is a target within bounds, not a drawing.",
        ],
        captions={
            "design": "Places of the cameras (hollow: the paper's); standard deviation of the restitution, by the part "
            "of the design that is free (dashed: calibration and markers unknown too); and places of the "
            "markers on the stones (grey: the paper's).",
        },
    )
