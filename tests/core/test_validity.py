"""What a derivative is worth: laws that jump are refused, growth is measured, doubts are statuses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import Ignore, Status, simulate, transition
from difsim.contact import (
    AtEachPoint,
    Ball,
    CompressionDamping,
    Hooke,
    NormalForce,
    NoSmoothing,
    RegularisedCoulomb,
    SurfaceContact,
)
from difsim.contact.regularisation import Smoothing
from difsim.declarations import quantity
from difsim.stepping.trust import Warn
from difsim.stepping.validity import Validity, discontinuous_laws
from difsim.typing import Scalar
from experiments.scenes.impacts import Line, LineState
from experiments.scenes.parts import EARTH
from tests.helpers import approx
from tests.ways import equal, forward, reverse

TIMES = jnp.array([0.0, 0.3])

LAX = forward(1e-5, 1e-5)


def fall(stiffness, regularisation, method, **options):
    law = NormalForce(Hooke(stiffness), CompressionDamping(40.0), regularisation)
    model = Line(law, gravity=EARTH, is_held=True)
    return simulate(model, LineState((0.0, 0.2), (0.0, 0.0)), TIMES, **method, throw=False, **options)


@pytest.mark.parametrize(
    "derivative, method",
    [
        (jax.jacfwd, LAX),
        (jax.grad, reverse(1e-5, 1e-5)),
        (jax.jacfwd, equal(300)),
        (jax.grad, equal(300)),
    ],
    ids=lambda x: getattr(x, "__name__", type(x).__name__),
)
def test_the_derivative_through_a_jump_is_refused(derivative, method):
    """A negative test: the hopper paper's damper begins at once, and the value alone is to be had."""

    def end(stiffness, **options):
        return fall(stiffness, NoSmoothing(), method, **options).last.x[1]

    stiffness = jnp.array(2e4)
    assert np.isfinite(end(stiffness))
    with pytest.raises(ValueError, match="the force of NormalForce jumps at touch"):
        derivative(end)(stiffness)
    with pytest.raises(ValueError, match="jumps at touch"):
        jax.jit(derivative(end))(stiffness)


class OwnLaw(eqx.Module):
    """A user's law of no base class, which says nothing of itself."""

    stiffness: Scalar = quantity("", "a number of a toy")

    def force(self, depth, rate):
        return jnp.where(depth > 0, self.stiffness * depth + 40.0 * rate, 0.0)


def test_laws_are_found_wherever_they_stand_in_a_model():
    friction = AtEachPoint(RegularisedCoulomb(0.3, 1e-3))
    smooth = NormalForce(Hooke(1.0), CompressionDamping(1.0), Smoothing(1e-3))
    own, ours = OwnLaw(1.0), NormalForce(Hooke(1.0), CompressionDamping(1.0), NoSmoothing())
    assert discontinuous_laws((smooth, friction, {"a": (own, 1.0)})) == ["OwnLaw"]
    assert discontinuous_laws({"a": [SurfaceContact(Ball(0.1), ours, friction)], "b": own}) == [
        "NormalForce",
        "OwnLaw",
    ]
    assert discontinuous_laws(SurfaceContact(Ball(0.1), smooth, friction)) == []


def test_too_few_steps_are_a_status_a_warning_or_nothing():
    few = equal(40)
    assert fall(2e4, Smoothing(1e-3), few).status == Status.UNDER_RESOLVED
    with pytest.warns(UserWarning, match="too few steps per contact"):
        assert fall(2e4, Smoothing(1e-3), few, trust=Warn()).ok
    assert fall(2e4, Smoothing(1e-3), few, trust=Ignore()).ok


def test_the_horizon_follows_from_growth():
    def validity(growth, contacts):
        return Validity(jnp.array(growth), jnp.array(contacts), jnp.array(1e-8))

    grown = validity(100.0, 2)
    assert grown.growth_per_contact == approx(10.0) and grown.horizon == approx(4.0)
    assert grown.linear_range == approx(0.01) and grown.limit == approx(1e4) and not grown.is_past
    assert validity(2e4, 2).is_past and validity(2e4, 0).is_past
    assert jnp.isinf(validity(0.5, 3).horizon) and jnp.isnan(validity(jnp.nan, 3).horizon)


def test_a_transition_tells_the_growth_by_the_start():
    """The tangents of the whole start: free fall for 0.3 s changes no number by more than itself."""
    model = Line(NormalForce(Hooke(2e4), CompressionDamping(40.0), Smoothing(1e-3)), gravity=EARTH, is_held=True)
    start, times = LineState((0.0, 5.0), (0.0, 0.0)), jnp.array([0.0, 0.3])
    found = transition(model, start, times, solver=LAX["solver"]).solution.validity
    assert found.growth == approx(1.0) and found.contacts == 0
