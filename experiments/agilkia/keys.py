"""What each key of the lander file and of the observations may hold, and the check of a table against it.

The keys of the unknowns and of the landing gears are in `catalogue`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ANY = -1  # in a shape: one or more


@dataclass(frozen=True)
class Numbers:
    """Finite numbers of one of these `shapes`, each of them `within` a range that `range` says in words."""

    shapes: tuple[tuple[int, ...], ...] = ((),)
    within: Callable[[np.ndarray], np.ndarray] = np.isfinite
    range: str = "finite"

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
        return "" if self.within(array).all() else f"must be {self.range}"


def _matches(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return len(found) == len(wanted) and all(
        n == m or (m == ANY and n) for n, m in zip(found, wanted, strict=True)
    )


def _in_words(shape: tuple[int, ...]) -> str:
    return "one number" if not shape else f"{' x '.join('n' if n == ANY else str(n) for n in shape)} numbers"


@dataclass(frozen=True)
class Text:
    """A text; with `several` also a list of one or more."""

    several: bool = False

    def refuse(self, value: Any) -> str:
        """What is wrong with `value`, or nothing."""
        texts = value if self.several and isinstance(value, list) else [value]
        is_right = texts and all(isinstance(text, str) for text in texts)
        return "" if is_right else f"has the wrong type: it must be a text{' or a list' if self.several else ''}"


@dataclass(frozen=True)
class Flag:
    """true or false."""

    def refuse(self, value: Any) -> str:
        """What is wrong with `value`, or nothing."""
        return "" if isinstance(value, bool) else "has the wrong type: it must be true or false"


def positive(*shapes: tuple[int, ...]) -> Numbers:
    """Positive numbers of one of these `shapes`; one number unless given."""
    return Numbers(shapes or ((),), lambda x: x > 0, "positive")


NUMBER, VECTOR, POINTS = (Numbers((shape,)) for shape in ((), (3,), (ANY, 3)))
RANGE = Numbers(((), (2,)))  # of an unknown, or the number that it is known to be
POSITIVE, NOT_NEGATIVE = positive(), Numbers(within=lambda x: x >= 0, range="0 or more")
INDEX = Numbers(within=lambda x: (x >= 0) & (x % 1 == 0), range="a whole number, counted from 0")
BODY = {
    "name": Text(),
    "mass_kg": POSITIVE,
    "inertia_kg_m2": Numbers(((3,), (3, 3))),  # products may be negative: `RigidBody` has the rest
    "hull_m": positive((3,)),
    "hull_stiffness_N_per_m": POSITIVE,
    "hull_restitution": Numbers(within=lambda x: (x > 0) & (x <= 1), range="above 0 and at most 1"),
}
LEGS = {  # all of them, or none: a lander without legs lands on its hull
    "feet_m": POINTS,
    "hips_m": POINTS,
    "footpad_radius_m": POSITIVE,
    "leg_stiffness_N_per_m": POSITIVE,
}
OBSTACLE = {
    "leg": INDEX,
    "edge_distance_m": POSITIVE,
    "height_m": POSITIVE,
    "half_length_m": POSITIVE,
    "modulus_Pa": POSITIVE,
    "radius_m": POSITIVE,
}
LANDER = {
    "lander": BODY,
    "site": {
        "position_m": VECTOR,
        "normal": Numbers(((3,),), lambda x: np.any(x != 0), "a direction: not all 0"),
        "velocity_m_per_s": VECTOR,
        "alpha_s_deg": NUMBER,
        "beta_s_deg": NUMBER,
    },
    "regolith": {
        "porosity": Numbers(within=lambda x: (x > 0) & (x < 1), range="between 0 and 1 (the paper: 0.75)"),
        "surface_energy_J_per_m2": NOT_NEGATIVE,
    },
}
OPTIONAL = {"site": {"gravity_m_per_s2": VECTOR}, "lander": LEGS}
SUB_SPHERES = {"leg_mass_kg": POSITIVE, "strut_radius_m": POSITIVE}
INITIAL = {"spin_rad_per_s": NUMBER, "flywheel_N_m_s": NUMBER, "rundown_s": POSITIVE, "horizon_s": POSITIVE}
# A value may be a vector; sigmas that are not positive are refused by `Observation`, which knows both.
OBSERVATION = {"value": Numbers(((), (ANY,))), "sigma": Numbers(((), (ANY,)))}
REMARKS = {"source": Text(), "fitted": Flag()}


def table(path: Path, where: str, value: Any) -> Mapping[str, Any]:
    """`value`, if it is a table; a `ValueError` otherwise."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{path}: {where} = {value!r} must be a table: [{where}], then its keys")
    return value


def check(path: Path, where: str, given: Any, needed: Mapping, optional: Mapping) -> None:
    """Raise `ValueError` naming file, table, key, value and remedy, unless `given` has what is `needed`, nothing
    but that and what is `optional`, and all as it may be."""
    for key in table(path, where, given):
        if key not in needed and key not in optional:
            raise ValueError(f"{path}: [{where}] has no key {key!r}; it has {sorted({*needed, *optional})}")
    for key in needed:
        if key not in given:
            raise ValueError(f"{path}: [{where}] lacks {key!r}; data/philae.toml shows what it means")
    for key, value in given.items():
        if wrong := {**needed, **optional}[key].refuse(value):
            raise ValueError(f"{path}: [{where}] {key} = {value!r} {wrong}")
