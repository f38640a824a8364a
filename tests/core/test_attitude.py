"""Attitudes that are none: refused by name, value and remedy, and a status where nothing can be refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.body import RigidBody, RigidState
from difsim.declarations import is_valid
from difsim.dynamics import PairState
from tests.helpers import to_single

NONE = [(2.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (1.002, 0.0, 0.0, 0.0)]


def make_state(attitude=(1.0, 0.0, 0.0, 0.0)) -> RigidState:
    return RigidState((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), attitude, (0.0, 0.0, 0.0))


@pytest.mark.parametrize("q", NONE)
def test_one_of_another_length_is_found_wherever_it_is(q):
    for tree in (
        make_state(q),
        PairState(make_state(), make_state(q)),
        (make_state(), [{"body": make_state(q)}]),
        to_single(make_state(q)),
    ):
        assert not jax.jit(is_valid)(tree)
        with pytest.raises(ValueError, match=r"^RigidState: attitude = .* has the length .* no unit quaternion"):
            is_valid(tree)


def test_units_pass_in_either_precision_as_solvers_leave_them():
    """Drift of a solve at 1e-6 over 160 turns is 3e-5, and finite differences are some 1e-4."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = rng.normal(size=4)
        for length in (1.0, 1 + 2e-4, 1 - 2e-4):
            one = make_state(length * q / np.linalg.norm(q))
            assert is_valid(one) and is_valid(to_single(one))
    many = jax.vmap(lambda a: make_state(jnp.array([1.0, 0, 0, 0]) * a))(jnp.array([1.0, 1.0, 2.0]))
    assert not jax.jit(is_valid)(many) and is_valid(jax.tree.map(lambda x: x[:2], many))
    assert jax.jit(jax.vmap(is_valid))(many).tolist() == [True, True, False]
    assert is_valid({"x": jnp.ones(4), "none": None}) and is_valid(make_state((jnp.nan, 0.0, 0.0, 0.0)))


def test_the_question_changes_no_derivative():
    def length(a):
        q = a * jnp.array([1.0, 0.0, 0.0, 0.0])
        return jnp.where(is_valid(make_state(q)), a, jnp.nan)

    length = jax.jit(length)
    assert jax.grad(length)(jnp.ones(())) == 1.0 and jnp.isnan(length(jnp.zeros(())))
    assert jnp.isfinite(jax.grad(length)(jnp.zeros(())))


def test_a_rate_is_no_attitude():
    """Rates have the structure of a state, and may be asked for outside jit."""
    body = RigidBody(1.0, np.eye(3))
    rate = body.derivative(make_state(), jnp.zeros(3), jnp.zeros(3), jnp.zeros(3))
    assert (np.asarray(rate.attitude) == 0).all()
