"""`difsim agilkia`: what the ground is made of that a lander touched, from its rebound; by default Philae's."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import numpy as np
import tyro
import xarray as xr
from matplotlib.figure import Figure

from difsim.declarations import Quantity
from difsim.session import CACHE
from experiments.agilkia import (
    assumptions,
    assumptions_report,
    bounce,
    coverage,
    descent,
    grains,
    grains_draws,
    joint,
    joint_report,
    keys,
    orbits,
    pictures,
    report,
    worlds,
)
from experiments.agilkia.chain import ChainProgram, contacts, is_agilkia
from experiments.agilkia.files import DATA, DataSet, read_lander, read_observations
from experiments.agilkia.scenario import problem
from experiments.agilkia.solve import invert
from experiments.foot.calibration import TABLE, read
from experiments.harness import SEED, Found, Study
from experiments.records import file_hash
from inversion import Checkpoint, Problem

PHILAE = DATA / "philae.toml"
THOROUGH = 0.01  # error of the log evidence at which a thorough posterior ends


@dataclass
class Agilkia(Study):
    """Fit the ground to a lander's touchdown, by default Philae's at Agilkia: branch and bound over the discrete
    unknowns, gradients for the others, and an honest statement of what the data fix."""

    data: Literal["published", "paper", "bounce"] | None = None
    """Which observations of Philae to fit ("published"); they are never mixed. "bounce": the touchdown with its next
    contact."""
    lander: Path = PHILAE
    """Lander, site and unknowns (TOML; units are in its keys: m, kg, N, s, Pa, degrees)."""
    observations: Path | None = None
    """Your own observations instead of --data (TOML; m/s, J, m, rad/s, s, N)."""
    shape: str = "analogue"
    """Comet 67P, which is flown about: "analogue" (made of published numbers), "shap5" (downloaded once), or a mesh
    file with vertices in km. Its field and distances are kept in the cache folder."""
    regolith: Literal["reduced", "calibrated", "grains"] = "reduced"
    """"reduced": the law of a sole as it stands; "calibrated": times what grains resist more
    (`difsim foot --stage calibrate`), whose error is one more unknown; "grains": no inversion, but the touchdown
    at the paper's optimum on beds of grains."""
    bed: Literal["feet", "drum"] = "feet"
    """Of grains: one under each foot, or one for all (some five times the work)."""
    grain: float = 0.05
    """Diameter of the grains, m."""
    draws: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Of grains: touchdowns at that many draws of the posterior in OUT/result.nc, in place of the paper's optimum."""
    stage: Literal["all", "joint", "assumptions", "descent", "pictures", "coverage"] = "all"
    """"all"; "joint": the touchdown alone and with its next contact, each without and with an error of the law, on the
    real shape (--data bounce, --shape shap5); "assumptions": how the answer in OUT/result.nc moves with each of the
    [alternatives] of the two files; "descent": the flights alone, from 22 km to the ground and back, and the paper's
    bounce; "pictures": draw them again from OUT/result.nc; "coverage": how often posteriors of synthetic touchdowns
    hold the truth, with --data bounce those of touchdowns and next contacts."""
    seed: int = 0
    """Seed of all random starts, and of the bed of grains."""
    posterior: Literal["usual", "thorough"] = "usual"
    """How many independent draws the posterior is worth: 500 (with --quick 100), so that errors of probabilities are
    below 0.023; or "thorough": 10 000, errors below 0.005, and more until the log evidence is known to 0.01. A run with
    --keep-checkpoint goes on from the draws of the run before."""

    repetitions: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Synthetic touchdowns of "coverage" (64; with --quick 4)."""

    cluster_stages = ("all", "joint", "assumptions", "coverage")

    def __post_init__(self):
        if self.repetitions is None:
            self.repetitions = 4 if self.quick else 64
        if self.repetitions < 1:
            raise ValueError(f"--repetitions {self.repetitions} must be at least 1")
        if self.draws is not None and (self.draws < 1 or self.regolith != "grains" or self.bed != "feet"):
            raise ValueError(f"--draws {self.draws} must be at least 1, with --regolith grains and --bed feet")
        if self.data and self.observations:
            raise ValueError(f"--data {self.data} and --observations {self.observations}: give one of them")
        if self.lander != PHILAE and not (self.data or self.observations):
            raise ValueError(
                f"--lander {self.lander} needs its readings: --observations FILE, or --data published for Philae's"
            )
        if self.stage == "descent" and (self.lander != PHILAE or self.data or self.observations):
            raise ValueError(
                "--stage descent flies Philae's descent: it takes no --lander, --data or --observations"
            )

    @property
    def readings(self) -> Path:
        """The file of the observations."""
        usual = "bounce" if self.stage == "joint" else "published"
        return self.observations or DATA / f"philae_{self.data or usual}.toml"

    def inputs(self) -> list[Path]:
        """The two input files, the table of the calibrated law, and the shape's file."""
        shipped = [] if self.observations else [self.readings]
        calibration = [TABLE] if self.regolith == "calibrated" else []
        return super().inputs() + shipped + calibration + worlds.files_of(self.shape)

    def folder(self, stage: str) -> Path:
        """One folder for all stages: the pictures are drawn again from the result beside them."""
        return self.out or Path("results/agilkia")


