"""The unknowns, the observables and the landing gears that a touchdown may have: each is one row of one table here.

All that reads the files, builds the model, fits and reports goes by these rows. A study with further ones passes a
`Catalogue` of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from difsim import rotation, safe
from difsim.body import AbstractLandingGear, CentralDamper, MaxwellLegs
from difsim.dynamics import Touchdown
from difsim.dynamics.touchdown import contact_indicator
from experiments.agilkia import keys
from experiments.agilkia.keys import Numbers, Text
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

    **Arguments:** `name`; `reading`, its unit, shape and ranges; `read` off a `Run` (None: the report computes it);
    `needs`, without which there is none; `is_smooth`, whether it has a derivative worth fitting; `integrands(model, t,
    state)`, rates by name whose integrals over the touchdown `read` finds in `run.integrals`.
    """

    name: str
    reading: Numbers
    read: Callable[[Any], Any] | None
    needs: str = ""
    is_smooth: bool = True
    integrands: Callable[[Touchdown, Any, Any], dict[str, Any]] | None = None

    @property
    def unit(self) -> str:
        return self.reading.quantity.plain_unit


@dataclass(frozen=True)
class Gear:
    """One kind of landing gear: the keys that it needs in the table [gear] besides `kind`, and how it is made."""

    keys: Mapping[str, Numbers]
    make: Callable[[Mapping[str, Any]], AbstractLandingGear]


def _prior_of_range(x: Any, unit: str, kind: type[Bounded] | type[Log] = Bounded) -> Any:
    """The prior of a range, or of the number that is known."""
    return Fixed(x, unit) if np.ndim(x) == 0 else kind(*x, unit=unit)


def _one_of(values: Any, unit: str, relaxed: type[Bounded] | type[Log] = Bounded) -> Fixed | Discrete:
    """The prior of a list, or of the number that is known."""
    values = np.atleast_1d(values).tolist()
    return Fixed(values[0], unit) if len(values) == 1 else Discrete(values, unit=unit, relaxed=relaxed)


def _scenarios(labels: list[str] | str) -> Fixed | Discrete:
    labels = [labels] if isinstance(labels, str) else labels
    if not set(labels) <= {"a", "b"}:
        raise ValueError("give 'a' and 'b' only")
    values = [float("ab".index(s)) for s in labels]
    return Fixed(values[0]) if len(values) == 1 else Discrete(values, labels=labels)


def _tilt(sigma: float) -> Fixed | Gaussian:
    return Gaussian(0.0, np.radians(sigma), unit="rad") if sigma else Fixed(0.0, "rad")


def _unknown(name: str, key: str, prior: Callable[..., Any], needs: str = "", **options: Any) -> Unknown:
    """A row whose prior has the unit of its key."""
    holds = keys.UNKNOWNS[key]
    return Unknown(name, key, holds, partial(prior, unit=holds.quantity.plain_unit or "1", **options), needs)


UNKNOWNS = (
    _unknown("thickness", "thickness_m", _prior_of_range),
    _unknown("grain_diameter", "grain_diameter_m", _prior_of_range, kind=Log),
    _unknown("grain_density", "grain_density_kg_per_m3", _prior_of_range),
    _unknown("grain_modulus", "grain_modulus_Pa", _one_of, relaxed=Log),
    _unknown("friction", "friction", _one_of),
    Unknown("scenario", "scenario", Text(several=True), _scenarios, BOULDER),
    _unknown("edge_offset", "edge_offset_m", _prior_of_range, BOULDER),
    Unknown("tilt_x", "tilt_sigma_deg", keys.UNKNOWNS["tilt_sigma_deg"], _tilt),
    Unknown("tilt_y", "tilt_sigma_deg", keys.UNKNOWNS["tilt_sigma_deg"], _tilt),
    Unknown(
        "heading", "heading_deg", keys.UNKNOWNS["heading_deg"], lambda x: _prior_of_range(np.radians(x), "rad")
    ),
)


def _spin_after_rundown(run: Any) -> Any:
    lander = run.model.lander
    left = lander.flywheel.momentum_at(run.known.horizon)
    return safe.norm(run.last.body.spin + rotation.solve3(lander.body.inertia, left))


def _strokes(run: Any) -> Any:
    return run.model.lander.gear.strokes(run.last.gear, run.model.lander.legs)


