"""The branch of an ensemble: the values and derivatives of `cond`, without its copies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from difsim.conditional import compute_if

TABLE = jnp.arange(1000.0) ** 2
NONE, SOME = jnp.array([[0.25, 0.5, 0.75]]), jnp.array([[0.5, 2.5, 3.5], [0.25, 0.5, 7.5]])


def read(x, table=TABLE):
    return compute_if(x > 1, lambda: x * table[x.astype(int)], -x)


def by_cond(x, table=TABLE):
    return jax.lax.cond(x > 1, lambda: x * table[x.astype(int)], lambda: -x)


@pytest.mark.parametrize("x", [NONE, SOME])
@pytest.mark.parametrize("of", [lambda f: f, jax.grad, jax.jacfwd])
def test_members_have_the_values_and_derivatives_of_cond(x, of):
    f, peer = of(read), of(by_cond)
    expected = [[peer(one) for one in row] for row in x]
    np.testing.assert_array_equal(jax.vmap(jax.vmap(f))(x), expected)
    np.testing.assert_array_equal(f(x[0, 0]), expected[0][0])


def test_members_share_the_tables_of_a_branch():
    """Once for all members of both axes, and in a branch that may be skipped."""

    def program(f):
        shared = jax.vmap(jax.vmap(f, in_axes=(0, None)), in_axes=(0, None))
        return jax.jit(shared).lower(SOME, TABLE).as_text()

    assert "2x3x1000x" in program(by_cond) and "stablehlo.case" not in program(by_cond)
    assert "3x1000x" not in program(read) and "stablehlo.case" in program(read)
