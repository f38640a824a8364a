"""Smooth contact of a pair: springs and dampers along and across the normal, at every feature that touches."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from difsim import rotation, safe
from difsim.contact import AbstractNormal, AbstractTangentialSpring, PowerLawClipped, Sharp
from difsim.dynamics.pair import AbstractPairLaw, PairState
from difsim.dynamics.pair_steps import effective_mass, pressed, stepped
from difsim.typing import Scalar, require, scalar

# Of each stage of the classical method: where it stands in the step, and its weight.
_RUNGE_KUTTA = ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6))


class AbstractPairNormal(eqx.Module):
    """Where the normal law of a smooth contact comes from."""

    @abstractmethod
    def law(self, mass: Scalar) -> AbstractNormal:
        """The normal law for a contact that moves an effective `mass` kg."""


class Given(AbstractPairNormal):
    """A normal law as it is: damping in N s/m, the restitution follows from the mass."""

    normal: AbstractNormal

    def law(self, mass: Scalar) -> AbstractNormal:
        return self.normal


class Calibrated(AbstractPairNormal):
    """F = max(0, kδᵖ + c δ^((p-1)/2) δ') with the c that gives `restitution` at the mass that each contact moves.

    **Arguments:** `restitution` e in (0, 1]; `stiffness` k, N/m^p; `exponent` p, 1 (Hooke) or 3/2 (Hertz).
    **Raises:** `ValueError` as `PowerLawClipped`, at the first contact.
    """

    restitution: Scalar = scalar()
    stiffness: Scalar = scalar()
    exponent: float = eqx.field(static=True, converter=float)

    def __check_init__(self):
        e, k = self.restitution, self.stiffness
        require((e > 0) & (e <= 1), f"Calibrated: restitution = {e} must be in (0, 1].")
        require(k > 0, f"Calibrated: stiffness = {k} must be positive.")

    def law(self, mass: Scalar) -> AbstractNormal:
        return PowerLawClipped.from_restitution(self.restitution, self.stiffness, self.exponent, mass, Sharp())


class SmoothPair(AbstractPairLaw):
    """Stones that overlap a little: at each feature a normal law, and a tangential spring and damper that slip.

        F_n = normal law(δ, δ'),    F_t = φ - λ k_t v_t,    φ' = -k_t v_t,    |F_t| ≤ μ F_n

    which is Eq 1 of the paper with k_t = f K_t and λ = C_t m̄/K_t (f = 1 for Hooke, √(R̄δ) for Hertz, of which
    `MindlinSpring` is one). The spring is incremental: it is cut to the bound, and loses force as it softens.
    Runge-Kutta steps of order 4 from the instant of touch until the features have parted.

    **Arguments:** `normal`, `Calibrated(e, k, p)` or `Given(law)`; `tangential`, with μ and k_t; `lag` λ s; `step`
    s, below a twentieth of the contact's duration; `max_steps`. **Raises:** `ValueError` for a lag below 0, a step
    that is not positive.
    **Source:** Vaghi et al. (paper 001), Eq 1.
    """

    normal: AbstractPairNormal
    tangential: AbstractTangentialSpring
    lag: Scalar = scalar()
    step: Scalar = scalar()
    max_steps: int = eqx.field(static=True, default=20_000)

    def __check_init__(self):
        require(self.lag >= 0, f"SmoothPair: lag = {self.lag} s must not be negative")
        require(self.step > 0, f"SmoothPair: step = {self.step} s must be positive")

    def episode(self, pair, state, nearby, found, record):
        law = self.normal.law(effective_mass(pair, state, found))

        def rates(state, spring):
            """Of the state and of the springs; what is pressed, the normal forces, k_t."""
            here = pressed(pair, state, nearby)
            n, slip = here.touches.normal, here.slip
            force = jax.vmap(law.force)(here.depth, here.rate)
            push = force * safe.norm(here.touches.slope)
            k = jax.vmap(self.tangential.stiffness)(here.depth)
            growth = -k[:, None] * slip
            flat = spring - jnp.sum(spring * n, axis=1)[:, None] * n
            across = safe.shortened(flat + self.lag * growth, self.tangential.coefficient * push)
            total = force[:, None] * here.touches.slope + across
            return (_motion(pair, state, here.touches.point, total), growth), (here, push, k)

        def advance(state, memory):
            spring, k_old = memory
            begin, h = (state, spring), self.step

            def stage(carry, shares):
                rate, mean = carry
                rate, seen = rates(*_moved(begin, rate, shares[0] * h))
                return (rate, _moved(mean, rate, shares[1])), seen

            still = jax.tree.map(jnp.zeros_like, begin)
            (_, mean), seen = jax.lax.scan(stage, (still, still), jnp.array(_RUNGE_KUTTA))
            # The last stage stands where the step ends: there the springs are cut.
            here, push, k = jax.tree.map(lambda x: x[-1], seen)
            state, spring = _moved(begin, mean, h)
            softer = jnp.where(k < k_old, safe.divide(k, k_old), 1.0)[:, None]
            spring = safe.shortened(softer * spring, self.tangential.coefficient * push)
            return _normalised(state), (spring, k), here, push

        memory = jnp.zeros_like(found.slope), jnp.zeros_like(found.gap)
        # At no depth nothing acts, and a damper that starts at once would miss the first stage: a little later.
        late = 1e-6 * self.step
        state, reach = _moved(state, pair.flight(state), late), jnp.zeros_like(late)
        episode, record = stepped(pair, state, found, record, advance, memory, self.step, self.max_steps, reach)
        return eqx.tree_at(lambda b: b.duration, episode, episode.duration + late), record


def _motion(pair, state: PairState, points: Float[Array, "M 3"], forces: Float[Array, "M 3"]) -> PairState:
    """The state's rate under forces at points on the second body, and their opposites on the first."""

    def rate(body, state, sign):
        total = jnp.sum(forces, axis=0) * sign
        turn = jnp.sum(jnp.cross(points - state.position[None], forces), axis=0) * sign
        turn = rotation.inverse_rotate(state.attitude, turn)
        return body.derivative(state, total + body.mass * pair.gravity, turn, jnp.zeros(3))

    return PairState(rate(pair.first.body, state.first, -1.0), rate(pair.second.body, state.second, 1.0))


def _moved(y, rate, h):
    return jax.tree.map(lambda a, b: a + h * b, y, rate)


def _normalised(state: PairState) -> PairState:
    return eqx.tree_at(
        lambda s: (s.first.attitude, s.second.attitude),
        state,
        (rotation.normalise(state.first.attitude), rotation.normalise(state.second.attitude)),
    )
