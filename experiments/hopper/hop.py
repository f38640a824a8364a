"""A hop: wheels that stop throw a cube off its edge to a target; the torque that does it is found by gradient."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Int

from difsim import Adaptive, AtContact, Solution, simulate
from difsim.body import RigidState
from difsim.dynamics import TorqueProfile, Wheeled
from difsim.stepping.solvers import AbstractSolver
from experiments.evolution import evolve
from experiments.geometry import line
from experiments.harness import Found
from experiments.hopper import hop_picture
from experiments.hopper.scenes import EDGE, GRAVITY, MASS, cube
from experiments.variables import describe
from inversion import Bounded, Observation, Observations, Problem, Stops, fit
from inversion.programs import Programs
from inversion.threads import map_in_threads

HERE = GRAVITY["67p"]  # m/s²
FRICTION = 0.5
INERTIA = MASS * EDGE**2 / 6  # kg m²
SPIN_UP, BRAKE = 1000.0, 1.0  # s
CLEAR = 6.0  # s after the stop, when a cube that leaves has left
TARGET = (1.5, 0.5)  # m from where it rests
SIGMA = 0.01  # m
GREATEST = 4.5e-3  # N m s that each wheel can hold; 2H/SPIN_UP must not tip the cube: m g a/2 = 1.7e-5 N m
GUESS = {"momentum_x": 1e-3, "momentum_y": 2e-3}  # a third of the distance, 45 degrees off
FINE = Adaptive(1e-12, 1e-12, order=8)  # of the flight
SEARCH = Adaptive(1e-7, 1e-7, resolve=0.0)


class Hop(eqx.Module):
    """From the wheels' momentum H to where the centre of mass is at the first touch, m from where it rested."""

    start: RigidState
    solver: AbstractSolver = SEARCH

    def follow(self, momentum: Float[Array, "3"]) -> tuple[Solution, Solution]:
        """On the ground until CLEAR after the stop, and the flight from there to the first touch."""
        hopper = cube(HERE)
        model = Wheeled(hopper, TorqueProfile(momentum, SPIN_UP, BRAKE))
        times = jnp.array([0.0, SPIN_UP, SPIN_UP + 0.5 * BRAKE, SPIN_UP + BRAKE, SPIN_UP + BRAKE + CLEAR])
        thrown = simulate(model, model.start(hopper.start(self.start)), times, solver=self.solver, throw=False)
        span, until = jnp.array([0.0, 5000.0]), AtContact()
        flight = simulate(hopper, thrown.last.hopper, span, solver=FINE, until=until, throw=False)
        return thrown, flight

    def __call__(self, values: dict[str, Array]) -> tuple[dict[str, Array], Int[Array, ""]]:
        x, y = values["momentum_x"], values["momentum_y"]
        thrown, flight = self.follow(jnp.stack([x, y, jnp.zeros_like(x)]))
        landed = flight.last.body.position[:2]
        return {"landing": landed, "time": flight.times[-1]}, jnp.maximum(thrown.status, flight.status)


