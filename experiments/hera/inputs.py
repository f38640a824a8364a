"""The inputs of a landing study: one file with a law, a source and a mark for each number."""

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

LAWS = {
    "value": "one number",
    "uniform": "least and greatest",
    "log_uniform": "least and greatest, uniform in the logarithm",
    "normal": "mean and standard deviation",
    "choice": "values with equal weights, or with `weights`",
}
LONGEST = 43_200.0  # s, where the file does not say
TABLES = ("target", "ground", "release")
UNITS = ("kg_per_m3", "kg", "m3_per_s2", "rad_per_s", "m_per_s", "deg", "Pa", "h", "m")


@dataclass(frozen=True)
class Unknown:
    """The prior law of one number of the inputs.

    **Arguments:** `law`, a key of LAWS; `numbers`, as LAWS says; `weights` of a choice; `source`, in words;
    `assumed`, whether the number is ours.
    """

    law: str
    numbers: tuple[float, ...]
    weights: tuple[float, ...]
    source: str
    assumed: bool

    def draw(self, random: np.random.Generator, members: int) -> Float[np.ndarray, " members"]:
        """Independent values of the `members`."""
        if self.law == "value":
            return np.full(members, self.numbers[0])
        if self.law == "uniform":
            return random.uniform(*self.numbers, members)
        if self.law == "log_uniform":
            return np.exp(random.uniform(*np.log(self.numbers), members))
        if self.law == "normal":
            return random.normal(*self.numbers, members)
        return random.choice(self.numbers, members, p=self.weights)

    @property
    def deviation(self) -> float:
        """The standard deviation of a continuous law, of the logarithm where that is uniform; 0 of one number."""
        if self.law == "value":
            return 0.0
        if self.law == "normal":
            return self.numbers[1]
        low, high = np.log(self.numbers) if self.law == "log_uniform" else self.numbers
        return float(high - low) / np.sqrt(12.0)


@dataclass(frozen=True)
class Lander:
    """A homogeneous box with stiff antennas.

    **Arguments:** `title`; `mass`, kg; `edges` [3] of the box, m; `tips` [n, 3] of the antennas from its centre, m.
    """

    title: str
    mass: float
    edges: tuple[float, float, float]
    tips: tuple[tuple[float, float, float], ...]

    @property
    def inertia(self) -> Float[np.ndarray, "3"]:
        """The moments of the box, kg m²: booms weigh little."""
        squares = np.square(self.edges)
        return self.mass / 12 * (squares.sum() - squares)

    @property
    def mean_face(self) -> float:
        """The geometric mean of the areas of the faces, m²."""
        return float(np.prod(self.edges) ** (2 / 3))


@dataclass(frozen=True)
class Inputs:
    """All numbers of a study: `title`, `stamp` and `date`; the `unknowns` by name; the `landers` by name; the `longest`
    time for which a lander is followed, s."""

    title: str
    stamp: str
    date: str
    unknowns: dict[str, Unknown]
    landers: dict[str, Lander]
    longest: float

    def draw(self, members: int, seed: int) -> dict[str, np.ndarray]:
        """The values of each member by name, and the seed of its terrain; each unknown has random numbers of its own,
        so that another law of one leaves the others as they are."""
        children = np.random.SeedSequence(seed).spawn(len(self.unknowns) + 1)
        streams = [np.random.default_rng(child) for child in children]
        cases = {k: u.draw(r, members) for r, (k, u) in zip(streams[1:], self.unknowns.items(), strict=True)}
        return cases | {"terrain": streams[0].integers(1, 2**31 - 1, size=members)}

    def replace(self, name: str, value: float) -> "Inputs":
        """The same inputs with one unknown at a value; all others draw the same numbers."""
        other = Unknown("value", (value,), (1.0,), f"in place of {self.unknowns[name].source}", True)
        return dataclasses.replace(self, unknowns=self.unknowns | {name: other})


def split_unit(name: str) -> tuple[str, str]:
    """The name of an unknown without the unit at its end, and the unit, 1 where it has none."""
    unit = next((u for u in UNITS if name.endswith(f"_{u}")), "")
    return name.removesuffix(f"_{unit}"), unit.replace("_per_", "/") or "1"


def read_inputs(path: Path) -> Inputs:
    """Read a file of inputs.

    **Arguments:** `path` of the file, as data/hera.toml. **Returns:** the inputs. **Raises:** `ValueError` for what is
    missing, unknown or no law.
    """
    given = tomllib.loads(path.read_text(encoding="utf-8"))
    if missing := {"title", "stamp", "date", "landers", *TABLES} - given.keys():
        raise ValueError(f"{path}: {sorted(missing)} missing")
    unknowns = {}
    for table in TABLES:
        for name, entry in given[table].items():
            if name in unknowns:
                raise ValueError(f"{path}: {name} occurs twice")
            unknowns[name] = _read_unknown(f"{path}: [{table}.{name}]", entry)
    landers = {
        name: Lander(
            entry["title"],
            entry["mass_kg"],
            tuple(entry["edges_m"]),
            tuple(map(tuple, entry.get("antenna_tips_m", ()))),
        )
        for name, entry in given["landers"].items()
    }
    longest = float(given.get("longest_s", LONGEST))
    return Inputs(given["title"], given["stamp"], str(given["date"]), unknowns, landers, longest)


def _read_unknown(where: str, entry: dict[str, Any]) -> Unknown:
    laws = entry.keys() & LAWS.keys()
    if len(laws) != 1 or entry.keys() - laws - {"weights", "source", "assumed"} or "source" not in entry:
        raise ValueError(f"{where}: give a source and one law of {LAWS}, not {sorted(entry)}")
    law = laws.pop()
    numbers = tuple(map(float, np.atleast_1d(entry[law])))
    wrong = len(numbers) != {"value": 1, "choice": len(numbers)}.get(law, 2)
    wrong |= law in ("uniform", "log_uniform") and not numbers[0] < numbers[-1]
    wrong |= law == "log_uniform" and not numbers[0] > 0
    weights = np.asarray(entry.get("weights", np.ones(len(numbers))), float)
    if wrong or len(weights) != len(numbers) or not (weights >= 0).all() or not weights.sum() > 0:
        raise ValueError(f"{where}: {law} = {entry[law]}: give {LAWS[law]}")
    return Unknown(law, numbers, tuple(weights / weights.sum()), entry["source"], entry.get("assumed", False))
