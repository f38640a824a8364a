"""The results of the study: result.nc, summary.json, and the table that it prints."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from difsim import Solution, safe
from difsim.status import raise_unless_ok
from experiments import posteriors
from experiments.agilkia import worlds
from experiments.agilkia.catalogue import Catalogue
from experiments.agilkia.files import DataSet
from experiments.agilkia.grains_scene import boulder as boulder_of
from experiments.agilkia.grains_series import corners_of
from experiments.agilkia.outline import level_ground, outline
from experiments.agilkia.scenario import SITE, Experiment
from experiments.agilkia.solve import Answer
from experiments.foot.calibration import Calibration
from experiments.geometry import surface
from experiments.variables import BODY, describe
from inversion.pairs import pairs_of
from inversion.points import Points
from inversion.programs import Programs
from inversion.tree import Node

AXES = ("x", "y", "z")
CONTACT = {"units": "m", "frame": "comet-fixed"}
NUMBERS = "simulated", "observed", "sigma"  # of an observable
RESULT_UNITS = {"covariance": "products of unit_of"} | dict.fromkeys(NUMBERS, "see observable_unit")
RESULT_UNITS |= dict.fromkeys(("misfit", "node_misfit", "leaf_probability", "leaf_error"), "1")
RESULT_NAMES = {
    "position": "centre of mass",
    "velocity": "velocity of the centre of mass",
    "attitude": "attitude, a quaternion from the body to the surface frame",
    "outline": "hull and legs",
    "ground": "undisturbed surface of the ground",
    "boulder": "corners of the boulder",
    "gravity": "gravity that was used",
    "force": "contact force on the lander",
    "boulder_force": "size of the boulder's force",
    "sole_force": "normal force on each footpad",
    "hull_force": "normal force on the hull",
    "stroke": "greatest stroke of the legs",
}


def place(
    lander: Mapping[str, Any],
    data: DataSet,
    known: Experiment,
    shape: str = "",
    world: worlds.World | None = None,
) -> dict[str, Any]:
    """Who lands where, the gravity that is used there, and what is `assumed` because no file gives it.

    **Arguments:** `lander`, the tables of its file; `data`; `known`; `shape` and `world`, where one is flown about.
    **Returns:** entries of summary.json; `gravity_m_s2` in the surface frame.
    """
    site, assumed = lander["site"], []
    if "gravity_m_per_s2" not in site:
        assumed.append("Gravity is that of two rotating ellipsoids with the mass and inertia of 67P's lobes.")
    assumed += [
        f"{key} is the data set's, {value}, and not the lander file's." for key, value in data.lander.items()
    ]
    assumed += [] if world is None else worlds.list_assumptions(shape)
    height = None if world is None else worlds.check_site(site["position_m"], world[1], shape)
    if height is not None:
        side = "above" if height > 0 else "below"
        assumed.append(
            f"The site is {abs(height):.3g} m {side} the surface of the shape {shape!r}; flights begin on that surface."
        )
    return {
        "lander": lander["lander"]["name"],
        "body": site["body"],
        "gravity_m_s2": np.asarray(known.gravity.acceleration(jnp.zeros(3))).tolist(),
        "site_height_m": height,
        "assumed": assumed,
    }


def place_line(found: Mapping[str, Any]) -> str:
    """Who lands where, and under which gravity, as text."""
    vector = ", ".join(f"{x:.4g}" for x in found["gravity_m_s2"])
    size = np.linalg.norm(found["gravity_m_s2"])
    return f"{found['lander']} on {found['body']}: gravity ({vector}) m/s2 in the surface frame, in all {size:.4g} m/s2"


def trajectory(answer: Answer) -> tuple[xr.Dataset, dict[str, np.ndarray], dict[str, float]]:
    """Time series of the best fit, its observables (forces included), and its energy split at the end."""
    experiment = answer.problem.predict
    horizon = float(experiment.horizon)
    fine = min(2.0, 0.5 * horizon)
    times = np.concatenate([np.arange(0, fine, 0.005), np.linspace(fine, horizon, 81)])
    values = {k: jnp.asarray(v) for k, v in answer.fit.values.items()}
    model, solution = experiment.follow(values, jnp.asarray(times))
    raise_unless_ok(solution.status)

    @jax.jit
    @jax.vmap
    def contact(state):
        footpads, on_boulder, hull = model.footpads(state), model.boulder_forces(state), model.hull(state)
        return (
            model.contact_force(state),
            safe.norm(jnp.sum(on_boulder.force, axis=0)),
            footpads.normal,
            jnp.sum(hull.normal),
        )

    force, boulder, footpads, hull = contact(solution.states)
    strokes = partial(model.lander.gear.strokes, legs=model.lander.legs)
    body, (vertices, faces) = solution.states.body, outline(model.lander)
    ground, halves = level_ground(np.asarray(body.position), 2 * np.abs(vertices).max())
    series = {
        "position": (("time", "axis"), body.position, "m"),
        "attitude": (("time", "part"), body.attitude, "1"),
        "outline": (("vertex", "axis"), vertices, "m"),
        "outline_faces": (("face", "corner"), faces, "1"),
        "ground": (("ground_vertex", "axis"), ground, "m"),
        "ground_faces": (("ground_face", "corner"), halves, "1"),
        "velocity": (("time", "axis"), body.velocity, "m/s"),
        "spin": (("time", "axis"), body.spin, "rad/s"),
        "force": (("time", "axis"), force, "N"),
        "boulder_force": (("time",), boulder, "N"),
        "sole_force": (("time", "foot"), footpads, "N"),
        "hull_force": (("time",), hull, "N"),
        "penetration": (("time", "foot"), solution.states.penetration, "m"),
        "stroke": (("time",), jnp.max(jax.vmap(strokes)(solution.states.gear), axis=1, initial=0.0), "m"),
    } | {f"energy_{k}": (("time",), v, "J") for k, v in solution.energy.items()}
    if model.boulder is not None:
        corners, sides = corners_of(boulder_of(model, 0.0))
        series["boulder"] = ("boulder_vertex", "axis"), corners, "m"
        series["boulder_faces"] = ("boulder_face", "corner"), sides, "1"
    result = xr.Dataset(
        {k: (dims, np.asarray(v), {"units": unit}) for k, (dims, v, unit) in series.items()},
        coords={"time": ("time", times, {"units": "s"}), "axis": list(AXES)},
    )
    result["outline"].attrs |= surface("outline_faces", moves="position", turns="attitude")
    for name in {"ground", "boulder"} & set(series):
        result[name].attrs |= surface(f"{name}_faces")
    observed = Programs(answer.problem).simulate(answer.fit.x).predictions
    observed = {k: np.asarray(v) for k, v in observed.items()}
    observed["peak_force"] = np.linalg.norm(np.asarray(force), axis=1).max()
    return result, observed, _energy(solution)


def _energy(solution: Solution) -> dict[str, float]:
    """Where the initial energy is at the end, J; the flywheel's work is its own row."""
    parts = {k: np.asarray(v) for k, v in solution.energy.items()}
    total = sum(parts.values())
    split = {f"{k}_J": float(v[-1] - (v[0] if k == "potential" else 0.0)) for k, v in parts.items()}
    return split | {
        "initial_J": float(parts["kinetic"][0]),
        "ledger_error_J": float(np.abs(total - total[0]).max()),
        "steps": int(solution.stats.steps),
        "steps_per_contact": float(solution.stats.steps_per_contact),
    }


