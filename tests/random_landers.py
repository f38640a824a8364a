"""Random landers at random sites, right ones and ones with a fault: each file is read and flown right, or refused by
name.

    python -m tests.random_landers 50 0        # how many, and the seed: prints a table, and each failure

A right file is judged by closed forms: its free fall under the gravity of the file (on 67P that of points that fill
the two ellipsoids), the energy at the start and the balance of energies. A faulty one must be refused by its path and
the name of what is wrong.
"""

from difsim import configure

if __name__ == "__main__":
    configure()  # before a module that is imported makes an array

import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import qmc

from difsim import units
from difsim.status import Status
from experiments.agilkia import report
from experiments.agilkia.files import read_lander, read_observations
from experiments.agilkia.scenario import problem

BODIES = {
    "Bennu": 6e-5,
    "Ryugu": 1.1e-4,
    "Dimorphos": 5e-5,
    "Phobos": 5.7e-3,
    "Eros": 5e-3,
    "67P/C-G": 1.6e-4,
}  # m/s²
TOLD = "status"  # a flight that ends with one says itself that it is not to be trusted
GRAVITIES = [*BODIES.values(), 1e-6, 1e-2, 0.2, 1.62]
Tables = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """A lander file as tables, its readings, and its fault: what its refusal must name, nothing for a right one."""

    kind: str
    tables: Tables
    readings: Tables
    fault: str


def draw(seed: int) -> Case:
    """The case of a seed: a lander with zero to six legs, of either gear, with or without a boulder, on 67P or not."""
    rng = np.random.default_rng(seed)
    tables, legs = _lander(rng), int(rng.choice([0, 3, 4, 6]))
    if legs:
        _add_legs(rng, tables, legs)
        if rng.random() < 0.4:
            _add_boulder(rng, tables)
    on_67p = rng.random() < 0.35
    (_on_67p if on_67p else _elsewhere)(rng, tables)
    kind = ", ".join(
        [f"{legs} legs", tables.get("gear", {}).get("kind", "hull"), "67P" if on_67p else "another body"]
    )
    readings = _readings(rng)
    fault = ""
    if rng.random() < 0.5:
        possible = [k for k, (needs, _) in FAULTS.items() if needs(tables)]
        name = possible[seed % len(possible)]  # in turn: each in a small search
        fault, kind = FAULTS[name][1](rng, tables, readings), f"refused: {name}"
    return Case(kind if fault else kind + (", boulder" if "obstacle" in tables else ""), tables, readings, fault)


def _lander(rng) -> Tables:
    mass, half = _magnitude(rng, 0.6, 900), rng.uniform(0.1, 0.6, 3)
    inertia = mass / 3 * (half @ half - half**2)
    return {
        "lander": {
            "name": str(rng.choice(["Scout", "Hayabusa-4 lander", "Mein Lander", "x"])),
            "mass_kg": mass,
            "inertia_kg_m2": inertia.tolist(),
            "hull_m": (2 * half).tolist(),
            "hull_stiffness_N_per_m": _magnitude(rng, 2e3, 5e4),
            "hull_restitution": rng.uniform(0.1, 0.9),
        },
        "site": {"alpha_s_deg": 90.0, "beta_s_deg": 90.0},
        "unknowns": {
            "thickness_m": [0.1, 1.0],
            "grain_diameter_m": [1e-4, 1e-1],
            "grain_density_kg_per_m3": [500.0, 3000.0],
            "grain_modulus_Pa": [1e7, 1e8],
            "friction": [0.2, 0.6],
            "tilt_sigma_deg": 2.0,
            "heading_deg": [-180.0, 180.0],
        },
        "regolith": {"porosity": rng.uniform(0.3, 0.9), "surface_energy_J_per_m2": 0.02},
    }


