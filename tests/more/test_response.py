"""Response surfaces: exact for polynomials, an honest error where a model scatters, bad points refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from inversion import Bounded, Log, Observation, Observations, fit, response_problem, response_surface

rng = np.random.default_rng(0)
POINTS = jnp.asarray(rng.uniform([1.0, -2.0, 1e6], [2.0, 3.0, 5e6], (120, 3)))


def quadratic(x):
    a, b, c = x[0], x[1], x[2] * 1e-6
    return jnp.stack([1 + 2 * a - b + 0.3 * a * b + 0.2 * c**2 - 0.1 * b * c, c - a**2])


def test_a_quadratic_is_found_with_its_derivatives():
    surface = response_surface(POINTS, jax.vmap(quadratic)(POINTS))
    at = jnp.array([1.3, 0.4, 2e6])
    np.testing.assert_allclose(surface(at), quadratic(at), rtol=1e-11)
    np.testing.assert_allclose(jax.jacfwd(surface)(at), jax.jacfwd(quadratic)(at), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(jax.jacrev(surface)(at), jax.jacfwd(quadratic)(at), rtol=1e-9, atol=1e-14)
    assert np.all(surface.error < 1e-10) and bool(surface.is_inside(at))
    assert not surface.is_inside(jnp.array([1.3, 0.4, 6e6]))


def test_the_error_is_that_of_a_new_point():
    values = jax.vmap(quadratic)(POINTS) + jnp.asarray(rng.normal(0, [0.1, 0.5], (120, 2)))
    surface = response_surface(POINTS, values.at[7, 1].set(jnp.nan))
    assert not surface.ok[7] and surface.ok.sum() == 119
    fresh = jnp.asarray(rng.uniform([1.1, -1.5, 1.5e6], [1.9, 2.5, 4.5e6], (2000, 3)))
    off = jax.vmap(surface)(fresh) - jax.vmap(quadratic)(fresh) + rng.normal(0, [0.1, 0.5], (2000, 2))
    np.testing.assert_allclose(surface.error, jnp.sqrt(jnp.mean(off**2, axis=0)), rtol=0.15)


UNKNOWN = {"lag": Bounded(0.0, 2.0, "s"), "rate": Log(0.1, 10.0, "1/s")}
TRUTH = {"lag": 1.2, "rate": 2.0}


def roll(values, key):
    """Two numbers that scatter by 0.1 from run to run, and one that fails where the lag is nearly 0."""
    log = jnp.log10(values["rate"])
    mean = jnp.stack([values["lag"] + log, values["lag"] - 2 * log + 0.3 * log**2])
    return {"y": mean + 0.1 * jax.random.normal(key, (2,))}, values["lag"] > 0.05


def test_a_chaotic_model_is_fitted_through_its_surface():
    """The pulls of forty data sets, each of one run, are those of unit normal numbers; failed runs are left out."""
    seen = [roll(TRUTH, jax.random.key(1000 + i))[0]["y"] for i in range(40)]
    data = Observations({"y": Observation(seen[0], 0.02)})
    problem, surface = response_problem(UNKNOWN, roll, data, key=jax.random.key(0))
    pulls = []
    for y in seen:
        posed = eqx.tree_at(lambda p: p.data["y"].value, problem, y)
        found = fit(posed, key=jax.random.key(0), starts=8, keep=1)
        pulls.append([(found.values[name] - TRUTH[name]) / found.sigma[name] for name in TRUTH])
    assert 0 < np.sum(~surface.ok) < 6
    np.testing.assert_allclose(problem.data["y"].sigma, np.hypot(0.02, surface.error))
    np.testing.assert_allclose(surface.error, 0.1, rtol=0.3)
    assert np.all(np.abs(np.mean(pulls, axis=0)) < 0.7) and np.all(np.abs(np.std(pulls, axis=0) - 1) < 0.4)


def test_a_surface_through_means_has_its_own_error_alone():
    data = Observations({"y": Observation(jnp.ones(2), 0.02)})
    problem, surface = response_problem(UNKNOWN, roll, data, key=jax.random.key(0), has_scatter=False)
    share = np.sqrt(6 / surface.ok.sum())
    np.testing.assert_allclose(problem.data["y"].sigma, np.hypot(0.02, share * surface.error))
    with pytest.raises(ValueError, match="data 'y': give Observation"):
        response_problem(
            UNKNOWN,
            roll,
            Observations({"y": Observation(jnp.ones(2), covariance=np.eye(2))}),
            key=jax.random.key(0),
        )


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (POINTS[:12], "too few for 10 terms"),
        (POINTS.at[:, 1].set(1.0), "cannot be determined"),
        (jnp.stack([jnp.cos(0.1 * jnp.arange(60.0)), jnp.sin(0.1 * jnp.arange(60.0))], axis=1), "conic section"),
    ],
)
def test_points_that_do_not_tell_are_refused(points, message):
    with pytest.raises(ValueError, match=message):
        response_surface(points, jnp.ones((points.shape[0], 1)))