def observable_rows(
    data: DataSet, simulated: dict[str, np.ndarray], catalogue: Catalogue
) -> dict[str, dict[str, Any]]:
    """simulated, observed, sigma, unit, fitted of every observable; observed None where there is none."""
    rows = {}
    for row in catalogue.observables:
        if row.name not in simulated:  # the next contact, in a run without a flight to it
            continue
        values, known = np.asarray(simulated[row.name], float), data.all.get(row.name)
        observed, sigma = (
            [None] * values.size if part is None else np.broadcast_to(part, values.shape).ravel().tolist()
            for part in ((None, None) if known is None else (known.value, known.sigma))
        )
        labels = [row.name] if values.ndim == 0 else [f"{row.name}_{axis}" for axis in AXES]
        for label, *numbers in zip(labels, values.ravel().tolist(), observed, sigma, strict=True):
            rows[label] = dict(zip(NUMBERS, numbers, strict=True))
            rows[label] |= {"unit": row.unit, "fitted": row.name in data.fitted}
    return rows


def summarise(answer: Answer, data: DataSet, simulated: dict, energy: dict) -> dict[str, Any]:
    """The content of summary.json."""
    identified, tree, fit, calls = answer.identifiability, answer.tree, answer.fit, answer.tree.calls
    spread, scenario = identified.eigenvalues, fit.values.get("scenario")
    ended = "misses the data" if fit.status.is_converged else fit.status.name.lower()
    ended = "derivative in doubt" if fit.doubt else ended
    lowest = float(Points(answer.posterior.problem, answer.posterior).misfit.min())
    return {
        "data_set": data.name,
        "scenario": "no boulder" if scenario is None else "ab"[round(scenario)],
        "status": "ok" if fit.ok else ended,
        "verdict": fit.verdict,
        "misfit": fit.misfit,
        "parameters": posteriors.rows(answer.posterior, fit.values),
        "observables": observable_rows(data, simulated, answer.problem.predict.catalogue),
        "energy": energy,
        "fisher_rank": identified.rank,
        # Over the directions that the data see at all; with fewer data than unknowns the whole is singular.
        "fisher_condition": float(np.sqrt(spread[0] / spread[identified.rank - 1])),
        "unknowns": len(identified.labels),
        "simulator_calls": calls.forward,
        "jacobian_calls": calls.jacobian,
        "failed_calls": calls.failed,
        "search_seconds": answer.seconds,
        "branch": {
            "nodes_visited": tree.nodes_visited,
            "leaves": max(1, len(answer.posterior.leaves)),
            "best_leaf": _label(answer, tree.incumbent.assignment),
            "verdict": tree.verdict,
            "label": tree.label,
            "missed": tree.missed,
            "dropped": tree.dropped,
            "bounds": [
                {"node": _label(answer, n.assignment), "bound": n.bound, "label": n.label, "missed": n.missed}
                for n in tree.nodes
            ],
            "bound_gap": tree.bound_gap,
            "bound_violations": tree.violations,
            "worst_violation": tree.worst_violation,
            "incumbent_misfit": tree.incumbent.misfit,
            "lowest_draw": lowest,
            # Half of the draws from a peak have a misfit of at most one unit an unknown more than its top.
            "is_in_posterior": lowest - tree.incumbent.misfit < len(answer.posterior.draws),
        },
        "posterior": posteriors.quality(answer.posterior),
        "correlations": {
            a: dict(zip(identified.labels, row, strict=True))
            for a, row in zip(identified.labels, np.round(identified.correlations, 2).tolist(), strict=True)
        },
    }