def _add_legs(rng, tables: Tables, legs: int) -> None:
    x, y, z = np.asarray(tables["lander"]["hull_m"]) / 2
    azimuth = 2 * np.pi * np.arange(legs) / legs

    def ring(radius, height):
        return np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), 0 * azimuth + height], 1)

    reach = np.hypot(x, y) + rng.uniform(0.3, 0.8)
    tables["lander"] |= {
        "feet_m": ring(reach, -z - rng.uniform(0.2, 0.5)).tolist(),
        "hips_m": ring(0.2 * reach, -0.5 * z).tolist(),
        "footpad_radius_m": 0.05 + 0.1 * rng.random(),
        "leg_stiffness_N_per_m": _magnitude(rng, 2e3, 3e4),
    }
    damping = 2 * np.sqrt(tables["lander"]["mass_kg"] * tables["lander"]["leg_stiffness_N_per_m"])
    tables["gear"] = {"kind": str(rng.choice(["central", "maxwell"])), "damping_N_s_per_m": damping}
    if tables["gear"]["kind"] == "central":
        tables["gear"]["stroke_m"] = rng.uniform(0.02, 0.2)


def _add_boulder(rng, tables: Tables) -> None:
    leg = int(rng.integers(len(tables["lander"]["feet_m"])))
    hip, foot = (np.hypot(*tables["lander"][key][leg][:2]) for key in ("hips_m", "feet_m"))
    at = rng.uniform(0.5, 0.8) * (foot - hip) + hip
    rock = {"edge_distance_m": at, "height_m": 0.1, "half_length_m": 0.4, "modulus_Pa": 1e7, "radius_m": 0.2}
    tables["obstacle"] = {"leg": leg} | rock
    tables["unknowns"] |= {"scenario": ["a", "b"], "edge_offset_m": [-0.02, 0.02]}


def _on_67p(rng, tables: Tables) -> None:
    """A site within 300 m of the two ellipsoids, above or below the place that is furthest out along its normal."""
    normal = _direction(rng)
    place = _furthest(normal) + rng.uniform(-300.0, 300.0) * normal
    tables["site"] |= {"body": "67P", "position_m": place.tolist()}
    _approach(rng, tables, normal)


def _elsewhere(rng, tables: Tables) -> None:
    body = str(rng.choice([*BODIES]))
    size = BODIES[body] if rng.random() < 0.5 else float(rng.choice(GRAVITIES))
    tables["site"] |= {"body": body, "gravity_m_per_s2": [rng.normal(0, 0.2) * size, 0.0, -size]}
    if rng.random() < 0.5:
        tables["site"]["position_m"] = (rng.uniform(60, 3e4) * _direction(rng)).tolist()
    _approach(rng, tables, _direction(rng))


def _approach(rng, tables: Tables, normal: np.ndarray) -> None:
    velocity = _magnitude(rng, 0.05, 1.5) * (-normal + rng.uniform(0.0, 0.4) * np.cross(normal, _direction(rng)))
    tables["site"] |= {"normal": (rng.uniform(0.5, 2.0) * normal).tolist(), "velocity_m_per_s": velocity.tolist()}


def _readings(rng) -> Tables:
    initial = {"spin_rad_per_s": rng.normal(0, 0.05), "flywheel_N_m_s": 0.0, "rundown_s": 1.0, "horizon_s": 4.0}
    return {"initial": initial, "observables.rebound_speed": {"value": 0.3, "sigma": 0.1}}


def _take(place: str, *keys: str) -> Callable:
    """A fault: one key of a table is missing."""

    def fault(rng, tables, readings):
        key = str(rng.choice([k for k in keys if k in tables[place]]))
        del tables[place][key]
        return key

    return fault


def _put(place: str, key: str, value: Any, names: str | None = None) -> Callable:
    """A fault: a key with a wrong value, which the refusal must name."""

    def fault(rng, tables, readings):
        tables.setdefault(place, {})[key] = value(rng, tables) if callable(value) else value
        return names or key

    return fault


def _flight(rng, tables, readings):
    readings["observables.second_contact_time"] = {"value": 2000.0, "sigma": 100.0}
    return "second_contact_time"


def _of_boulder(rng, tables, readings):
    readings["observables.boulder_force"] = {"value": 20.0, "sigma": 5.0}
    return "boulder"


