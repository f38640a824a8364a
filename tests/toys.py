"""Small problems with known answers, shared by the tests of `inversion`."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Adaptive, AtContact, simulate
from difsim.dynamics import Flight, FlightState
from difsim.gravity import Uniform
from difsim.shape import Plane
from inversion import (
    Bounded,
    Discrete,
    Gaussian,
    Importance,
    Log,
    Observation,
    Observations,
    Problem,
    Tempered,
    sample,
)

DESIGN = np.array([[1.0, 0.5], [0.3, 2.0], [1.5, -1.0]])
MEASURED = np.array([1.0, 2.0, 0.7])
SIGMA = np.array([0.1, 0.2, 0.3])


def always_problem():
    return jnp.array(True)


def line(p):
    return {"y": jnp.asarray(DESIGN) @ jnp.stack([p["a"], p["b"]])}, always_problem()


def linear(a=None, b=None):
    """Two parameters, three data: y = DESIGN (a, b)."""
    data = Observations({"y": Observation(MEASURED, SIGMA, unit="m")})
    return Problem({"a": a or Bounded(-3.0, 4.0), "b": b or Bounded(-3.0, 4.0)}, line, data)


def closed_form():
    w = DESIGN / SIGMA[:, None]
    covariance = np.linalg.inv(w.T @ w)
    best = covariance @ w.T @ (MEASURED / SIGMA)
    misfit = np.sum((w @ best - MEASURED / SIGMA) ** 2)
    return best, covariance, misfit


def time_of_flight(speed):
    """s, of a throw straight up in 2 m/s²."""
    up = jnp.array([0.0, 0.0, 1.0])
    flight = Flight(Uniform(-2.0 * up), (0.0, 0.0, 0.0), Plane((0.0, 0.0, 0.0), up))
    start, times = FlightState((0.0, 0.0, 0.0), speed * up), jnp.array([0.0, 10.0])
    return simulate(
        flight, start, times, solver=Adaptive(1e-12, 1e-12, order=8), until=AtContact(), throw=False
    ).times[-1]


def valley(p):
    return {"r": jnp.stack([10.0 * (p["y"] - p["x"] ** 2), 1.0 - p["x"]])}, always_problem()


def rosenbrock():
    """Minimum 0 at (1, 1), at the end of a curved valley."""
    data = Observations({"r": Observation(np.zeros(2), 1.0)})
    return Problem({"x": Bounded(-2.0, 2.0), "y": Bounded(-2.0, 3.0)}, valley, data)


def ripples(p):
    return {"r": jnp.stack([0.3 * (p["x"] - 2.0), 2.0 * jnp.sin(2.5 * (p["x"] - 2.0))])}, always_problem()


def multimodal():
    """Minimum 0 at x = 2 among some seven local minima."""
    data = Observations({"r": Observation(np.zeros(2), 1.0)})
    return Problem({"x": Bounded(-4.0, 5.0)}, ripples, data)


def cliff(p):
    # No simulation beyond p > 1; the best valid value, 0.8, is near its edge.
    return {"y": jnp.where(p["p"] > 1.0, jnp.nan, p["p"])}, always_problem()


def truncated_problem():
    return Problem({"p": Bounded(0.0, 4.0, unit="m")}, cliff, Observations({"y": Observation(0.8, 0.1, unit="m")}))


def mixture(p):
    """Three numbers from two continuous and three discrete parameters."""
    strength = jnp.log10(p["E"])
    return {
        "speed": p["h"] * p["c"] + 0.3 * (strength - 8.0),
        "spin": p["h"] ** 2 - p["c"] + 0.2 * (strength - 8.0) ** 2,
        "force": p["m"] + 2.0 * strength + p["c"],
        "stroke": p["m"] * p["s"] + p["h"],
    }, always_problem()


def mixed_problem(predict=mixture):
    """18 leaves; noise-free data from h = 0.5, m = 1.2, E = 1e8, c = 0.6, s = 2."""
    truth = {"h": 0.5, "m": 1.2, "E": 1e8, "c": 0.6, "s": 2.0}
    made, _ = mixture({k: jnp.array(v) for k, v in truth.items()})
    data = Observations({k: Observation(v, 0.05) for k, v in made.items()})
    parameters = {
        "h": Bounded(0.1, 1.0),
        "m": Gaussian(1.0, 0.3),
        "E": Discrete((1e7, 1e8, 1e9), unit="Pa", relaxed=Log),
        "c": Discrete((0.2, 0.6, 1.0)),
        "s": Discrete((1.0, 2.0)),
    }
    return Problem(parameters, predict, data), truth


QUICK = Importance(Tempered(800, 8), generation=800)
PRIOR = {"a": Gaussian(0.0, 1.0), "b": Gaussian(1.0, 2.0)}


def posterior(problem, method=QUICK, seed=0, **options):
    return sample(problem, key=jax.random.PRNGKey(seed), method=method, batch_size=200, **options)


def exact():
    """Mean, covariance and log evidence of `linear` with `PRIOR`."""
    mean, covariance, noise = np.array([0.0, 1.0]), np.diag([1.0, 4.0]), np.diag(SIGMA**2)
    spread = DESIGN @ covariance @ DESIGN.T + noise
    gain = covariance @ DESIGN.T @ np.linalg.inv(spread)
    off = MEASURED - DESIGN @ mean
    ratio = np.linalg.slogdet(noise)[1] - np.linalg.slogdet(spread)[1]
    evidence = -0.5 * off @ np.linalg.solve(spread, off) + 0.5 * ratio
    return mean + gain @ off, covariance - gain @ DESIGN @ covariance, evidence


def ring(p):
    return {"r": jnp.stack([jnp.sqrt(p["x"] ** 2 + p["y"] ** 2 + 1e-12), p["z"]])}, always_problem()
