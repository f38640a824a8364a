"""Stepping: the guard, statuses, and which derivative each method offers."""

import diffrax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Adaptive, AtRest, Ignore, MaxImpacts, Status, simulate
from difsim.dynamics import Bouncer, PointState
from difsim.gravity import Uniform
from difsim.shape import Plane
from tests.bodies import Bullet, P, rebound
from tests.helpers import approx, count_traces
from tests.ways import equal, flight, forward, impacts, name, reverse

G = 9.81


def ball(e) -> Bouncer:
    return Bouncer(Uniform(jnp.array([0.0, 0.0, -G])), Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), e)


def drop_above(h):
    return PointState(jnp.stack([0.0 * h, 0.0 * h, h]))


def test_a_bullet_cannot_jump_over_a_thin_contact():
    """After 100 m of flight the contact is 10⁻⁵ of the way. It would take √(2π) k δ² = 1 J of ½ v² = 0.5 J: the
    bullet turns back."""
    model = Bullet(4e5, 1e-3)
    start = PointState((0.0, 0.0, 100.0), (0.0, 0.0, -1.0))
    # Plain diffrax steps over it with zero reported error.
    plain = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, model: model.vector_field(t, y)),
        diffrax.Tsit5(),
        0.0,
        200.0,
        None,
        start,
        model,
        stepsize_controller=diffrax.PIDController(1e-8, 1e-8),
    )
    assert plain.ys.velocity[0, 2] == -1.0 and plain.stats["num_steps"] < 50
    for method in (forward(), reverse()):
        solution = simulate(model, start, jnp.array([0.0, 200.0]), **method)
        assert solution.states.velocity[-1, 2] == approx(1.0, abs=1e-6)
        assert solution.stats.steps_per_contact > 10


def test_a_ball_cannot_jump_over_it_from_the_top_of_its_flight():
    """Near the top the speed is small and says nothing about when the ball will be down again."""
    model, start = Bullet(1e6, 1e-3, gravity=1e-4), PointState((0.0, 0.0, 0.02), (0.0, 0.0, 0.05))
    top = 0.02 + 0.05**2 / 2e-4
    down = 500 + np.sqrt(2 * top / 1e-4)
    solution = simulate(model, start, jnp.array([0.0, down + 100.0]))
    v = np.sqrt(2e-4 * top)
    assert solution.states.velocity[-1, 2] == approx(v - 1e-2, abs=1e-4)


def test_the_guard_costs_few_steps():
    """Conservative advancement: a hundred metres before a millimetre in some tens of steps."""
    start = PointState((0.0, 0.0, 100.0), (0.0, 0.0, -1.0))
    solution = simulate(Bullet(1e5, 1e-3), start, jnp.array([0.0, 99.9]))
    assert solution.stats.steps < 60


def test_equal_steps_converge_in_fifth_order():
    exact = rebound(P, forward(1e-12, 1e-12))[0]
    errors = [float(jnp.abs(rebound(P, equal(n))[0] - exact).max()) for n in (100, 200)]
    assert 4 < np.log2(errors[0] / errors[1]) < 6


def drop_on_layer(height, method, throw=True):
    """The solution of `rebound`: with the same numbers of steps it is the same program."""
    model, start = Bullet(P[0], 0.05, gravity=P[1]), drop_above(height)
    return simulate(model, start, jnp.array([0.0, 0.4, 0.8]), **method, throw=throw)


def test_statuses():
    for method, status in (
        (forward(max_steps=5), Status.STEP_LIMIT),
        (reverse(max_steps=5), Status.STEP_LIMIT),
        (equal(4), Status.ENERGY),
        (equal(100, resolve=1e3), Status.UNDER_RESOLVED),
        (forward(1e-6, 1e-6, resolve=1e4), Status.UNDER_RESOLVED),
        (equal(200), Status.OK),
        (forward(), Status.OK),
    ):
        solution = drop_on_layer(P[2], method, throw=False)
        assert solution.status == status, (method, int(solution.status))
        if status is not Status.OK:
            with pytest.raises(RuntimeError, match=status.name):
                drop_on_layer(P[2], method)


@pytest.mark.parametrize("method", [forward(), equal(100)], ids=name)
def test_nan_is_never_ok(method):
    assert not drop_on_layer(jnp.array(jnp.nan), method, throw=False).ok
    with pytest.raises(RuntimeError, match="NOT_FINITE"):
        drop_on_layer(jnp.array(jnp.nan), method)


def test_too_many_impacts_are_a_status():
    times, way = jnp.array([0.0, 3.0]), impacts(2, max_steps=1000)
    with pytest.raises(RuntimeError, match="IMPACT_LIMIT"):
        simulate(ball(0.5), drop_above(jnp.array(1.2)), times, **way)
    solution = simulate(ball(0.5), drop_above(jnp.array(1.2)), times, **way, throw=False)
    assert solution.status == Status.IMPACT_LIMIT and not solution.ok


def test_a_hard_ball_flies_with_steps_of_order_5_too():
    """By default they are of order 8. After two bounces of restitution 0.6 it is where the closed form says."""
    end, way = 0.6, {"solver": Adaptive(1e-10, 1e-10, order=5), "until": MaxImpacts(3)}
    found = simulate(ball(0.6), drop_above(jnp.array(0.3)), jnp.array([0.0, end]), **way).last.position
    fall = np.sqrt(2 * 0.3 / G)
    since, speed = end - fall * (1 + 2 * 0.6), 0.6**2 * G * fall
    np.testing.assert_allclose(found, [0.0, 0.0, speed * since - G * since**2 / 2], atol=1e-8)


@pytest.mark.parametrize("method", [equal(10), flight() | {"until": AtRest()}], ids=name)
def test_impacts_are_not_fallen_through(method):
    with pytest.raises(ValueError, match=r"Bouncer is a model with impacts and does not run with .*MaxImpacts"):
        simulate(ball(0.5), PointState((0.0, 0.0, 1.0)), jnp.array([0.0, 1.0]), **method, trust=Ignore())


def test_a_new_value_is_not_traced_again():
    times = jnp.array([0.0, 0.1])

    def end(model, state):
        return simulate(model, state, times).states.position

    calls = [
        (Bullet(k, 0.05, gravity=G), PointState((0.0, 0.0, z))) for k, z in ((6e3, 0.6), (7e3, 0.5), (8000, 1))
    ]
    assert count_traces(end, *calls) == 1
