"""Stepping: the guard, statuses, and which derivative each method offers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from difsim import Status, safe, simulate
from difsim.declarations import quantity
from difsim.dynamics import AbstractModel, Approach, PointState
from difsim.typing import Scalar
from tests.ways import equal, forward, reverse


class Bullet(AbstractModel):
    """A unit mass on a line that meets a thin elastic layer, or a spring that ends nowhere: both smooth."""

    stiffness: Scalar = quantity("", "a number of a toy")
    layer: Scalar = quantity("", "a number of a toy", default=1e-3)
    gravity: Scalar = quantity("", "a number of a toy", default=0.0)

    def _push(self, z):
        # A bump over the layer -δ < z < δ: a particle that stepped over it would feel nothing afterwards.
        return self.stiffness * self.layer * jnp.exp(-0.5 * (z / self.layer) ** 2)

    def vector_field(self, t, state):
        return PointState(
            position=state.velocity,
            velocity=jnp.array([0.0, 0.0, 1.0]) * (self._push(state.position[2]) - self.gravity),
        )

    def approach(self, t, state):
        speed = safe.norm(state.velocity)
        return Approach(
            gap=jnp.abs(state.position[2]) - 6 * self.layer,
            speed=speed,
            resolution=0.1 * self.layer,
            acceleration=self.gravity,
        )

    def energy(self, t, state):
        z, w = state.position[2], self.layer
        bump = self.stiffness * w**2 * np.sqrt(np.pi / 2) * jax.scipy.special.erfc(z / w / np.sqrt(2))
        return {"kinetic": 0.5 * state.velocity @ state.velocity, "potential": bump + self.gravity * z}


def rebound(p, method):
    """A ball thrown on a soft floor, twice: velocity and position at the end."""
    model = Bullet(p[0], 0.05, gravity=p[1])
    start = PointState(jnp.stack([0.0 * p[2], 0.0 * p[2], p[2]]))
    solution = simulate(model, start, jnp.array([0.0, 0.4, 0.8]), **method, throw=False)
    return jnp.stack([solution.states.position[-1, 2], solution.states.velocity[-1, 2]]), solution.status


P = jnp.array([6e3, 9.81, 0.6])


def test_all_methods_give_the_same_derivative():
    """Reverse through adaptive steps, forward under error control, both through equal steps, differences."""
    methods = {
        "sensitivities": (jax.jacfwd, forward(1e-10, 1e-10)),
        "checkpointed": (jax.jacrev, reverse(1e-10, 1e-10)),
        "fixed forward": (jax.jacfwd, equal(1000)),
        "fixed reverse": (jax.jacrev, equal(1000)),
    }
    found = {}
    for key, (derivative, method) in methods.items():
        jac, status = eqx.filter_jit(derivative(lambda p: rebound(p, method), has_aux=True))(P)  # noqa: B023
        assert status == Status.OK, key
        found[key] = np.asarray(jac) * np.asarray(P)
    size = np.abs(found["sensitivities"]).max()
    for key, jac in found.items():
        np.testing.assert_allclose(jac, found["sensitivities"], rtol=0, atol=1e-7 * size, err_msg=key)
    np.testing.assert_allclose(found["fixed forward"], found["fixed reverse"], rtol=0, atol=1e-11 * size)
    f = eqx.filter_jit(lambda p: rebound(p, equal(1000))[0])
    steps = 1e-5 * np.diag(P)
    differences = np.stack([(f(P + s) - f(P - s)) / 2e-5 for s in steps], axis=1)
    np.testing.assert_allclose(found["fixed forward"], differences, rtol=0, atol=1e-7 * size)