def _renamed(rng, tables, readings):
    wrong = str(rng.choice(["gravity", "gravity_m_s2", "Body", "target", "position_km", "GM"]))
    tables["site"][wrong] = [0.0, 0.0, -1e-4] if "gravity" in wrong else "67P"
    return wrong


def _inside(rng, tables):
    (_, centre, *_), direction = units.LOBES_67P[rng.integers(2)], _direction(rng)
    return (np.asarray(centre) + rng.uniform(0, 400) * direction).tolist()  # the least semi-axis is 925 m


def _above(rng, tables):
    normal = np.asarray(tables["site"]["normal"]) / np.linalg.norm(tables["site"]["normal"])
    return (_furthest(normal) + _magnitude(rng, 400, 2e4) * normal).tolist()


def _is_67p(tables: Tables) -> bool:
    return tables["site"]["body"] == "67P"


def _is_elsewhere(tables: Tables) -> bool:
    return not _is_67p(tables)


def _always(tables: Tables) -> bool:
    return True


def _has(name: str) -> Callable:
    return lambda tables: name in tables


FAULTS: dict[str, tuple[Callable, Callable]] = {
    "no body": (_always, _take("site", "body")),
    "an empty body": (_always, _put("site", "body", lambda rng, _: str(rng.choice(["", " "])))),
    "a body that is a number": (_always, _put("site", "body", 67)),
    "no gravity elsewhere": (_is_elsewhere, _take("site", "gravity_m_per_s2")),
    "no position on 67P": (_is_67p, _take("site", "position_m")),
    "inside 67P": (_is_67p, _put("site", "position_m", _inside)),
    "above 67P": (_is_67p, _put("site", "position_m", _above)),
    "67P in km": (_is_67p, _put("site", "position_m", lambda rng, t: _times(1e-3, t["site"]["position_m"]))),
    "gravity upwards": (_is_elsewhere, _put("site", "gravity_m_per_s2", [0.0, 0.0, 1e-4])),
    "gravity as one number": (_is_elsewhere, _put("site", "gravity_m_per_s2", 1e-4)),
    "a key that is none": (_always, _renamed),
    "a missing key of the site": (
        _always,
        _take("site", "normal", "velocity_m_per_s", "alpha_s_deg", "beta_s_deg"),
    ),
    "a missing key of the lander": (_always, _take("lander", "name", "mass_kg", "inertia_kg_m2", "hull_m")),
    "a missing key of legs": (_has("gear"), _take("lander", "feet_m", "hips_m", "footpad_radius_m")),
    "a missing unknown": (_always, _take("unknowns", "thickness_m", "friction", "heading_deg", "tilt_sigma_deg")),
    "another gear": (_has("gear"), _put("gear", "kind", "airbag")),
    "a leg that is not there": (_has("obstacle"), _put("obstacle", "leg", 9)),
    "scenarios without a boulder": (
        lambda tables: "obstacle" not in tables,
        _put("unknowns", "scenario", ["a", "b"]),
    ),
    "a boulder without legs": (
        lambda tables: "gear" not in tables,
        _put("obstacle", "leg", 0, "obstacle"),
    ),
    "away from the ground": (
        _always,
        _put("site", "velocity_m_per_s", lambda rng, t: _times(-1.0, t["site"]["velocity_m_per_s"])),
    ),
    "an inertia of no body": (_always, _put("lander", "inertia_kg_m2", [1.0, 1.0, 2.1], "moments")),
    "a table that is none": (_always, _put("comet", "name", "67P", "comet")),
    "the next contact elsewhere": (_is_elsewhere, _flight),
    "a boulder's force without one": (lambda tables: "obstacle" not in tables, _of_boulder),
}


def _times(factor: float, vector: list[float]) -> list[float]:
    return [factor * x for x in vector]


