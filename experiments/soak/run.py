"""`difsim soak`: random scenes over all models and laws, each checked; failures as files that repeat them."""

import itertools
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro
from jinja2 import UndefinedError

from difsim import Status
from difsim.declarations import Quantity
from difsim.saving.atomic import write_atomically
from difsim.saving.texts import read_text
from experiments.harness import SEED, Found, Study
from experiments.memory import forget_programs, maps_are_many
from experiments.records import commit, write_json
from experiments.report import read_template
from experiments.scenes.catalogue import SCENES
from experiments.scenes.judge import Findings, judge
from experiments.scenes.scene import Scene
from inversion import Checkpoint
from inversion.progress import Bar

QUICK = ("two hard balls", "flight past a point")
EVERY = 4  # the part of the draws whose derivatives are compared with differences
CHUNK = EVERY  # draws of a scene, kept together: so few that a search of an hour comes to all scenes
ERRORS = ("energy", "gain", "momentum", "tighter", "derivative", "reverse", "exact")
RAISED = "an exception"
NAMES = (*(status.name for status in Status), RAISED)  # of what a scene can end with
CHECKS = (*ERRORS, "status", "finite", "determinism", "error")


@dataclass
class Soak(Study):
    """Draw random scenes over all models and laws, and check statuses, energies, derivatives, momenta and bits."""

    stage: Literal["search", "repeat", "page"] = "search"
    """"search": draw and check scenes; "repeat": run the one of --repeat again; "page": write soak.md of the
    documentation from the summary of a search (with --out docs where it is)."""
    hours: float = 1.0
    """The duration of the search; an interrupted search goes on where it was."""
    seed: int = 0
    model: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME...")] = ()
    """Scenes, by parts of their names (all). The report lists them."""
    repeat: Path | None = None
    """A file of a failure: runs that scene alone, and says what is wrong."""
    results: Path = Path("results/soak/search")
    """For the stage "page": the folder of the search."""

    def __post_init__(self):
        if self.repeat is not None:
            self.stage = "repeat"


Soak.ranges = {"hours": Quantity("h", "duration", ge=0, usual=(0, 200), slip="minutes"), "seed": SEED}


def choose(names: Sequence[str]) -> list[Scene]:
    """Return the scenes whose names contain one of these. **Raises:** ValueError for a name that no scene has."""
    for name in names:
        if not any(name in scene.name for scene in SCENES):
            raise ValueError(f"--model {name}: there is none; these are {[scene.name for scene in SCENES]}")
    return [scene for scene in SCENES if not names or any(name in scene.name for name in names)]


def search(options: Soak, out: Path) -> Found:
    """Draw from each scene in turn, in chunks, until the hours are over."""
    scenes = choose(QUICK if options.quick and not options.model else options.model)
    # Another commit starts afresh: a table is of one state of the library.
    checkpoint = Checkpoint(out / "soak.checkpoint", {"seed": options.seed, "commit": commit(), "chunk": CHUNK})
    deadline = time.monotonic() + (60.0 if options.quick else 3600 * options.hours)
    pieces: dict[str, list[dict[str, np.ndarray]]] = {scene.name: [] for scene in scenes}
    with Bar("random scenes") as bar:
        for part, scene in ((part, scene) for part in itertools.count() for scene in scenes):
            key = f"{slug(scene.name)}-{part}"
            if time.monotonic() > deadline and key not in checkpoint:
                break
            if maps_are_many():  # after some 25 scenes; a search of a night compiles them all several times
                forget_programs()
            bar.note(scene.name)
            piece = checkpoint.get_or(
                key, lambda scene=scene, part=part: judge_chunk(scene, options.seed, part, out / "failures")
            )
            pieces[scene.name].append(piece)
            bar.advance(CHUNK)
    table = [row(name, found) for name, found in pieces.items()]
    summary = {
        "scenes": sum(each["scenes"] for each in table),
        "OK": sum(each["OK"] for each in table),
        "failures": sum(each["failures"] for each in table),
        "table": table,
    }
    return Found(summary)


def judge_chunk(scene: Scene, seed: int, part: int, failures: Path) -> dict[str, np.ndarray]:
    """Return the findings of the draws of one chunk; those that fail are written into a folder."""
    every = []
    for index in range(part * CHUNK, (part + 1) * CHUNK):
        findings = find_faults(scene, scene.draw(seed, index), index)
        every.append(findings)
        if findings.faults:
            failures.mkdir(parents=True, exist_ok=True)
            path = failures / f"{slug(scene.name)}-{seed}-{index}.json"
            write_json(path, record(scene, seed, index, findings))
    return {
        "status": np.array([NAMES.index(each.status) for each in every]),
        "unsure": np.array([each.unsure for each in every]),
        "errors": np.array([[each.errors.get(name, np.nan) for name in ERRORS] for each in every]),
        "shares": np.array([[each.shares.get(name, np.nan) for name in ERRORS] for each in every]),
        "faults": np.array([[name in each.faults for name in CHECKS] for each in every]),
    }


