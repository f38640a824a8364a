"""The two files that a mission engineer edits: the lander with its site, and the observations."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inversion import Observation

DATA = Path(__file__).resolve().parents[2] / "data"

OBSERVABLES = {  # name -> unit; docs/theory-agilkia.md says how each is computed
    "rebound_speed": "m/s",
    "rebound_velocity": "m/s",
    "spin": "rad/s",
    "spin_4s": "rad/s",
    "spin_after_rundown": "rad/s",
    "ground_energy": "J",
    "damper_energy": "J",
    "friction_energy": "J",
    "kinetic_energy": "J",
    "damper_stroke": "m",
    "penetration_deepest": "m",
    "penetration_middle": "m",
    "penetration_least": "m",
    "boulder_time": "s",
    "regolith_time": "s",
    "contact_time": "s",
    "peak_force": "N",
    "boulder_force": "N",
    "regolith_force": "N",
    "second_contact_time": "s",
    "second_contact_distance": "m",
    "second_contact_position": "m",
}
REPORTED_ONLY = ("peak_force",)  # a maximum over the saved times: no derivative worth fitting

_NUMBERS, _TEXT = (int, float), (str,)
LANDER_KEYS = {
    "lander": {
        "name": _TEXT,
        "mass_kg": _NUMBERS,
        "inertia_kg_m2": list,
        "feet_m": list,
        "hips_m": list,
        "sole_radius_m": _NUMBERS,
        "leg_stiffness_N_per_m": _NUMBERS,
        "hull_m": list,
        "hull_stiffness_N_per_m": _NUMBERS,
        "hull_restitution": _NUMBERS,
    },
    "gear": {"kind": _TEXT, "damping_N_s_per_m": _NUMBERS},
    "obstacle": {
        "leg": int,
        "edge_distance_m": _NUMBERS,
        "height_m": _NUMBERS,
        "half_length_m": _NUMBERS,
        "modulus_Pa": _NUMBERS,
        "radius_m": _NUMBERS,
    },
    "site": {
        "position_m": list,
        "normal": list,
        "velocity_m_per_s": list,
        "alpha_s_deg": _NUMBERS,
        "beta_s_deg": _NUMBERS,
    },
    "unknowns": {
        "thickness_m": list,
        "grain_diameter_m": list,
        "grain_density_kg_per_m3": list,
        "grain_modulus_Pa": list,
        "friction": list,
        "scenario": list,
        "edge_offset_m": list,
        "tilt_sigma_deg": _NUMBERS,
        "heading_deg": list,
    },
    "regolith": {"porosity": _NUMBERS, "surface_energy_J_per_m2": _NUMBERS},
}
PEBBLE_KEYS = {"leg_mass_kg": _NUMBERS, "strut_radius_m": _NUMBERS}
OPTIONAL = {"gear": {"stroke_m": _NUMBERS}, "site": {"gravity_m_per_s2": list}}
INITIAL_KEYS = {
    "spin_rad_per_s": _NUMBERS,
    "flywheel_N_m_s": _NUMBERS,
    "rundown_s": _NUMBERS,
    "horizon_s": _NUMBERS,
}


@dataclass(frozen=True)
class DataSet:
    """A named set of observations: what is fitted, what is only reported, and the initial state it goes with."""

    name: str
    initial: dict[str, float]
    lander: dict[str, Any]
    fitted: dict[str, Observation]
    reported: dict[str, Observation]

    @property
    def all(self) -> dict[str, Observation]:
        return self.fitted | self.reported


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; start from a copy of {DATA}/philae.toml") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: not a TOML file: {error}") from None


def _table(path: Path, where: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{path}: {where} = {value!r} must be a table: [{where}], then its keys")
    return value


def _check(path: Path, where: str, table: Mapping[str, Any], needed: Mapping, optional: Mapping) -> None:
    _table(path, where, table)
    for key in table:
        if key not in needed and key not in optional:
            raise ValueError(f"{path}: [{where}] has no key {key!r}; it has {sorted({*needed, *optional})}")
    for key in needed:
        if key not in table:
            raise ValueError(f"{path}: [{where}] lacks {key!r}; data/philae.toml shows what it means")
    for key, value in table.items():
        kind = needed.get(key, optional.get(key))
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"{path}: [{where}] {key} = {value!r} has the wrong type; see data/philae.toml")
        if kind is not _TEXT and key != "scenario" and not np.isfinite(np.asarray(value, float)).all():
            raise ValueError(f"{path}: [{where}] {key} = {value!r} must be finite")


def read_lander(path: Path) -> dict[str, dict[str, Any]]:
    """Tables of a lander file, every key checked. **Raises** `ValueError` that names the file, key and remedy."""
    tables = _read(path)
    for where, needed in LANDER_KEYS.items():
        if where not in tables:
            raise ValueError(f"{path}: the table [{where}] is missing; data/philae.toml shows what it holds")
        _check(path, where, tables[where], needed, OPTIONAL.get(where, {}))
    if "pebbles" in tables:
        _check(path, "pebbles", tables["pebbles"], PEBBLE_KEYS, {})
    if extra := set(tables) - {*LANDER_KEYS, "pebbles"}:
        raise ValueError(f"{path}: unknown tables {sorted(extra)}; there are {sorted({*LANDER_KEYS, 'pebbles'})}")
    return tables


def read_observations(path: Path) -> DataSet:
    """A named data set. **Raises** `ValueError` for unknown names, sigmas that are not positive, and so on."""
    tables = _read(path)
    if extra := set(tables) - {"name", "initial", "lander", "observables"}:
        raise ValueError(f"{path}: unknown tables {sorted(extra)}; there are name, initial, lander, observables")
    for key in ("name", "initial", "observables"):
        if key not in tables:
            raise ValueError(f"{path}: {key!r} is missing; data/philae_published.toml shows what it holds")
    _check(path, "initial", tables["initial"], INITIAL_KEYS, {})
    overrides = tables.get("lander", {})
    _check(path, "lander", overrides, {}, LANDER_KEYS["lander"])
    fitted, reported = {}, {}
    for name, entry in _table(path, "observables", tables["observables"]).items():
        if name not in OBSERVABLES:
            raise ValueError(f"{path}: no observable is called {name!r}; there are {sorted(OBSERVABLES)}")
        _table(path, f"observables.{name}", entry)
        keys = {"value": (int, float, list), "sigma": (int, float, list)}
        _check(path, f"observables.{name}", {k: entry[k] for k in entry if k in keys}, keys, {})
        if extra := set(entry) - {"value", "sigma", "source", "fitted"}:
            raise ValueError(
                f"{path}: [observables.{name}] has no key {sorted(extra)}; it has value, sigma, source, fitted"
            )
        is_fitted = entry.get("fitted", True)
        if is_fitted and name in REPORTED_ONLY:
            raise ValueError(f"{path}: {name} cannot be fitted: its derivative is not smooth; set fitted = false")
        try:
            observation = Observation(
                entry["value"], entry["sigma"], unit=OBSERVABLES[name], source=entry.get("source", "")
            )
        except ValueError as error:
            raise ValueError(f"{path}: [observables.{name}] {error}") from None
        (fitted if is_fitted else reported)[name] = observation
    if not fitted:
        raise ValueError(f"{path}: nothing is fitted: leave out fitted = false for at least one observable")
    return DataSet(tables["name"], dict(tables["initial"]), overrides, fitted, reported)
