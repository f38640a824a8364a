"""From the two files to a forward model: parameters -> touchdown -> observables."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from difsim import Adaptive, Forward, Solution, Status, rotation, safe, simulate
from difsim.body import Flywheel, Lander, RigidState
from difsim.contact import Boulder, Regolith
from difsim.declarations import quantity, quaternion
from difsim.dynamics import Touchdown
from difsim.dynamics.touchdown_state import TouchdownState
from difsim.gravity import AbstractField
from difsim.rotation import Rotation
from difsim.stepping.solvers import AbstractSolver
from difsim.surface_frame import SurfaceFrame
from difsim.typing import Quat, Scalar, Vec3
from experiments.agilkia import keys, parts
from experiments.agilkia.bounce import Contact, next_contact, project_to_surface
from experiments.agilkia.catalogue import BOULDER, FLIGHT, LEGS, STANDARD, Catalogue
from experiments.agilkia.files import DataSet
from experiments.agilkia.worlds import World
from experiments.foot.calibration import Calibration
from inversion import Gaussian, Observations, Problem

# m between the lowest point and the boulder's top at the start: tilts of 10 degrees, five standard deviations of their
# prior, lower a foot at 1.2 m by 0.21 m. A foot that starts in the ground would bring the energy of its leg spring.
CLEARANCE = 0.22

SITE = "origin at the site, z along its normal, x along the tangential part of the approach"

# Least squares needs a derivative to 1e-3 and a misfit to 1e-4; the tables use the stricter one.
SEARCH, LOOSE = Adaptive(rtol=1e-6, atol=1e-6), Forward(weight=0.1)
STRICT = Adaptive()


class Experiment(eqx.Module):
    """Everything that is known; called with the unknowns it gives the observables and whether they are valid.

    All fields are arrays or Modules, so that other landers and data sets reuse a compiled function.
    """

    lander: Lander
    frame: SurfaceFrame
    gravity: AbstractField
    velocity: Vec3 = quantity("m/s", "velocity at the start")
    attitude: Quat = quaternion("attitude at touch, before errors")
    spin: Scalar = quantity("rad/s", "spin at the start")
    horizon: Scalar = quantity("s", "end of the touchdown")
    porosity: Scalar = quantity("", "porosity of the ground")
    surface_energy: Scalar = quantity("J/m²", "surface energy of grains")
    # The boulder; without one 0, and no leg.
    edge_distance: Scalar = quantity("m", "distance of its edge")
    boulder_height: Scalar = quantity("m", "height of the boulder")
    half_length: Scalar = quantity("m", "half the length of its edge")
    boulder_modulus: Scalar = quantity("Pa", "modulus of the boulder")
    boulder_radius: Scalar = quantity("m", "radius of its edge")
    leg: int | None = eqx.field(static=True)
    solver: AbstractSolver = SEARCH
    derivative: Forward | None = LOOSE
    world: World | None = None  # with one, the flight to the next contact follows the touchdown
    calibration: Calibration | None = None  # with one, the ground resists as grains do, and `law_error` more
    catalogue: Catalogue = eqx.field(static=True, default=STANDARD)

    def quantities(self, p: Mapping[str, Array]) -> dict[str, Any]:
        """All that a touchdown is built from by name: what is known, and what the unknowns `p` change of it."""
        q = {f.name: getattr(self, f.name) for f in fields(self)} | dict(p)
        for row in self.catalogue.unknowns:
            if row.name in p and row.enter is not None:
                q |= row.enter(q, p[row.name])
        return q

    def build(self, p: dict[str, Array]) -> tuple[Touchdown, TouchdownState]:
        """The model and its state at the start, of one set of unknowns."""
        q = self.quantities(p)
        lander, gravity, zero = q["lander"], q["gravity"], jnp.zeros_like(p["heading"])
        tilt = Rotation.from_rotation_vector(jnp.stack([p["tilt_x"], p["tilt_y"], zero]))
        heading = Rotation.from_rotation_vector(jnp.stack([zero, zero, p["heading"]]))
        attitude = tilt @ Rotation(q["attitude"]) @ heading
        regolith = Regolith(
            q["thickness"],
            q["grain_diameter"],
            q["grain_density"],
            q["grain_modulus"],
            q["friction"],
            porosity=q["porosity"],
            surface_energy=q["surface_energy"],
            gravity=safe.norm(gravity.acceleration(jnp.zeros(3))),
            **({} if self.calibration is None else self.calibration.factors(q["law_error"])),
        )
        if self.leg is None:
            model = Touchdown(lander, regolith, None, gravity, zero)
        else:
            boulder = self._boulder(q, heading)
            model = Touchdown(lander, regolith, boulder, gravity, q["scenario"], leg=self.leg)
        # A fixed height: a start at first touch would have a kink where another point is the lowest.
        lowest = jnp.min(lander.feet[:, 2]) if lander.legs else -lander.hull.radius
        height = q["boulder_height"] + CLEARANCE - lowest
        spin = jnp.stack([zero, zero, q["spin"] + zero])
        body = RigidState(jnp.stack([zero, zero, height + zero]), q["velocity"], attitude, spin)
        return model, model.start(body)

    def _boulder(self, q: Mapping[str, Any], heading: Rotation) -> Boulder:
        """The edge lies across the struck leg as it points at the start: offset is the touchdown position."""
        foot = q["lander"].feet[self.leg]
        outward = heading @ safe.unit(foot.at[2].set(0.0))
        edge = outward * (q["edge_distance"] + q["edge_offset"])
        return Boulder(
            edge.at[2].set(q["boulder_height"]),
            jnp.cross(jnp.asarray([0.0, 0.0, 1.0]), outward),
            q["half_length"],
            q["boulder_modulus"],
            q["boulder_radius"],
            q["friction"],
        )

    def follow(self, p: dict[str, Array], times: Float[Array, "T"]) -> tuple[Touchdown, Solution]:
        """The touchdown at `times`, s after the start."""
        model, state = self.build(p)
        way = {"solver": self.solver, "derivative": self.derivative, "integrals": self.catalogue.integrands}
        return model, simulate(model, state, times, **way, throw=False)

    def __call__(self, p: dict[str, Array]) -> tuple[dict[str, Array], Int[Array, ""]]:
        """Observables of `p`, in the units of the catalogue, and the status."""
        model, solution = self.follow(p, self.times)
        status = value_status(solution)
        if self.world is None:
            return self.observe(model, solution), status
        last = solution.states.body
        return self.observe(model, solution, *self.fly(last.position[-1], last.velocity[-1])), status

    @property
    def times(self) -> Float[Array, "3"]:
        """The times that observables are read at, s after the start."""
        return jnp.stack([jnp.zeros_like(self.horizon), 0.4 * self.horizon, self.horizon])

    def fly(self, position: Vec3, velocity: Vec3) -> tuple[Contact, Vec3]:
        """The next contact, from a place m and a velocity m/s in the surface frame, and the site that it follows.

        The flight begins above the world's own ground at the site. One that does not come down has no next contact,
        which is no failure of the touchdown: its numbers are NaN.
        """
        site = project_to_surface(self.world[1], self.frame.origin)
        start = site + self.frame.comet_direction(position)
        contact = next_contact(self.frame.comet_direction(velocity), *self.world, position=start)
        return jax.tree.map(lambda x: jnp.where(contact.ok, x, jnp.nan), contact), site

    def observe(
        self, model: Touchdown, solution: Solution, contact: Contact | None = None, site: Vec3 | None = None
    ) -> dict[str, Array]:
        """The readings of the instruments, with the next `contact` after the `site` where one was flown to."""
        first, middle, last = (jax.tree.map(lambda x, i=i: x[i], solution.states) for i in (0, 1, -1))
        energy, integrals = ({k: x[-1] for k, x in of.items()} for of in (solution.energy, solution.integrals))
        run = Run(self, model, first, middle, last, energy, integrals, contact, site)
        has = {LEGS: bool(model.lander.legs), BOULDER: self.leg is not None, FLIGHT: contact is not None}
        rows = (row for row in self.catalogue.observables if row.read is not None and has.get(row.needs, True))
        return {row.name: row.read(run) for row in rows}


def value_status(solution: Solution) -> Array:
    """The status of the values of a touchdown alone.

    Several contacts may magnify a tangent until it says little. The value stands, and a search refuses a step that does
    not help: such a run is no failure.
    """
    return jnp.where(solution.values_are_valid, int(Status.OK), solution.status)


class Run(NamedTuple):
    """The source of the observables: the states at the start, at 0.4 of the horizon and at the end; the energies J and
    the integrals at the end; the next contact and the site that it follows, where one was flown to."""

    known: Experiment
    model: Touchdown
    first: TouchdownState
    middle: TouchdownState
    last: TouchdownState
    energy: dict[str, Array]
    integrals: dict[str, Array]
    next: Contact | None
    site: Vec3 | None


def experiment(lander: dict[str, dict[str, Any]], data: DataSet, catalogue: Catalogue = STANDARD) -> Experiment:
    """The known part of the touchdown from the tables of a lander file and a data set.

    **Raises** `ValueError` for values that no lander or ground can have: of the lander's file alone, `read_lander`
    has raised it before, but not of what the data set has in place of its keys.
    """
    site, initial, obstacle = lander["site"], data.initial, lander.get("obstacle", {})
    frame = parts.frame_of(site)
    axis = rotation.axis_from_projections(np.radians(site["alpha_s_deg"]), np.radians(site["beta_s_deg"]))
    wheel = Flywheel(initial["flywheel_N_m_s"], initial["rundown_s"])
    return Experiment(
        lander=parts.lander_of(lander["lander"] | data.lander, lander.get("gear"), wheel, catalogue),
        frame=frame,
        gravity=parts.local_gravity(site, frame),
        velocity=frame.direction(jnp.asarray(site["velocity_m_per_s"], float)),
        attitude=turn_upright(axis),
        spin=initial["spin_rad_per_s"],
        horizon=initial["horizon_s"],
        edge_distance=obstacle.get("edge_distance_m", 0.0),
        boulder_height=obstacle.get("height_m", 0.0),
        half_length=obstacle.get("half_length_m", 0.0),
        boulder_modulus=obstacle.get("modulus_Pa", 0.0),
        boulder_radius=obstacle.get("radius_m", 0.0),
        porosity=lander["regolith"]["porosity"],
        surface_energy=lander["regolith"]["surface_energy_J_per_m2"],
        leg=obstacle.get("leg"),
        catalogue=catalogue,
    )


def turn_upright(axis: Vec3) -> Rotation:
    """The shortest turn that takes z to `axis` [3]."""
    cross = jnp.cross(jnp.asarray([0.0, 0.0, 1.0]), axis)
    return Rotation.from_rotation_vector(safe.unit(cross) * jnp.arctan2(safe.norm(cross), axis[2]))


def unknowns(lander: dict[str, dict[str, Any]], catalogue: Catalogue = STANDARD) -> dict[str, Any]:
    """The parameters of the inversion with their priors."""
    rows = (row for row in catalogue.unknowns if row.needs != BOULDER or "obstacle" in lander)
    return {row.name: row.prior(lander["unknowns"][row.key]) for row in rows}


def problem(
    lander: dict[str, dict[str, Any]],
    data: DataSet,
    world: World | None = None,
    calibration: Calibration | None = None,
    catalogue: Catalogue = STANDARD,
) -> Problem:
    """The inversion: unknowns, touchdown, and what the data set fits; with a flight only where that asks for it.

    With a `calibration` its error is one more unknown, ln of a factor, known to its sigma.

    **Raises** `ValueError` for a data set with the next contact and no `world` to fly in, and for one with a reading
    of legs or of a boulder that the lander's file does not have.
    """
    known = experiment(lander, data, catalogue)
    needs = {catalogue.observable(name).needs: name for name in data.fitted}
    for part, there in ((LEGS, known.lander.legs > 0), (BOULDER, known.leg is not None)):
        if part in needs and not there:
            raise ValueError(f"data set {data.name!r} fits {needs[part]}, and the lander's file has no {part}")
    if FLIGHT in needs:
        if (body := lander["site"]["body"]) != keys.COMET:
            raise ValueError(
                f"data set {data.name!r} fits {needs[FLIGHT]}, and the flight to the next contact is of "
                f"{keys.COMET} alone: the site is on {body!r}"
            )
        if world is None:
            raise ValueError(f"data set {data.name!r} fits the next contact: give a world to fly in")
        known = replace(known, world=world)
    known, free = replace(known, calibration=calibration), unknowns(lander, catalogue)
    if calibration is not None:
        free["law_error"] = Gaussian(0.0, calibration.sigma, unit="ln")
    return Problem(free, known, Observations(data.fitted))
