"""Least squares against closed forms, at bounds, through failures, and without compiling twice."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import inversion
from difsim import Status
from inversion import Bounded, Gaussian, Log, Observation, Observations, Problem
from tests import toys


def test_linear_problem_is_solved_exactly(key):
    best, covariance, misfit = toys.closed_form()
    fit = inversion.fit(toys.linear(), key=key, starts=8, keep=2)
    np.testing.assert_allclose([fit.values["a"], fit.values["b"]], best, rtol=1e-7)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-9)
    np.testing.assert_allclose(fit.misfit, misfit, rtol=1e-9)
    np.testing.assert_allclose(fit.misfit, np.sum(fit.residual**2), rtol=1e-12)
    np.testing.assert_allclose(fit.jacobian, toys.DESIGN / toys.SIGMA[:, None], rtol=1e-9)
    np.testing.assert_allclose(fit.sigma["b"], np.sqrt(covariance[1, 1]), rtol=1e-9)
    assert fit.status.is_converged
    assert np.all(np.diff(fit.history) <= 0)


def test_gaussian_priors_are_rows_of_the_residual(key):
    prior = Gaussian(0.2, 0.05)
    fit = inversion.fit(toys.linear(a=prior, b=Gaussian(0.0, 10.0)), key=key, starts=4, keep=1)
    w = np.vstack([toys.DESIGN / toys.SIGMA[:, None], np.diag([1 / 0.05, 0.1])])
    y = np.concatenate([toys.MEASURED / toys.SIGMA, [0.2 / 0.05, 0.0]])
    covariance = np.linalg.inv(w.T @ w)
    np.testing.assert_allclose([fit.values["a"], fit.values["b"]], covariance @ w.T @ y, rtol=1e-7)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-9)
    assert fit.residual.shape == (5,)


def test_full_covariance_of_a_vector(key):
    c = np.array([[0.04, 0.01, 0.0], [0.01, 0.09, 0.02], [0.0, 0.02, 0.25]])
    data = Observations({"y": Observation(toys.MEASURED, covariance=c)})
    problem = Problem({"a": Bounded(-3.0, 4.0), "b": Bounded(-3.0, 4.0)}, toys.line, data)
    fit = inversion.fit(problem, key=key, starts=4, keep=1)
    inverse = np.linalg.inv(c)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(toys.DESIGN.T @ inverse @ toys.DESIGN), rtol=1e-9)


def test_rosenbrock(key):
    fit = inversion.fit(toys.rosenbrock(), key=key, starts=16, keep=4)
    np.testing.assert_allclose([fit.values["x"], fit.values["y"]], 1.0, rtol=1e-6)
    assert fit.misfit < 1e-12


def test_optimum_on_a_bound(key):
    fit = inversion.fit(toys.linear(a=Bounded(-3.0, 0.5)), key=key, starts=8, keep=2)
    w = toys.DESIGN / toys.SIGMA[:, None]
    b = w[:, 1] @ (toys.MEASURED / toys.SIGMA - 0.5 * w[:, 0]) / (w[:, 1] @ w[:, 1])
    np.testing.assert_allclose([fit.values["a"], fit.values["b"]], [0.5, b], rtol=1e-5)
    assert fit.status.is_converged
    assert np.isfinite(fit.jacobian).all()


def test_screened_starts_find_the_global_minimum(key):
    single = [inversion.fit(toys.multimodal(), key=k, starts=1, keep=1).misfit for k in jax.random.split(key, 12)]
    assert sum(m > 0.1 for m in single) >= 3  # local minima are real
    for k in jax.random.split(key, 12):
        assert inversion.fit(toys.multimodal(), key=k, starts=32, keep=4).misfit < 1e-10


def test_degrees_of_freedom_count_what_the_data_determine(key):
    """Rows less parameters where data tell them; a prior that came back takes none away."""
    assert inversion.fit(toys.linear(), key=key, starts=8, keep=2).degrees_of_freedom == pytest.approx(
        1.0, abs=0.01
    )

    def predict_both(p):
        return {"y": jnp.stack([p["a"]] * 6) + 1e-9 * p["b"]}, jnp.array(True)

    data = Observations({"y": Observation(np.linspace(0.4, 0.6, 6), 0.1)})
    for b, rows in ((Bounded(-1.0, 1.0), 6), (Gaussian(0.0, 1.0), 7)):
        fit = inversion.fit(Problem({"a": Bounded(0.0, 1.0), "b": b}, predict_both, data), key=key)
        assert fit.residual.size == rows and fit.degrees_of_freedom == pytest.approx(5.0, abs=0.05)


def test_failed_simulations_are_counted_and_never_returned(key):
    fit = inversion.fit(toys.truncated_problem(), key=key, starts=16, keep=4)
    np.testing.assert_allclose(fit.values["p"], 0.8, rtol=1e-6)
    assert fit.calls.failed >= 12  # three quarters of the screened interval cannot be simulated
    assert all(np.isfinite(fit.history))


def test_a_start_that_fails_has_no_derivative_to_warn_of(key):
    fit = inversion.fit(toys.truncated_problem(), key=key, starts=0, keep=1, guesses=[{"p": 2.0}], throw=False)
    assert fit.status == Status.FAILED and not fit.doubt


def test_only_failed_simulations_raise_or_are_reported(key):
    def predict(p):
        return {"y": p["p"]}, jnp.array(False)

    problem = Problem({"p": Bounded(0.0, 1.0)}, predict, Observations({"y": Observation(0.5, 0.1)}))
    with pytest.raises(RuntimeError, match="no start gave a valid simulation"):
        inversion.fit(problem, key=key, starts=4, keep=2)
    fit = inversion.fit(problem, key=key, starts=4, keep=2, throw=False)
    assert fit.status == Status.FAILED and fit.misfit == np.inf
    assert np.isnan(list(fit.values.values())).all()
    assert not fit.ok and fit.p_value == 0.0 and "no start gave a valid simulation" in str(fit)


def test_target_stops_early(key):
    full = inversion.fit(toys.rosenbrock(), key=key, starts=8, keep=2)
    early = inversion.fit(toys.rosenbrock(), key=key, starts=8, keep=2, stops=inversion.Stops(target=0.5))
    assert early.status == Status.TARGET and early.misfit < 0.5
    assert early.calls.jacobian < full.calls.jacobian


def test_bounds_are_reached_at_finite_x():
    problem = toys.linear(a=Bounded(1.0, 2.0), b=Log(1e-4, 1e-1))
    for x, a, b in ((-np.pi / 2, 1.0, 1e-4), (0.0, 1.5, 10**-2.5), (np.pi / 2, 2.0, 1e-1)):
        values = problem.values(jnp.array([x, x]))
        np.testing.assert_allclose([values["a"], values["b"]], [a, b], rtol=1e-12)
    inside = {"a": 1.7, "b": 3e-3}
    np.testing.assert_allclose(
        list(problem.values(problem.unfold(problem.to_prior_scale(inside))).values()),
        list(inside.values()),
        rtol=1e-12,
    )
