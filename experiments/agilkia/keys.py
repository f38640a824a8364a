"""The values that each key of the lander file and of the observations allows, and the check of a table.

Most keys are quantities of the library: their names are made of field and unit, `thickness` in m is `thickness_m`. A
number that is impossible is refused. One that is unusual is a warning, unless the file confirms its key:
`confirmed = ["lander.mass_kg"]`.
"""

import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from difsim.body import CentralDamper, Flywheel, Hull, Lander, RigidBody
from difsim.contact import Boulder, Regolith
from difsim.declarations import Quantity, declared_fields, quantities

ANY = -1  # in a shape: one or more
COMET = "67P"  # [site] body: the one body whose field and shape come with difsim
PHILAE = "Philae"  # [lander] name: of whom the paper tells, and nothing of it is said of another
SCALAR, VECTOR, POINTS, INTERVAL, CHOICES = (), (3,), (ANY, 3), (2,), (ANY,)


@dataclass(frozen=True)
class Numbers:
    """Finite numbers of a `quantity`, of one of these `shapes`."""

    quantity: Quantity
    shapes: tuple[tuple[int, ...], ...] = (SCALAR,)

    def refuse(self, value: Any) -> str:
        """Say why `value` is refused, or nothing."""
        try:
            array = np.asarray(value)
        except ValueError:  # rows of different lengths
            return "must be rows of equal length"
        if not np.issubdtype(array.dtype, np.number):
            return "has the wrong type: it must be a number or a list of them"
        if not any(_matches(array.shape, shape) for shape in self.shapes):
            return f"has shape {array.shape}: it must be {' or '.join(map(_describe, self.shapes))}"
        if not np.isfinite(array).all():
            return "must be finite"
        return self.quantity.find_fault(array, self._size(array))

    def doubt(self, value: Any) -> str:
        """The reason to doubt a `value` that is possible, or nothing."""
        return self.quantity.find_doubt(self._size(np.asarray(value)))

    def _size(self, array: np.ndarray) -> np.ndarray:
        """The length of each vector, since a range of coordinates would depend on the axes; else the number itself."""
        has_vectors = array.shape[-1:] == VECTOR and (VECTOR in self.shapes or POINTS in self.shapes)
        return np.hypot.reduce(array, axis=-1) if has_vectors else array


@dataclass(frozen=True)
class Headings(Numbers):
    """A heading in degrees or a range of them; one that is a whole turn in radians is doubted."""

    def doubt(self, value: Any) -> str:
        """The reason to doubt a `value` that is possible, or nothing."""
        if abs(np.ptp(value) - 2 * np.pi) < 0.01:
            return "is a range of 6.28, a whole turn in radians: is it in rad?"
        return super().doubt(value)


