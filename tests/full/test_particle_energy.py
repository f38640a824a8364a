"""Energy balance of grains and soil: what each named loss is in closed form, and that nothing is missing."""

import dataclasses
from functools import partial

import equinox as eqx
import jax
import numpy as np

from difsim import FixedSteps, Unrolled, allocate, simulate
from tests.more.test_particle_energy import oblique


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
