"""The guarded power, and the check that constructors use: an error outside of `jit`, a status inside."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim import MaxImpacts, Status, safe, simulate
from difsim.body import RigidBody
from difsim.declarations import is_valid
from difsim.dynamics import Bouncer, PointState
from difsim.gravity import Uniform
from difsim.rotation import Rotation
from difsim.shape import Plane
from difsim.typing import require
from tests.helpers import check_finite, check_gradients


@pytest.mark.parametrize("exponent", [0, 0.25, 1, 1.5, 2.5])
def test_power_at_zero_and_beside_it(exponent):
    x = jnp.array([-1.0, 0.0, 1e-300, 2.0])
    np.testing.assert_allclose(safe.power(x, exponent)[:2], 0)
    np.testing.assert_allclose(safe.power(x, exponent)[2:], x[2:] ** exponent)
    check_finite(lambda x: safe.power(x, exponent), jnp.array([-1.0, 0.0, 2.0]))
    check_gradients(lambda x: safe.power(x, exponent), jnp.array([-1.0, 0.3, 2.0]))


def test_require_reads_values_and_lets_tracers_through():
    require(jnp.array([True, True]), "not raised")
    with pytest.raises(ValueError, match="two of them"):
        require(jnp.array([True, False]), "two of them")
    with pytest.raises(ValueError, match="NaN"):
        require(jnp.array(jnp.nan) > 0, "NaN")

    @jax.jit
    def require_inside(x):
        require(x > 0, "values of a trace cannot be read")
        return x

    require_inside(-1.0)


def bounce(e):
    ground, down = Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), Uniform((0.0, 0.0, -1.0))
    model = Bouncer(down, ground, e, rest_height=1e-3)
    start = PointState([0.0, 0.0, 1.0], [0.0, 0.0, 0.0])
    solution = simulate(model, start, jnp.array([0.0, 2.0]), until=MaxImpacts(3), throw=False)
    return solution.last.position[2], solution.status


bounced_once = jax.jit(bounce)
# In a derivative and in a batch at once.
slopes_of_bounces = jax.jit(jax.vmap(jax.jacfwd(bounce, has_aux=True)))


@pytest.mark.parametrize("restitution", [0.5, 1.5, -0.1])
def test_what_a_constructor_refuses_is_a_status_inside_jit(restitution):
    """Also in a derivative, in a batch, and where a value was put into a model that was right."""
    expected = Status.OK if 0 <= restitution <= 1 else Status.INVALID_MODEL
    assert bounced_once(restitution)[1] == expected
    assert slopes_of_bounces(jnp.array([0.5, restitution]))[1].tolist() == [Status.OK, expected]


def test_a_wrong_value_put_into_a_model_is_found_wherever_it_is():
    model = Bouncer(Uniform((0.0, 0.0, -1.0)), Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), 0.5)
    wrong = eqx.tree_at(lambda m: m.restitution, model, jnp.asarray(1.5))
    assert jax.jit(is_valid)(model) and is_valid((model, {"other": [1.0, None]}))
    assert not jax.jit(is_valid)([wrong, model])
    with pytest.raises(ValueError, match=r"restitution"):
        is_valid(wrong)
    assert jax.jit(is_valid)(model), "a refusal leaves nothing behind"


@pytest.mark.parametrize(
    ("moments", "off", "valid"),
    [
        ((1.0, 1.0, 1.5), 0.0, True),
        ((1.0, 1.0, 2.0), 0.0, True),  # a disc
        ((1.0, 1.0, 2.001), 0.0, False),
        ((-1.0, 2.0, 2.0), 0.0, False),
        ((1.0, 1.0, 1.5), 1e-4, False),  # not symmetric
        ((1.0, 1.0, jnp.nan), 0.0, False),
    ],
)
def test_an_inertia_that_no_body_has_is_found_inside_jit(moments, off, valid):
    turn = Rotation.from_rotation_vector(jnp.array([0.3, -0.5, 0.2])).as_matrix()

    @jax.jit
    def find(moments, off):
        return is_valid([RigidBody(1.0, turn @ jnp.diag(moments) @ turn.T + off * jnp.eye(3, k=1))])

    assert find(jnp.array(moments), off) == valid
