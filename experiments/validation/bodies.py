"""Rigid bodies against closed forms: tops, whose spins are those of Euler's equations."""

import jax
import jax.numpy as jnp
import numpy as np

from difsim import Adaptive, simulate
from difsim.body import RigidBody, RigidState
from difsim.dynamics import AbstractModel, Approach
from experiments.validation.cases import Case

STRICT = Adaptive(1e-12, 1e-12, order=8)
# Spins of an asymmetric top with I = (1, 2, 3), and the time between two zeros of the middle one.
TUMBLING = (
    ((0.5, 1.0, 0.9), 3.280052086),
    ((0.02, 1.0, 0.01), 20.752016850),
    ((0.01, 2.0, 0.012), 10.538594345),
)


class Free(AbstractModel):
    """A rigid body without forces."""

    body: RigidBody

    def vector_field(self, t, state):
        return self.body.derivative(state, jnp.zeros(3), jnp.zeros(3), jnp.zeros(3))

    def approach(self, t, state):
        return Approach(gap=jnp.array(jnp.inf), speed=jnp.array(1.0), resolution=jnp.array(1.0))


def cases() -> list[Case]:
    """Precession of a symmetric top, tumbling of an asymmetric one, conserved quantities."""
    found = []
    I1, I3, spin = 2.0, 3.0, (0.3, 0.0, 1.1)
    times = jnp.linspace(0.0, 30.0, 61)
    run = _run(jnp.array([I1, I1, I3]), jnp.array(spin), times)
    turned = np.unwrap(np.arctan2(run.states.spin[:, 1], run.states.spin[:, 0]))
    expected = (I3 - I1) * spin[2] / I1
    found.append(Case("Rigid body", "symmetric top: body precession", expected, turned[-1] / 30.0, 1e-9, "rad/s"))
    for spin, half_period in TUMBLING:
        ours = _half_period(jnp.array(spin), half_period)
        label = f"asymmetric top, spin {spin}: half-period of the middle axis"
        found.append(Case("Rigid body", label, half_period, ours, 2e-9, "s", True))
    inertia = jnp.array([1.0, 2.0, 3.0])
    run = _run(inertia, jnp.array([0.02, 1.0, 0.01]), times)
    momentum = np.linalg.norm(np.asarray(run.states.spin) * np.asarray(inertia), axis=1)
    energy = 0.5 * np.asarray(run.states.spin) ** 2 @ np.asarray(inertia)
    for name, value in (("|L|", momentum), ("kinetic energy", energy)):
        drift = np.abs(value / value[0] - 1).max()
        found.append(Case("Rigid body", f"asymmetric top: drift of {name}", 0.0, drift, 1e-10))
    return found


@jax.jit
def _run(inertia, spin, times):
    state = RigidState((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), spin)
    return simulate(Free(RigidBody(1.0, jnp.diag(inertia))), state, times, solver=STRICT, throw=False)


def _half_period(spin, about: float) -> float:
    """The time between the first two zeros of the spin about the middle axis, each by Newton's method."""
    inertia = jnp.array([1.0, 2.0, 3.0])
    dense = jnp.linspace(0.0, 2.6 * about, 61)
    middle = np.asarray(_run(inertia, spin, dense).states.spin[:, 1])
    zeros = []
    for i in np.flatnonzero(np.diff(np.sign(middle)) != 0)[:2]:
        t = float(dense[i] - middle[i] * (dense[i + 1] - dense[i]) / (middle[i + 1] - middle[i]))
        for _ in range(4):
            ω = np.asarray(_run(inertia, spin, dense.at[1:].set(jnp.linspace(t, 2 * t, 60))).states.spin[1])
            t -= ω[1] / ((3.0 - 1.0) * ω[2] * ω[0] / 2.0)
        zeros.append(t)
    return zeros[1] - zeros[0]
