"""How far a posterior is from its prior: nats by closed forms, and what verdicts say of shapes that are known."""

import jax.numpy as jnp
import numpy as np
import pytest

from inversion import Bounded, Discrete, Gaussian, Importance, Observation, Observations, Problem, Tempered
from inversion.information import (
    CHANGED,
    FIXED,
    NOT_FIXED,
    ONE_SIDED,
    SPLIT,
    information_gain,
    ranges,
    verdict,
    verdict_of_choices,
)
from tests import toys
from tests.toys import posterior

U = (np.arange(20_000) + 0.5) / 20_000


def verdict_of(density, ends=True):
    """The verdict on an unknown whose posterior has this density by its prior's."""
    weights = np.asarray(density(U), float) + 0.0 * U
    return verdict(U, weights / weights.sum(), 1000.0, ends)


def test_information_is_that_of_closed_forms():
    assert information_gain(np.full(10, 0.1), np.inf) == 0.0
    assert information_gain(np.eye(10)[3], np.inf) == pytest.approx(np.log(10))
    edges = np.linspace(0.0, 1.0, 1001)
    assert information_gain(np.diff(edges**2), np.inf) == pytest.approx(
        np.log(2) - 0.5, abs=1e-5
    )  # of the density 2 u


def thickness(u):
    """Uniform from 0.25 to 1 before; after it half is below 0.281, 68 % below 0.55."""
    return np.select([u < 0.0413, u < 0.4], [0.5 / 0.0413, 0.18 / 0.3587], 0.32 / 0.6)


def humps(u):
    """A heading all around, with two humps of 20 degrees."""
    degrees = 360 * u
    return sum(np.exp(-0.5 * ((degrees - at) / 20) ** 2) for at in (90, 270)) + 0.02


LOWER = "pressed against the lower end of the prior"


@pytest.mark.parametrize(
    ("density", "says"),
    [
        (lambda u: 1.0, NOT_FIXED),
        (thickness, f"{CHANGED}, {LOWER}"),
        (lambda u: 2 * u, ONE_SIDED),
        (lambda u: np.exp(-u / 0.05), f"{ONE_SIDED}, {LOWER}"),
        (lambda u: np.exp(-0.5 * ((u - 0.5) / 0.1) ** 2), FIXED),
        (lambda u: np.exp(-0.5 * ((u - 0.05) / 0.005) ** 2), FIXED),  # near to an end, which it does not touch
        (humps, SPLIT),
        (lambda u: humps((u + 0.25) % 1.0), SPLIT),  # one of them about the two ends of the range
    ],
)
def test_verdict_is_that_of_the_shape(density, says):
    assert verdict_of(density) == says


def test_normal_priors_have_no_ends_to_be_pressed_against():
    from scipy.stats import norm

    z = norm.ppf(U)
    for mean, sigma, says in [
        (0.0, 1.0, NOT_FIXED),
        (0.1, 0.9, NOT_FIXED),
        (-3.0, 0.1, FIXED),  # in the tail of the prior, and known: it was said to be bounded on one side
        (1.0, 0.2, FIXED),
        (2.0, 0.2, FIXED),
    ]:
        density = np.exp(norm.logpdf(z, mean, sigma) - norm.logpdf(z))
        assert verdict(U, density / density.sum(), 1000.0, ends=False) == says, (mean, sigma)
    assert verdict(U, (z > 0) / (z > 0).sum(), 1000.0, ends=False) == ONE_SIDED
    shifted = np.exp(norm.logpdf(z, 0.8, 0.9) - norm.logpdf(z))
    assert verdict(U, shifted / shifted.sum(), 1000.0, ends=False) != NOT_FIXED


@pytest.mark.parametrize(
    ("shares", "ordered", "says"),
    [
        ((0.34, 0.33, 0.33), True, NOT_FIXED),
        ((0.84, 0.10, 0.06), True, CHANGED),
        ((0.6, 0.38, 0.02), True, ONE_SIDED),
        ((0.6, 0.38, 0.02), False, CHANGED),
        ((0.01, 0.98, 0.01), True, FIXED),
    ],
)
def test_verdict_on_choices(shares, ordered, says):
    assert verdict_of_choices(np.array(shares), 1000.0, ordered) == says


def test_ranges_are_those_of_the_humps():
    weights = humps(U) - 0.02
    (low, high), (other, end) = ranges(U, weights / weights.sum())
    np.testing.assert_allclose(360 * np.array([low, high, other, end]), [52, 128, 232, 308], atol=3.0)


def heading(p):
    """The same twice in a turn."""
    return {"y": jnp.cos(2.0 * p["heading"]), "x": p["depth"]}, toys.always_problem()


def test_posterior_says_where_it_is():
    unknowns = {"heading": Bounded(-np.pi, np.pi, "rad"), "depth": Bounded(0.25, 1.0, "m")}
    data = Observations({"y": Observation(1.0, 0.3), "x": Observation(0.1, 0.1)})
    found = posterior(Problem(unknowns, heading, data), Importance(Tempered(800, 8)))
    said = found.verdicts
    assert (
        said["heading"].startswith(f"{SPLIT}: -3.1") and said["heading"].count(",") == 2
    )  # 0, and both sides of pi
    assert said["depth"] == f"{ONE_SIDED}, {LOWER}"
    assert "prior: 0.25 ... 1 m" in str(found) and found.prior_range("heading") == (-np.pi, np.pi)


def test_nothing_is_said_of_a_sample_that_is_too_small():
    unknowns = {"x": Gaussian(0.0, 1.0), "n": Discrete((0.0, 1.0))}
    data = Observations({"y": Observation(0.0, 1.0)})
    problem = Problem(unknowns, lambda p: ({"y": p["x"] + p["n"]}, toys.always_problem()), data)
    found = posterior(problem, Importance(Tempered(160, 8), generation=100), effective_size=2, limit=200)
    assert found.fault is not None and found.verdicts == {}


def test_a_peak_at_an_end_is_no_prior_that_came_back():
    """Agilkia's grain diameter: little information, but 0.235 of the probability in the first tenth of the prior."""
    shares = np.array([0.235, 0.12, 0.111, 0.097, 0.092, 0.075, 0.079, 0.069, 0.071, 0.051])
    u, weights = (np.arange(1000) + 0.5) / 1000, np.repeat(shares / 100, 100)
    assert information_gain(shares, 1445.0) < 0.1
    found = verdict(u, weights, 1445.0, True)
    assert found == "not fixed, but changed by the data, pressed against the lower end of the prior"
