"""`difsim hopper --stage ensemble`: thousands of releases over Imhotep, where and when they end.

After some five bounces one release says nothing of the next: the derivative along a path has grown beyond use.
What stays is the derivative of a mean over the spread of the inputs. With Gaussian inputs z it is got in two ways
from samples alone, without any derivative of the simulation:

    ∂E[f]/∂μ_j = E[(f - f̄) z_j]/σ_j   (the score; Stein's lemma makes it the smoothed gradient E[∂f/∂x_j])
    regression of f on all z

Each is computed from its own half of the members, so that they can disagree.
"""

import json
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from difsim import Adaptive, Ignore, Outside, Status, simulate
from experiments.harness import Found
from experiments.hopper import ensemble_pictures
from experiments.hopper.imhotep import World, inertia, minerva, regolith, release_at, rest_rule, world
from experiments.hopper.minerva import LONGEST, START
from experiments.hopper.observe import posture
from experiments.variables import describe
from inversion import Checkpoint, sweep
from inversion.smoothed import regression

# Mean and standard deviation of each input; all ours. Three of a kind are east, north, up (the spin: body axes).
INPUTS = {
    "east_velocity": (START[1][0], 0.005, "m/s"),
    "north_velocity": (START[1][1], 0.005, "m/s"),
    "up_velocity": (START[1][2], 0.005, "m/s"),
    "height": (START[0][2], 2.0, "m"),
    "spin_x": (START[2][0], 0.05, "rad/s"),
    "spin_y": (START[2][1], 0.05, "rad/s"),
    "spin_z": (START[2][2], 0.05, "rad/s"),
    "restitution": (0.6, 0.03, "1"),
    "friction": (0.6, 0.06, "1"),
    "log_rolling": (float(np.log(5e-3)), 0.2, "log m"),
    "centre_x": (0.0, 2e-3, "m"),
    "centre_z": (0.0, 2e-3, "m"),
    "axial_moment": (float(inertia()[2]), 0.05 * float(inertia()[2]), "kg m2"),
}
LEAST = 4 * len(INPUTS)  # members: each half of them fits a slope of each input
OUTPUTS = {"rest_east": "m", "rest_north": "m", "off_centre": "m", "settling_time": "s"}
RESISTANCES = (1e-2, 2e-3)  # m, of some members again
UNITS = {"settling_time": "s", "touch_time": "s", "tilt": "rad"}
UNITS |= dict.fromkeys(("rest_east", "rest_north", "off_centre", "lever"), "m")
UNITS |= dict.fromkeys(
    ("regression", "regression_error", "smoothed", "smoothed_error"),
    "that of the output, by one sigma of the input",
)
NAMES = {
    "off_centre": "distance of the place of rest from the mean place",
    "tilt": "angle between the axis and the ground's normal",
    "lever": "how far beside the centre of mass the ground pushes",
}
CHUNK = 8  # members a call: what an interruption loses at most, some 10 s of two cores
AGAIN = 32  # members that are thrown again, with other rolling resistances
# At 1e-6 a sixth of the members lose track of 1e-4 of their energy.
TOLERANCE, STEPS = 1e-7, 30_000


