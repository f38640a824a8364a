"""The ground by the accelerometer and the gyro of a lander, in the first seconds after its touch.

A lander comes down on a plane at a random speed, angle, attitude and spin, on ground that is drawn from the inputs.
The derivatives of its readings by the ground, and by what is not known of the approach, give the posterior near the
truth: a Gaussian, whose width and information are compared between rates, noises and approaches.
"""

from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from difsim import Adaptive, Ignore, Status, safe, simulate
from difsim.body import RigidBody, RigidState
from difsim.dynamics import Hopper
from difsim.dynamics.hopper import HopperState
from difsim.gravity import Uniform
from difsim.rotation import Rotation
from difsim.sensors import Accelerometer, Gyro
from difsim.shape import Plane
from difsim.typing import Scalar
from experiments.hera.inputs import Inputs, Lander
from experiments.hera.world import Case, any_attitude, contact_of, field_of, surface_point
from experiments.variables import describe
from inversion import Checkpoint, sweep
from inversion.smoothed import regression

# What is asked of the ground, by the inputs' names. The depth of an impact is one number there: a factor of e here.
GROUND = ("restitution", "friction", "rolling_m", "cohesion_Pa", "impact_depth_m")
DEPTH = 1.0
# Standard deviations of what is known of the approach: height m, velocity m/s, attitude rad and spin rad/s.
APPROACH = (1e-2, *3 * (1e-3,), *3 * (1e-2,), *3 * (1e-3,))
ACCELEROMETER_BIAS, GYRO_BIAS = 1e-3, 1e-4  # m/s2; rad/s
# The noise of each reading of the accelerometer, m/s2, and of the gyro, rad/s; None for a sensor that is not there.
SUITES = {
    "accelerometer, 0.01 m/s²": (1e-2, None),
    "accelerometer, 0.001 m/s²": (1e-3, None),
    "accelerometer, 0.0001 m/s²": (1e-4, None),
    "gyro, 0.0001 rad/s": (None, 1e-4),
    "accelerometer, 0.001 m/s², and gyro": (1e-3, 1e-4),
}
BOTH = list(SUITES)[-1]
RATES = (1, 4, 20)  # readings a second, which divide the last
SPEEDS, ANGLES, SPINS = (0.02, 0.1), (0.0, 60.0), (1e-3, 0.1)  # m/s; deg from the vertical; rad/s
ABOVE, LENGTH = 0.02, 40  # m of the lowest point at the start; s that are read
TOLERANCE, STEPS = 1e-6, 20_000
UP = np.array([0.0, 0.0, 1.0])
CHUNK = 16
SETTINGS = DEPTH, APPROACH, ACCELEROMETER_BIAS, GYRO_BIAS, repr(SUITES), RATES
SETTINGS += SPEEDS, ANGLES, SPINS, ABOVE, LENGTH, TOLERANCE
UNITS = {"deviation": "see ground", "nats": "nat", "prior": "see ground", "energy_error": "1"}
UNITS |= {"rate": "1/s", "speed_m_per_s": "m/s", "angle_deg": "deg", "turn_rad_per_s": "rad/s"}
NAMES = {
    "deviation": "posterior standard deviation, of the logarithm for lengths and stresses",
    "nats": "information of the readings on the ground",
    "prior": "prior standard deviation",
}


def draw_approaches(inputs: Inputs, members: int, seed: int) -> dict[str, np.ndarray]:
    """Grounds by the laws of the inputs, and approaches by those of this module.

    **Arguments:** `inputs`; `members`; `seed`. **Returns:** the values of each member by name.
    """
    rng = np.random.default_rng([seed, 7])
    mine = {"speed_m_per_s": rng.uniform(*SPEEDS, members), "angle_deg": rng.uniform(*ANGLES, members)}
    mine["turn_rad_per_s"] = np.exp(rng.uniform(*np.log(SPINS), members))
    mine |= {f"axis_{k}": x for k, x in zip("xyz", rng.standard_normal((3, members)), strict=True)}
    return inputs.draw(members, seed) | mine


