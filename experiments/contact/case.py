"""The file of one contact: what is known as numbers, what is not as laws, and what was measured.

The keys are the declared quantities of `Plunge`, of the ground's law and of `Sensor`, each with its unit.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import equinox as eqx
import numpy as np

from difsim.contact import Poncelet, Regolith
from difsim.declarations import quantities
from experiments.agilkia import keys
from experiments.agilkia.files import read_changed
from experiments.agilkia.keys import SCALAR, Numbers, Text
from experiments.contact.grains import GrainBed
from experiments.contact.laws import Law
from experiments.contact.sensor import ENDLESS, Sensor
from experiments.contact.shapes import SHAPES, Shape, read_shape
from experiments.contact.soil import Soil
from experiments.contact.throws import Thrown
from experiments.contact.world import Plunge
from inversion import Discrete, Fixed, Observation, Observations, Series
from inversion.noise import Censored
from inversion.unknowns import AbstractParameter

EXAMPLE = "cases/drop.toml"
COLUMNS = "t_s", "a_m_per_s2"  # of a series
SIMULATED = {"grains": GrainBed, "soil": Soil}
GROUNDS: dict[str, type[eqx.Module]] = {"poncelet": Poncelet, "regolith": Regolith} | SIMULATED
NUMBERS = {  # that can be measured besides a series
    "depth": keys.number("m", "depth", usual=(0, 5), slip="cm or mm"),
    "duration": keys.DURATION,
    "speed": keys.SPEED,
    "peak_deceleration": keys.number("m/s²", "deceleration", gt=0, usual=(1e-6, 1e5), slip="g"),
}
AT = {"time_s": keys.number("s", "time after the touch", ge=0, usual=(0, 1e3), slip="ms")}


@dataclass(frozen=True)
class Case:
    """One contact: its `title`; the `shapes` that the body may have; the `law` of the ground; all `parameters` by name,
    known or not; the `data`; the `times` after touch, s, at which depth and speed were measured; the `series`, as it
    was read."""

    title: str
    shapes: tuple[Shape, ...]
    law: str
    parameters: dict[str, AbstractParameter]
    data: Observations
    times: dict[str, float]
    series: Series | None

    @property
    def made_of(self) -> tuple[Any, ...]:
        """All that its posterior follows from, for a checkpoint."""
        clock = None if self.series is None else self.series.times
        shapes = [(shape.section, shape.content) for shape in self.shapes]
        return self.title, self.law, shapes, self.parameters, self.data, self.times, clock

    @property
    def unknown(self) -> list[str]:
        """The names of what is not known."""
        return [name for name, each in self.parameters.items() if not isinstance(each, Fixed)]


def read_case(
    path: Path,
    series: Path | None = None,
    shape: Path | None = None,
    changed: Mapping[str, Any] = MappingProxyType({}),
) -> Case:
    """Read a file of a contact, such as data/cases/drop.toml.

    **Arguments:** `path`; `series`: a CSV file with the COLUMNS, where there is one; without it the sensor is left
    out; `shape`: a mesh or a lander, where the file names no shape; `changed`: "table.key" -> value, in place of the
    file's. **Returns:** the case. **Raises:** `ValueError` that names file, key and remedy.
    """
    tables = read_changed(path, changed, EXAMPLE)
    confirmed = keys.pop_confirmed(path, tables)
    title, law = tables.pop("title", path.stem), keys.table(path, "ground", tables.get("ground", {})).get("law")
    if wrong := keys.Text().refuse(title):
        raise ValueError(f"{path}: title = {title!r} {wrong}")
    if not (isinstance(law, str) and law in GROUNDS):
        raise ValueError(f"{path}: give [ground] law = {' or '.join(map(repr, GROUNDS))}, not {law!r}")
    if law in SIMULATED and series is not None:
        raise ValueError(f"{path}: law = {law!r} is simulated a few times: it takes no series")
    own = None if shape is None else _take_shape(path, tables, shape)
    declared = _list_quantities(law)
    tables_known = {*declared, "unknowns", "observations"}
    if extra := set(tables) - tables_known:
        raise ValueError(f"{path}: unknown tables {sorted(extra)}; there are {sorted(tables_known)}")
    words = {"body": {"shape": Text(several=True)}, "ground": {"law": Text()}}
    for where, table in declared.items():
        holds = {key: row.holds for key, row in table.items()}
        keys.check(path, where, tables.setdefault(where, {}), {}, holds | words.get(where, {}), confirmed)
    laws = {key: Law(row.holds) for table in declared.values() for key, row in table.items()}
    keys.check(path, "unknowns", tables.setdefault("unknowns", {}), {}, laws, confirmed)
    parameters: dict[str, AbstractParameter] = {}
    named = tables["body"].get("shape")
    shapes, parameters["shape"] = ((own,), Fixed(0.0)) if own else _read_shapes(path, named)
    for where, table in declared.items():
        if where != "sensor" or series is not None:
            for key, row in table.items():
                parameters[row.name] = _read_parameter(path, where, key, row, tables)
    readings = None if series is None else Series.read(series, COLUMNS, sigma=1.0, unit="m/s2")
    data, times = _read_observations(path, tables.get("observations", {}), confirmed)
    if readings is not None:
        data["series"], parameters["range"] = _censor(readings, parameters["noise"])
    if parameters.get("restitution", Fixed(0.0, "1")) != Fixed(0.0, "1") and (
        {"series", "speed"} & data.keys() or times["depth"] < np.inf
    ):
        raise ValueError(f"{path}: what is read at a time knows no rebound: leave restitution out")
    if law in SIMULATED and any(isinstance(q, Discrete) for q in parameters.values()):
        raise ValueError(f"{path}: law = {law!r} is simulated a few times: it takes no choice")
    if law in SIMULATED and "peak_deceleration" in data:
        raise ValueError(f"{path}: law = {law!r} is looked at too seldom for a peak: leave peak_deceleration out")
    if not data:
        raise ValueError(
            f"{path}: nothing was measured: give a table such as [observations.depth], or --series FILE"
        )
    return Case(title, shapes, law, parameters, Observations(data), times, readings)


@dataclass(frozen=True)
class Row:
    """A quantity of a class: its `name`, what its key `holds`, and its value where the file says nothing of it."""

    name: str
    holds: Numbers
    default: Any


def _list_quantities(law: str) -> dict[str, dict[str, Row]]:
    """The quantities of each table by their keys. A body that is simulated has no thrust, and stays where it stops."""
    ground, bodies = GROUNDS[law], quantities(Plunge)
    if law in SIMULATED:
        bodies = {name: q for name, q in bodies.items() if name in Thrown._fields}
    site = {"gravity": bodies.pop("gravity")}
    own = {name: q for name, q in quantities(ground).items() if name != "gravity"}  # that of the site
    tables = {"body": (Plunge, bodies), "site": (Plunge, site), "ground": (ground, own)}
    tables["sensor"] = Sensor, {name: q for name, q in quantities(Sensor).items() if name != "range"}
    found = {}
    for where, (kind, table) in tables.items():
        defaults = {field.name: field.default for field in dataclasses.fields(kind)}
        found[where] = {keys.key(k, q): Row(k, Numbers(q, (SCALAR,)), defaults[k]) for k, q in table.items()}
    return found


def _read_parameter(path: Path, where: str, key: str, row: Row, tables: Mapping[str, Any]) -> AbstractParameter:
    unit = row.holds.quantity.plain_unit or "1"
    number, law = tables[where].get(key), tables["unknowns"].get(key)
    if number is not None and law is not None:
        raise ValueError(
            f"{path}: {key} is a number in [{where}] and has a law in [unknowns]: leave one of them out"
        )
    if law is not None:
        return Law(row.holds).prior(law)
    if number is None and row.default is dataclasses.MISSING:
        raise ValueError(f"{path}: {key} is missing: give its number in [{where}], or its law in [unknowns]")
    return Fixed(float(row.default if number is None else number), unit)


def _take_shape(path: Path, tables: dict[str, Any], file: Path) -> Shape:
    """The shape of a mesh or a lander; its radius, and a lander's mass if none is given, are put into `tables`."""
    body, unknowns = (keys.table(path, name, tables.setdefault(name, {})) for name in ("body", "unknowns"))
    for name in ("shape", "radius_m"):
        if name in body or name in unknowns:
            raise ValueError(f"{path}: {name} is that of {file}: leave it out")
    own = read_shape(file)
    tables["body"]["radius_m"] = own.radius
    if own.mass is not None and "mass_kg" not in unknowns:
        tables["body"].setdefault("mass_kg", own.mass)
    return own


