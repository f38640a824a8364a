"""The page `papers.md` of the documentation, from the summaries of the studies: no number is typed."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments.validation import paper_rows
from experiments.validation.pages import paragraph, table

HEAD = "<!-- Made by `difsim validation --stage pages --out docs`; edit experiments/validation/ instead. -->\n\n"

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


COLLISION = "difsim cobbles", "cobbles/collision"
ESTIMATION = "difsim cobbles --stage estimate", "cobbles/estimate"
SECTIONS = (
    Section(
        "Wu et al. (2019): Philae at Agilkia",
        "The paper gives one touchdown, the optimum of its search. We take its numbers as data and fit our model to "
        "them. The tolerance is three standard deviations of the data. Numbers that are not fitted are reported. The "
        "fit reaches the numbers at tilts of several degrees, but the prior has a standard deviation of 2°. The last "
        "row therefore tells whether the model explains the data.",
        "difsim agilkia --data paper --out results/agilkia-paper",
        "agilkia-paper",
        paper_rows.agilkia,
        "agilkia",
    ),
    Section(
        "Vaghi et al.: energies of two cobbles",
        "Table 5 of the paper: the energetic restitution CoR_E, which is the kinetic energy after the collision "
        "divided by that before it. It depends on the coefficient of restitution e, which is an input, and on the "
        "angle α between the velocity and the line of centres. From 0 to 15° the paper's numbers fall, and from 15° "
        "on they rise, so no tolerance was fixed at 15°.",
        *COLLISION,
        paper_rows.table_5,
        "cobbles",
    ),
    Section(
        "Vaghi et al.: normal speeds",
        "Table 6 of the paper: the normal speed at the contact after the collision divided by that before it. Our "
        "impact law makes it equal to e.",
        *COLLISION,
        paper_rows.table_6,
        "cobbles",
    ),
    Section(
        "Vaghi et al.: states from images",
        "Tables 10 to 12 of the paper: the rms error of the estimated positions and spins along arc 1 (body 1, body 2) "
        "and arc 2 (body 1, body 2), for noise of the pixels and of the markers (0.67 mm) alone. The paper gives one "
        "draw of the noise. Ours are medians of 100 draws, and the range that holds 90 % of them. The paper's Tables "
        "10 and 11 are the same numbers.",
        *ESTIMATION,
        paper_rows.states,
        "cobbles",
    ),
    Section(
        "Vaghi et al.: accuracy against noise",
        "Figs 17 and 18 of the paper, of which no numbers are printed: mean residual and standard deviations of body 1 "
        "on the second arc, as the noise of the markers rises from 0.1 to 2 mm and that of the pixels from 1 to 3 px. "
        "Ours are the values at the least and at the most of both. The standard deviations come from the errors of the "
        "calibration (Table 13), beside which both noises are small.",
        *ESTIMATION,
        paper_rows.accuracy,
        "cobbles",
    ),
    Section(
        "Vaghi et al.: estimation",
        "Tables 14 to 16 of the paper: CoR_E is estimated from camera images, for three arrangements of the cameras "
        "(scenarios) and a pixel noise of 1 to 3 px. Many fits are made, each with new noise. The rows give the share "
        "of fits that converge, the mean of CoR_E and its standard deviation σ.",
        *ESTIMATION,
        paper_rows.monte_carlo,
        "cobbles",
    ),
    Section(
        "Schäfer et al. (2017): a cliff",
        "Fig. 1 of the paper: the surface of the heap after a block of rods has collapsed. The measured points, in the "
        'column "paper", are resolved to 2 mm. This run has the speed of sound of the soil, 20.7 m/s, in its '
        "viscosity.",
        "difsim cliff",
        "cliff/collapse",
        paper_rows.cliff,
        "cliff",
    ),
    Section(
        "Schäfer et al. (2017): a cliff, with 600 m/s",
        "The same with the paper's speed of sound of 600 m/s in the viscosity, with which the heap does not follow the "
        "measured surface: it is torn apart where it should shear. The paper's figure cannot be of that value in the "
        "equation that it prints.",
        "difsim cliff --stage paper",
        "cliff/paper",
        paper_rows.cliff,
        "cliff",
    ),
    Section(
        "Schäfer et al. (2017): brushes",
        "The paper concludes, from pairs of runs, how much soil two brushes collect. Our numbers are the areas of soil "
        "in the tray in the first and in the second run.",
        "difsim sampling --spacing 0.0016 --softening 4",
        "sampling/cases",
        paper_rows.sampling,
        "sampling",
    ),
    Section(
        "The hopper paper: a cube",
        "The paper prints no numbers of its results, so the trends of its figures are compared. A cube is thrown onto "
        'a plane in the gravity of three bodies. "paper" is the contact law of the paper, and "smooth" is another one. '
        "v* is the slip speed below which friction is regularised; it is 1e-2, 1e-3 and 1e-4 m/s. Fig. 10 shows in "
        "which phase of a contact energy is lost.",
        "difsim hopper --stage cube",
        "hopper/cube",
        paper_rows.cube,
        "hopper",
    ),
    Section(
        "The hopper paper: a settling hopper",
        "Fig. 11 of the paper: one path of MINERVA-II from its release to rest. Half a millimetre at the touchdown "
        "becomes metres at rest, so only the kind of motion is compared.",
        "difsim hopper --stage minerva",
        "hopper/minerva",
        paper_rows.path,
        "hopper",
    ),
)