def _depth(rank: int) -> Callable[[Any], Any]:
    return lambda run: jnp.sort(run.integrals["sunk"])[rank]


def _energy(run: Any, state: Any) -> Any:
    return run.model.lander.body.kinetic_energy(state.body)


def _integral(name: str) -> Callable[[Any], Any]:
    return lambda run: run.integrals[name]


def _mean_force(ground: str, impulse: str) -> Callable[[Any], Any]:
    """The mean force, N, over the time of contact with a ground."""
    return lambda run: safe.divide(run.integrals[impulse], run.integrals[f"{ground}_time"])


def phases(model: Touchdown, t: Any, state: Any) -> dict[str, Any]:
    """Rates of what instruments integrate: normal impulses N s, times s of contact with each ground, and how far the
    footpads have sunk, m."""
    footpads = model.footpads(state)
    boulder, regolith = jnp.sum(model.boulder_forces(state).normal), jnp.sum(footpads.normal)
    return {
        "boulder_impulse": boulder,
        "footpad_impulse": regolith,
        "boulder_time": contact_indicator(boulder),
        "regolith_time": contact_indicator(regolith),
        "contact_time": contact_indicator(boulder + regolith + jnp.sum(model.hull(state).normal)),
        "sunk": footpads.flow,
    }


OBSERVABLES = (  # docs/theory-agilkia.md says how each is defined; at the last time unless the name says otherwise
    Observable("rebound_speed", keys.SPEED, lambda run: safe.norm(run.last.body.velocity)),
    Observable(
        "rebound_velocity", keys.VELOCITY, lambda run: run.known.frame.comet_direction(run.last.body.velocity)
    ),
    Observable("spin", keys.SPIN, lambda run: run.last.body.spin[2]),
    Observable("spin_4s", keys.SPIN, lambda run: run.middle.body.spin[2]),
    Observable("spin_after_rundown", keys.SPIN, _spin_after_rundown),
    Observable("ground_energy", keys.ENERGY, lambda run: run.energy["ground"] + run.energy["friction"]),
    Observable("damper_energy", keys.ENERGY, lambda run: run.energy["damper"]),
    Observable("friction_energy", keys.ENERGY, lambda run: run.energy["friction"]),
    Observable("kinetic_energy", keys.KINETIC, lambda run: _energy(run, run.last)),
    Observable("initial_energy", keys.KINETIC, lambda run: _energy(run, run.first)),
    Observable("damper_stroke", keys.STROKE, lambda run: safe.greatest(_strokes(run)), LEGS),
    Observable("penetration_deepest", keys.DEPTH, _depth(-1), LEGS, integrands=phases),
    Observable("penetration_middle", keys.DEPTH, _depth(-2), LEGS, integrands=phases),
    Observable("penetration_least", keys.DEPTH, _depth(0), LEGS, integrands=phases),
    Observable("boulder_time", keys.DURATION, _integral("boulder_time"), BOULDER, integrands=phases),
    Observable("regolith_time", keys.DURATION, _integral("regolith_time"), LEGS, integrands=phases),
    Observable("contact_time", keys.DURATION, _integral("contact_time"), integrands=phases),
    Observable("peak_force", keys.FORCE, None, is_smooth=False),  # a maximum over the saved times
    Observable("boulder_force", keys.FORCE, _mean_force("boulder", "boulder_impulse"), BOULDER, integrands=phases),
    Observable("regolith_force", keys.FORCE, _mean_force("regolith", "footpad_impulse"), LEGS, integrands=phases),
    Observable("second_contact_time", keys.FLIGHT, lambda run: run.known.horizon + run.next.time, FLIGHT),
    Observable(
        "second_contact_distance", keys.DISTANCE, lambda run: safe.norm(run.next.position - run.site), FLIGHT
    ),
    Observable("second_contact_position", keys.POSITION, lambda run: run.next.position, FLIGHT),
)
GEARS = {
    "central": Gear(keys.GEAR, lambda table: CentralDamper(table["damping_N_s_per_m"], table["stroke_m"])),
    "maxwell": Gear(
        {"damping_N_s_per_m": keys.GEAR["damping_N_s_per_m"]},
        lambda table: MaxwellLegs(table["damping_N_s_per_m"]),
    ),
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
