"""Smooth contact of a pair: springs and dampers along and across the normal, at every feature that touches."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp

from difsim import safe
from difsim.contact import NormalForce, NoSmoothing
from difsim.contact.elastic import AbstractElastic
from difsim.contact.friction import AbstractTangentialSpring, TangentialHistory, step_spring
from difsim.declarations import count, part, quantity
from difsim.dynamics.pair import AbstractPairLaw, PairState
from difsim.dynamics.pair_steps import effective_mass, measure_features, step_until_parted
from difsim.runge_kutta import add_scaled, runge_kutta4
from difsim.typing import Scalar


class CalibratedNormal(eqx.Module):
    """A clipped viscous damper that gives `restitution` at the mass that each contact moves."""

    tag = "CalibratedNormal"

    restitution: Scalar = quantity(
        "", "coefficient e of restitution", gt=0, le=1, slip="percent", hint="for a dead stop give a small e"
    )
    elastic: AbstractElastic = part("elastic force: `Hooke(k)`, `PowerLaw(k, p)` or `Hertz(E, R)`")

    def law(self, mass: Scalar) -> NormalForce:
        """The normal force for a contact that moves an effective `mass` kg."""
        return NormalForce.from_restitution(self.restitution, self.elastic, NoSmoothing(), mass=mass)


class SmoothPair(AbstractPairLaw):
    """Stones that overlap a little: at each feature a normal law, and a tangential spring and damper that slip.

        F_n = normal law(δ, δ'),    F_t = φ - λ k_t v_t,    φ' = -k_t v_t,    |F_t| ≤ μ F_n

    which is Eq 1 of the paper with k_t = f K_t and λ = C_t m̄/K_t (f = 1 for Hooke, √(R̄δ) for Hertz, of which
    `MindlinSpring` is one). Runge-Kutta steps of order 4 from the instant of touch until the features have parted. The
    springs stretch within the stages of a step, and a `step_spring` of no duration cuts and softens them after it: one
    that also stretched them would make the step of order 1.

    **Source:** Vaghi et al., Eq 1.
    """

    normal: CalibratedNormal = part("normal force")
    tangential: AbstractTangentialSpring = part("tangential spring, with μ and k_t")
    lag: Scalar = quantity("s", "lag λ of the tangential damper", ge=0, usual=(0, 1), slip="ms")
    step: Scalar = quantity(
        "s", "time step, below a twentieth of the contact's duration", gt=0, usual=(1e-9, 1e-2), slip="ms"
    )
    max_steps: int = count("largest number of steps of one contact", default=20_000)

    def episode(self, pair, state, nearby, found, record):
        law = self.normal.law(effective_mass(pair, state, found))
        at_once = jax.vmap(partial(step_spring, dt=jnp.zeros_like(self.step)))

        def rates(state_and_springs):
            """The rates of both; the features in contact, the normal forces, k_t."""
            state, spring = state_and_springs
            here = measure_features(pair, state, nearby)
            n, slip = here.touches.normal, here.slip
            force = jax.vmap(law.force)(here.depth, here.rate)
            push = force * safe.norm(here.touches.slope)
            k = jax.vmap(self.tangential.stiffness)(here.depth)
            bound = self.tangential.coefficient * push
            across, _ = at_once(TangentialHistory(spring, k), k, self.lag * k, bound, slip, n)
            total = force[:, None] * here.touches.slope + across
            return (pair.rate(state, here.touches.point, total), -k[:, None] * slip), (here, push, k)

        def advance(state, memory):
            # The last stage stands where the step ends: there the springs are cut.
            start = state, memory.force
            (state, spring), (here, push, k) = runge_kutta4(rates, start, self.step, unroll=False)
            stretched, bound = TangentialHistory(spring, memory.stiffness), self.tangential.coefficient * push
            still = jnp.zeros_like(spring)
            _, memory = at_once(stretched, k, jnp.zeros_like(k), bound, still, here.touches.normal)
            return _normalise(state), memory, here, push

        memory = TangentialHistory(jnp.zeros_like(found.slope), jnp.zeros_like(found.gap))
        # At no depth nothing acts, and a damper that starts at once would miss the first stage: a little later.
        late = 1e-6 * self.step
        state, reach = add_scaled(state, pair.flight(state), late), jnp.zeros_like(late)
        episode, record = step_until_parted(
            pair, state, found, record, advance, memory, self.step, self.max_steps, reach
        )
        return eqx.tree_at(lambda b: b.duration, episode, episode.duration + late), record


def _normalise(state: PairState) -> PairState:
    return eqx.tree_at(
        lambda s: (s.first.attitude, s.second.attitude),
        state,
        (state.first.rotation.normalise().quaternion, state.second.rotation.normalise().quaternion),
    )
