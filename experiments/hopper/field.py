"""The shape of the ground from the tracks of balls that roll over it: a field of 200 unknown heights.

The misfit has one reverse derivative whatever the number of unknowns, and `inversion.descend` follows it.
"""

import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr
from jaxtyping import Array, Float, Int
from matplotlib.figure import Figure

from difsim import FixedSteps, Ignore, Status, Unrolled, simulate
from difsim.body import RigidBody, RigidState
from difsim.contact import AtEachPoint, Ball, NormalForce, PowerLaw, RegularisedCoulomb, SurfaceContact
from difsim.declarations import quantity
from difsim.dynamics import Hopper
from difsim.gravity import Uniform
from difsim.plot.style import BLUE, GREY
from difsim.shape import AbstractSDF
from difsim.typing import Scalar, Vec3
from experiments.harness import Found
from experiments.hopper.scenes import GRAVITY
from experiments.variables import describe
from inversion import Checkpoint, Gaussian, Observation, Observations, Problem, descend
from inversion.leastsq import covariance

CELLS = 10, 20  # coefficients of the spline across the tracks and along them
SPACING = 0.15  # m
HEIGHT = 0.01  # m, standard deviation of the prior of each coefficient
RADIUS, MASS = 0.1, 1.0  # of a ball, m, kg
SPEED = 0.05  # m/s, at which it rolls: too slow to leave the ground
LANES = np.linspace(0.09, 0.96, 8)  # m, where the balls begin
BEGIN = 0.05  # m
TIMES = np.arange(0.0, 46.0)  # s, when a camera sees the balls
STEPS = 10  # in an interval of these
SIGMA = 1e-3  # m, of each coordinate
HERE = GRAVITY["phobos"]
DEPTH, SLIP = 4e-3, 2e-3  # m, of an impact at 0.02 m/s; m/s, below which friction fades
FRICTION, RESTITUTION = 0.5, 0.3
REACH = 2.2  # m, as far as all balls come
WINDOW = 10  # steps


class HeightField(AbstractSDF):
    """Ground below z = h(x, y), a cubic B-spline; the distance is that of the tangent plane below the point."""

    coefficients: Float[Array, "m n"] = quantity("m", "coefficients along y and x, the second one at 0")
    spacing: Scalar = quantity("m", "distance of two of them")

    def height(self, x: Float[Array, "2"]) -> Scalar:
        """The height in m at `x` [2] in m; outside of the domain that of its edge."""
        last = jnp.array(self.coefficients.shape) - 2.0
        t = jnp.clip(x[::-1] / self.spacing + 1.0, 1.0, last)
        cell = jnp.clip(jnp.floor(t), 1.0, last - 1.0)
        near = jax.lax.dynamic_slice(self.coefficients, tuple((cell - 1.0).astype(int)), (4, 4))
        return _weights(t[0] - cell[0]) @ near @ _weights(t[1] - cell[1])

    def distance(self, x: Vec3) -> Scalar:
        h, slope = jax.value_and_grad(self.height)(x[:2])
        return (x[2] - h) / jnp.sqrt(1.0 + slope @ slope)


def _weights(f: Scalar) -> Float[Array, "4"]:
    return jnp.stack([(1 - f) ** 3, 3 * f**3 - 6 * f**2 + 4, -3 * f**3 + 3 * f**2 + 3 * f + 1, f**3]) / 6


