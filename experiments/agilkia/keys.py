"""What each key of the lander file and of the observations may hold, and the check of a table against it.

A number outside of its possible range is refused. One outside of its plausible range is a warning, unless the file
confirms its key: `confirmed = ["lander.mass_kg"]`.
"""

import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.ranges import Range

ANY = -1  # in a shape: one or more
COMET = "67P"  # [site] body: the one body whose field and shape come with difsim
PHILAE = "Philae"  # [lander] name: of whom the paper tells, and nothing of it is said of another


@dataclass(frozen=True)
class Numbers:
    """Finite numbers of one of these `shapes` within a range; it holds of the `size` that is made of them."""

    range: Range
    shapes: tuple[tuple[int, ...], ...] = ((),)
    size: Callable[[np.ndarray], np.ndarray] = np.asarray

    def refuse(self, value: Any) -> str:
        """What is wrong with `value`, or nothing."""
        try:
            array = np.asarray(value)
        except ValueError:  # rows of different lengths
            return "must be rows of equal length"
        if not np.issubdtype(array.dtype, np.number):
            return "has the wrong type: it must be a number or a list of them; see data/philae.toml"
        if not any(_matches(array.shape, shape) for shape in self.shapes):
            return f"has shape {array.shape}: it must be {' or '.join(map(_in_words, self.shapes))}"
        if not np.isfinite(array).all():
            return "must be finite"
        return self.range.refuse(self.size(array))

    def doubt(self, value: Any) -> str:
        """The reason to doubt a `value` that is possible, or nothing."""
        return self.range.doubt(self.size(np.asarray(value)))


@dataclass(frozen=True)
class Headings(Numbers):
    """A heading in degrees or a range of them; one that is a whole turn in radians is doubted."""

    def doubt(self, value: Any) -> str:
        """The reason to doubt a `value` that is possible, or nothing."""
        if abs(np.ptp(value) - 2 * np.pi) < 0.01:
            return "is a range of 6.28, a whole turn in radians: is it in rad?"
        return super().doubt(value)