def _magnitude(rng, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _direction(rng) -> np.ndarray:
    v = rng.standard_normal(3)
    return v / np.linalg.norm(v)


def _furthest(normal: np.ndarray) -> np.ndarray:
    """The point of the two ellipsoids that is furthest along a direction; all before it is outside of them."""
    places = []
    for _, centre, axes, semi in units.LOBES_67P:
        along = np.asarray(axes).T @ normal * np.asarray(semi)
        places.append(np.asarray(centre) + np.asarray(axes) @ (np.asarray(semi) * along / np.linalg.norm(along)))
    return max(places, key=lambda place: place @ normal)


def _points_of_67p(power: int = 18) -> tuple[np.ndarray, np.ndarray]:
    """Points [n, 3] that fill the two ellipsoids evenly, and GM of each."""
    points, masses = [], []
    for share, centre, axes, semi in units.LOBES_67P:
        u, v, w = qmc.Sobol(3, seed=0).random_base2(power).T
        height, angle = 2 * v - 1, 2 * np.pi * w
        flat = np.sqrt(1 - height**2)
        ball = np.cbrt(u) * np.stack([flat * np.cos(angle), flat * np.sin(angle), height])
        points.append(np.asarray(centre) + (ball.T * np.asarray(semi)) @ np.asarray(axes).T)
        masses.append(np.full(len(u), share * units.GM_67P / len(u)))
    return np.concatenate(points), np.concatenate(masses)


POINTS, MASSES = _points_of_67p()


def gravity_of(site: dict[str, Any], axes: np.ndarray) -> tuple[np.ndarray, float]:
    """The gravity of a site in the surface frame, whose axes are rows, m/s²; and how well it is known, of its size."""
    if "gravity_m_per_s2" in site:
        return np.asarray(site["gravity_m_per_s2"]), 1e-12
    place = np.asarray(site["position_m"])
    apart = POINTS - place
    # A point near the site would pull by itself: softened over their distance from each other.
    pull = (MASSES / (np.sum(apart**2, axis=1) + 40.0**2) ** 1.5) @ apart
    return axes @ (pull + units.SPIN_67P**2 * place * [1, 1, 0]), 0.05


def written(path: Path, tables: Tables, name: str = "") -> Path:
    """The tables as a TOML file."""
    lines = [f"name = {json.dumps(name)}"] if name else []
    for place, table in tables.items():
        lines += [f"[{place}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@eqx.filter_jit
def _follow(known, values, times):
    return known.follow(values, times)


def judge(case: Case, folder: Path, fly: bool = True) -> str:
    """What is wrong with how a case is read and flown; nothing where it is right."""
    path, seen = written(folder / "lander.toml", case.tables), written(folder / "seen.toml", case.readings, "mine")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubts about implausible numbers
        try:
            lander, data = read_lander(path), read_observations(seen)
            posed = problem(lander, data)
        except ValueError as refused:
            said = str(refused)
            if not case.fault:
                return f"refused, and it is right: {said}"
            return "" if case.fault in said else f"refused without naming {case.fault}: {said}"
    if case.fault:
        return f"read, for all its fault of {case.fault}"
    return (_misread(case, report.place(lander, data, posed.predict)) or (fly and _misflown(case, posed))) or ""


def _axes(site: dict[str, Any]) -> np.ndarray:
    """The surface frame as rows, from the tables alone: z the normal, x along the tangential approach."""
    z = np.asarray(site["normal"]) / np.linalg.norm(site["normal"])
    velocity = np.asarray(site["velocity_m_per_s"])
    x = velocity - velocity @ z * z
    if np.linalg.norm(x) <= 1e-6:
        x = np.roll(z, 1) - np.roll(z, 1) @ z * z
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z])


def _misread(case: Case, place: dict[str, Any]) -> str:
    site = case.tables["site"]
    gravity, known_to = gravity_of(site, _axes(site))
    off = np.linalg.norm(np.asarray(place["gravity_m_s2"]) - gravity) / np.linalg.norm(gravity)
    if not off <= known_to:
        return f"gravity {place['gravity_m_s2']}, and not {gravity.tolist()} (off by {off:.2g})"
    line, assumed = report.place_line(place), " ".join(place["assumed"])
    if not line.startswith(f"{case.tables['lander']['name']} on {site['body']}: "):
        return f"titled {line!r}"
    if ("67P's lobes" in assumed) != ("gravity_m_per_s2" not in site) or "Philae" in line + assumed:
        return f"assumed {assumed!r}"
    return ""


