"""`difsim contact --stage joint`: two contacts, and which numbers of their soils can be one.

Each hypothesis has some numbers of the ground in common and the others twice. All of them are inversions of both
contacts with the same data, so their evidences compare. Each contact is then predicted with the soil of the other one.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from matplotlib.figure import Figure

from difsim.declarations import quantities
from difsim.plot.style import BLACK, BLUE, GREY, ORANGE
from experiments.contact.case import GROUNDS, Case, read_case
from experiments.contact.model import Model, build_model
from experiments.contact.world import Motion, Plunge
from experiments.harness import Found
from experiments.variables import describe
from inversion import Checkpoint, Fixed, Observations, Problem, Tempered, sample

# Particles, which start in the prior, where a soil that both contacts have in common is rare; steps of their chains;
# independent draws of a posterior; and simulations in one compiled call.
PARTICLES, QUICK, STEPS, SIZE, BATCH = 32_000, 1600, 4, 100, 400
DRAWS = 2000  # for predictions
PARTS = "constant strength", "rise with depth", "speed"
NONE, SOILS = "nothing: two soils", ("its own", "the other's")


class Both(eqx.Module):
    """The simulations of two contacts. A parameter of one of them has its name before its own: `stone_mass`."""

    models: dict[str, Model]

    def __call__(self, p: Mapping[str, Array]) -> tuple[dict[str, Any], Array]:
        found, statuses = {}, []
        for at, model in self.models.items():
            seen, status = model(own(at, p))
            found |= {f"{at}_{name}": value for name, value in seen.items()}
            statuses.append(status)
        first, second = statuses
        return found, jnp.where(first == 0, second, first)

    def account(self, p: Mapping[str, Array]) -> dict[str, Array]:
        """The depths [2] of each contact in its own soil and in the other's, m, and its pressures [3], Pa."""
        plunges = {at: model.build(own(at, p)) for at, model in self.models.items()}
        found = {}
        for (at, plunge), other in zip(plunges.items(), reversed(plunges.values()), strict=True):
            motion = plunge.fall()
            borrowed = eqx.tree_at(lambda x: x.ground, plunge, other.ground).fall()
            found[f"{at}_depth"] = jnp.stack([motion.depth[-1], borrowed.depth[-1]])
            found[f"{at}_pressure"] = split_pressure(plunge, motion)
        return found


def own(at: str, p: Mapping[str, Array]) -> dict[str, Array]:
    """The parameters of one contact. **Arguments:** its name `at`; `p`, those of both by name."""
    return {name.removeprefix(f"{at}_"): value for name, value in p.items()}


def split_pressure(plunge: Plunge, motion: Motion) -> Float[Array, "3"]:
    """The work of the ground over the volume of the pit, Pa, by PARTS. **Arguments:** `plunge`; its `motion`."""
    z, v = motion.depth, motion.speed
    radius = jax.vmap(plunge.contact_radius)(z)
    strength, c1, c2 = jax.vmap(plunge.ground.resistance)(z, radius)
    at_touch = strength[0] * (radius / radius[0]) ** 2
    parts = jnp.stack([at_touch, strength - at_touch, c1 * v + c2 * v**2])
    return jax.vmap(lambda part: jnp.trapezoid(part, z))(parts) / jnp.trapezoid(jnp.pi * radius**2, z)


def list_common(cases: Mapping[str, Case]) -> list[str]:
    """The unknowns of the ground. **Raises:** `ValueError` where the two files say other things of the ground."""
    first, second = cases.values()
    names = [k for k in quantities(GROUNDS[first.law]) if k != "gravity"]
    if first.law != second.law or any(first.parameters[k] != second.parameters[k] for k in names):
        raise ValueError(f"{' and '.join(cases)} need the same ground and the same laws of its numbers: one soil")
    return [k for k in names if not isinstance(first.parameters[k], Fixed)]


def pose_both(cases: Mapping[str, Case], common: Collection[str]) -> Problem:
    """The inversion of both contacts. **Arguments:** `cases` by name; `common`: what their soils have in common."""
    parameters, data = {}, {}
    for at, case in cases.items():
        parameters |= {k if k in common else f"{at}_{k}": q for k, q in case.parameters.items()}
        data |= {f"{at}_{k}": case.data[k] for k in case.data.names}
    return Problem(parameters, Both({at: build_model(case) for at, case in cases.items()}), Observations(data))