def _matches(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    pairs = zip(found, wanted, strict=False)
    return len(found) == len(wanted) and all(n == m or (m == ANY and n) for n, m in pairs)


def _describe(shape: tuple[int, ...]) -> str:
    return "one number" if not shape else f"{' x '.join('n' if n == ANY else str(n) for n in shape)} numbers"


@dataclass(frozen=True)
class Text:
    """A text that is not empty; with `several` also a list of one or more."""

    several: bool = False

    def doubt(self, value: Any) -> str:
        """Nothing: a text is right or wrong."""
        return ""

    def refuse(self, value: Any) -> str:
        """Say why `value` is refused, or nothing."""
        texts = value if self.several and isinstance(value, list) else [value]
        is_right = texts and all(isinstance(text, str) and text.strip() for text in texts)
        return "" if is_right else f"has the wrong type: it must be a text{' or a list' if self.several else ''}"


@dataclass(frozen=True)
class Flag:
    """true or false."""

    def doubt(self, value: Any) -> str:
        """Nothing: it is right or wrong."""
        return ""

    def refuse(self, value: Any) -> str:
        """Say why `value` is refused, or nothing."""
        return "" if isinstance(value, bool) else "has the wrong type: it must be true or false"


def key(name: str, quantity: Quantity) -> str:
    """The key of a number in a file, which carries its unit: `grain_density` in kg/m³ is grain_density_kg_per_m3."""
    return "_".join([name, *quantity.plain_unit.replace("/", " per ").split()])


def keys_of(kind: type, *names: str) -> dict[str, Numbers]:
    """The keys of quantities of a class, with their shapes."""
    found = {}
    for name, annotation, declared in declared_fields(kind):
        if name in names:
            shape = tuple(int(n) if n.isdigit() else ANY for n in annotation.dim_str.split())
            found[key(name, declared.quantity)] = Numbers(declared.quantity, (shape,))
    return found


def number(
    unit: str, meaning: str, shapes: tuple[tuple[int, ...], ...] = (SCALAR,), **declaration: Any
) -> Numbers:
    """A key of what is a quantity of this study alone. **Arguments:** as `Quantity`; `shapes`."""
    return Numbers(Quantity(unit, meaning, **declaration), shapes)


_BODY = quantities(RigidBody)
BODY = {
    "name": Text(),
    "mass_kg": Numbers(replace(_BODY["mass"], usual=(0.5, 1e4))),  # of landers: a body may be a grain
    # The three principal moments, or all; the range holds of their length, or that of each row.
    "inertia_kg_m2": Numbers(replace(_BODY["inertia"], usual=(1e-4, 1e5)), (VECTOR, (3, 3))),
}
HULL = {"hull_m": Numbers(quantities(Hull)["size"], (VECTOR,))}  # without it only legs touch the ground
LEGS = keys_of(Lander, "feet", "hips", "footpad_radius", "leg_stiffness")  # all, or none: it lands on its hull
GEAR = keys_of(CentralDamper, "damping", "stroke")
OBSTACLE = {
    "leg": number("", "leg that is struck, counted from 0", ge=0, le=99),
    "edge_distance_m": number(
        "m", "way from the body's axis to the edge", gt=0, usual=(0.01, 10), slip="cm or mm"
    ),
    "height_m": number("m", "height of the boulder", gt=0, usual=(0.01, 10), slip="cm or mm"),
    **keys_of(Boulder, "half_length", "modulus", "radius"),
}
_SPEED = Quantity("m/s", "speed", ge=0, usual=(0, 10), slip="cm/s or mm/s")
_SPIN = Quantity("rad/s", "angular velocity", usual=(-5, 5), slip="degrees/s or rev/min")
_ANGLE = Quantity("degrees", "angle", ge=-360, le=360)
VELOCITY = number("m/s", "velocity", (VECTOR,), usual=(0, 10), slip="cm/s or mm/s")
LANDER = {
    "lander": BODY | HULL,
    "site": {
        "body": Text(),
        "normal": number("", "direction out of the ground, of any length", (VECTOR,), usual=(1e-4, 1e4)),
        "velocity_m_per_s": VELOCITY,
        "alpha_s_deg": Numbers(_ANGLE),
        "beta_s_deg": Numbers(_ANGLE),
    },
    "regolith": keys_of(Regolith, "porosity", "surface_energy"),
}
GRAVITY = number("m/s²", "gravity at the site", (VECTOR,), usual=(1e-7, 0.5), slip="mm/s²")
POSITION = number("m", "place, from the body's centre", (VECTOR,), usual=(20, 1e6), slip="km")
OPTIONAL = {"site": {"position_m": POSITION, "gravity_m_per_s2": GRAVITY}, "lander": LEGS | HULL}
SUB_SPHERES = {
    "leg_mass_kg": number("kg", "mass of each leg", gt=0, usual=(0.01, 50), slip="g"),
    "strut_radius_m": number("m", "radius of a strut", gt=0, usual=(1e-3, 0.2), slip="mm"),
}
INITIAL = {
    "spin_rad_per_s": Numbers(_SPIN),
    "flywheel_N_m_s": Numbers(quantities(Flywheel)["momentum"]),
    **keys_of(Flywheel, "rundown"),
    "horizon_s": number("s", "duration of the touchdown", gt=0, usual=(0.5, 600), slip="minutes or ms"),
}
_GROUND = quantities(Regolith)
UNKNOWNS = {  # of what may be known or not: one number, a range, a list
    key(name, _GROUND[name]): Numbers(_GROUND[name], shapes)
    for name, shapes in (
        ("thickness", (SCALAR, INTERVAL)),
        ("grain_diameter", (SCALAR, INTERVAL)),
        ("grain_density", (SCALAR, INTERVAL)),
        ("grain_modulus", (SCALAR, CHOICES)),
        ("friction", (SCALAR, CHOICES)),
    )
} | {
    "edge_offset_m": number("m", "way across the edge", (SCALAR, INTERVAL), usual=(-5, 5), slip="cm"),
    "tilt_sigma_deg": number("degrees", "standard deviation of the attitude", ge=0, le=90, usual=(0, 45)),
    "heading_deg": Headings(_ANGLE, (SCALAR, INTERVAL)),
}
# Of what an instrument would have read.
SPEED = Numbers(_SPEED)
SPIN = Numbers(_SPIN)
# A lander of 100 kg at 1 m/s has 50 J, one of 10 kg or 1000 kg at that speed a tenth or ten times as much.
ENERGY = number("J", "energy", usual=(-100, 1e3), slip="mJ")
KINETIC = number("J", "kinetic energy", ge=0, usual=(0, 1e3), slip="mJ")
DEPTH = number("m", "depth", usual=(-1, 5), slip="cm or mm")
STROKE = number("m", "stroke of the gear", ge=0, usual=(0, 1), slip="cm or mm")
DURATION = number("s", "duration", ge=0, usual=(0, 1e3), slip="ms")
FORCE = number("N", "force", usual=(-1e5, 1e5), slip="mN")
FLIGHT = number("s", "time of flight", ge=0, usual=(10, 1e6), slip="minutes or hours")
DISTANCE = number("m", "distance", ge=0, usual=(1, 1e5), slip="km")
REMARKS = {"source": Text(), "fitted": Flag()}


def observation(reading: Numbers) -> dict[str, Numbers]:
    """The keys of an observable: its value as a reading, and sigma, whose ranges follow from the reading's."""
    most = max(map(abs, reading.quantity.usual))
    unit, slip = reading.quantity.unit, reading.quantity.slip
    sigma = Quantity(unit, "standard deviation", gt=0, usual=(1e-6 * most, most), slip=slip)
    return {"value": reading, "sigma": Numbers(sigma, (SCALAR, *reading.shapes))}


@contextmanager
def blame(place: str) -> Iterator[None]:
    """Put the place of what is wrong, such as a file and its table, before the message of a `ValueError`."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place} {error}") from None


def table(path: Path, where: str, value: Any) -> Mapping[str, Any]:
    """`value`, if it is a table; a `ValueError` otherwise."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{path}: {where} = {value!r} must be a table: [{where}], then its keys")
    return value


