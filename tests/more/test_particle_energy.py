"""Energy balance of grains and soil: what each named loss is in closed form, and that nothing is missing."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Courant, FixedSteps
from difsim.contact import RollingTorque
from difsim.dem import Grains
from difsim.dem.losses import ContactLosses
from difsim.sph.density import FixedDensity
from difsim.sph.tools import Sliding
from tests.core.test_particle_energy import MASS, RHO, G, R, ball, block, hertz, run


def test_sliding_sphere_loses_friction_times_distance():
    """It slides without spin for so short a time that it hardly begins to roll."""
    law = hertz(friction=0.2, restitution=0.999)
    depth = (MASS * G / (4 / 3 * float(law.effective_modulus) * R**0.5)) ** (2 / 3)
    model, state = ball(law, (0.5, 0.0, 0.0), gravity=G, height=R - depth)
    parts, change = run(model, state, 0.02, Courant(0.2))
    a = 0.2 * G
    slipped = 0.5 * 0.02 - 0.5 * (a + 2.5 * a) * 0.02**2  # of the contact: the spin grows by 5/2 a/R
    np.testing.assert_allclose(parts["friction"], 0.2 * MASS * G * slipped, rtol=2e-3)
    assert abs(change) < 1e-5 * 0.5 * MASS * 0.25


def test_rolling_resistance_takes_torque_times_angle():
    law = hertz(friction=0.5, restitution=0.1, rolling=(RollingTorque(1e-4, 1e-3),))
    depth = (MASS * G / (4 / 3 * float(law.effective_modulus) * R**0.5)) ** (2 / 3)
    speed, end = 0.3, 0.05
    model, state = ball(law, (speed, 0.0, 0.0), (0.0, speed / (R - depth), 0.0), G, R - depth)
    parts, change = run(model, state, end, Courant(0.2))
    slows = 5 / 7 * 1e-4 / R * G
    np.testing.assert_allclose(
        parts["rolling"], 1e-4 * MASS * G * (speed * end - 0.5 * slows * end**2) / R, rtol=5e-3
    )
    assert abs(change) < 1e-5 * 0.5 * MASS * speed**2


def oblique(**changes):
    """Two spheres that meet off their centres, with spin."""
    model = Grains(hertz(**changes), np.full(2, R), RHO, losses=ContactLosses())
    state = model.at_rest(jnp.array([[0.0, 2.0 * R], [0.0, 0.2 * R], [0.0, 0.0]]))
    given = jnp.array([[0.3, 0], [0, 0], [0, 0]]), jnp.array([[0.0, 0], [10, 0], [30, 0]])
    return model, eqx.tree_at(lambda s: (s.velocity, s.spin), state, given)


@pytest.mark.parametrize("end", [1.3e-3, 3e-3])  # s: in contact, and after it
def test_balance_of_an_impact_closes_with_the_square_of_the_step(end):
    model, state = oblique(friction=0.0, restitution=0.4)
    errors = [run(model, state, end, FixedSteps(n))[1] for n in (100, 200, 400)]
    slopes = np.log2(np.abs(errors[:-1]) / np.abs(errors[1:]))
    assert np.all(slopes > 1.7)


def test_balance_with_friction_closes_and_no_loss_is_negative():
    model, state = oblique()
    parts, change = run(model, state, 3e-3, FixedSteps(400))
    assert abs(change) < 5e-5 * 0.5 * MASS * 0.3**2
    assert min(parts["damping"], parts["friction"]) > 0


def test_ringing_elastic_block_loses_only_the_error_of_its_steps():
    model, state = block(cohesion=1e9, alpha=0.0, balance=FixedDensity())
    state = eqx.tree_at(
        lambda s: s.velocity, state, 0.5 * jnp.stack([state.position[0] - 0.035, 0 * state.density])
    )
    errors = []
    for n in (100, 200, 400):
        parts, change = run(model, state, 4e-3, FixedSteps(n))
        whole = parts["kinetic"] + parts["elastic"]
        errors.append(abs(change) / whole)
        assert parts["elastic"] > 0.1 * whole and parts["tools"] == 0 and abs(parts["plastic"]) < 1e-12 * whole
        assert max(abs(parts["viscous"]), abs(parts["corrections"])) < 1e-12 * whole
    assert errors[1] < 0.4 * errors[0] and errors[2] < 0.4 * errors[1]


def test_tool_puts_its_work_into_soil():
    """A floor that shakes a viscous elastic block: what the tool gives is all that the soil has and loses."""
    model, state = block(cohesion=1e9, alpha=1.0, path=Sliding((0.0, 0.2)))
    parts, change = run(model, state, 2e-3, FixedSteps(200))
    assert parts["tools"] < 0 and parts["viscous"] > 0
    assert parts["kinetic"] > 0.3 * -parts["tools"]
    assert abs(change) < 1e-3 * -parts["tools"]