def read_all(
    inputs: Inputs, name: str, members: int, seed: int, out: Path, executor: Executor | None = None
) -> xr.Dataset:
    """The information in the readings of many approaches; goes on where it was interrupted.

    **Arguments:** `inputs`; `name` of the lander; `members`; `seed`; `out`, an existing folder; `executor`, as of
    `sweep`. **Returns:** the dataset with dimensions `case`, `rate`, `suite` and `ground`.
    """
    prior = tuple(inputs.unknowns[k].deviation or DEPTH for k in GROUND)
    table = sweep(
        Readings(inputs.landers[name], prior),
        draw_approaches(inputs, members, seed),
        chunk=min(CHUNK, members),
        checkpoint=Checkpoint(out / f"{name}-sensors", repr((inputs, name, seed, SETTINGS))),
        progress=True,
        executor=executor,
    )
    axes = {"deviation_0": "rate", "deviation_1": "suite", "deviation_2": "ground"}
    table = table.assign(nats=(("case", "rate", "suite"), table["nats"].values)).rename(axes)
    table = table.assign_coords(rate=list(RATES), suite=list(SUITES), ground=list(GROUND))
    table["prior"] = ("ground", np.array(prior))
    return describe(table, units=UNITS, names=NAMES)


def compare(table: xr.Dataset) -> dict[str, Any]:
    """Widths and information of the ground by sensors and rate, and information by approach.

    **Arguments:** `table` of `read_all`. **Returns:** by name: `approaches` that count; `deviation`, medians over
    landers without stiff antennas, which keep the box from sticking; `information`, nats; `by_approach`, the mean of
    nats of both sensors in thirds of speed, angle and spin, and by antennas; `slopes` of that mean, of a linear
    regression; `failed`, approaches that do not count.
    """
    good = table.isel(case=np.isin(table["status"].values, (Status.OK, Status.PAST_VALIDITY)))
    plain = good.isel(case=good["antennas"].values == 0) if "antennas" in good else good
    nats = good["nats"].sel(rate=RATES[1], suite=BOTH).values
    rows = [(f"{suite}, {rate} Hz", {"rate": rate, "suite": suite}) for suite in SUITES for rate in RATES]
    deviation = {"prior": {ground: float(good["prior"].sel(ground=ground)) for ground in GROUND}} | {
        row: {g: float(plain["deviation"].sel(ground=g, **at).median()) for g in GROUND} for row, at in rows
    }
    speed, angle, turn = (good[k].values for k in ("speed_m_per_s", "angle_deg", "turn_rad_per_s"))
    approach = {"speed, m/s": speed, "angle to the vertical, deg": angle, "spin, rad/s": turn}
    thirds = {k: _by_thirds(x, nats) for k, x in approach.items()}
    if "antennas" in good:
        thirds["stiff antennas"] = {f"{a:g}": _mean(nats[good["antennas"].values == a]) for a in (0.0, 1.0)}
    return {
        "approaches": int(good.sizes["case"]),
        "failed": int(table.sizes["case"] - good.sizes["case"]),
        "deviation": deviation,
        "information": {row: _mean(good["nats"].sel(**at).values) for row, at in rows},
        "by_approach": thirds,
        "slopes": _regress({"ln speed": np.log(speed), "angle, deg": angle, "ln spin": np.log(turn)}, nats),
    }


def _mean(x: np.ndarray) -> dict[str, float]:
    return {"value": float(np.mean(x)), "error": float(np.std(x, ddof=1) / np.sqrt(len(x))), "members": len(x)}


def _by_thirds(x: np.ndarray, of: np.ndarray) -> dict[str, dict[str, float]]:
    low, high = np.quantile(x, [1 / 3, 2 / 3])
    parts = {f"below {low:.3g}": x < low, "between": (x >= low) & (x < high), f"above {high:.3g}": x >= high}
    return {name: _mean(of[chosen]) for name, chosen in parts.items()}


def _regress(columns: dict[str, np.ndarray], y: np.ndarray) -> dict[str, dict[str, float]]:
    """The slope of y along each column, with an intercept."""
    x = jnp.asarray(np.column_stack([*columns.values(), np.ones_like(y)]))
    slopes, errors = regression(x, jnp.asarray(y[:, None]))
    return {
        k: {"value": float(v), "error": float(e)} for k, v, e in zip(columns, slopes[0], errors[0], strict=False)
    }


def _sense(model: Hopper, t: Scalar, state: HopperState) -> dict[str, Array]:
    """The true values of both sensors, made here: a function of integrals may not close over traced arrays."""
    return {"felt": Accelerometer().sense(model, t, state), "turned": Gyro().sense(model, t, state)}