def _read_shapes(path: Path, given: Any) -> tuple[tuple[Shape, ...], AbstractParameter]:
    """The shapes that are named, and the parameter that is the number of one of them."""
    names = [given] if isinstance(given, str) else given
    if not names or not set(names) <= SHAPES.keys():
        raise ValueError(
            f"{path}: give [body] shape = one of {list(SHAPES)}, or a list of them, not {given!r}; or a mesh or a "
            "lander as --shape FILE of --stage fit"
        )
    shapes = tuple(SHAPES[name] for name in names)
    return shapes, Fixed(0.0) if len(shapes) == 1 else Discrete(range(len(shapes)), labels=names)


def _read_observations(
    path: Path, tables: Any, confirmed: list[str]
) -> tuple[dict[str, Observation], dict[str, float]]:
    """The observations, and the times of depth and speed: that of the depth is after the stop unless given."""
    found, times = {}, {"depth": float("inf"), "speed": 0.0}
    for name, entry in keys.table(path, "observations", tables).items():
        if name not in NUMBERS:
            raise ValueError(f"{path}: no observation is called {name!r}; there are {sorted(NUMBERS)}")
        needed, optional = keys.observation(NUMBERS[name]), {"source": Text()}
        needed |= AT if name == "speed" else {}
        optional |= AT if name == "depth" else {}
        keys.check(path, f"observations.{name}", entry, needed, optional, confirmed)
        if "time_s" in entry:
            times[name] = float(entry["time_s"])
        unit = NUMBERS[name].quantity.plain_unit
        found[name] = Observation(entry["value"], entry["sigma"], unit, entry.get("source", ""))
    return found, times


def _censor(series: Series, noise: AbstractParameter) -> tuple[Observation, Fixed]:
    """The readings of a series, those at the end of the range as bounds, and the range.

    Where two or more readings have the largest size, it is the end of the range: noise makes no two of them equal.
    """
    values = np.asarray(series.observed.value)
    at_end = np.abs(values) == np.abs(values).max()
    is_clipped = at_end.sum() > 1
    scale = float(noise.value) if isinstance(noise, Fixed) else "noise"
    observed = Observation(values, 1.0, "m/s2", noise=Censored(np.sign(values) * at_end * is_clipped, scale))
    return observed, Fixed(float(np.abs(values).max()) if is_clipped else ENDLESS, "m/s2")