def release_all(
    out: Path, quick: bool, shape: str = "analogue", members: int = 2048, executor: Executor | None = None
) -> Found:
    """All members until rest; goes on where it was interrupted."""
    members, again = (LEAST, CHUNK) if quick else (members, AGAIN)
    place = world(shape)
    cases = draw(members)
    mark = json.dumps([INPUTS, TOLERANCE, STEPS, LONGEST, shape, np.asarray(place.site).tolist()])
    # Members of every restitution again, with other rolling resistances: how do they lie?
    few = np.linspace(0, members - 1, min(again, members)).astype(int)
    others = [
        {k: v[few] for k, v in cases.items()} | {"log_rolling": np.full(len(few), np.log(C))} for C in RESISTANCES
    ]
    every = sweep(
        member(place),
        {k: np.concatenate([v, *(other[k] for other in others)]) for k, v in cases.items()},
        chunk=min(CHUNK, members),
        checkpoint=Checkpoint(out / "checkpoint", mark),
        progress=True,
        executor=executor,
    )
    table = every.isel(case=slice(members))
    starts = members + len(few) * np.arange(len(RESISTANCES))
    lying = {C: every.isel(case=slice(i, i + len(few))) for C, i in zip(RESISTANCES, starts.tolist(), strict=True)}
    settled = table["status"].values == Status.OK
    # Failed members are kept in the table and counted; what they have no value of is NaN.
    place_of = np.stack([table[k].values for k in ("rest_east", "rest_north")], axis=1)
    ellipse = landing_ellipse(place_of[settled])
    table["off_centre"] = ("case", np.linalg.norm(place_of - np.asarray(ellipse["centre_m"]), axis=1))
    found = sensitivities(table.isel(case=settled))
    for name, (mean, sigma, unit) in INPUTS.items():
        table[name].attrs = {"units": unit or "1", "mean": mean, "sigma": sigma}
    result = xr.merge([table, found]).assign_attrs(shape=shape)
    result = describe(result, units=UNITS, names=NAMES)
    times = table["settling_time"].values[settled]
    summary = {
        "shape": shape,
        "members": members,
        "devices": len(jax.local_devices()),
        "statuses": {s.name: n for s, n in Status.tally(table["status"].values).items()},
        "landing_ellipse": ellipse,
        "settling_time_s": {f"{q}_percent": float(np.percentile(times, q)) for q in (5, 25, 50, 75, 95)},
        "contacts_median": float(np.median(table["contacts"].values[settled])),
        "steps_median_and_most": [float(np.median(table["steps"])), float(table["steps"].max())],
        "postures": {"spread": postures(table)} | {f"rolling_{C:g}_m": postures(t) for C, t in lying.items()},
        "sensitivities": judge(found),
    }
    return Found(summary, {"result": result}, {"ensemble": ensemble_pictures.draw(result)})