def track(coefficients: Float[Array, "m n"], y: Scalar) -> tuple[Float[Array, "T 3"], Int[Array, ""]]:
    """Positions of a ball that rolls along x from a lane, m; and the status."""
    surface = HeightField(coefficients, SPACING)
    body = RigidBody(MASS, 0.4 * MASS * RADIUS**2 * np.eye(3))
    stiffness = 1.25 * MASS * 0.02**2 / DEPTH**2.5
    normal = NormalForce.from_restitution(RESTITUTION, PowerLaw(stiffness, 1.5), 0.05 * DEPTH, mass=MASS)
    contact = SurfaceContact(Ball(RADIUS), normal, AtEachPoint(RegularisedCoulomb(FRICTION, SLIP)))
    model = Hopper(body, contact, surface, Uniform((0.0, 0.0, -HERE)))
    at = jnp.stack([jnp.asarray(BEGIN), y, surface.height(jnp.stack([jnp.asarray(BEGIN), y])) + RADIUS])
    state = model.start(RigidState(at, (SPEED, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, SPEED / RADIUS, 0.0)))
    options = {"solver": FixedSteps(STEPS), "derivative": Unrolled(), "throw": False, "trust": Ignore()}
    run = simulate(model, state, TIMES, **options)
    return run.states.body.position, run.status


def predict(p: dict[str, Array]) -> tuple[dict[str, Array], Int[Array, ""]]:
    """The positions of all balls, from the coefficients of the ground."""
    seen, status = jax.vmap(track, (None, 0))(p["ground"], jnp.asarray(LANES))
    return {"tracks": seen}, jnp.max(status)


def truth() -> Float[np.ndarray, "m n"]:
    """The coefficients of a hill, a hollow and ripples, m."""
    y, x = np.meshgrid(*((np.arange(k) - 1) * SPACING for k in CELLS), indexing="ij")
    hill = 0.02 * np.exp(-((x - 0.7) ** 2 + (y - 0.3) ** 2) / 0.05)
    hollow = 0.02 * np.exp(-((x - 1.6) ** 2 + (y - 0.7) ** 2) / 0.06)
    return hill - hollow + 0.006 * np.sin(5 * x) * np.cos(6 * y)


def recover(out: Path, quick: bool) -> Found:
    """The ground from noisy tracks over it, with its standard deviations, and what that cost."""
    true = jnp.asarray(truth())
    made, status = eqx.filter_jit(predict)({"ground": true})
    if status != Status.OK:
        raise RuntimeError(f"hopper field: a simulation of the true ground failed: {Status(int(status))}")
    noise = SIGMA * np.random.default_rng(0).standard_normal(made["tracks"].shape)
    data = Observations({"tracks": Observation(made["tracks"] + noise, SIGMA, "m")})
    problem = Problem({"ground": Gaussian(0.0, HEIGHT, "m", shape=CELLS)}, predict, data)
    store = Checkpoint(out / "field.checkpoint", [np.asarray(made["tracks"]), noise])
    begun = time.process_time()
    found = descend(
        problem,
        key=jax.random.key(0),
        optimiser=optax.lbfgs(),
        steps=20 if quick else 400,
        window=WINDOW,
        tolerance=0.5,  # of the misfit: no difference between two grounds
        checkpoint=store,
        progress=True,
    )
    spent = time.process_time() - begun
    s = problem.to_prior_scale(found.values)
    spread = covariance(np.asarray(eqx.filter_jit(problem.linearise)(s)))[0] * HEIGHT**2
    maps, at = _maps(np.asarray(true), found.values["ground"], spread)
    over = (at["x"] >= BEGIN) & (at["x"] <= REACH), (at["y"] >= LANES[0]) & (at["y"] <= LANES[-1])
    seen = {k: v[np.ix_(over[1], over[0])] for k, v in maps.items()}
    error = seen["found"] - seen["true"]
    summary = {
        "unknowns": int(np.prod(CELLS)),
        "data": data.size,
        "status": found.status.name,
        "steps": found.steps,
        "misfit": found.value,
        "rms_of_the_heights_m": float(np.std(seen["true"])),
        "rms_error_m": float(np.sqrt(np.mean(error**2))),
        "largest_error_m": float(np.abs(error).max()),
        "median_sigma_m": float(np.median(seen["sigma"])),
        "share_within_1.96_sigma": float(np.mean(np.abs(error) < 1.96 * seen["sigma"])),
        "cpu_s_with_compilation": spent,
    }
    units = dict.fromkeys(("true", "found", "sigma", "tracks", "x", "y"), "m") | {"misfit": "1"}
    result = xr.Dataset(
        {name: (("y", "x"), value) for name, value in maps.items()}
        | {"tracks": (("ball", "time", "axis"), np.asarray(data["tracks"].value))}
        | {"misfit": ("window", found.history)},
        coords=at | {"time": ("time", TIMES, {"units": "s"})},
    )
    names = {"true": "true height", "found": "recovered height", "sigma": "standard deviation of the height"}
    result = describe(result, "x along the tracks, y across, z up", units, names)
    return Found(summary, {"result": result}, {"field": draw(result)})


