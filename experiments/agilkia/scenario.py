"""From the two files to a forward model: parameters -> touchdown -> observables."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from difsim import rotation, safe, units
from difsim.body import CentralDamper, Flywheel, Hull, Lander, MaxwellLegs, RigidBody, RigidState
from difsim.contact import Boulder, LinearClipped, Regolith
from difsim.dynamics import Touchdown, TouchdownState
from difsim.gravity import AbstractField, Rotating, Uniform, lobes_67p
from difsim.stepping import AbstractMethod, Sensitivities, Solution, simulate
from difsim.typing import Scalar, Vec3, number
from experiments.agilkia.bounce import next_contact, on_surface
from experiments.agilkia.files import DataSet
from experiments.agilkia.worlds import World
from experiments.foot.calibration import Calibration
from inversion import Bounded, Discrete, Gaussian, Log, Observations, Problem

HULL_ONSET = 2e-3  # m, smooth onset of the hull's contact
CLEARANCE = 0.05  # m between the lowest point and the ground at the start, at any tilt within its prior

# Least squares needs a derivative to 1e-3 and a misfit to 1e-4; the tables use the stricter one.
SEARCH = Sensitivities(rtol=1e-6, atol=1e-6, weight=0.1)
STRICT = Sensitivities()


class Experiment(eqx.Module):
    """Everything that is known; called with the unknowns it gives the observables and whether they are valid.

    All fields are arrays or Modules, so that other landers and data sets reuse a compiled function.
    """

    lander: Lander
    frame: rotation.SurfaceFrame
    gravity: AbstractField
    velocity: Vec3 = number()
    attitude: Float[Array, "4"] = number()
    spin: Scalar = number()
    horizon: Scalar = number()
    edge_distance: Scalar = number()
    boulder_height: Scalar = number()
    half_length: Scalar = number()
    boulder_modulus: Scalar = number()
    boulder_radius: Scalar = number()
    porosity: Scalar = number()
    surface_energy: Scalar = number()
    leg: int = eqx.field(static=True)
    method: AbstractMethod = SEARCH
    world: World | None = None  # with one, the flight to the next contact follows the touchdown
    calibration: Calibration | None = None  # with one, the ground resists as grains do, and `law_error` more

    def build(self, p: dict[str, Array]) -> tuple[Touchdown, TouchdownState]:
        """The model and its state at the start, of one set of unknowns (names of `unknowns`)."""
        zero = jnp.zeros_like(p["heading"])
        tilt = rotation.from_rotation_vector(jnp.stack([p["tilt_x"], p["tilt_y"], zero]))
        heading = rotation.from_rotation_vector(jnp.stack([zero, zero, p["heading"]]))
        attitude = rotation.multiply(tilt, rotation.multiply(self.attitude, heading))

        # The edge lies across the struck leg as it points at the start: offset is the touchdown position.
        foot = self.lander.feet[self.leg]
        outward = rotation.rotate(heading, safe.unit(foot.at[2].set(0.0)))
        along = jnp.cross(jnp.asarray([0.0, 0.0, 1.0]), outward)
        edge = outward * (self.edge_distance + p["edge_offset"])
        regolith = Regolith(
            p["thickness"],
            p["grain_diameter"],
            p["grain_density"],
            p["grain_modulus"],
            p["friction"],
            porosity=self.porosity,
            surface_energy=self.surface_energy,
            gravity=safe.norm(self.gravity.acceleration(jnp.zeros(3))),
            **({} if self.calibration is None else self.calibration.factors(p["law_error"])),
        )
        boulder = Boulder(
            edge.at[2].set(self.boulder_height),
            along,
            self.half_length,
            self.boulder_modulus,
            self.boulder_radius,
            p["friction"],
        )
        model = Touchdown(self.lander, regolith, boulder, self.gravity, p["scenario"], leg=self.leg)
        # A fixed height: a start at first touch would have a kink where another point is the lowest.
        height = self.boulder_height + CLEARANCE - jnp.min(self.lander.feet[:, 2])
        spin = jnp.stack([zero, zero, self.spin + zero])
        body = RigidState(jnp.stack([zero, zero, height + zero]), self.velocity, attitude, spin)
        return model, model.start(body)

    def follow(self, p: dict[str, Array], times: Float[Array, "T"]) -> tuple[Touchdown, Solution]:
        """The touchdown at `times`, s after the start."""
        model, state = self.build(p)
        return model, simulate(model, state, times, method=self.method, throw=False)

    def __call__(self, p: dict[str, Array]) -> tuple[dict[str, Array], Bool[Array, ""]]:
        """Observables of `p`, in the units of `files.OBSERVABLES`."""
        model, solution = self.follow(
            p, jnp.stack([jnp.zeros_like(self.horizon), 0.4 * self.horizon, self.horizon])
        )
        observed = self.observe(model, solution)
        # Several contacts may magnify a tangent until it says little. The value stands, and a search refuses a
        # step that does not help: such a run is no failure.
        ok = solution.values_are_valid
        if self.world is None:
            return observed, ok
        # The bounce goes on from where the body is at the last time, above the world's own ground at the site.
        site = on_surface(self.world[1], self.frame.origin)
        start = site + self.frame.comet_direction(solution.states.body.position[-1])
        contact = next_contact(observed["rebound_velocity"], *self.world, position=start)
        second = {
            "second_contact_time": self.horizon + contact.time,
            "second_contact_distance": safe.norm(contact.position - site),
            "second_contact_position": contact.position,
        }
        return observed | second, ok & contact.ok

    def observe(self, model: Touchdown, solution: Solution) -> dict[str, Array]:
        """What an instrument would have read: at the last time unless the name says otherwise."""
        first, middle, last = (jax.tree.map(lambda x, i=i: x[i], solution.states) for i in (0, 1, -1))
        accounts, body = last.accounts, last.body
        strokes = model.lander.gear.strokes(last.gear, model.lander.legs)
        depths = jnp.sort(last.penetration)
        inertia = model.lander.body.inertia
        left = model.lander.flywheel.stored(self.horizon)
        return {
            "rebound_speed": safe.norm(body.velocity),
            "rebound_velocity": self.frame.comet_velocity(body.velocity),
            "spin": body.spin[2],
            "spin_4s": middle.body.spin[2],
            "spin_after_rundown": safe.norm(body.spin + jnp.linalg.solve(inertia, left)),
            "ground_energy": accounts.ground + accounts.friction,
            "damper_energy": accounts.damper,
            "friction_energy": accounts.friction,
            "kinetic_energy": model.lander.body.kinetic_energy(body),
            "initial_energy": model.lander.body.kinetic_energy(first.body),
            "damper_stroke": safe.greatest(strokes),
            "penetration_deepest": depths[-1],
            "penetration_middle": depths[-2],
            "penetration_least": depths[0],
            "boulder_time": accounts.boulder_time,
            "regolith_time": accounts.regolith_time,
            "contact_time": accounts.contact_time,
            "boulder_force": safe.divide(accounts.boulder_impulse, accounts.boulder_time),
            "regolith_force": safe.divide(accounts.footpad_impulse, accounts.regolith_time),
        }


def experiment(lander: dict[str, dict[str, Any]], data: DataSet) -> Experiment:
    """The known part of the touchdown from the tables of a lander file and a data set.

    **Raises** `ValueError` for values that no lander or ground can have.
    """
    body = lander["lander"] | data.lander
    inertia = np.asarray(body["inertia_kg_m2"], float)
    if inertia.shape not in ((3,), (3, 3)):
        raise ValueError(
            f"inertia_kg_m2 has shape {inertia.shape}: give three principal moments or a 3 x 3 tensor"
        )
    feet, hips = (np.asarray(body[key], float) for key in ("feet_m", "hips_m"))
    gear = lander["gear"]
    if gear["kind"] == "maxwell":
        damper = MaxwellLegs(gear["damping_N_s_per_m"])
    elif gear["kind"] == "central":
        if "stroke_m" not in gear:
            raise ValueError("[gear] kind = 'central' needs stroke_m, where the damper's stop begins")
        damper = CentralDamper(gear["damping_N_s_per_m"], gear["stroke_m"])
    else:
        raise ValueError(f"[gear] kind = {gear['kind']!r} must be 'central' or 'maxwell'")
    site, initial, obstacle = lander["site"], data.initial, lander["obstacle"]
    velocity, normal = np.asarray(site["velocity_m_per_s"], float), np.asarray(site["normal"], float)
    normal = normal / np.linalg.norm(normal)
    if velocity @ normal >= 0:
        raise ValueError(
            f"[site] velocity_m_per_s {velocity.tolist()} moves away from the ground: its component along the "
            f"normal is {velocity @ normal:.3g} m/s and must be negative"
        )
    tangential = velocity - velocity @ normal * normal
    heading = tangential if np.linalg.norm(tangential) > 1e-6 else np.roll(normal, 1)
    frame = rotation.SurfaceFrame.from_normal(np.asarray(site["position_m"], float), normal, heading)
    axis = rotation.axis_from_projections(np.radians(site["alpha_s_deg"]), np.radians(site["beta_s_deg"]))
    return Experiment(
        lander=Lander(
            RigidBody(body["mass_kg"], inertia if inertia.ndim == 2 else np.diag(inertia)),
            feet,
            hips,
            body["footpad_radius_m"],
            body["leg_stiffness_N_per_m"],
            damper,
            Flywheel(initial["flywheel_N_m_s"], initial["rundown_s"]),
            hull_of(body),
        ),
        frame=frame,
        gravity=local_gravity(site, frame),
        velocity=frame.velocity(jnp.asarray(velocity)),
        attitude=upright_to(axis),
        spin=initial["spin_rad_per_s"],
        horizon=initial["horizon_s"],
        edge_distance=obstacle["edge_distance_m"],
        boulder_height=obstacle["height_m"],
        half_length=obstacle["half_length_m"],
        boulder_modulus=obstacle["modulus_Pa"],
        boulder_radius=obstacle["radius_m"],
        porosity=lander["regolith"]["porosity"],
        surface_energy=lander["regolith"]["surface_energy_J_per_m2"],
        leg=obstacle["leg"],
    )


def hull_of(body: dict[str, Any]) -> Hull:
    """The hull of a table [lander]: its restitution is that of the whole mass, central on one point."""
    restitution, stiffness = body["hull_restitution"], body["hull_stiffness_N_per_m"]
    law = LinearClipped.from_restitution(restitution, stiffness, body["mass_kg"], HULL_ONSET)
    return Hull(np.asarray(body["hull_m"], float), law)


def local_gravity(site: dict[str, Any], frame: rotation.SurfaceFrame) -> Uniform:
    """The gravity at the site as a uniform field in the surface frame: given, or that of the rotating 67P."""
    if "gravity_m_per_s2" in site:
        return Uniform(jnp.asarray(site["gravity_m_per_s2"], float))
    comet = Rotating(lobes_67p(), jnp.asarray([0.0, 0.0, units.SPIN_67P]))
    return Uniform(frame.direction(comet.acceleration(frame.origin)))


def upright_to(axis: Vec3) -> Float[Array, "4"]:
    """The shortest turn that takes z to `axis` [3]."""
    cross = jnp.cross(jnp.asarray([0.0, 0.0, 1.0]), axis)
    return rotation.from_rotation_vector(safe.unit(cross) * jnp.arctan2(safe.norm(cross), axis[2]))


def unknowns(lander: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The parameters of the inversion with their priors."""
    table = lander["unknowns"]
    if not set(table["scenario"]) <= {"a", "b"}:
        raise ValueError(f"[unknowns] scenario = {table['scenario']} may hold 'a' and 'b' only")
    tilt = np.radians(table["tilt_sigma_deg"])
    return {
        "thickness": Bounded(*table["thickness_m"], unit="m"),
        "grain_diameter": Log(*table["grain_diameter_m"], unit="m"),
        "grain_density": Bounded(*table["grain_density_kg_per_m3"], unit="kg/m3"),
        "grain_modulus": Discrete(table["grain_modulus_Pa"], unit="Pa", relaxed=Log),
        "friction": Discrete(table["friction"], unit="1"),
        "scenario": Discrete([float("ab".index(s)) for s in table["scenario"]], labels=table["scenario"]),
        "edge_offset": Bounded(*table["edge_offset_m"], unit="m"),
        "tilt_x": Gaussian(0.0, tilt, unit="rad"),
        "tilt_y": Gaussian(0.0, tilt, unit="rad"),
        "heading": Bounded(*np.radians(table["heading_deg"]), unit="rad"),
    }


def problem(
    lander: dict[str, dict[str, Any]],
    data: DataSet,
    world: World | None = None,
    calibration: Calibration | None = None,
) -> Problem:
    """The inversion: unknowns, touchdown, and what the data set fits; with a flight only where that asks for it.

    With a `calibration` its error is one more unknown, ln of a factor, known to its sigma.

    **Raises** `ValueError` for a data set with the next contact, and no `world` to fly in.
    """
    known = experiment(lander, data)
    if any(name.startswith("second_contact") for name in data.fitted):
        if world is None:
            raise ValueError(f"data set {data.name!r} fits the next contact: give a world to fly in")
        known = replace(known, world=world)
    known, free = replace(known, calibration=calibration), unknowns(lander)
    if calibration is not None:
        free["law_error"] = Gaussian(0.0, calibration.sigma, unit="ln")
    return Problem(free, known, Observations(data.fitted))