def compare(paths: Iterable[Path], seed: int, out: Path, is_quick: bool) -> Found:
    """The evidence of each hypothesis, and what each contact says of the other.

    **Arguments:** `paths` of two cases; `seed`; `out`; `is_quick`: with fewer draws. **Returns:** what the harness
    writes. **Raises:** `ValueError` for two files of one name, or with other laws of the ground.
    """
    cases = {path.stem: read_case(path) for path in paths}
    if len(cases) != 2:
        raise ValueError(f"--pair needs two files of different names: {', '.join(cases)}")
    names, particles = list_common(cases), QUICK if is_quick else PARTICLES
    key, found = jax.random.PRNGKey(seed), {}
    for common in sorted(dict.fromkeys([(), *combinations(names, len(names) - 1), tuple(names)]), key=len):
        problem = pose_both(cases, common)
        made_of = [case.made_of for case in cases.values()]
        kept = Checkpoint(out / "checkpoint", (made_of, common, seed, particles))
        found[", ".join(common) or NONE] = sample(
            problem, key=key, method=Tempered(particles, STEPS), effective_size=SIZE, limit=10 * particles,
            batch_size=BATCH, checkpoint=kept, progress=True,
        )  # fmt: skip
    two = found[NONE]
    seen = two.predict(two.problem.predict.account, key=key, count=DRAWS)
    rows = [
        {
            "one for both": name,
            "log evidence gained": each.log_evidence - two.log_evidence,
            "its error": float(np.hypot(each.log_evidence_error, two.log_evidence_error)),
            "p of the data": each.p_value,
            "verdict": each.verdict,
        }
        for name, each in found.items()
    ]
    depth, pressure = (np.stack([seen[f"{at}_{k}"] for at in cases]) for k in ("depth", "pressure"))
    data = {
        "depth": (("contact", "draw", "soil"), depth, {"units": "m"}),
        "pressure": (("contact", "draw", "part"), pressure, {"units": "Pa"}),
    }
    result = describe(xr.Dataset(data, {"contact": list(cases), "soil": list(SOILS), "part": list(PARTS)}))
    summary = {"title": " | ".join(case.title for case in cases.values()), "hypotheses": rows}
    summary["contacts"] = [row for at, case in cases.items() for row in _list_contact(at, case, seen)]
    summary["simulations"] = sum(each.calls.forward for each in found.values())
    return Found(summary, {"joint": result}, {"joint": draw(result, cases)})


def _list_contact(at: str, case: Case, seen: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """The rows of a contact: depths with either soil, and the pressures with its own."""
    what = [*(f"depth in {soil} soil, m" for soil in SOILS), *(f"pressure by {part}, Pa" for part in PARTS)]
    columns = np.concatenate([seen[f"{at}_depth"], seen[f"{at}_pressure"]], axis=1).T
    ends = [np.quantile(values, (0.025, 0.5, 0.975)).tolist() for values in columns]
    rows = zip(what, ends, strict=True)
    return [{"contact": case.title, "what": k, "median": mid, "95 %": [low, high]} for k, (low, mid, high) in rows]


def draw(result: xr.Dataset, cases: Mapping[str, Case]) -> Figure:
    """The depth of each contact by both soils, and the pressures. **Arguments:** `result` of `compare`; `cases`."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    *axes, last = figure.subplots(1, len(cases) + 1)
    for ax, (at, case) in zip(axes, cases.items(), strict=True):
        logs = np.log10(result["depth"].sel(contact=at).values)
        bins = np.linspace(logs.min(), logs.max(), 60)
        for i, (color, soil) in enumerate(zip((BLUE, ORANGE), SOILS, strict=True)):
            ax.hist(logs[:, i], bins, color=color, alpha=0.8, density=True, label=f"in {soil} soil")
        if "depth" in case.data.names:
            ax.axvline(np.log10(float(case.data["depth"].value)), color=BLACK, linewidth=1.0, label="measured")
        ticks = np.arange(np.ceil(bins[0]), np.floor(bins[-1]) + 1)
        ax.set_xticks(ticks, [f"{10**tick:g}" for tick in ticks])
        ax.set(title=case.title, xlabel="depth, m", yticks=[])
    axes[0].legend(frameon=False, fontsize=8)
    low, middle, high = result["pressure"].quantile((0.025, 0.5, 0.975), "draw").values
    for i, color in enumerate((BLUE, ORANGE)):
        at = np.arange(len(PARTS)) + 0.2 * (i - 0.5)
        last.vlines(at, np.maximum(low[i], 1e-3), high[i], color=color, linewidth=2)
        label = list(cases.values())[i].title
        last.plot(at, np.maximum(middle[i], 1e-3), "o", color=color, markersize=4, label=label)
    last.set_yscale("log")
    last.set_xticks(range(len(PARTS)), [part.replace(" ", "\n", 1) for part in PARTS])
    last.set(title="What stopped it", ylabel="work by volume, Pa")
    last.legend(frameon=False, fontsize=7)
    last.grid(axis="y", color=GREY, alpha=0.3)
    return figure
