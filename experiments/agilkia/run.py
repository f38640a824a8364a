"""`difsim agilkia`: what the Agilkia surface is made of, from Philae's rebound."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
import xarray as xr
from tqdm import tqdm

from difsim.session import CACHE
from experiments.agilkia import bounce, descent, grains, orbits, pictures, report, worlds
from experiments.agilkia.baseline import OPTIMUM, descend, evolve, jacobian_cost, paper_problem, restarts
from experiments.agilkia.chain import chain_table, run_chain
from experiments.agilkia.files import DATA, read_lander, read_observations
from experiments.agilkia.scenario import problem
from experiments.agilkia.solve import NodeSolver, invert
from experiments.foot.calibration import read
from experiments.harness import Found, Study
from inversion import Checkpoint


@dataclass
class Agilkia(Study):
    """Fit the surface at Agilkia to Philae's first touchdown: branch and bound over the discrete unknowns,
    gradients for the others, and an honest statement of what the data fix."""

    data: Literal["published", "paper", "bounce"] = "published"
    """Which built-in observations to fit; they are never mixed. "bounce": the touchdown with its next contact."""
    lander: Path = DATA / "philae.toml"
    """Lander, site and unknowns (TOML; units are in its keys: m, kg, N, s, Pa, degrees)."""
    observations: Path | None = None
    """Your own observations instead of --data (TOML; m/s, J, m, rad/s, s, N)."""
    shape: str = "analogue"
    """The comet that is flown about: "analogue" (made of published numbers), "shap5" (downloaded once), or a mesh
    file with vertices in km. Its field and distances are kept in the cache folder."""
    regolith: Literal["reduced", "calibrated", "grains"] = "reduced"
    """"reduced": the law of a sole as it stands; "calibrated": times what grains resist more
    (`difsim foot --stage calibrate`), whose error is one more unknown; "grains": no inversion, but the touchdown
    at the paper's optimum on beds of grains."""
    bed: Literal["feet", "drum"] = "feet"
    """Of grains: one under each foot, or one for all (some five times the work)."""
    grain: float = 0.05
    """Diameter of the grains, m."""
    stage: Literal["all", "descent", "pictures"] = "all"
    """"all"; "descent": the flights alone, from 22 km to the ground and back, and the paper's bounce; "pictures":
    draw them again from OUT/result.nc."""
    seed: int = 0
    """Seed of all random starts, and of the bed of grains."""
    starts: Annotated[int, tyro.conf.arg(metavar="N")] = 96
    """Simulations that are screened before the searches of a node."""
    keep: Annotated[int, tyro.conf.arg(metavar="N")] = 2
    """Searches of a node by least squares, from the best screened points."""
    restarts: Annotated[int, tyro.conf.arg(metavar="N")] = 5
    """Restarts on the paper's objective, for the spread of its Eqs 46-48 (the paper used 100)."""
    evolutions: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Runs of differential evolution beside them (`difsim benchmark agilkia` compares over many seeds)."""
    generations: Annotated[int, tyro.conf.arg(metavar="N")] = 25
    """Generations after which differential evolution gives up."""

    def __post_init__(self):
        for name in ("starts", "keep", "restarts", "evolutions", "generations"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name} {getattr(self, name)} must be at least 1")
        if self.quick:
            self.starts, self.keep, self.restarts, self.evolutions, self.generations = 16, 2, 2, 1, 3

    def folder(self, stage: str) -> Path:
        """One folder for all stages: the pictures are drawn again from the result beside them."""
        return self.out or Path("results/agilkia")


def _all(options: Agilkia, out: Path) -> Found:
    """The inversion, or the touchdown on grains."""
    lander = read_lander(options.lander)
    data = read_observations(options.observations or DATA / f"philae_{options.data}.toml")
    if options.regolith == "grains":
        if options.quick:
            raise ValueError("--regolith grains has no --quick: give an observations file with a short horizon_s")
        return grains.touch_down(lander, data, options.bed, options.grain, options.seed, out)
    world = worlds.best_of(options.shape, CACHE / "worlds")
    calibration = read() if options.regolith == "calibrated" else None
    inverse = problem(lander, data, world, calibration)
    # The data with which an interrupted run may go on: a change in any of it starts afresh.
    settings = (options.seed, options.starts, options.keep, options.generations)
    checkpoint = Checkpoint(
        out / "checkpoint",
        (lander, data.initial, data.lander, data.fitted, settings, _mark(options.shape), calibration),
    )
    solver = NodeSolver(options.seed, options.starts, options.keep, root_searches=1 if options.quick else 4)
    answer = invert(inverse, solver, checkpoint, progress=True)

    paper = paper_problem(lander).hold({k: OPTIMUM[k] for k in inverse.discrete})
    with tqdm(total=3, desc="baseline") as bar:
        cost = jacobian_cost(inverse.relax())
        bar.update()
        first = options.seed
        descended = restarts(paper, descend, range(first, first + options.restarts), checkpoint, "gradient")
        bar.update()
        evolved = restarts(
            paper,
            lambda p, seed: evolve(p, seed, options.generations, stall=30),
            range(first, first + options.evolutions),
            checkpoint,
            "evolution",
        )
        bar.update()

    series, simulated, energy = report.trajectory(answer)
    summary = report.summarise(answer, data, simulated, energy, evolved, descended, cost)
    if calibration is not None:
        summary["calibration"] = report.calibrated(calibration, answer.fit.values)
    summary["chain"] = {"shape": options.shape} | run_chain(answer.problem.predict, world, answer.fit.values)
    result = report.dataset(answer, data, series, summary, descended)
    text = report.table(summary) + "\n" + chain_table(summary["chain"])
    return Found(summary, {"result": result}, pictures.draw(result), text)


def _mark(shape: str) -> str:
    """The shape's name, or of a file what is in it."""
    path = Path(shape)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else shape


def _descent(options: Agilkia, out: Path) -> Found:
    """Descent and bounce in the worlds of one shape."""
    body, flown = worlds.all_of(options.shape, CACHE / "worlds")
    down, up = descent.descend(flown), bounce.bounce(flown)
    figures = {"descent": orbits.draw_descent(down, body), "bounce": orbits.draw_bounce(up, body)}
    text = descent.table(down) + "\n\n" + bounce.table(up)
    return Found(data={"descent": down, "bounce": up}, figures=figures, text=text)


def _pictures(options: Agilkia, out: Path) -> Found:
    path = out / "result.nc"
    if not path.is_file():
        raise ValueError(f"{path} is not there: run without --stage pictures first")
    try:
        return Found(figures=pictures.draw(xr.load_dataset(path, engine="h5netcdf")))
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path} is no result of a run ({error}): run without --stage pictures again") from error


Agilkia.stages = {"all": _all, "descent": _descent, "pictures": _pictures}
