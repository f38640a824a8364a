"""The page `papers.md` of the documentation, from the summaries of the studies: no number is typed."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.cobbles import paper as cobbles_paper
from experiments.validation.pages import HEAD, paragraph, table

TABLE = ("", "paper", "ours", "tolerance", "verdict")


@dataclass(frozen=True)
class Section:
    """A part of the page: one table of comparisons, from the summary that one command writes.

    **Arguments:** `title`; `meaning`, sentences that explain the numbers; `command`; `place`, the folder of its
    result; `rows`, a function from the summary to the rows; `study`, the folder of its page.
    """

    title: str
    meaning: str
    command: str
    place: str
    rows: Callable[[dict], list[tuple]]
    study: str

    def text(self, results: Path, kept: str | None) -> str:
        """The part in Markdown, from its result; where there is none, what the page says now (`kept`)."""
        path = results / self.place / "summary.json"
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        study = f"([The study](../experiments/{self.study}/README.md).)"
        if found is None or found["quick"]:
            return kept or f"No result is at hand: run `{self.command}`. {study}\n"
        said = paragraph(self.meaning) if self.meaning else ""
        made = f"`{self.command}` made these numbers on {found['created'][:10]}. {study}\n"
        return f"{said}\n{made}\n{table(TABLE, self.rows(found))}"


def papers(results: Path, page: str = "") -> str:
    """The page of the four papers. `page`, as it is now, keeps the parts of which `results` has nothing."""
    parts = re.split(r"^## (.*)\n\n", page, flags=re.M)
    kept = dict(zip(parts[1::2], (each.rstrip() + "\n" for each in parts[2::2]), strict=True))
    text = [
        HEAD + "# The papers\n",
        paragraph(
            "This page compares numbers of the four papers with those of our studies. Each section names the command "
            "that makes our numbers. Tolerances were fixed before the run. If none was fixed, the verdict is "
            '"reported". If the tolerance is "trend", an order or a sign is compared. The page of the study explains '
            "the differences. The [glossary](glossary.md#papers) lists the papers."
        ),
    ]
    for part in SECTIONS:
        text += [f"## {part.title}\n", part.text(results, kept.get(part.title))]
    return "\n".join(text)


LEAST = 0.01  # probability below which a model misses the data


def _compared(name: str, theirs: float, ours: float, tolerance: float | None = None) -> tuple:
    if tolerance is None:
        return name, theirs, f"{ours:.4g}", "none fixed", "reported"
    return name, theirs, f"{ours:.4g}", tolerance, "pass" if abs(ours - theirs) <= tolerance else "FAIL"


def _cells(theirs: np.ndarray, ours: list, tolerance: float | None) -> list[tuple]:
    """The rows of one of the paper's tables over restitution and inclination."""
    return [
        _compared(
            f"e = {e}, α = {angle:g}°", float(theirs[i, j]), ours[i][j], None if angle == 15.0 else tolerance
        )
        for i, e in enumerate(cobbles_paper.RESTITUTIONS)
        for j, angle in enumerate(cobbles_paper.INCLINATIONS)
    ]


def _table_5(found: dict) -> list[tuple]:
    """Energetic restitution of the cobbles."""
    return _cells(cobbles_paper.ENERGY_RATIO, found["table"]["hard"]["energy_ratio"], 0.08)


def _table_6(found: dict) -> list[tuple]:
    """Ratio of normal speeds."""
    return _cells(cobbles_paper.NORMAL_RATIO, found["table"]["hard"]["normal_ratio"], None)


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
        shortest = paths["phobos"] == min(paths.values())
        rows.append((f"Fig. 8, {law}: the path is shortest on Phobos", "holds", said, shortest))
        share = found["collision"][law]["share_lost_in_compression"]
        holds = share > 0.9 if law == "paper" else None
        rows.append((f"Fig. 10, {law}: energy is lost in compression", "only", f"{share:.3f} of it", holds))
        slips = found["sliding"][law]["slip_m_s_at_40_s"]
        falls = slips == sorted(slips, reverse=True)
        said = ", ".join(f"{slip:.2g}" for slip in slips) + " m/s"
        rows.append((f"Fig. 9, {law}: the slip speed falls with v*", "holds", said, falls))
    verdicts = {True: "pass", False: "FAIL", None: "reported"}  # None: another law than the paper's
    return [(name, theirs, ours, "trend", verdicts[holds]) for name, theirs, ours, holds in rows]


