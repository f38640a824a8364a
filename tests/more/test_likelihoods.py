"""Laws of errors: exact gradients and information in least squares, and intervals that hold the truth."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import inversion
from inversion import Bounded, Log, Observation, Observations, Problem
from inversion.marquardt import levenberg_marquardt
from inversion.noise import Normal, StudentT
from tests import toys


@pytest.mark.parametrize("law", ["normal", "t"])
def test_intervals_of_fitted_scales_hold_the_truth(law):
    """95 % intervals of slope and scale from 200 sets of data, within 3.5 of their binomial scatter."""
    count, size = 200, 40
    rng = np.random.default_rng(5)
    draws = rng.normal(size=(count, size)) if law == "normal" else rng.standard_t(4.0, (count, size))
    t = jnp.linspace(-1.0, 1.0, size)
    noise = Normal("f") if law == "normal" else StudentT(4.0, "f")
    data = Observations({"y": Observation(np.zeros(size), 0.2, noise=noise)})
    parameters = {"b": Bounded(-3.0, 4.0), "f": Log(0.2, 20.0)}
    problem = Problem(parameters, lambda p: ({"y": p["b"] * t}, toys.always_problem()), data)
    x = problem.unfold(problem.to_prior_scale({"b": 0.5, "f": 1.5}))

    @jax.jit
    def fit_scale(error):
        made = eqx.tree_at(lambda p: p.data.table["y"].value, problem, 0.5 * t + 0.3 * error)
        found = levenberg_marquardt(made, x, inversion.Stops())
        s = made.fold(found.x)
        spread = jnp.linalg.inv(found.jacobian.T @ found.jacobian)
        return (s - made.to_prior_scale({"b": 0.5, "f": 1.5})) / jnp.sqrt(jnp.diag(spread)), found.status

    pulls, status = jax.lax.map(fit_scale, jnp.asarray(draws))
    assert np.isin(np.asarray(status), (101, 102, 103)).all()
    inside = np.mean(np.abs(np.asarray(pulls)) < 1.96, axis=0)
    assert np.all(np.abs(inside - 0.95) < 3.5 * np.sqrt(0.95 * 0.05 / count)), inside
