"""A Philae-like touchdown: its energies and momenta, and every output's derivative by every unknown."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Adaptive, simulate
from tests.core.test_touchdown import TIMES, run
from tests.helpers import to_single
from tests.more.test_touchdown import default  # noqa: F401  # of fixtures
from tests.philae import P0, build, observe
from tests.ways import forward


def test_jacobian_of_a_batch_is_that_of_each():
    """vmap of simulate and of its jacfwd equal a loop: adaptive steps of one member do not touch another. Step
    sizes differ in their last bits, so values agree to some 1e-9, well below the solver's tolerance of 1e-6, and
    derivatives to that tolerance, not to round-off."""
    batch = jnp.stack([P0, P0.at[4].set(0.9), P0.at[6].set(0.1)])

    def f(p):
        return observe(run(p, forward(1e-6, 1e-6), times=jnp.array([0.0, 0.2])))

    value, some = jax.jit(f), jax.jit(jax.vmap(f))
    np.testing.assert_allclose(some(batch), jnp.stack([value(p) for p in batch]), rtol=1e-8, atol=1e-12)

    def three(x, p):
        return f(p.at[jnp.array([0, 4, 6])].set(x))

    x = batch[:, jnp.array([0, 4, 6])]
    jacobian = jax.jacfwd(three)
    one, many = jax.jit(jacobian), jax.jit(jax.vmap(jacobian))
    found, expected = many(x, batch), jnp.stack([one(a, p) for a, p in zip(x, batch, strict=True)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * float(jnp.abs(expected).max()))


def test_float32_keeps_its_precision(default):
    """States stay float32; velocity and spin are right to 1e-3 of the velocity (tolerance 1e-5)."""
    model, state = to_single(build(P0))
    solution = simulate(model, state, to_single(TIMES), solver=Adaptive(1e-5, 1e-5), throw=False)
    body, exact = solution.states.body, default(P0, jnp.array(0.02)).states.body
    assert body.velocity.dtype == jnp.float32
    np.testing.assert_allclose(body.velocity, exact.velocity, atol=2e-3)
    np.testing.assert_allclose(body.spin, exact.spin, atol=2e-3)
