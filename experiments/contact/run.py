"""`difsim contact`: the ground from one contact, whatever touched it, by numbers or by an accelerometer's series."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import tyro
import xarray as xr

from experiments import posteriors
from experiments.contact import assumptions, coverage, joint, packings, pictures
from experiments.contact.case import SIMULATED, Case, read_case
from experiments.contact.model import pose
from experiments.contact.simulated import Runs
from experiments.data_files import data_folder
from experiments.harness import SEED, Found, Study
from inversion import Checkpoint, Discrete, Problem, corner, fit, sample
from inversion.leastsq import Fit
from inversion.posterior import Posterior

CASES = data_folder() / "cases"
BATCH = 500  # simulations in one compiled call
SIZE, QUICK_SIZE = 1000, 100  # independent draws that a posterior is worth
SHOWN = 200  # draws of which motions are drawn


@dataclass
class Contact(Study):
    """The ground from one contact: a drop, a probe, a footpad or a landing, as a file says it."""

    stage: Literal["fit", "coverage", "assumptions", "joint", "packings"] = "fit"
    """"fit": posterior and best fit of what the file does not know; "coverage": how often posteriors of synthetic
    contacts, drawn from the file's laws, hold the truth; "assumptions": the posterior with each sigma halved and
    doubled, and with each of the file's alternatives; "joint": the evidence that two contacts have one soil;
    "packings": the case's plate in simulated dry grains, and what the law leaves of that."""
    case: Path = field(default_factory=lambda: CASES / "drop.toml")
    """The contact (TOML; units are in its keys)."""
    pair: tuple[Path, Path] = field(default_factory=lambda: (CASES / "philae_td1.toml", CASES / "philae_td2.toml"))
    """The two contacts of "joint", with the same laws of the ground."""
    series: Path | None = None
    """Readings of an accelerometer (CSV with the columns t_s and a_m_per_s2)."""
    shape: Path | None = None
    """A mesh (m, its lower side against z) or a lander file, for a body that is neither a plate nor a sphere."""
    seed: int = 0
    """Seed of all random numbers."""
    repetitions: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Synthetic contacts of "coverage" (500; with --quick 4)."""

    cluster_stages = ("coverage",)

    def __post_init__(self):
        if self.repetitions is None:
            self.repetitions = 4 if self.quick else 500
        if self.repetitions < 1:
            raise ValueError(f"--repetitions {self.repetitions} must be at least 1")
        if self.stage == "assumptions" and self.series is not None:
            raise ValueError("--stage assumptions is of the numbers of a case: leave --series out")
        if self.stage not in ("fit", "coverage") and self.shape is not None:
            raise ValueError(f"--stage {self.stage} is of plates and spheres: leave --shape out")


def _fit(options: Contact, out: Path) -> Found:
    case, key = read_case(options.case, options.series, options.shape), jax.random.PRNGKey(options.seed)
    if not case.unknown:
        raise ValueError(f"{options.case}: every number is known: give one a law in [unknowns]")
    made_of, runs = (case.made_of, options.seed, options.quick), None
    if case.law in SIMULATED:
        runs = Runs(case, Checkpoint(out / "runs.checkpoint", made_of))
    problem = pose(case) if runs is None else runs.pose(key, options.quick)
    posterior = sample(
        problem,
        key=key,
        effective_size=QUICK_SIZE if options.quick else SIZE,
        batch_size=BATCH,
        checkpoint=Checkpoint(out / "checkpoint", made_of),
        progress=True,
    )
    best = polish(problem, posterior)
    unknowns = posteriors.rows(posterior, {name: best.values[name] for name in case.unknown})
    if posterior.fault is not None:
        unknowns = {name: row | {"sigma": best.sigma.get(name)} for name, row in unknowns.items()}
    summary = summarise(case, posterior, best, unknowns)
    values = {name: jnp.asarray(value) for name, value in best.values.items()}
    if runs is None:
        course, shown_by = pictures.Course(problem.predict), "Motion by draws of the posterior"
        result = pictures.dataset(
            case, eqx.filter_jit(course)(values), posterior.predict(course, key=key, count=SHOWN)
        )
    else:
        result, shown_by = pictures.dataset(case, *runs.try_fit(values, key)), "Motion in each run"
        summary["runs"] = {"of the ground": len(runs.motions) - 1, "failed": int(jnp.sum(~runs.surface.ok))}
        summary["measured"] = {name: row | runs.account(name) for name, row in summary["measured"].items()}
    figures = {"contact": pictures.draw(result, case.title, shown_by)}
    shown = [name for name, row in unknowns.items() if row["prior"] is not None]
    if len(shown) > 1:
        chosen = {name: best.values[name] for name in shown}
        figures["posterior"] = corner(posterior, chosen, f"{case.title}: posterior of what is not known")
    groups = {"/contact": result} | {f"/{k}": v for k, v in posteriors.samples(posterior).items()}
    return Found(summary, {"result": xr.DataTree.from_dict(groups)}, figures)


def polish(problem: Problem, posterior: Posterior) -> Fit:
    """The least misfit from the best draw, with its choices.

    **Arguments:** `problem`; `posterior` of it. **Returns:** the fit.
    """
    at = int(np.argmax(posterior.log_likelihood))
    start = {name: float(values[at]) for name, values in posterior.draws.items()}
    chosen = {name: start.pop(name) for name in list(start) if isinstance(problem.parameters[name], Discrete)}
    held = problem.hold(chosen) if chosen else problem
    if not held.free:
        raise ValueError("every unknown is a choice: give one number a law")
    return fit(held, key=jax.random.PRNGKey(0), guesses=[start], starts=0, keep=1, throw=False)


def summarise(case: Case, posterior: Posterior, best: Fit, unknowns: dict[str, Any]) -> dict[str, Any]:
    """The content of the report on a fit."""
    predicted, _ = posterior.problem.predict({k: jax.numpy.asarray(v) for k, v in best.values.items()})
    measured = {
        k: {"measured": float(x.value), "sigma": float(x.sigma), "fit": float(predicted[k]), "unit": x.unit}
        for k, x in case.data.table.items()
        if k != "series"
    }
    fitted = {"misfit": best.misfit, "data": best.data, "status": best.status.name, "doubt": best.doubt or "none"}
    found = {
        **{"title": case.title, "law": case.law, "explains_data": posterior.explains_data},
        **{"unknowns": unknowns, "measured": measured, "posterior": posteriors.quality(posterior), "fit": fitted},
        "simulations": {"of the posterior": posterior.calls.forward, "of the fit": best.calls.forward},
    }
    if case.series is not None:
        beyond = np.asarray(case.data["series"].noise.beyond)
        found["series"] = {"readings": beyond.size, "clipped": int(np.sum(beyond != 0)), "gaps": case.series.gaps}
    return found


Contact.ranges = {"seed": SEED}
Contact.stages = {
    "fit": _fit,
    "coverage": lambda options, out: coverage.cover(
        read_case(options.case, options.series, options.shape),
        options.repetitions,
        options.seed,
        out,
        options.executor,
    ),
    "assumptions": lambda options, out: assumptions.compare(
        options.case, assumptions.QUICK if options.quick else assumptions.DRAWS, options.seed
    ),
    "joint": lambda options, out: joint.compare(options.pair, options.seed, out, options.quick),
    "packings": lambda options, out: packings.compare(
        options.case, assumptions.QUICK if options.quick else assumptions.DRAWS, options.seed, options.quick
    ),
}
