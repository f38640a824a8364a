"""Hard impacts of a point against closed forms, and their derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Forward, MaxImpacts, Reverse, Status, simulate
from difsim.dynamics import Bouncer, PointState
from difsim.gravity import Uniform
from difsim.shape import Plane
from tests.helpers import approx
from tests.ways import impacts

G = 9.81


def ball(e, friction=0.0) -> Bouncer:
    return Bouncer(Uniform(jnp.array([0.0, 0.0, -G])), Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), e, friction)


def above(h):
    return PointState(jnp.stack([0.0 * h, 0.0 * h, h]))


def drop(h, e, time, throw=True, **options):
    """With room for two impacts each time, so that tests of values share one compilation."""
    return simulate(ball(e), above(h), jnp.array([0.0, time]), **two_impacts(**options), throw=throw)


def two_impacts(**options):
    """With few enough steps for a NaN, which takes them all."""
    return impacts(2, max_steps=1000, **options)


def height(h, e, time):
    """Height at `time` after a fall from `h`, closed form, and the number of bounces."""
    v, t, n = np.sqrt(2 * G * h), np.sqrt(2 * h / G), 0
    if time < t:
        return h - 0.5 * G * time**2, 0
    while True:
        n, v = n + 1, e * v
        if time < t + 2 * v / G:
            return v * (time - t) - 0.5 * G * (time - t) ** 2, n
        t += 2 * v / G


# Hard impacts.


@pytest.mark.parametrize(
    "derivative, mode",
    [
        pytest.param(jax.jacfwd, Forward(), id="forward"),
        pytest.param(jax.jacrev, Reverse(), id="reverse", marks=pytest.mark.slow),
    ],
)
def test_one_bounce_and_its_derivatives(derivative, mode):
    """VALIDATION.md 9: h₀ = 1.2 m, e = 0.8, T = 1 s; two slots for impacts, one used."""

    def z(p):
        place = drop(p[0], p[1], 1.0, derivative=mode).states.position[-1, 2]
        return place, place

    found, value = eqx.filter_jit(derivative(z, has_aux=True))(jnp.array([1.2, 0.8]))
    assert value == approx(height(1.2, 0.8, 1.0)[0], abs=1e-9)
    np.testing.assert_allclose(found, [1.03916199, 2.45221599], atol=1e-8)


@pytest.mark.slow
def test_many_bounces():
    """1, 2, 4 and 10 bounces, by one compiled function with room for ten."""
    h, e = 1.2, 0.8

    @eqx.filter_jit
    def found(p, time):
        def z(p):
            solution = simulate(
                ball(p[1]), above(p[0]), jnp.stack([0.0 * time, time]), until=MaxImpacts(10), throw=False
            )
            return solution.states.position[-1, 2], solution

        return jax.jacfwd(z, has_aux=True)(p)

    for bounces in (1, 2, 4, 10):
        contacts = np.sqrt(2 * h / G) * (1 + 2 * np.cumsum(np.append(0.0, e ** np.arange(1, bounces + 1))))
        time = 0.4 * contacts[-2] + 0.6 * contacts[-1] if bounces > 1 else 1.0
        z, n = height(h, e, time)
        assert n == bounces

        def closed(h, e, bounces=bounces, time=time):
            t = np.sqrt(2 * h / G) * (1 + 2 * sum(e**k for k in range(1, bounces)))
            return e**bounces * np.sqrt(2 * G * h) * (time - t) - 0.5 * G * (time - t) ** 2

        by_h, by_e = closed(h + 1e-30j, e).imag / 1e-30, closed(h, e + 1e-30j).imag / 1e-30
        derivative, solution = found(jnp.array([h, e]), jnp.array(time))
        assert solution.ok
        assert solution.states.position[-1, 2] == approx(z, abs=1e-9)
        np.testing.assert_allclose(derivative, [by_h, by_e], rtol=1e-8)


def test_too_many_impacts_are_a_status():
    fall = jnp.array(1.2), jnp.array(0.5), 3.0
    with pytest.raises(RuntimeError, match="IMPACT_LIMIT"):
        drop(*fall)
    solution = drop(*fall, throw=False)
    assert solution.status == Status.IMPACT_LIMIT and not solution.ok


@pytest.mark.slow
def test_states_at_times_between_the_impacts():
    times = np.linspace(0.0, 2.0, 41)
    solution = simulate(ball(0.8), PointState((0.0, 0.0, 1.2)), jnp.asarray(times), until=MaxImpacts(4))
    np.testing.assert_allclose(solution.states.position[:, 2], [height(1.2, 0.8, t)[0] for t in times], atol=1e-8)
    energy = sum(np.asarray(part) for part in solution.energy.values())
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)


def test_a_plastic_impact_and_no_impact():
    assert drop(jnp.array(1.2), jnp.array(0.8), 0.3).states.position[-1, 2] == approx(
        1.2 - 0.5 * G * 0.09, abs=1e-9
    )


@pytest.mark.slow
def test_oblique_bounce_with_friction():
    """|Δv_t| = min(μ (1 + e) v_n, v_t); what the impact took is in the energies."""
    e, μ, vz = 0.6, 0.3, -2.0
    v_n = np.sqrt(vz**2 + 2 * G * 0.2)

    @eqx.filter_jit
    def found(vx, μ):
        def across(μ):
            start = PointState((0.0, 0.0, 0.2), jnp.stack([vx, 0.0 * vx, vz + 0.0 * vx]))
            solution = simulate(ball(e, μ), start, jnp.linspace(0.0, 0.2, 5), until=MaxImpacts(1), throw=False)
            return solution.last.velocity[0], solution

        return jax.jacfwd(across, has_aux=True)(μ)

    for vx, sticks in ((4.0, False), (1.0, True)):
        by_μ, solution = found(jnp.array(vx), jnp.array(μ))
        after = 0.0 if sticks else vx - μ * (1 + e) * v_n
        end = solution.last
        assert solution.ok
        assert end.velocity[0] == approx(after, abs=1e-9)
        change = end.velocity - jnp.array([vx, 0.0, -v_n - G * (0.2 - (v_n + vz) / G)])
        np.testing.assert_allclose(change, [after - vx, 0.0, (1 + e) * v_n], atol=1e-9)
        assert solution.energy["contact"][-1] == approx(0.5 * (vx**2 - after**2 + (1 - e**2) * v_n**2), rel=1e-9)
        energy = sum(np.asarray(part) for part in solution.energy.values())
        np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
        assert by_μ == approx(0.0 if sticks else -(1 + e) * v_n, abs=1e-8)


def test_wrong_bouncers_are_refused():
    with pytest.raises(ValueError, match="restitution = 1"):
        ball(1.1)
    with pytest.raises(ValueError, match="friction = -0"):
        ball(0.5, -0.1)
    with pytest.raises(ValueError, match="count: 0 must be 1 or more"):
        MaxImpacts(0)