@dataclass(frozen=True)
class Readings:
    """The information in the readings of one approach; equal for equal parts, so that it is compiled once.

    **Arguments:** the `lander`; the standard deviations of the prior of `GROUND`; the `tolerance` of the solver.
    """

    lander: Lander
    prior: tuple[float, ...]
    tolerance: float = TOLERANCE

    def __call__(self, case: Case) -> dict[str, Array]:
        """Standard deviations of the ground [rate, suite, ground], and nats [rate, suite], of one approach."""
        known, count = jnp.asarray((*self.prior, *APPROACH)), len(GROUND)
        slopes, (status, contacts, energy_error) = jax.jacfwd(
            lambda z: self._follow(case, z * known), has_aux=True
        )(jnp.zeros_like(known))
        deviations, nats = [], []
        for rate in RATES:
            every = RATES[-1] // rate
            felt, turned = (jnp.diff(x[::every], axis=0) * rate for x in slopes)  # means, as sensors read
            for accelerometer, gyro in SUITES.values():
                rows = jnp.zeros((len(known), len(known)))
                if accelerometer is not None:
                    rows += _weigh(felt, ACCELEROMETER_BIAS, accelerometer)
                if gyro is not None:
                    rows += _weigh(turned, GYRO_BIAS, gyro)
                spread = jnp.linalg.inv(rows + jnp.eye(len(known)))[:count, :count]
                deviations.append(jnp.sqrt(jnp.diag(spread)) * known[:count])
                nats.append(-0.5 * jnp.linalg.slogdet(spread)[1])
        shape = len(RATES), len(SUITES)
        return {
            "deviation": jnp.stack(deviations).reshape(*shape, count),
            "nats": jnp.stack(nats).reshape(shape),
            "status": status,
            "contacts": contacts,
            "energy_error": energy_error,
        }

    def _follow(self, case: Case, change: Float[Array, " n"]) -> tuple[tuple[Array, Array], tuple]:
        """The integrals of both sensors [T, 3], of a case whose ground and approach are changed."""
        ground, (height, *rest) = change[: len(GROUND)], change[len(GROUND) :]
        moved, turned, spun = jnp.stack(rest).reshape(3, 3)
        case = dict(case)
        for name, step in zip(GROUND, ground, strict=True):
            case[name] = case[name] * jnp.exp(step) if name.endswith(("_m", "_Pa")) else case[name] + step
        model, start = self._build(case)
        body = RigidState(
            start.position + height * UP,
            start.velocity + moved,
            (Rotation.from_rotation_vector(turned) @ start.rotation).quaternion,
            start.spin + spun,
        )
        end = simulate(
            model,
            model.start(body),
            jnp.linspace(0.0, LENGTH, LENGTH * RATES[-1] + 1),
            solver=Adaptive(self.tolerance, self.tolerance, max_steps=STEPS),
            integrals=_sense,
            throw=False,
            trust=Ignore(),
        )
        return (end.integrals["felt"], end.integrals["turned"]), (end.status, end.stats.contacts, end.energy_error)

    def _build(self, case: Case) -> tuple[Hopper, RigidState]:
        """The lander over a plane, and its state at the start, with the lowest point above the ground."""
        point, _ = surface_point(case, jnp.zeros(()), jnp.zeros(()))
        pull = safe.norm(field_of(case).acceleration(point))
        model = Hopper(
            RigidBody(self.lander.mass, jnp.diag(jnp.asarray(self.lander.inertia))),
            contact_of(case, self.lander),
            Plane(jnp.zeros(3), jnp.asarray(UP)),
            Uniform(-pull * UP),
            resolution=0.15 * case["impact_depth_m"] / case["impact_speed_m_per_s"],
        )
        attitude = Rotation(any_attitude(jnp.stack([case[f"attitude_{k}"] for k in "abc"])))
        lowest = model.contact.gap(model.surface, jnp.zeros(3), attitude.as_matrix())
        angle = jnp.radians(case["angle_deg"])
        velocity = case["speed_m_per_s"] * jnp.stack([jnp.sin(angle), jnp.zeros(()), -jnp.cos(angle)])
        spin = case["turn_rad_per_s"] * safe.unit(jnp.stack([case[f"axis_{k}"] for k in "xyz"]))
        return model, RigidState((ABOVE - lowest) * UP, velocity, attitude.quaternion, spin)


def _weigh(slopes: Float[Array, "T 3 n"], bias: float, noise: float) -> Float[Array, "n n"]:
    """The precision of the unknowns by readings of an axis each, whose common bias is not known."""
    total, count = jnp.sum(slopes, axis=0), len(slopes)
    kept = bias**2 / (noise**2 + count * bias**2)
    return (jnp.einsum("tai,taj->ij", slopes, slopes) - kept * total.T @ total) / noise**2