def _misflown(case: Case, posed) -> str:
    lander, site, initial = case.tables["lander"], case.tables["site"], case.readings["initial"]
    values = {
        "thickness": 0.4,
        "grain_diameter": 2e-3,
        "grain_density": 2000.0,
        "grain_modulus": 1e7,
        "friction": 0.6,
    }
    values |= dict.fromkeys(("scenario", "edge_offset", "tilt_x", "tilt_y", "heading"), 0.0)
    values = {name: jnp.asarray(values[name]) for name in posed.parameters}
    axes = _axes(site)
    velocity = axes @ np.asarray(site["velocity_m_per_s"])
    gravity = np.asarray(posed.predict.gravity.vector)
    # Far less than the 0.22 m that the lowest point starts above all ground.
    early = min(0.05 / np.linalg.norm(velocity), np.sqrt(0.1 / np.linalg.norm(gravity)))
    times = np.array([0.0, early, 0.5 * initial["horizon_s"], initial["horizon_s"]])
    _, run = _follow(posed.predict, values, jnp.asarray(times))
    if not bool(run.values_are_valid):
        return f"{TOLD} {Status(int(run.status)).name}"
    fallen = np.asarray(run.states.body.position[1] - run.states.body.position[0])
    expected = velocity * early + 0.5 * gravity * early**2
    if not np.allclose(fallen, expected, rtol=1e-5, atol=1e-7):
        return f"falls by {fallen.tolist()}, and not {expected.tolist()}"
    inertia = lander["inertia_kg_m2"][2]
    start = 0.5 * lander["mass_kg"] * velocity @ velocity + 0.5 * inertia * initial["spin_rad_per_s"] ** 2
    kinetic = float(run.energy["kinetic"][0])
    if not np.isclose(kinetic, start, rtol=1e-9):
        return f"starts with {kinetic} J, and not {start} J"
    total = sum(np.asarray(part) for part in run.energy.values())
    if not np.abs(total - total[0]).max() <= 1e-3 * start:
        return f"energies {total.tolist()} J are not constant"
    observed, _ = posed.predict(values)
    wrong = {"boulder_time": "obstacle", "damper_stroke": "gear"}
    wrong = [name for name, table in wrong.items() if (name in observed) != (table in case.tables)]
    return f"observables {wrong} are of a part that is not there" if wrong else ""


def search(count: int, seed: int) -> tuple[str, list[str]]:
    """A Markdown table of `count` cases, by kind, and a line for each failure."""
    rows, failures = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            case = draw(1000 * seed + i)
            wrong = judge(case, Path(folder))
            outcome = "told" if wrong.startswith(TOLD) else "wrong" if wrong else "right"
            rows[case.kind, outcome] += 1
            failures += [f"{1000 * seed + i}: {case.kind}: {wrong}"] if outcome == "wrong" else []
            jax.clear_caches() if i % 10 == 9 else None
    kinds = sorted({kind for kind, _ in rows})
    lines = [
        "| landers of one's own | right, or refused by name | told by a status | wrong |",
        "|---|---|---|---|",
    ]
    outcomes = ("right", "told", "wrong")
    lines += [f"| {kind} | {' | '.join(str(rows[kind, each]) for each in outcomes)} |" for kind in kinds]
    sums = (str(sum(rows[kind, each] for kind in kinds)) for each in outcomes)
    return "\n".join([*lines, f"| all {count} | {' | '.join(sums)} |"]), failures


if __name__ == "__main__":
    table, failures = search(*(int(word) for word in (*sys.argv[1:], "50", "0")[:2]))
    sys.stdout.write("\n".join([table, *failures, ""]))
    sys.exit(bool(failures))
