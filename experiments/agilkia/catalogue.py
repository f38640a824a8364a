"""The unknowns, the observables and the landing gears that a touchdown may have: each is one row of one table here.

All that reads the files, builds the model, fits and reports goes by these rows. A study with further ones passes a
`Catalogue` of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np

from difsim import safe
from difsim.body import AbstractLandingGear, CentralDamper, MaxwellLegs
from difsim.dynamics import Touchdown
from difsim.dynamics.touchdown import contact_indicator
from experiments.agilkia.keys import NOT_NEGATIVE, POSITIVE, RANGE, Numbers, Text, positive
from inversion import Bounded, Discrete, Fixed, Gaussian, Log

BOULDER, FLIGHT, LEGS = "boulder", "flight", "legs"  # what a row needs to have a meaning
Quantities = Mapping[str, Any]


@dataclass(frozen=True)
class Unknown:
    """One unknown of the touchdown.

    **Arguments:** `name`; `key` in the table [unknowns] of a lander file, and what it `holds`; `prior` of the key's
    value, `Fixed` where that is one number, for then it is known; `needs`, without which there is no such unknown;
    `enter`, from all quantities of the touchdown (the fields of an `Experiment`, and the unknowns by name) and the
    unknown's value to the quantities that are changed: unless given the quantity of the unknown's own name.
    """

    name: str
    key: str
    holds: Numbers | Text
    prior: Callable[[Any], Any]
    needs: str = ""
    enter: Callable[[Quantities, Any], Quantities] | None = None


@dataclass(frozen=True)
class Observable:
    """One number, or vector, that an instrument would have read.

    **Arguments:** `name`; `unit`; `read` off a `Run` (None: the report computes it); `needs`, without which there
    is none; `is_smooth`, whether it has a derivative worth fitting; `integrands(model, t, state)`, rates by name
    whose integrals over the touchdown `read` finds in `run.integrals`.
    """

    name: str
    unit: str
    read: Callable[[Any], Any] | None
    needs: str = ""
    is_smooth: bool = True
    integrands: Callable[[Touchdown, Any, Any], dict[str, Any]] | None = None


@dataclass(frozen=True)
class Gear:
    """One kind of landing gear: the keys that it needs in the table [gear] besides `kind`, and how it is made."""

    keys: Mapping[str, Numbers]
    make: Callable[[Mapping[str, Any]], AbstractLandingGear]


def _between(kind: type[Bounded] | type[Log], unit: str) -> Callable[[Any], Any]:
    """The prior of a range, or of the number that is known."""
    return lambda x: Fixed(x, unit) if np.ndim(x) == 0 else kind(*x, unit=unit)


def _one_of(values: Any, unit: str, relaxed: type[Bounded] | type[Log] = Bounded) -> Fixed | Discrete:
    values = np.atleast_1d(values).tolist()
    return Fixed(values[0], unit) if len(values) == 1 else Discrete(values, unit=unit, relaxed=relaxed)


def _scenarios(labels: list[str] | str) -> Fixed | Discrete:
    labels = [labels] if isinstance(labels, str) else labels
    if not set(labels) <= {"a", "b"}:
        raise ValueError(f"[unknowns] scenario = {labels} may hold 'a' and 'b' only")
    values = [float("ab".index(s)) for s in labels]
    return Fixed(values[0]) if len(values) == 1 else Discrete(values, labels=labels)


def _tilt(sigma: float) -> Fixed | Gaussian:
    return Gaussian(0.0, np.radians(sigma), unit="rad") if sigma else Fixed(0.0, "rad")


SOME, SEVERAL = positive((), (2,)), positive((), (-1,))
UNKNOWNS = (
    Unknown("thickness", "thickness_m", SOME, _between(Bounded, "m")),
    Unknown("grain_diameter", "grain_diameter_m", SOME, _between(Log, "m")),
    Unknown("grain_density", "grain_density_kg_per_m3", SOME, _between(Bounded, "kg/m3")),
    Unknown("grain_modulus", "grain_modulus_Pa", SEVERAL, lambda x: _one_of(x, "Pa", Log)),
    Unknown("friction", "friction", SEVERAL, lambda x: _one_of(x, "1")),
    Unknown("scenario", "scenario", Text(several=True), _scenarios, BOULDER),
    Unknown("edge_offset", "edge_offset_m", RANGE, _between(Bounded, "m"), BOULDER),
    Unknown("tilt_x", "tilt_sigma_deg", NOT_NEGATIVE, _tilt),
    Unknown("tilt_y", "tilt_sigma_deg", NOT_NEGATIVE, _tilt),
    Unknown("heading", "heading_deg", RANGE, lambda x: _between(Bounded, "rad")(np.radians(x))),
)


def _spin_after_rundown(run: Any) -> Any:
    lander = run.model.lander
    left = lander.flywheel.stored(run.known.horizon)
    return safe.norm(run.last.body.spin + jnp.linalg.solve(lander.body.inertia, left))


def _strokes(run: Any) -> Any:
    return run.model.lander.gear.strokes(run.last.gear, run.model.lander.legs)


def _depth(rank: int) -> Callable[[Any], Any]:
    return lambda run: jnp.sort(run.last.penetration)[rank]


def _energy(run: Any, state: Any) -> Any:
    return run.model.lander.body.kinetic_energy(state.body)


def phases(model: Touchdown, t: Any, state: Any) -> dict[str, Any]:
    """Rates of what instruments integrate: normal impulses N s, and times s of contact with each ground."""
    boulder, regolith = jnp.sum(model.boulder_forces(state).normal), jnp.sum(model.footpads(state).normal)
    return {
        "boulder_impulse": boulder,
        "footpad_impulse": regolith,
        "boulder_time": contact_indicator(boulder),
        "regolith_time": contact_indicator(regolith),
        "contact_time": contact_indicator(boulder + regolith + model.hull(state).normal),
    }


OBSERVABLES = (  # docs/theory-agilkia.md says how each is defined; at the last time unless the name says otherwise
    Observable("rebound_speed", "m/s", lambda run: safe.norm(run.last.body.velocity)),
    Observable("rebound_velocity", "m/s", lambda run: run.known.frame.comet_velocity(run.last.body.velocity)),
    Observable("spin", "rad/s", lambda run: run.last.body.spin[2]),
    Observable("spin_4s", "rad/s", lambda run: run.middle.body.spin[2]),
    Observable("spin_after_rundown", "rad/s", _spin_after_rundown),
    Observable("ground_energy", "J", lambda run: run.energy["ground"] + run.energy["friction"]),
    Observable("damper_energy", "J", lambda run: run.energy["damper"]),
    Observable("friction_energy", "J", lambda run: run.energy["friction"]),
    Observable("kinetic_energy", "J", lambda run: _energy(run, run.last)),
    Observable("initial_energy", "J", lambda run: _energy(run, run.first)),
    Observable("damper_stroke", "m", lambda run: safe.greatest(_strokes(run)), LEGS),
    Observable("penetration_deepest", "m", _depth(-1), LEGS),
    Observable("penetration_middle", "m", _depth(-2), LEGS),
    Observable("penetration_least", "m", _depth(0), LEGS),
    Observable("boulder_time", "s", lambda run: run.integrals["boulder_time"], BOULDER, integrands=phases),
    Observable("regolith_time", "s", lambda run: run.integrals["regolith_time"], LEGS, integrands=phases),
    Observable("contact_time", "s", lambda run: run.integrals["contact_time"], integrands=phases),
    Observable("peak_force", "N", None, is_smooth=False),  # a maximum over the saved times
    Observable(
        "boulder_force",
        "N",
        lambda run: safe.divide(run.integrals["boulder_impulse"], run.integrals["boulder_time"]),
        BOULDER,
        integrands=phases,
    ),
    Observable(
        "regolith_force",
        "N",
        lambda run: safe.divide(run.integrals["footpad_impulse"], run.integrals["regolith_time"]),
        LEGS,
        integrands=phases,
    ),
    Observable("second_contact_time", "s", lambda run: run.known.horizon + run.next.time, FLIGHT),
    Observable("second_contact_distance", "m", lambda run: safe.norm(run.next.position - run.site), FLIGHT),
    Observable("second_contact_position", "m", lambda run: run.next.position, FLIGHT),
)
GEARS = {
    "central": Gear(
        {"damping_N_s_per_m": POSITIVE, "stroke_m": POSITIVE},
        lambda table: CentralDamper(table["damping_N_s_per_m"], table["stroke_m"]),
    ),
    "maxwell": Gear({"damping_N_s_per_m": POSITIVE}, lambda table: MaxwellLegs(table["damping_N_s_per_m"])),
}


@dataclass(frozen=True)
class Catalogue:
    """The rows that a study goes by."""

    unknowns: tuple[Unknown, ...] = UNKNOWNS
    observables: tuple[Observable, ...] = OBSERVABLES
    gears: Mapping[str, Gear] = field(default_factory=lambda: GEARS, hash=False)

    def integrands(self, model: Touchdown, t: Any, state: Any) -> dict[str, Any]:
        """The rates of all that the observables integrate, each function asked once."""
        asked = dict.fromkeys(row.integrands for row in self.observables if row.integrands is not None)
        return {name: rate for function in asked for name, rate in function(model, t, state).items()}

    def observable(self, name: str) -> Observable:
        """The row of that name. **Raises** `ValueError` that lists the names."""
        rows = {row.name: row for row in self.observables}
        if name not in rows:
            raise ValueError(f"no observable is called {name!r}; there are {sorted(rows)}")
        return rows[name]


STANDARD = Catalogue()
