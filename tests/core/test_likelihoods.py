"""Laws of errors: exact gradients and information in least squares, and intervals that hold the truth."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import inversion
from inversion import Bounded, Gaussian, Log, Observation, Observations, Problem
from inversion.noise import Censored, Correlated, Normal, StudentT
from tests import toys

T = np.linspace(0.0, 9.5, 20)


def line(p):
    return {"y": p["a"] + p["b"] * jnp.asarray(T)}, toys.always_problem()


def pose(noise, errors=None, seed=0, **options):
    errors = 0.3 * np.random.default_rng(seed).normal(size=T.size) if errors is None else errors
    data = Observations({"y": Observation(1.0 + 0.5 * T + errors, 0.2, noise=noise, **options)})
    parameters = {"a": Bounded(-5.0, 7.0), "b": Bounded(-2.0, 3.0)}
    more = {"f": Log(0.1, 10.0), "A": Log(0.01, 3.0, "m"), "tau": Log(0.1, 30.0, "s"), "off": Gaussian(0.0, 0.5)}
    return Problem(parameters | {k: more[k] for k in data.parameters}, line, data)


LAWS = {
    "known": Normal(),
    "scale": Normal("f"),
    "t": StudentT(4.0),
    "t and scale": StudentT(4.0, "f"),
    "correlated": Correlated(0.3, 2.0, T),
    "correlated and fitted": Correlated("A", "tau", T),
}


def density(name, p, d):
    """The logarithm of the likelihood by scipy, relative to d = 0 under normal errors of 0.2."""
    f, top = p.get("f", 1.0), T.size * scipy.stats.norm.logpdf(0.0, scale=0.2)
    if "correlated" in name:
        A, tau = p.get("A", 0.3), p.get("tau", 2.0)
        c = 0.04 * np.eye(T.size) + A**2 * np.exp(-np.abs(T[:, None] - T) / tau)
        return scipy.stats.multivariate_normal.logpdf(d, cov=c) - top
    law = scipy.stats.t(4.0, scale=0.2 * f) if name.startswith("t") else scipy.stats.norm(scale=0.2 * f)
    return law.logpdf(d).sum() - top


@pytest.mark.parametrize("name", LAWS)
def test_a_law_is_the_density_and_its_rows_the_gradient(name):
    problem = pose(LAWS[name])
    values = {"a": 0.9, "b": 0.53, "f": 1.7, "A": 0.4, "tau": 1.5}
    s = problem.to_prior_scale({k: values[k] for k in problem.names})
    p = {k: values[k] for k in problem.names}
    y = np.asarray(problem.data["y"].value)
    expected = density(name, p, 0.9 + 0.53 * T - y)
    np.testing.assert_allclose(problem.log_likelihood(s), expected, rtol=1e-10)
    found = problem.evaluate(s)
    gradient, rows = jax.jit(lambda s: (jax.grad(lambda s: problem.evaluate(s).misfit)(s), problem.linearise(s)))(
        s
    )
    np.testing.assert_allclose(2.0 * rows.T @ found.residual, gradient, rtol=1e-8, atol=1e-8)
    assert problem.data.is_sum_of_squares == (name in ("known", "correlated"))
    assert found.residual.size == problem.rows


def test_a_bound_that_is_missed_by_far_keeps_its_rows():
    seen = Observation([20.0], 1.0, noise=Censored([1.0]))
    for prediction in (-1e3, -1e8):
        rows, slopes = (f(jnp.array([prediction])) for f in (rows_of(seen), jax.jacfwd(rows_of(seen))))
        np.testing.assert_allclose(slopes @ slopes.T, 1.0, rtol=1e-4)
        np.testing.assert_allclose(slopes.T @ rows, prediction - 20.0, rtol=1e-5)


def rows_of(seen):
    return lambda x: seen.compare(x, {}).residual


@pytest.mark.parametrize("law", [StudentT(4.0), Censored([1.0, 0.0])])
def test_laws_of_independent_errors_refuse_a_covariance(law):
    with pytest.raises(ValueError, match="for independent errors"):
        Observation([0.0, 0.0], covariance=[[1.0, 0.8], [0.8, 1.0]], noise=law)


@pytest.mark.parametrize("name", ["scale", "t", "t and scale", "correlated and fitted"])
def test_the_rows_have_the_information(name):
    """The mean of -d2 ln L over draws of the law is J^T J of the rows, within the scatter of the draws."""
    problem = pose(LAWS[name])
    truth = {"a": 1.0, "b": 0.5, "f": 1.5, "A": 0.4, "tau": 2.0}
    s = problem.to_prior_scale({k: truth[k] for k in problem.names})
    rng = np.random.default_rng(1)
    count = 2000
    if "correlated" in name:
        c = 0.04 * np.eye(T.size) + 0.16 * np.exp(-np.abs(T[:, None] - T) / 2.0)
        errors = rng.multivariate_normal(np.zeros(T.size), c, count)
    else:
        scale = 0.2 * (1.5 if "scale" in name else 1.0)
        errors = scale * (rng.standard_t(4.0, (count, 20)) if name[0] == "t" else rng.normal(size=(count, 20)))

    def differentiate(error):
        made = eqx.tree_at(lambda p: p.data.table["y"].value, problem, 1.0 + 0.5 * jnp.asarray(T) + error)
        gradient = jax.grad(lambda s: 0.5 * made.evaluate(s).misfit)(s)
        j = made.linearise(s)
        return gradient, j.T @ j

    gradients, told = jax.lax.map(jax.jit(differentiate), jnp.asarray(errors), batch_size=200)
    scores = np.asarray(gradients)
    spread = np.cov(scores.T)
    size = np.sqrt(np.diag(spread))
    assert np.all(np.abs(scores.mean(axis=0)) < 4.0 * size / np.sqrt(count))
    np.testing.assert_allclose(
        np.mean(np.asarray(told), axis=0) / np.outer(size, size), spread / np.outer(size, size), atol=0.15
    )


def test_a_fitted_scale_is_that_of_the_residuals(key):
    found = inversion.fit(pose(Normal("f")), key=key, starts=8, keep=2)
    design = np.stack([np.ones(20), T], axis=1)
    y = np.asarray(pose(Normal()).data["y"].value)
    rest = np.linalg.lstsq(design, y, rcond=None)[1][0]
    np.testing.assert_allclose(found.values["f"], np.sqrt(rest / 20) / 0.2, rtol=1e-6)
    np.testing.assert_allclose(found.sigma["f"] / found.values["f"], 1 / np.sqrt(40), rtol=1e-3)
    assert found.noise_is_fitted and found.ok and "as large as they must be" in found.verdict
    np.testing.assert_allclose(found.chi_squared, 20.0, rtol=1e-6)


def test_an_outlier_moves_a_normal_fit_but_not_students(key):
    errors = 0.2 * np.random.default_rng(3).normal(size=T.size)
    errors[17] += 8.0
    normal, robust = (
        inversion.fit(pose(noise, errors), key=key, starts=8, keep=2) for noise in (Normal(), StudentT(4.0))
    )
    assert abs(normal.values["b"] - 0.5) > 5 * normal.sigma["b"] and not normal.explains_data
    assert abs(robust.values["b"] - 0.5) < 3 * robust.sigma["b"]
    assert robust.status.is_converged and robust.chi_squared < normal.chi_squared / 10


def test_a_discrepancy_is_a_parameter_with_its_own_prior(key):
    """A constant error of the model with a Gaussian prior widens the offset, and leaves the slope."""
    plain, loose = (
        inversion.fit(pose(Normal(), discrepancy=name), key=key, starts=8, keep=2) for name in (None, "off")
    )
    np.testing.assert_allclose(loose.values["b"], plain.values["b"], rtol=1e-6)
    np.testing.assert_allclose(loose.sigma["b"], plain.sigma["b"], rtol=1e-6)
    np.testing.assert_allclose(loose.sigma["a"], np.hypot(plain.sigma["a"], 0.5), rtol=1e-6)