def _invert_or_touch_down(options: Agilkia, out: Path) -> Found:
    """The inversion, or the touchdown on grains."""
    lander, data = read_lander(options.lander), read_observations(options.readings)
    if options.regolith == "grains":
        if options.quick:
            raise ValueError("--regolith grains has no --quick: give an observations file with a short horizon_s")
        if options.draws is not None:
            return grains_draws.run_draws(
                lander, data, options.grain, options.seed, out, options.draws, options.executor
            )
        return grains.touch_down(lander, data, options.bed, options.grain, options.seed, out)
    world = _world(options, lander["site"])
    inverse, made_of = _set_up(options, lander, data, world)
    place = report.place(lander, data, inverse.predict, options.shape, world)
    print(report.place_line(place), flush=True)
    size = 100 if options.quick else {"usual": 500, "thorough": 10_000}[options.posterior]
    checkpoint = Checkpoint(out / "checkpoint", (*made_of, options.seed))
    chain = ChainProgram(inverse, world, is_agilkia(lander["site"])) if world else None
    print("compiling the touchdown, half a minute; the next run takes it from the cache", flush=True)
    evidence = THOROUGH if options.posterior == "thorough" and not options.quick else np.inf
    answer = invert(inverse, options.seed, checkpoint, size, evidence, options.executor)

    series, simulated, energy = report.trajectory(answer)
    summary = place | report.summarise(answer, data, simulated, energy)
    if inverse.predict.calibration is not None:
        summary["calibration"] = report.describe_calibration(inverse.predict.calibration, answer.fit.values)
    flown = None
    if chain is not None:
        flown = chain.draws(answer.posterior, jax.random.PRNGKey(options.seed), min(size, 400))
        ends = contacts(flown, trusted=answer.posterior.fault is None)
        summary["chain"] = {"shape": options.shape} | chain(answer.fit.values) | {"posterior": ends}
    result = report.dataset(answer, data, series, summary, flown)
    return Found(summary, {"result": result}, _draw(result.to_dataset(), options))


def _world(options: Agilkia, site: Mapping[str, Any]) -> worlds.World | None:
    """67P, or None where the site is on another body: no other one can be flown about."""
    if site["body"] != keys.COMET:
        if options.shape != Agilkia.shape:
            raise ValueError(f"--shape {options.shape} is of 67P, and the site is on {site['body']!r}")
        return None
    return worlds.best_of(options.shape, CACHE / "worlds")


def _set_up(
    options: Agilkia, lander: dict[str, Any], data: DataSet, world: worlds.World | None
) -> tuple[Problem, tuple]:
    """The problem, and what it is made of: a change in any of that starts an interrupted run afresh."""
    calibration = read() if options.regolith == "calibrated" else None
    shape = Path(options.shape)
    mark = file_hash(shape) if shape.is_file() else options.shape
    made_of = lander, data.initial, data.lander, data.fitted, mark, calibration
    return problem(lander, data, world, calibration), made_of


def _draw(result: xr.Dataset, options: Agilkia) -> dict[str, Figure]:
    if "second_contact_time" not in result:
        return pictures.draw(result)
    body = worlds.coarse_of(worlds.shape_of(options.shape))
    return pictures.draw(result) | {"contacts": orbits.draw_contacts(result, body)}