def check(
    path: Path, where: str, given: Any, needed: Mapping, optional: Mapping, confirmed: Collection[str] = ()
) -> None:
    """Check a table of a file; warn of what is implausible and not `confirmed` ("table.key").

    **Raises:** `ValueError` naming file, table, key, value and remedy, unless it has what is `needed`, nothing but that
    and what is `optional`, and all as it may be.
    """
    for key in table(path, where, given):
        if key not in needed and key not in optional:
            raise ValueError(f"{path}: [{where}] has no key {key!r}; it has {sorted({*needed, *optional})}")
    for key in needed:
        if key not in given:
            raise ValueError(f"{path}: [{where}] lacks {key!r}")
    for key, value in given.items():
        holds = {**needed, **optional}[key]
        if wrong := holds.refuse(value):
            raise ValueError(f"{path}: [{where}] {key} = {value!r} {wrong}")
        if f"{where}.{key}" not in confirmed and (doubt := holds.doubt(value)):
            warnings.warn(
                f"{path}: [{where}] {key} = {value!r} {doubt} If it is right, write confirmed = "
                f'["{where}.{key}"] at the top of the file',
                stacklevel=3,
            )


def pop_confirmed(path: Path, tables: dict[str, Any]) -> list[str]:
    """The keys that the file confirms to be right although they are implausible; taken out of its `tables`.

    **Raises:** `ValueError` for what is no list of keys of the file.
    """
    given = tables.pop("confirmed", [])
    if Text(several=True).refuse(given) and given != []:
        raise ValueError(f'{path}: confirmed = {given!r} must be a list of keys, such as ["lander.mass_kg"]')
    given = [given] if isinstance(given, str) else given
    for name in given:
        where, _, key = name.rpartition(".")
        inner: Any = tables
        for part in where.split("."):
            inner = inner.get(part, {}) if isinstance(inner, Mapping) else {}
        if not isinstance(inner, Mapping) or key not in inner:
            raise ValueError(f"{path}: confirmed = {given} names {name!r}, which is no key of this file")
    return given