def _matches(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return len(found) == len(wanted) and all(
        n == m or (m == ANY and n) for n, m in zip(found, wanted, strict=True)
    )


def _in_words(shape: tuple[int, ...]) -> str:
    return "one number" if not shape else f"{' x '.join('n' if n == ANY else str(n) for n in shape)} numbers"


@dataclass(frozen=True)
class Text:
    """A text that is not empty; with `several` also a list of one or more."""

    several: bool = False

    def doubt(self, value: Any) -> str:
        """Nothing: a text is right or wrong."""
        return ""

    def refuse(self, value: Any) -> str:
        """What is wrong with `value`, or nothing."""
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
        """What is wrong with `value`, or nothing."""
        return "" if isinstance(value, bool) else "has the wrong type: it must be true or false"


def lengths(vectors: np.ndarray) -> np.ndarray:
    """The length of each vector: a range of coordinates would depend on the axes."""
    return np.linalg.norm(vectors, axis=-1)


def largest(numbers: np.ndarray) -> np.ndarray:
    """The largest absolute value: products of inertia may be negative or zero."""
    return np.abs(numbers).max(keepdims=True)


SCALAR, VECTOR, POINTS, INTERVAL, CHOICES = (), (3,), (ANY, 3), (2,), (ANY,)
_STIFFNESS = Range("N/m", (1.0, 1e10), (100.0, 1e7), "N/mm")
_MODULUS = Range("Pa", (100.0, 1e13), (1e4, 1e12), "MPa or GPa")
_ROCK = Range("m", (1e-3, 100.0), (0.01, 10.0), "cm or mm")
_SITE = Range("m", (1.0, 1e8), (50.0, 1e6), "km")  # from the body's centre
_SPEED = Range("m/s", (0.0, 1e4), (0.0, 10.0), "cm/s or mm/s")
_SPIN = Range("rad/s", (-1e3, 1e3), (-5.0, 5.0), "degrees/s or rev/min")
_ANGLE = Range("degrees", (-360.0, 360.0), (-360.0, 360.0))

# A row is one key: the unit, the possible and the plausible range, and what is usually mistaken for the unit.
BODY = {
    "name": Text(),
    "mass_kg": Numbers(Range("kg", (1e-3, 1e7), (0.5, 1e4), "g")),
    "inertia_kg_m2": Numbers(
        Range("kg m2", (1e-9, 1e10), (1e-4, 1e5), "g m2 or kg mm2"), (VECTOR, (3, 3)), largest
    ),
    "hull_m": Numbers(Range("m", (1e-3, 1e3), (0.05, 20.0), "mm"), (VECTOR,)),
    "hull_stiffness_N_per_m": Numbers(_STIFFNESS),
    "hull_restitution": Numbers(Range("", (0.01, 1.0), (0.01, 1.0), "percent")),
}
LEGS = {  # all of them, or none: a lander without legs lands on its hull
    "feet_m": Numbers(Range("m from the centre of mass", (0.0, 1e4), (0.05, 30.0), "mm"), (POINTS,), lengths),
    "hips_m": Numbers(Range("m from the centre of mass", (0.0, 1e4), (0.0, 30.0), "mm"), (POINTS,), lengths),
    "footpad_radius_m": Numbers(Range("m", (1e-3, 5.0), (0.01, 1.0), "mm")),
    "leg_stiffness_N_per_m": Numbers(_STIFFNESS),
}
GEAR = {
    "damping_N_s_per_m": Numbers(Range("N s/m", (1e-3, 1e9), (1.0, 1e5), "N s/mm")),
    "stroke_m": Numbers(Range("m", (1e-4, 10.0), (1e-3, 1.0), "mm")),
}
OBSTACLE = {
    "leg": Numbers(Range("counted from 0", (0, 99), (0, 99))),
    "edge_distance_m": Numbers(_ROCK),
    "height_m": Numbers(_ROCK),
    "half_length_m": Numbers(_ROCK),
    "modulus_Pa": Numbers(_MODULUS),
    "radius_m": Numbers(_ROCK),
}
LANDER = {
    "lander": BODY,
    "site": {
        "body": Text(),
        "normal": Numbers(Range("long: a direction", (1e-6, 1e6), (1e-6, 1e6)), (VECTOR,), lengths),
        "velocity_m_per_s": Numbers(_SPEED, (VECTOR,), lengths),
        "alpha_s_deg": Numbers(_ANGLE),
        "beta_s_deg": Numbers(_ANGLE),
    },
    "regolith": {
        "porosity": Numbers(Range("", (0.01, 0.99), (0.2, 0.95), "percent")),
        "surface_energy_J_per_m2": Numbers(Range("J/m2", (0.0, 100.0), (0.0, 1.0), "mJ/m2")),
    },
}
GRAVITY = Numbers(Range("m/s2", (0.0, 100.0), (1e-7, 0.3), "mm/s2"), (VECTOR,), lengths)
POSITION = Numbers(_SITE, (VECTOR,), lengths)
OPTIONAL = {"site": {"position_m": POSITION, "gravity_m_per_s2": GRAVITY}, "lander": LEGS}
SUB_SPHERES = {
    "leg_mass_kg": Numbers(Range("kg", (1e-4, 1e4), (0.01, 50.0), "g")),
    "strut_radius_m": Numbers(Range("m", (1e-4, 1.0), (1e-3, 0.2), "mm")),
}
INITIAL = {
    "spin_rad_per_s": Numbers(_SPIN),
    "flywheel_N_m_s": Numbers(Range("N m s", (-1e4, 1e4), (-100.0, 100.0), "mN m s")),
    "rundown_s": Numbers(Range("s", (1e-3, 1e7), (0.1, 1e5), "minutes or ms")),
    "horizon_s": Numbers(Range("s", (0.05, 1e5), (0.5, 600.0), "minutes or ms")),
}
UNKNOWNS = {  # of what may be known or not: one number, a range, a list
    "thickness_m": Numbers(Range("m", (1e-3, 1e4), (0.01, 50.0), "cm"), (SCALAR, INTERVAL)),
    "grain_diameter_m": Numbers(Range("m", (1e-7, 10.0), (1e-6, 1.0), "mm or micrometres"), (SCALAR, INTERVAL)),
    "grain_density_kg_per_m3": Numbers(Range("kg/m3", (10.0, 3e4), (100.0, 1e4), "g/cm3"), (SCALAR, INTERVAL)),
    "grain_modulus_Pa": Numbers(_MODULUS, (SCALAR, CHOICES)),
    "friction": Numbers(Range("", (1e-3, 10.0), (0.05, 2.0), "degrees"), (SCALAR, CHOICES)),
    "edge_offset_m": Numbers(Range("m", (-100.0, 100.0), (-5.0, 5.0), "cm"), (SCALAR, INTERVAL)),
    "tilt_sigma_deg": Numbers(Range("degrees", (0.0, 90.0), (0.0, 45.0))),
    "heading_deg": Headings(Range("degrees", (-360.0, 360.0), (-360.0, 360.0)), (SCALAR, INTERVAL)),
}
# Of what an instrument would have read.
SPEED = Numbers(_SPEED)
VELOCITY = Numbers(_SPEED, (VECTOR,), lengths)
SPIN = Numbers(_SPIN)
# A lander of 100 kg at 1 m/s has 50 J, one of 10 kg or 1000 kg at that speed a tenth or ten times as much.
ENERGY = Numbers(Range("J", (-1e9, 1e9), (-100.0, 1e3), "mJ"))
KINETIC = Numbers(Range("J", (0.0, 1e9), (0.0, 1e3), "mJ"))
DEPTH = Numbers(Range("m", (-100.0, 100.0), (-1.0, 5.0), "cm or mm"))
STROKE = Numbers(Range("m", (0.0, 100.0), (0.0, 1.0), "cm or mm"))
DURATION = Numbers(Range("s", (0.0, 1e6), (0.0, 1e3), "ms"))
FORCE = Numbers(Range("N", (-1e9, 1e9), (-1e5, 1e5), "mN"))
FLIGHT = Numbers(Range("s", (0.0, 1e9), (10.0, 1e6), "minutes or hours"))
DISTANCE = Numbers(Range("m", (0.0, 1e8), (1.0, 1e5), "km"))
REMARKS = {"source": Text(), "fitted": Flag()}


def observation(reading: Numbers) -> dict[str, Numbers]:
    """The keys of an observable: its value as a reading, and sigma, whose ranges follow from the reading's."""
    unit, most = reading.range.unit, max(map(abs, reading.range.plausible))
    sigma = Range(unit, (1e-9 * most, 100 * most), (1e-6 * most, most), reading.range.slip)
    return {"value": reading, "sigma": Numbers(sigma, (SCALAR, *reading.shapes))}


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
            raise ValueError(f"{path}: [{where}] lacks {key!r}; data/philae.toml shows what it means")
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


def confirmed(path: Path, tables: dict[str, Any]) -> list[str]:
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