def _maps(true: np.ndarray, found: np.ndarray, spread: np.ndarray) -> tuple[dict, dict]:
    """Heights and their standard deviation on a fine grid, m, and its coordinates."""
    at = {
        "y": np.linspace(0.0, (CELLS[0] - 3) * SPACING, 43),
        "x": np.linspace(0.0, (CELLS[1] - 3) * SPACING, 103),
    }
    points = jnp.asarray(np.stack(np.meshgrid(at["x"], at["y"]), axis=-1).reshape(-1, 2))
    basis = jax.jit(jax.vmap(jax.grad(lambda c, x: HeightField(c, SPACING).height(x)), (None, 0)))
    rows = np.asarray(basis(jnp.asarray(true), points)).reshape(len(points), -1)
    heights = {"true": rows @ true.ravel(), "found": rows @ found.ravel()}
    heights["sigma"] = np.sqrt(np.einsum("ki,ij,kj->k", rows, spread, rows))
    return {k: v.reshape(at["y"].size, at["x"].size) for k, v in heights.items()}, at


def draw(result: xr.Dataset) -> Figure:
    """True and recovered heights with the tracks, the error, the standard deviation, and the misfit of the descent."""
    figure = Figure(figsize=(13, 5.6), layout="constrained")
    axes = figure.subplots(2, 3)
    true, found, sigma = (1e3 * result[name].values for name in ("true", "found", "sigma"))
    extent = [0.0, float(result["x"].max()), 0.0, float(result["y"].max())]
    top, off = np.abs(true).max(), 3.0 * float(np.median(sigma))
    panels = (
        (axes[0, 0], true, "True height and the tracks, mm", "RdBu_r", -top, top),
        (axes[0, 1], found, "Recovered from the tracks, mm", "RdBu_r", -top, top),
        (axes[1, 0], found - true, "Error, mm", "PuOr_r", -off, off),
        (axes[1, 1], sigma, "Standard deviation, mm", "viridis", 0.0, off),
    )
    for axis, values, title, colours, low, high in panels:
        drawn = axis.imshow(values, origin="lower", extent=extent, cmap=colours, vmin=low, vmax=high)
        figure.colorbar(drawn, ax=axis, shrink=0.75, extend="max" if low == 0.0 else "both")
        axis.set(xlabel="x, m", ylabel="y, m", title=title)
    for track in result["tracks"].values:
        axes[0, 0].plot(track[:, 0], track[:, 1], color="black", lw=0.6)
    axes[0, 2].semilogy(np.arange(1, result.sizes["window"] + 1), result["misfit"], color=BLUE)
    axes[0, 2].axhline(result["tracks"].size, color=GREY, lw=0.8)
    axes[0, 2].set(xlabel="window of 10 steps", title="Mean misfit; line: the data")
    middle = true.shape[0] // 2
    x = result["x"].values
    axes[1, 2].plot(x, true[middle], color="black", label="true")
    axes[1, 2].fill_between(
        x,
        (found - 1.96 * sigma)[middle],
        (found + 1.96 * sigma)[middle],
        color=BLUE,
        alpha=0.3,
        lw=0.0,
        label="95 %",
    )
    axes[1, 2].plot(x, found[middle], color=BLUE, label="recovered")
    axes[1, 2].set(xlabel="x, m", title=f"Heights at y = {float(result['y'][middle]):.2f} m, mm")
    axes[1, 2].legend(frameon=False)
    return figure