def _cliff(found: dict) -> list[tuple]:
    """The surface of the heap."""
    apart = found["surface_rms_m"]
    rows = [
        (
            "surface: rms difference, m",
            0.0,
            f"{apart:.2g}",
            "0.002",
            "pass" if apart <= 2e-3 else "FAIL",
        ),
        _compared("front, m", found["front_measured_m"], found["front_m"]),
    ]
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
    rows = []
    for name, row in found["observables"].items():
        if row["observed"] is not None:
            near = abs(row["simulated"] - row["observed"]) <= 3 * row["sigma"]
            verdict = ("pass" if near else "FAIL") if row["fitted"] else "reported"
            values = (f"{row['observed']:.4g}", f"{row['simulated']:.4g}", f"{3 * row['sigma']:.2g}")
            rows.append((f"{name.replace('_', ' ')}, {row['unit']}", *values, verdict))
    tilts = ", ".join(f"{found['parameters'][name]['value']:.3f}" for name in ("tilt_x", "tilt_y"))
    rows.append(("tilts, rad", "0, 0", tilts, "none fixed", "reported"))
    p = found["posterior"]["p_value"]
    return [
        *rows,
        (
            "probability of a larger misfit, priors included",
            "",
            f"{p:.2g}",
            LEAST,
            "pass" if p > LEAST else "FAIL",
        ),
    ]


COLLISION = "difsim cobbles", "cobbles/collision"
SECTIONS = (
    Section(
        "Paper 000: Philae at Agilkia",
        "The paper gives one touchdown, the optimum of its search. We take its numbers as data and fit our model to "
        "them. The tolerance is three standard deviations of the data. Numbers that are not fitted are reported. The "
        "fit reaches the numbers at tilts of several degrees, but the prior has a standard deviation of 2°. The last "
        "row therefore tells whether the model explains the data.",
        "difsim agilkia --data paper --out results/agilkia-paper",
        "agilkia-paper",
        _agilkia,
        "agilkia",
    ),
    Section(
        "Paper 001: energies of two cobbles",
        "Table 5 of the paper: the energetic restitution CoR_E, which is the kinetic energy after the collision "
        "divided by that before it. It depends on the coefficient of restitution e, which is an input, and on the "
        "angle α between the velocity and the line of centres. From 0 to 15° the paper's numbers fall, and from 15° "
        "on they rise, so no tolerance was fixed at 15°.",
        *COLLISION,
        _table_5,
        "cobbles",
    ),
    Section(
        "Paper 001: normal speeds",
        "Table 6 of the paper: the normal speed at the contact after the collision divided by that before it. Our "
        "impact law makes it equal to e.",
        *COLLISION,
        _table_6,
        "cobbles",
    ),
    Section(
        "Paper 001: estimation",
        "Tables 14 to 16 of the paper: CoR_E is estimated from camera images, for three arrangements of the cameras "
        "(scenarios) and a pixel noise of 1 to 3 px. Many fits are made, each with new noise. The rows give the share "
        "of fits that converge, the mean of CoR_E and its standard deviation σ.",
        "difsim cobbles --stage estimate",
        "cobbles/estimate",
        _monte_carlo,
        "cobbles",
    ),
    Section(
        "Paper 002: a cliff",
        "Fig. 1 of the paper: the surface of the heap after a block of rods has collapsed. The measured points, in the "
        'column "paper", are resolved to 2 mm. This run has the speed of sound of the soil, 20.7 m/s, in its '
        "viscosity.",
        "difsim cliff",
        "cliff/collapse",
        _cliff,
        "cliff",
    ),
    Section(
        "Paper 002: a cliff, with 600 m/s",
        "The same with the paper's speed of sound of 600 m/s in the viscosity, with which the heap does not follow the "
        "measured surface: it is torn apart where it should shear. The paper's figure cannot be of that value in the "
        "equation that it prints.",
        "difsim cliff --stage paper",
        "cliff/paper",
        _cliff,
        "cliff",
    ),
    Section(
        "Paper 002: brushes",
        "The paper concludes, from pairs of runs, how much soil two brushes collect. Our numbers are the areas of soil "
        "in the tray in the first and in the second run.",
        "difsim sampling --spacing 0.0016 --softening 4",
        "sampling/cases",
        _sampling,
        "sampling",
    ),
    Section(
        "Paper 003: a cube",
        "The paper prints no numbers of its results, so the trends of its figures are compared. A cube is thrown onto "
        'a plane in the gravity of three bodies. "paper" is the contact law of the paper, and "smooth" is another one. '
        "v* is the slip speed below which friction is regularised; it is 1e-2, 1e-3 and 1e-4 m/s. Fig. 10 shows in "
        "which phase of a contact energy is lost.",
        "difsim hopper --stage cube",
        "hopper/cube",
        _cube,
        "hopper",
    ),
)