def dataset(
    answer: Answer, data: DataSet, series: xr.Dataset, summary: dict, next_contacts: dict[str, np.ndarray] | None
) -> xr.DataTree:
    """result.nc: everything above as arrays with names and units, enough to draw all pictures again.

    On a body other than 67P there are no `next_contacts`.

    The samples are in groups with the names and dimensions of ArviZ.
    """
    names = list(answer.fit.names)
    seen = {k: v for k, v in summary["observables"].items() if v["observed"] is not None}
    result = series.assign_coords(parameter=names, parameter_2=names, observable=list(seen))
    result = result.merge(pairs_of(answer.posterior, {n: answer.fit.values[n] for n in names}))
    nodes, leaves = answer.tree.nodes, answer.posterior.leaves
    of_nodes = {
        "parent": [-1 if n.parent is None else n.parent for n in nodes],
        "misfit": [n.misfit for n in nodes],
        "status": [n.status for n in nodes],
        "label": [_last_decision(answer, n) for n in nodes],
    }
    of_leaves = {
        "probability": [leaf.probability for leaf in leaves],
        "error": [leaf.error for leaf in leaves],
        "label": [_label(answer, leaf.assignment) for leaf in leaves],
    }
    result = result.assign(
        {f"node_{k}": ("node", np.asarray(v)) for k, v in of_nodes.items()}
        | {f"leaf_{k}": ("leaf", np.asarray(v)) for k, v in of_leaves.items() if v}
        | {k: ("observable", np.asarray([v[k] for v in seen.values()], float)) for k in NUMBERS}
        | {
            "fitted": ("observable", np.asarray([v["fitted"] for v in seen.values()])),
            "observable_unit": ("observable", np.asarray([v["unit"] for v in seen.values()])),
            "covariance": (("parameter", "parameter_2"), answer.fit.covariance),
            "misfit": ((), summary["misfit"]),
            "gravity": ("axis", np.asarray(summary["gravity_m_s2"]), {"units": "m/s2"}),
        }
    )
    if next_contacts is not None:
        result = result.assign(
            second_contact_time=("contact", next_contacts["second_contact_time"], {"units": "s"}),
            second_contact_distance=("contact", next_contacts["second_contact_distance"], {"units": "m"}),
            second_contact_position=(("contact", "axis"), next_contacts["second_contact_position"], CONTACT),
        )
    result = result.assign_attrs(
        lander=summary["lander"],
        body=summary["body"],
        name=data.name,
        scenario=summary["scenario"],
        status=summary["status"],
        sources="; ".join(f"{k}: {v.source}" for k, v in data.all.items()),
    )
    root = describe(result, SITE, RESULT_UNITS, RESULT_NAMES, {"spin": BODY})
    return xr.DataTree.from_dict({"/": root} | posteriors.samples(answer.posterior))


def describe_calibration(calibration: Calibration, values: dict[str, float]) -> dict[str, Any]:
    """The factors on the reduced law at the fit, their sigma in ln, and which unknowns of the fit were not
    calibrated where they are."""
    factors = calibration.factors(jnp.asarray(values["law_error"]))
    return {
        **{name: float(factor) for name, factor in factors.items()},
        "sigma": float(calibration.sigma),
        "outside": calibration.list_uncalibrated(values),
    }


def _label(answer: Answer, assignment: dict[str, float]) -> str:
    known = answer.problem.parameters
    return ", ".join(f"{k.replace('_', ' ')} {known[k].label_of(value)}" for k, value in assignment.items())


def _last_decision(answer: Answer, node: Node) -> str:
    if node.parent is None:
        return "relaxed"
    new = {k: v for k, v in node.assignment.items() if k not in answer.tree.nodes[node.parent].assignment}
    return _label(answer, new)
