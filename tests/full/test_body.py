"""The rigid body against closed forms, the gear and the flywheel by hand."""

import jax
import jax.numpy as jnp

from difsim import simulate
from difsim.body import Flywheel, RigidBody, RigidState
from difsim.declarations import quantity
from difsim.dynamics import AbstractModel, Approach
from tests.helpers import approx


class FreeBody(AbstractModel):
    """A body with a wheel inside, far from everything."""

    body: RigidBody
    wheel: Flywheel
    force: jax.Array = quantity("", "a number of a toy", default=(0.0, 0.0, 0.0))

    def vector_field(self, t, state):
        return self.body.derivative(state, self.force, self.wheel.torque(t), self.wheel.stored(t))

    def approach(self, t, state):
        return Approach(gap=jnp.array(jnp.inf), speed=jnp.array(1.0), resolution=jnp.array(1.0))

    def angular_momentum(self, t, state):
        spin = self.body.inertia @ state.spin + self.wheel.stored(t)
        return state.rotation @ spin


def at(spin, velocity=(0.0, 0.0, 0.0)) -> RigidState:
    return RigidState((0.0, 0.0, 0.0), velocity, (1.0, 0.0, 0.0, 0.0), spin)


def free(inertia, momentum=0.0, rundown=1.0, mass=1.0) -> FreeBody:
    return FreeBody(RigidBody(mass, jnp.diag(jnp.array(inertia))), Flywheel(momentum, rundown))


def test_the_rundown_time_has_the_right_derivative():
    """After the run-down the spin does not know how long it took: the jump of the torque must not be lost."""

    def spin(rundown, t):
        model = free((21.6, 21.6, 31.7), 5.17, rundown, 96.3)
        return simulate(model, at((0.0, 0.0, 0.1)), jnp.array([0.0, t])).states.spin[-1, 2]

    assert abs(float(jax.jacfwd(spin)(jnp.array(2.0), 3.0))) < 1e-6
    during = jax.jacfwd(spin)(jnp.array(2.0), 1.0)
    assert during == approx(-5.17 * 1.0 / 2.0**2 / 31.7, rel=1e-6)