def draw(members: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs of each member, Gaussian, and a seed of its terrain.

    In the order of restitution, on which the settling time depends most: members of one call, which the devices
    share in equal parts, are then of similar length.
    """
    random = np.random.default_rng(seed)
    cases = {k: mean + sigma * random.normal(size=members) for k, (mean, sigma, _) in INPUTS.items()}
    cases["terrain"] = random.integers(1, 2**31 - 1, size=members)
    order = np.argsort(cases["restitution"], kind="stable")
    return {k: v[order] for k, v in cases.items()}


def member(place: World):
    """The function of one case, by name, until rest."""

    def one(case: dict) -> dict:
        drawn = {"restitution": case["restitution"], "friction": case["friction"]}
        ground = replace(regolith(), **drawn, rolling=jnp.exp(case["log_rolling"]))
        centre = jnp.stack([case["centre_x"], jnp.zeros(()), case["centre_z"]])
        side = jnp.asarray(inertia()[0])
        moments = jnp.stack([side, side, case["axial_moment"]])
        model = minerva(place, case["terrain"], ground, centre, moments)
        state = release_at(
            model,
            place,
            jnp.stack([jnp.zeros(()), jnp.zeros(()), case["height"]]),
            jnp.stack([case[f"{k}_velocity"] for k in ("east", "north", "up")]),
            jnp.stack([case[f"spin_{k}"] for k in "xyz"]),
        )
        end = simulate(
            model,
            state,
            jnp.array([0.0, LONGEST]),
            solver=Adaptive(TOLERANCE, TOLERANCE, max_steps=STEPS),
            until=(rest_rule(), Outside(place.surface.box)),
            throw=False,
            trust=Ignore(),
        )
        settled = end.status == Status.OK
        rest = jnp.where(settled, place.local(end.last.body.position), jnp.nan)
        tilt, lever = posture(model, end.times[-1], end.last)
        return {
            "status": end.status,
            "settling_time": end.stats.rest_time,
            "touch_time": end.stats.contact_time,
            "rest_east": rest[0],
            "rest_north": rest[1],
            "tilt": jnp.where(settled, tilt, jnp.nan),
            "lever": jnp.where(settled, lever, jnp.nan),
            "contacts": end.stats.contacts,
            "steps": end.stats.steps,
        }

    return one


def postures(table: xr.Dataset) -> dict:
    """How many of a `table` settled, and how these lie: on a face, on the rim like a wheel (both to 5 degrees), or
    leaning; and how far the ground pushes beside the centre of mass, at the median and at most."""
    settled = table.isel(case=table["status"].values == Status.OK)
    tilt, lever = np.degrees(settled["tilt"].values), settled["lever"].values
    return {
        "members": table.sizes["case"],
        "statuses": {s.name: n for s, n in Status.tally(table["status"].values).items()},
        "on_a_face": int(np.sum(tilt < 5)),
        "on_the_rim": int(np.sum(tilt > 85)),
        "leaning": int(np.sum((tilt >= 5) & (tilt <= 85))),
        "lever_median_and_most_m": [float(np.median(lever)), float(lever.max())],
    }


def landing_ellipse(places: np.ndarray) -> dict:
    """Centre, semi-axes at 1, 2 and 3 σ and the share of `places` [n, 2] inside, beside that of a Gaussian."""
    centre, covariance = places.mean(axis=0), np.cov(places.T)
    size, axes = np.linalg.eigh(covariance)
    distance = np.sqrt(np.sum(((places - centre) @ axes) ** 2 / size, axis=1))
    return {
        "centre_m": centre.tolist(),
        "semi_axes_1_sigma_m": np.sqrt(size[::-1]).tolist(),
        "azimuth_deg": float(np.degrees(np.arctan2(axes[0, 1], axes[1, 1])) % 180),  # of the long axis, from north
        "share_inside": {f"{n}_sigma": float(np.mean(distance <= n)) for n in (1, 2, 3)},
        "share_inside_if_gaussian": {f"{n}_sigma": float(1 - np.exp(-(n**2) / 2)) for n in (1, 2, 3)},
    }


def sensitivities(table: xr.Dataset) -> xr.Dataset:
    """Change of each output's mean by one σ of each input, with standard errors: `regression`, `smoothed` and
    `..._error` [output, input]."""
    z = np.stack([(table[k].values - mean) / sigma for k, (mean, sigma, _) in INPUTS.items()], axis=1)
    f = np.stack([table[k].values for k in OUTPUTS], axis=1)
    random = np.random.default_rng(1).permutation(len(z))
    one, other = random[: len(z) // 2], random[len(z) // 2 :]
    design = np.column_stack([np.ones(len(one)), z[one]])
    slopes = regression(jnp.asarray(design), jnp.asarray(f[one]))
    rows = {"regression": [np.asarray(v)[:, 1:] for v in slopes], "smoothed": _score(z[other], f[other])}
    named = {}
    for name, (value, error) in rows.items():
        named[name] = (("output", "input"), value)
        named[f"{name}_error"] = (("output", "input"), error)
    return xr.Dataset(named, coords={"output": list(OUTPUTS), "input": list(INPUTS)})


def _score(z: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E[(f - f̄) z] [outputs, inputs] and its standard error: the gradient of the smoothed mean, times σ."""
    terms = (f - f.mean(axis=0))[:, :, None] * z[:, None, :]
    return terms.mean(axis=0), terms.std(axis=0, ddof=1) / np.sqrt(len(z))


def judge(found: xr.Dataset) -> dict:
    """The largest sensitivities with both estimates, and how far these are apart in units of their error."""
    apart = (found["regression"] - found["smoothed"]) / np.hypot(
        found["regression_error"], found["smoothed_error"]
    )
    rows = {}
    for output in OUTPUTS:
        both = found.sel(output=output)
        strongest = np.argsort(-np.abs(both["regression"].values / both["regression_error"].values))[:4]
        rows[output] = {
            str(found["input"].values[i]): {
                k: float(both[k].values[i])
                for k in ("regression", "regression_error", "smoothed", "smoothed_error")
            }
            for i in strongest
        }
    return {
        "of_one_sigma_of": rows,
        "share_within_2_errors": float(np.mean(np.abs(apart) < 2)),
        "rms_difference_in_errors": float(np.sqrt(np.mean(apart**2))),
    }
