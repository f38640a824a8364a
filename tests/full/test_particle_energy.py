"""Energy balance of grains and soil: what each named loss is in closed form, and that nothing is missing."""

import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import FixedSteps, Unrolled, allocate, simulate
from difsim.dem import Grains
from difsim.dem.losses import ContactLosses
from tests.core.test_particle_energy import RHO, R, hertz


def oblique(**changes):
    """Two spheres that meet off their centres, with spin."""
    model = Grains(hertz(**changes), np.full(2, R), RHO, losses=ContactLosses())
    state = model.at_rest(jnp.array([[0.0, 2.0 * R], [0.0, 0.2 * R], [0.0, 0.0]]))
    given = jnp.array([[0.3, 0], [0, 0], [0, 0]]), jnp.array([[0.0, 0], [10, 0], [30, 0]])
    return model, eqx.tree_at(lambda s: (s.velocity, s.spin), state, given)


def test_account_of_losses_changes_no_motion_and_no_derivative():
    model, state = oblique()
    plain = dataclasses.replace(model, losses=None)
    steps = FixedSteps(60, neighbours=allocate(plain, state))

    @partial(jax.jit, static_argnums=1)
    def ends(friction, has_account):
        def end(friction):
            of = eqx.tree_at(lambda m: m.law.friction, model if has_account else plain, friction)
            solution = simulate(of, state, [0.0, 2e-3], solver=steps, derivative=Unrolled(), throw=False)
            return solution.last.velocity[:, 0]

        return end(friction), jax.jacfwd(end)(friction), jax.jacrev(end)(friction)

    for one, other in zip(ends(0.1, True), ends(0.1, False), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