def _descent(options: Agilkia, out: Path) -> Found:
    """Descent and bounce in the worlds of one shape."""
    body, flown = worlds.build_worlds(options.shape, CACHE / "worlds")
    down, up = descent.descend(flown), bounce.bounce(flown)
    figures = {"descent": orbits.draw_descent(down, body), "bounce": orbits.draw_bounce(up, body)}
    summary = {"descent": descent.numbers(down), "bounce": descent.numbers(up)}
    summary["assumed"] = worlds.list_assumptions(options.shape)
    data = {"descent": down, "bounce": up}
    return Found(summary, data, figures, record="flights")


def _coverage(options: Agilkia, out: Path) -> Found:
    """Posteriors of synthetic touchdowns, and of next contacts if the data set has one; a run for more goes on."""
    if options.regolith == "grains":
        raise ValueError("--stage coverage is of an inversion: --regolith grains has none")
    lander, data = read_lander(options.lander), read_observations(options.readings)
    inverse, made_of = _set_up(options, lander, data, _world(options, lander["site"]))
    folder, count = out / "coverage.checkpoint", coverage.QUICK if options.quick else coverage.START
    return coverage.cover(inverse, count, options.repetitions, options.seed, folder, made_of, options.executor)


def _joint(options: Agilkia, out: Path) -> Found:
    """Touchdown and next contact, each alone and together."""
    if options.shape == Agilkia.shape:
        raise ValueError(
            "--stage joint needs the real ground: --shape shap5. On two ellipsoids the paper's rebound comes down "
            "1350 s later and 400 m further away than on the real shape"
        )
    lander, data = read_lander(options.lander), read_observations(options.readings)
    world = _world(options, lander["site"])
    effort = joint.QUICK if options.quick else joint.USUAL
    whole, made_of = _set_up(options, lander, data, world)
    both = joint.Joint(whole, effort, options.seed)
    found = both.sample(out / "joint.checkpoint", made_of, options.executor)
    table, seen = joint_report.summarise(both, found)
    summary = _name(lander) | {"data_set": data.name, "shape": options.shape} | table
    if is_agilkia(lander["site"]):
        summary["conflicts"] = bounce.list_conflicts(data.fitted, world)
    summary["assumed"] = worlds.list_assumptions(options.shape)
    result = joint_report.dataset(both, seen)
    return Found(summary, {"joint": result}, {"joint": orbits.draw_joint(result)}, record="joint")


def _name(lander: Mapping[str, Any]) -> dict[str, str]:
    """The lander and its body, from the tables of its file."""
    return {"lander": lander["lander"]["name"], "body": lander["site"]["body"]}


def _assumptions(options: Agilkia, out: Path) -> Found:
    """The answer of the main study under other assumptions."""
    if options.regolith != "reduced":
        raise ValueError(f"--stage assumptions is of the reduced law: leave out --regolith {options.regolith}")
    cases = assumptions.list_cases(options.lander, options.readings)
    place = _name(cases[0].lander)
    first = grains_draws.read_draws(out / "result.nc", place)
    sizes = assumptions.QUICK if options.quick else assumptions.USUAL
    sampler = assumptions.Sampler(first, sizes, options.seed, out / "assumptions.checkpoint", options.executor)
    summary = place | {"data_set": cases[0].data.name} | assumptions_report.assess(cases, sampler)
    result = assumptions_report.dataset(summary)
    figure = assumptions_report.draw(result)
    return Found(summary, {"assumptions": result}, {"assumptions": figure}, record="assumptions")


def _pictures(options: Agilkia, out: Path) -> Found:
    path = out / "result.nc"
    if not path.is_file():
        raise ValueError(f"{path} is not there: run without --stage pictures first")
    try:
        return Found(figures=_draw(xr.load_dataset(path, engine="h5netcdf"), options))
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} is no result of a run ({error}): run without --stage pictures again") from error


Agilkia.ranges = {
    "grain": Quantity("m", "radius of grains", gt=0, le=1, usual=(0.01, 0.2), slip="cm or mm"),
    "seed": SEED,
}
Agilkia.stages = {
    "all": _invert_or_touch_down,
    "joint": _joint,
    "assumptions": _assumptions,
    "descent": _descent,
    "pictures": _pictures,
    "coverage": _coverage,
}
