"""Free flight of a rigid body, by its Taylor series in time: uniform gravity, no torque, any inertia."""

import jax
import jax.numpy as jnp

from difsim import rotation, safe
from difsim.body import RigidBody, RigidState
from difsim.rotation import inverse3
from difsim.typing import Scalar, Vec3

_ORDER = 16
_TURN = 1.0  # rad a step at most: what the series leaves out is then some 1e-14, for moments of 1:2:3 too


def spin_bound(body: RigidBody, state: RigidState) -> Scalar:
    """No less than |ω| rad/s at any time of a free flight: |I ω|, which keeps its length, over the least moment.

    Not for derivatives.
    """
    inertia = body.inertia
    # The least root of the characteristic cubic, in its trigonometric form.
    mean = jnp.trace(inertia) / 3
    rest = inertia - mean * jnp.eye(3)
    spread = safe.sqrt(jnp.sum(rest**2) / 6)
    scaled = rest / jnp.where(spread > 0, spread, 1.0)
    angle = jnp.arccos(jnp.clip(jnp.linalg.det(scaled) / 2, -1, 1)) / 3
    least = mean + 2 * spread * jnp.cos(angle + 2 * jnp.pi / 3)
    return jnp.linalg.norm(inertia @ state.spin) / least


def free_flight(body: RigidBody, state: RigidState, gravity: Vec3, dt: Scalar) -> RigidState:
    """The state after `dt` s (of either sign) of free flight.

    I ω' = I ω × ω and q' = ½ q ⊗ ω: the coefficients of the series of ω and q follow from one another, so a step
    of order 10 costs little more than one of a low order. The number of steps follows from the spin. The search for
    a contact asks for one state anywhere in an arc of minutes, to rounding; for the short steps among grains
    `difsim.dem.Clump.drifted` has a midpoint rule instead, which costs a tenth and keeps the angular momentum.

    **Arguments:** `body`; `state`; `gravity` [3] m/s², in the frame; `dt`.
    **Returns:** the state.
    """
    turn = spin_bound(*jax.lax.stop_gradient((body, state))) * jnp.abs(jax.lax.stop_gradient(dt))
    count = jnp.ceil(turn / _TURN)
    count = jnp.clip(count, 1, 1e6).astype(int)
    h = dt / count
    inverse = inverse3(body.inertia)

    def series(k, coefficients):
        # Row j times row k - j, of which the rows that are still 0 drop out.
        ω, q = coefficients
        back = ω[k - jnp.arange(_ORDER + 1)]
        turning = jnp.sum(jnp.cross(ω @ body.inertia, back), axis=0)
        turned = jnp.sum(jax.vmap(rotation.derivative)(q, back), axis=0)
        return ω.at[k + 1].set(inverse @ turning / (k + 1)), q.at[k + 1].set(turned / (k + 1))

    def step(_, pair):
        ω = jnp.zeros((_ORDER + 1, 3)).at[0].set(pair[0])
        q = jnp.zeros((_ORDER + 1, 4)).at[0].set(pair[1])
        ω, q = jax.lax.fori_loop(0, _ORDER, series, (ω, q))
        powers = h ** jnp.arange(_ORDER + 1)
        return powers @ ω, rotation.normalise(powers @ q)

    spin, attitude = jax.lax.fori_loop(0, count, step, (state.spin, state.attitude))
    return RigidState(
        position=state.position + dt * state.velocity + 0.5 * dt**2 * gravity,
        velocity=state.velocity + dt * gravity,
        attitude=attitude,
        spin=spin,
    )
