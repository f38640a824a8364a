"""The two files that a mission engineer edits: the lander with its site, and the observations."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from difsim.saving.texts import read_text
from experiments.agilkia import keys, parts
from experiments.agilkia.catalogue import BOULDER, STANDARD, Catalogue
from experiments.data_files import data_folder
from inversion import Observation

DATA = data_folder()
LARGEST = 2**20  # bytes of a file: the shipped ones have some thousand


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


def read_tables(path: Path, example: str = "philae.toml") -> dict[str, Any]:
    """The tables of a file. **Raises:** `ValueError` for one that is missing (start from a copy of `example`), or no
    TOML."""
    try:
        text = read_text(path, LARGEST)
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; start from a copy of {DATA}/{example}") from None
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also of a number with more digits than Python reads
        raise ValueError(f"{path}: not a TOML file: {error}") from None


def list_alternatives(path: Path) -> dict[str, list[Any]]:
    """The alternatives to the assumptions of a file, from its table of that name: key -> values, tried in turn.

    A key is "table.key", and the value `false` takes it out of the file.
    **Raises** `ValueError` for what is no table of lists, or of keys that the file does not have.
    """
    tables = read_tables(path)
    given = keys.table(path, "alternatives", tables.get("alternatives", {}))
    for key, values in given.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"{path}: [alternatives] {key} = {values!r} must be a list of values to try")
        _replace(path, tables, key, values[0])
    return dict(given)


def _replace(path: Path, tables: dict[str, Any], key: str, value: Any) -> None:
    """Put a value in the place of "table.key", or take the key out where the value is false."""
    *where, last = key.split(".")
    inner: Any = tables
    for part in where:
        inner = inner.get(part) if isinstance(inner, Mapping) else None
    if not isinstance(inner, dict) or last not in inner:
        raise ValueError(f"{path}: [alternatives] names {key!r}, which is no key of this file")
    if value is False:
        del inner[last]
    else:
        inner[last] = value


def read_changed(path: Path, changed: Mapping[str, Any], example: str = "philae.toml") -> dict[str, Any]:
    """The tables of a file with other values of some keys, and without its alternatives.

    **Arguments:** `path`; `changed`: "table.key" -> value; `example`, as of `read_tables`. **Returns:** the tables.
    """
    tables = read_tables(path, example)
    for key, value in changed.items():
        _replace(path, tables, key, value)
    tables.pop("alternatives", None)
    return tables


def read_lander(
    path: Path, catalogue: Catalogue = STANDARD, changed: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, dict[str, Any]]:
    """Tables of a lander file, every key checked; `changed`: "table.key" -> value, in place of the file's.

    Without the keys of legs, and the table [gear], the lander is its hull alone. Without its hull only its legs touch
    the ground. Without [obstacle] there is no boulder. On 67P the site's position gives its gravity; on another body
    the file does.
    **Raises** `ValueError` that names the file, key and remedy.
    """
    tables = read_changed(path, changed)
    confirmed = keys.pop_confirmed(path, tables)
    needed, optional = dict(keys.LANDER), dict(keys.OPTIONAL)
    legs = keys.LEGS.keys() & keys.table(path, "lander", tables.get("lander", {})).keys()
    if legs:
        needed["lander"] = keys.BODY | keys.LEGS
        kind = keys.table(path, "gear", tables.get("gear", {})).get("kind")
        if "gear" in tables and not (isinstance(kind, str) and kind in catalogue.gears):
            kinds = " or ".join(map(repr, catalogue.gears))
            raise ValueError(f"{path}: [gear] kind = {kind!r} must be {kinds}")
        needed["gear"] = {"kind": keys.Text()} | dict(catalogue.gears[kind].keys if kind else {})
        # A file may be changed to another kind of gear and back.
        optional["gear"] = {k: v for gear in catalogue.gears.values() for k, v in gear.keys.items()}
    if "obstacle" in tables:
        if not legs:
            raise ValueError(f"{path}: [obstacle] needs a lander with legs, whose struts or soles it meets")
        needed["obstacle"] = keys.OBSTACLE
    has = {BOULDER: "obstacle" in tables}
    needed["unknowns"] = {row.key: row.holds for row in catalogue.unknowns if has.get(row.needs, True)}
    for where, wanted in needed.items():
        if where not in tables:
            raise ValueError(f"{path}: the table [{where}] is missing; data/philae.toml shows what it holds")
        keys.check(path, where, tables[where], wanted, optional.get(where, {}), confirmed)
    if "sub_spheres" in tables:
        keys.check(path, "sub_spheres", tables["sub_spheres"], keys.SUB_SPHERES, {}, confirmed)
    known = {*needed, "sub_spheres"}
    if extra := set(tables) - known:
        raise ValueError(f"{path}: unknown tables {sorted(extra)}; there are {sorted(known)}")
    _check_gravity_is_known(path, tables["site"])
    if "obstacle" in tables:
        _check_edge(path, tables)
    for row in catalogue.unknowns:
        if has.get(row.needs, True):
            given = tables["unknowns"][row.key]
            with keys.blame(f"{path}: [unknowns] {row.key} = {given!r}:"):
                row.prior(given)
    with keys.blame(f"{path}:"):
        parts.check(tables, catalogue)
    return tables


def _check_gravity_is_known(path: Path, site: Mapping[str, Any]) -> None:
    if site["body"] == keys.COMET and "position_m" not in site:
        raise ValueError(
            f"{path}: [site] lacks 'position_m', m from the centre of {keys.COMET} in its Cheops frame"
        )
    if site["body"] != keys.COMET and "gravity_m_per_s2" not in site:
        raise ValueError(
            f"{path}: [site] body = {site['body']!r} needs gravity_m_per_s2, in the surface frame with z along the "
            f"normal: only {keys.COMET!r} has a field that comes with difsim"
        )


def _check_edge(path: Path, tables: Mapping[str, Any]) -> None:
    """Raise `ValueError` where the boulder's edge cannot lie across the strut of its leg, wherever in its prior.

    Nearer than the hip the boulder is under the hull, for which it has no law; further than the foot nothing meets
    the edge, and the boulder would vanish without a word.
    """
    lander, obstacle, prior = tables["lander"], tables["obstacle"], tables["unknowns"]
    legs, leg = len(lander["feet_m"]), obstacle["leg"]
    if leg not in range(min(legs, len(lander["hips_m"]))):
        raise ValueError(f"{path}: [obstacle] leg = {leg} must be one of the lander's {legs} legs, counted from 0")
    hip, foot = (float(np.hypot(*lander[key][leg][:2])) for key in ("hips_m", "feet_m"))
    offsets = np.atleast_1d(prior["edge_offset_m"])  # one where it is known
    nearest, furthest = (obstacle["edge_distance_m"] + float(offset) for offset in (offsets.min(), offsets.max()))
    if "a" in prior["scenario"] and not hip < nearest <= furthest < foot:
        raise ValueError(
            f"{path}: [obstacle] edge_distance_m = {obstacle['edge_distance_m']} with [unknowns] edge_offset_m = "
            f"{prior['edge_offset_m']} puts the edge {nearest:.4g} to {furthest:.4g} m from the body's axis: it "
            f"must lie between hip ({hip:.4g} m) and foot ({foot:.4g} m) of leg {leg} for its strut to meet it"
        )


def read_observations(
    path: Path, catalogue: Catalogue = STANDARD, changed: Mapping[str, Any] = MappingProxyType({})
) -> DataSet:
    """A named data set; `changed`: "table.key" -> value, in place of the file's.

    **Raises** `ValueError` for unknown names, sigmas that are not positive, and so on.
    """
    tables = read_changed(path, changed)
    confirmed = keys.pop_confirmed(path, tables)
    if extra := set(tables) - {"name", "initial", "lander", "observables"}:
        raise ValueError(f"{path}: unknown tables {sorted(extra)}; there are name, initial, lander, observables")
    for key in ("name", "initial", "observables"):
        if key not in tables:
            raise ValueError(f"{path}: {key!r} is missing; data/philae_published.toml shows what it holds")
    keys.check(path, "initial", tables["initial"], keys.INITIAL, {}, confirmed)
    overrides = tables.get("lander", {})
    keys.check(path, "lander", overrides, {}, keys.BODY | keys.HULL | keys.LEGS, confirmed)
    fitted, reported = {}, {}
    for name, entry in keys.table(path, "observables", tables["observables"]).items():
        with keys.blame(f"{path}:"):
            row = catalogue.observable(name)
        needed = keys.observation(row.reading)
        keys.check(path, f"observables.{name}", entry, needed, keys.REMARKS, confirmed)
        is_fitted = entry.get("fitted", True)
        if is_fitted and not row.is_smooth:
            raise ValueError(f"{path}: {name} cannot be fitted: its derivative is not smooth; set fitted = false")
        with keys.blame(f"{path}: [observables.{name}]"):
            observation = Observation(entry["value"], entry["sigma"], row.unit, entry.get("source", ""))
        (fitted if is_fitted else reported)[name] = observation
    if not fitted:
        raise ValueError(f"{path}: nothing is fitted: leave out fitted = false for at least one observable")
    return DataSet(tables["name"], dict(tables["initial"]), overrides, fitted, reported)