def find_faults(scene: Scene, numbers: dict[str, np.ndarray], index: int) -> Findings:
    """Return the findings; an exception is a fault, too, since every number of a scene is a valid one."""
    try:
        return judge(scene, numbers, index, index % EVERY == 0)
    except Exception as error:
        return Findings(RAISED, {"error": f"{type(error).__name__}: {error}"})


def record(scene: Scene, seed: int, index: int, findings: Findings) -> dict[str, Any]:
    """Return the record that repeats a draw."""
    numbers = {name: value.tolist() for name, value in scene.draw(seed, index).items()}
    about = {"model": scene.name, "seed": seed, "index": index, "commit": commit(), "numbers": numbers}
    return about | asdict(findings)


def row(name: str, pieces: list[dict[str, np.ndarray]]) -> dict[str, Any]:
    """Return the row of a scene: how many draws, how they ended, and the worst of each error."""
    if not pieces:
        return {"model": name, "scenes": 0, "OK": 0, "failures": 0}
    status, unsure, errors, shares, faults = (
        np.concatenate([piece[key] for piece in pieces])
        for key in ("status", "unsure", "errors", "shares", "faults")
    )
    ends = Counter(NAMES[code] for code in status)
    worst = {f"worst {check}": greatest(errors[:, i]) for i, check in enumerate(ERRORS)}
    compared = np.isfinite(errors[:, ERRORS.index("derivative")])
    return {
        "model": name,
        "scenes": int(status.size),
        "OK": ends.pop("OK", 0),
        "other statuses": dict(ends.most_common()),
        **worst,
        "derivatives compared": int(compared.sum()),
        "no reference": int(unsure.sum()),
        "nearest to its bound": greatest(shares),
        "failures": int(faults.any(axis=1).sum()),
        "failed checks": {check: int(faults[:, i].sum()) for i, check in enumerate(CHECKS) if faults[:, i].any()},
    }


def greatest(errors: np.ndarray) -> float | None:
    """The greatest of what was measured; None of nothing."""
    return float(np.nanmax(errors)) if np.isfinite(errors).any() else None


def slug(name: str) -> str:
    """A name as part of a file's."""
    return re.sub(r"\W+", "-", name)


def repeat(options: Soak, out: Path) -> Found:
    """Run the scene of a file of a failure."""
    scene, numbers, index = read_failure(options.repeat)
    findings = judge(scene, numbers, index)
    lines = [f"{scene.name}, scene {index}: {findings.status}"]
    lines += [f"{check}: {fault}" for check, fault in findings.faults.items()] or ["nothing is wrong with it"]
    lines += [
        f"{check}: {error:.3g}, {findings.shares[check]:.3g} of what is allowed"
        for check, error in findings.errors.items()
    ]
    return Found(text="\n".join(lines))


def read_failure(path: Path | None) -> tuple[Scene, dict[str, np.ndarray], int]:
    """Return the scene, the numbers and the index of a failure. **Raises:** ValueError for another file."""
    if path is None:
        raise ValueError("--stage repeat: give the file of a failure, --repeat FILE")
    try:
        found = json.loads(read_text(path))
        numbers = {str(name): np.asarray(value, float) for name, value in found["numbers"].items()}
        name, index = str(found["model"]), int(found["index"])
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} is no file of a failure that `difsim soak` wrote: {error}") from error
    scenes = [scene for scene in SCENES if scene.name == name]
    if not scenes or numbers.keys() != scenes[0].draws.keys():
        raise ValueError(f"{path} is of another version: there is no {name!r} with the numbers {[*numbers]}")
    return scenes[0], numbers, index


def page(options: Soak, out: Path) -> Found:
    """Write soak.md from the summary of a search."""
    path = options.results / "summary.json"
    if not path.is_file():
        raise ValueError(f"{path} is not there: run `difsim soak` first")
    try:
        text = read_template(Path(__file__).parent / "soak.md.j2").render(json.loads(read_text(path)))
    except (UndefinedError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no summary of a search ({error}): run `difsim soak` again") from error
    written = out / "soak.md"
    with write_atomically(written) as whole:
        whole.write_text(text, encoding="utf-8")
    return Found(text=str(written))


Soak.stages = {"search": search, "repeat": repeat, "page": page}
