"""`difsim cobbles --stage collision`: the paper's collision, with its Figs 4-7 and Tables 5 and 6."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from difsim import Solution, Status, simulate
from difsim.body import RigidState, Stone
from difsim.dynamics import Pair, PairState
from difsim.dynamics.pair import AbstractPairLaw
from experiments.cobbles import collision_pictures, paper
from experiments.cobbles.cameras import stack
from experiments.cobbles.scene import LAWS, Law, hard, release, release_tumbled
from experiments.cobbles.stones import Cobble, stone
from experiments.geometry import surface
from experiments.harness import Found
from experiments.variables import BODY, describe
from inversion import map_batched

TOLERANCE = 0.08  # of Table 5, but at α = 15 deg
STEPS = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3)  # s, in contact
STEP = STEPS[2]
ATTITUDES = 1000
ENDS = (0.0, 2 * paper.DURATION)  # s, of a collision whose way does not matter
RATIOS = ("energy_ratio", "energy_ratio_cm", "normal_ratio")
TABLE = tuple((e, a) for e in paper.RESTITUTIONS for a in paper.INCLINATIONS)
NOMINAL = {"restitution": paper.RESTITUTION, "inclination": paper.INCLINATION}


class Cases(eqx.Module):
    """Collisions [N]: restitution, friction, step in contact s, and how the stones are released."""

    restitution: Float[Array, " N"]
    friction: Float[Array, " N"]
    step: Float[Array, " N"]
    state: PairState

    @staticmethod
    def build(states: PairState, restitution=paper.RESTITUTION, step=STEP) -> "Cases":
        count = states.first.position.shape[0]
        full = (jnp.broadcast_to(jnp.asarray(x), (count,)) for x in (restitution, paper.FRICTION, step))
        return Cases(*full, states)


def collide_all(quick: bool, cobble: Cobble) -> Found:
    """The nominal case in time, the tables, convergence, and other attitudes.

    `quick`: a coarser table of the distance, few samples, no finer surface.
    """
    fineness = 30 if quick else 80
    body = stone(cobble, fineness)
    times = jnp.append(jnp.linspace(0.0, paper.DURATION, 51 if quick else 501), ENDS[1])
    cases = _cases()
    found = {name: collisions(body, law, cases, times) for name, law in LAWS.items()}
    nominal = jax.tree.map(lambda x: x[TABLE.index(tuple(NOMINAL.values()))], found["hard"])
    # As many attitudes and times as the tables have are one compilation with them.
    count, until = (len(cases.step), times) if quick else (ATTITUDES, ENDS)
    attitudes = collisions(body, hard, Cases.build(release_tumbled(count, seed=0)), until)
    result = xr.merge(
        [
            _nominal(body, nominal),
            xr.concat([_tabulate_law(c) for c in found.values()], xr.Variable("model", list(LAWS))),
            xr.Dataset({f"attitude_{k}": ("sample", np.asarray(v)) for k, v in outcomes(attitudes).items()}),
        ]
    )
    if not quick:
        finer = {"points doubled": (fineness, len(body.points)), "table twice as fine": (2 * fineness, 0)}
        ratios = [_frontal(stone(cobble, *how)) for how in finer.values()]
        result["finer_energy_ratio"] = xr.DataArray(ratios, {"finer": list(finer)}, ("finer", "restitution"))
    marks = surface("faces", moves="position", turns="attitude")
    result["vertices"] = ("vertex", "axis"), cobble.mesh.vertices, {"units": "m"} | marks
    result["faces"] = ("face", "corner"), cobble.mesh.faces
    result["paper_energy_ratio"] = ("restitution", "inclination"), paper.ENERGY_RATIO
    result["paper_normal_ratio"] = ("restitution", "inclination"), paper.NORMAL_RATIO
    result.attrs["cobble"] = cobble.name
    ratios = {str(k): "1" for k in result.variables if "ratio" in str(k)}
    names = {
        "inclination": "angle between the line of approach and the common normal",
        "attitude": "attitude, a quaternion from the body to the inertial frame",
        "contact_normal": "normal from the first body to the second",
        "impulse": "impulse on the second body",
    }
    units = ratios | {"contact_normal": "1", "restitution": "1"}
    result = describe(result, "inertial, x along the line of approach", units, names, {"spin": BODY})
    summary = {
        "cobble": {"name": cobble.name, "mass_kg": cobble.mass, "inertia_kg_m2": cobble.inertia.tolist()},
        "nominal": _judge_nominal(result),
        "table": {name: _judge_table(result.sel(model=name)) for name in LAWS},
        "convergence": _judge_convergence(result),
        "attitudes": _judge_attitudes(result),
    }
    return Found(summary, {"result": result}, collision_pictures.draw(result))


def _cases() -> Cases:
    """Those of Tables 5 and 6, and the nominal one at each step, Fig. 4: all in one call."""
    rows = [(*case, STEP) for case in TABLE] + [(*NOMINAL.values(), step) for step in STEPS]
    e, angles, step = zip(*rows, strict=True)
    return Cases.build(stack([release(a) for a in angles]), jnp.array(e), jnp.array(step))


def collisions(body: Stone, law: Law, cases: Cases, times=ENDS) -> Solution:
    """Collisions [N] of two equal stones, with their states at `times` s.

    One after the other: in lock-step each would cost as much as the slowest.
    """
    laws = eqx.filter_vmap(law)(cases.restitution, cases.friction, cases.step)
    # Laws of one kind are one compilation: not weakly typed, as what a law leaves at its default is.
    laws, states = jax.tree.map(lambda x: jnp.asarray(x, x.dtype), (laws, cases.state))
    return _collisions(body, laws, states, jnp.asarray(times))


@eqx.filter_jit
def _collisions(body: Stone, laws: AbstractPairLaw, states: PairState, times: Array) -> Solution:
    def one(row):
        law, state = row
        return simulate(Pair(body, body, law), state, times, throw=False)

    return map_batched(one, (laws, states))


def outcomes(found: Solution) -> dict[str, Array]:
    """Ratios of energies and of normal speeds [N], number of contacts and status of each collision."""
    return {
        "energy_ratio": found.impacts.energy_restitution,
        "energy_ratio_cm": found.impacts.energy_restitution_cm,
        "normal_ratio": found.impacts.normal_restitution,
        "contacts": found.impacts.count,
        "status": found.status,
    }


def _nominal(body: Stone, found: Solution) -> xr.Dataset:
    """Figs 5-7, of the hard model; the last time is that of the tables."""
    times, states = found.times[:-1], jax.tree.map(lambda x: x[:-1], found.states)
    bodies = (states.first, states.second)

    def compare_both(name: str, dim: str, unit: str) -> tuple:
        return ("body", "time", dim), np.stack([getattr(b, name) for b in bodies]), {"units": unit}

    energies = np.stack([_energies(body, b) for b in bodies])
    return xr.Dataset(
        {
            "position": compare_both("position", "axis", "m"),
            "velocity": compare_both("velocity", "axis", "m/s"),
            "attitude": compare_both("attitude", "part", "1"),
            "spin": compare_both("spin", "axis", "rad/s"),
            "kinetic": (("body", "time"), energies[:, 0], {"units": "J"}),
            "rotation": (("body", "time"), energies[:, 1], {"units": "J"}),
            "contact_time": ((), float(found.impacts.time), {"units": "s"}),
            "contact_point": ("axis", np.asarray(found.impacts.point), {"units": "m"}),
            "contact_normal": ("axis", np.asarray(found.impacts.normal)),
            "impulse": ("axis", np.asarray(found.impacts.impulse), {"units": "N s"}),
        },
        coords={
            "time": ("time", np.asarray(times), {"units": "s"}),
            "body": [1, 2],
            "axis": ["x", "y", "z"],
            "part": ["q0", "q1", "q2", "q3"],
        },
    )


def _energies(body: Stone, states: RigidState) -> np.ndarray:
    """Translation and rotation [2, T] J."""
    total = jax.vmap(body.body.kinetic_energy)(states)
    moving = 0.5 * body.body.mass * jnp.sum(states.velocity**2, axis=1)
    return np.stack([moving, total - moving])


def _tabulate_law(found: Solution) -> xr.Dataset:
    """Tables 5 and 6, and the nominal case at each step, Fig. 4."""
    shape = (len(paper.RESTITUTIONS), len(paper.INCLINATIONS))
    rows = outcomes(found)
    return xr.Dataset(
        {k: (("restitution", "inclination"), np.reshape(v[: len(TABLE)], shape)) for k, v in rows.items()}
        | {f"step_{k}": ("step", np.asarray(v[len(TABLE) :])) for k, v in rows.items()},
        coords={
            "restitution": list(paper.RESTITUTIONS),
            "inclination": ("inclination", list(paper.INCLINATIONS), {"units": "degree"}),
            "step": ("step", list(STEPS), {"units": "s"}),
        },
    )


def _frontal(body: Stone) -> np.ndarray:
    """CoR_E for α = 0 and each restitution, hard."""
    cases = Cases.build(stack([release(0.0)] * len(paper.RESTITUTIONS)), jnp.array(paper.RESTITUTIONS))
    return np.asarray(collisions(body, hard, cases).impacts.energy_restitution)


def _judge_nominal(result: xr.Dataset) -> dict[str, Any]:
    case = result.sel(NOMINAL | {"model": "hard"})
    energy = {k: 1e3 * result[k].sum("body") for k in ("kinetic", "rotation")}
    return {
        "status": Status(int(case["status"])).name,
        "contacts": int(case["contacts"]),
        **{k: float(case[k]) for k in ("contact_time", *RATIOS)},
        "contact_point_m": result["contact_point"].values.tolist(),
        "contact_normal": result["contact_normal"].values.tolist(),
        "impulse_N_s": result["impulse"].values.tolist(),
        "energy_mJ": {k: {"before": float(v[0]), "after": float(v[-1])} for k, v in energy.items()},
        "spin_after_rad_s": np.linalg.norm(result["spin"].values[:, -1], axis=1).tolist(),
    }


def _judge_table(table: xr.Dataset) -> dict[str, Any]:
    off = table["energy_ratio"] - table["paper_energy_ratio"]
    compared = off.where(off["inclination"] != 15.0)
    return {
        "status": sorted({Status(int(s)).name for s in table["status"].values.ravel()}),
        **{k: table[k].values.tolist() for k in ("restitution", "inclination", *RATIOS)},
        "largest_difference_but_at_15_deg": float(np.abs(compared).max()),
        "within_tolerance": bool(np.abs(compared).max() <= TOLERANCE),
        "largest_difference_at_15_deg": float(np.abs(off.sel(inclination=15.0)).max()),
    }


def _judge_convergence(result: xr.Dataset) -> dict[str, Any]:
    """Changes of CoR_E: by the step in contact (to the shortest), by a finer surface (α = 0, largest over e)."""
    steps = result["step_energy_ratio"]
    off = np.abs(steps - steps.isel(step=0))
    found = {
        "step_s": steps["step"].values.tolist(),
        "by_step": {str(m): off.sel(model=m).values.tolist() for m in result["model"].values},
    }
    if "finer_energy_ratio" in result:
        finer = np.abs(result["finer_energy_ratio"] - result["energy_ratio"].sel(model="hard", inclination=0.0))
        found["by_surface"] = finer.max("restitution").to_series().to_dict()
    return found


def _judge_attitudes(result: xr.Dataset) -> dict[str, Any]:
    good = result["attitude_status"].values == Status.OK
    ratio = result["attitude_energy_ratio"].values[good]
    return {
        "count": len(good),
        "failed": int((~good).sum()),
        "energy_ratio_mean": float(ratio.mean()),
        "energy_ratio_sigma": float(ratio.std()),
        "energy_ratio_percentiles_5_50_95": np.percentile(ratio, (5, 50, 95)).tolist(),
        "share_with_several_contacts": float((result["attitude_contacts"].values[good] > 1).mean()),
    }