def rest_state() -> RigidState:
    """Flat on the ground, where the smoothed force of four corners carries the weight (from a table of the force)."""
    depths = np.linspace(-3e-3, 3e-4, 20_001)
    contact = cube(HERE).contact.normal
    forces = jax.vmap(lambda d: contact.force(d, jnp.zeros(())))(jnp.asarray(depths))
    depth = float(np.interp(MASS * HERE / 4, np.asarray(forces), depths))
    return RigidState((0.0, 0.0, 0.5 * EDGE - depth), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def rigid(momentum: float, friction: float = FRICTION) -> dict[str, float]:
    """A hop over an edge in closed form: H at once on a rigid cube, the edge neither rebounds nor sinks.

    The edge pushes with P and drags with at most μP until it no longer sinks: with k = min(μ, 1), P = H a/(2 I)
    /(1/m + a² (1 + k)/(4 I)), v = (k P, P)/m, ω = 2 v_z/a. The edge leaves the ground if ω² a/2 > g; the cube
    tips over its edge if ½ I_edge ω² > m g a (√2 - 1)/2. The first touch is that of the turning square.
    """
    k = min(friction, 1.0)
    push = momentum * EDGE / (2 * INERTIA) / (1 / MASS + EDGE**2 * (1 + k) / (4 * INERTIA))
    up, along = push / MASS, k * push / MASS
    spin = 2 * up / EDGE
    t = np.linspace(0.0, 4 * up / HERE + 1, 200_001)
    angle = spin * t
    reach = 0.5 * EDGE * (np.abs(np.cos(angle)) + np.abs(np.sin(angle)))
    below = 0.5 * EDGE + up * t - 0.5 * HERE * t**2 < reach - 1e-9
    first = t[np.argmax(below & (t > 1.0))] if below.any() else 0.0
    return {"spin": spin, "up": up, "along": along, "time": float(first), "distance": float(along * first)}


LIFT_OFF = {  # closed form thresholds of the spin about the edge, rad/s
    "tips over its edge": float(np.sqrt(3 * (np.sqrt(2) - 1) / 2 * HERE / EDGE)),
    "leaves the ground": float(np.sqrt(2 * HERE / EDGE)),
}


def problem(solver: AbstractSolver = SEARCH) -> Problem:
    """The wheels' momentum that lands at TARGET."""
    unknown = {k: Bounded(-GREATEST, GREATEST, "N m s") for k in GUESS}
    return Problem(unknown, Hop(rest_state(), solver), Observations({"landing": Observation(TARGET, SIGMA, "m")}))


def slopes(inverse: Problem, momenta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Landing place [n, 2] m, its derivative by the momentum [n, 2, 2], and whether the hop is valid.

    The program is that of the fit: another one would take a minute to compile.
    """
    programs = Programs(inverse)

    def one(momentum):
        x = inverse.start("slopes", dict(zip(GUESS, momentum, strict=True)))
        found, slopes = programs.evaluate_and_linearise(x)
        by_momentum = SIGMA * np.asarray(slopes.jacobian) / np.asarray(inverse.scale(inverse.fold(x)))
        return found.predictions["landing"], by_momentum, found.ok

    return tuple(np.asarray(parts) for parts in zip(*map_in_threads(one, momenta), strict=True))


def validity(momenta: np.ndarray, tolerances: tuple[float, ...]) -> dict[str, list[float]]:
    """Error of the derivative against differences of the strictest solver, relative to the largest entry, for
    each tolerance and momentum.

    Straight over an edge the landing has a kink by the momentum aside (two corners touch at once), and no
    derivative for central differences to find: give momenta that are more than 5e-6 N m s beside that.
    """
    h = 1e-6  # N m s: shorter ones show the noise of the values, longer ones their curvature
    strict = problem(solver=Adaptive(1e-11, 1e-11, resolve=0.0))
    around = momenta[:, None] + np.array([[h, 0], [-h, 0], [0, h], [0, -h]])
    places, _, _ = slopes(strict, around.reshape(-1, 2))
    places = places.reshape(-1, 4, 2)
    differences = np.stack([places[:, 0] - places[:, 1], places[:, 2] - places[:, 3]], axis=-1) / (2 * h)
    size = np.abs(differences).max(axis=(1, 2))
    errors = {}
    for tolerance in tolerances:
        loose = problem(solver=Adaptive(tolerance, tolerance, resolve=0.0))
        _, found, _ = slopes(loose, momenta)
        errors[f"{tolerance:g}"] = (np.abs(found - differences).max(axis=(1, 2)) / size).tolist()
    return errors


def search(quick: bool) -> Found:
    """The hop to the target by gradient and by evolution; the range against momentum, with its derivative, beside
    the closed form."""
    inverse = problem()
    stops = Stops(target=1e-4, iterations=40)
    found = fit(inverse, key=jax.random.PRNGKey(0), starts=0, keep=1, guesses=[GUESS], stops=stops)
    population, generations = (8, 3) if quick else (20, 60)
    evolved = evolve(inverse, 1, population=population, stop=1.0, generations=generations)
    along = np.linspace(3e-4, GREATEST, 9 if quick else 43)
    momenta = np.stack([np.zeros_like(along), along], axis=1)
    places, jacobians, ok = slopes(inverse, momenta)
    closed = [rigid(h) for h in along]
    values = jnp.array([found.values[k] for k in GUESS] + [0.0])
    thrown, flight = eqx.filter_jit(inverse.predict.follow)(values)
    energy = sum(np.asarray(part) for part in thrown.energy.values())
    checked = np.array([[2e-5, 2e-3], [-2e-5, 2e-3], [-5e-4, 2e-3], [-1e-3, 3e-3], [-1.5e-3, 4e-3]])
    summary = {
        "target_m": TARGET,
        "momentum_N_m_s": {k: found.values[k] for k in GUESS},
        "landing_m": np.asarray(flight.last.body.position[:2]).tolist(),
        "flight_time_s": float(flight.times[-1]),
        "miss_m": float(SIGMA * np.sqrt(found.misfit)),
        "status": found.status.name,
        "simulations": found.calls.forward,
        "with_derivatives": found.calls.jacobian,
        "evolution": {
            "simulations": evolved.calls.forward,
            "miss_m": SIGMA * evolved.misfit**0.5,
            "status": evolved.status.name,
        },
        "closed_form_thresholds_rad_s": LIFT_OFF,
        "range_over_closed_form": (places[:, 0] / [c["distance"] or np.nan for c in closed]).tolist(),
        "ledger_error_J": float(np.abs(energy - energy[0]).max()),
        "work_of_the_motors_J": -float(thrown.energy["motors"][-1]),
        "derivative_error": {} if quick else validity(checked, (1e-5, 1e-7, 1e-9)),
    }
    result = xr.Dataset(
        {
            "range": ("momentum", places[:, 0], {"units": "m"}),
            "slope": ("momentum", jacobians[:, 0, 1], {"units": "m/(N m s)"}),
            "valid": ("momentum", ok),
            "closed_form": ("momentum", np.array([c["distance"] for c in closed]), {"units": "m"}),
            "path": (("time", "axis"), fly_closed_form(thrown, flight), {"units": "m"} | line()),
            "misfit": ("iteration", found.history),
            "misfit_evolution": ("generation", evolved.history),
        },
        coords={"momentum": ("momentum", along, {"units": "N m s"})},
        attrs={"population": population, "sigma_m": SIGMA, "target_m": TARGET},
    )
    names = {
        "range": "distance of the hop",
        "slope": "derivative of the distance by the momentum of the wheel",
        "valid": "whether the derivative can be trusted",
        "closed_form": "distance of a rigid cube in closed form",
    }
    units = {"misfit": "1", "misfit_evolution": "1"}
    result = describe(result, "origin on the ground below the cube at rest, z up", units, names)
    return Found(summary, {"result": result}, {"hop": hop_picture.draw(result)})


def fly_closed_form(thrown: Solution, flight: Solution) -> np.ndarray:
    """Positions [T, 3] m of the flight, in closed form from its start to its end."""
    body = thrown.last.hopper.body
    t = np.linspace(0.0, float(flight.times[-1]), 200)[:, None]
    return np.asarray(body.position) + np.asarray(body.velocity) * t - 0.5 * np.array([0.0, 0.0, HERE]) * t**2
