"""Free flight of a rigid body of any inertia: one long arc to rounding, or a short step that keeps momentum.

These are two integrators of the same equations, because no one of them serves both ends. The search for the contact of
two stones asks for one state anywhere in an arc of minutes: `free_flight`, a Taylor series. A body among grains goes
through 1e5 short steps, in which what builds up is an error of the angular momentum: `free_step`, a midpoint rule that
has none, at a tenth of the cost of a step of the series.
"""

import jax
import jax.numpy as jnp

from difsim import safe
from difsim.body.rigid import RigidBody, RigidState
from difsim.rotation import Rotation, inverse3, solve3
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
    """The state after a time of either sign of free flight in uniform gravity, to rounding.

    I ω' = I ω × ω and q' = ½ q ⊗ ω: the coefficients of the series of ω and q follow from one another, so a step
    of order 10 costs little more than one of a low order. The number of steps follows from the spin.

    **Arguments:** `body`; `state`; `gravity` [3] m/s², in the frame; `dt`, s.
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
        turned = jnp.sum(jax.vmap(lambda q, spin: Rotation(q).rate(spin))(q, back), axis=0)
        return ω.at[k + 1].set(inverse @ turning / (k + 1)), q.at[k + 1].set(turned / (k + 1))

    def step(_, pair):
        ω = jnp.zeros((_ORDER + 1, 3)).at[0].set(pair[0])
        q = jnp.zeros((_ORDER + 1, 4)).at[0].set(pair[1])
        ω, q = jax.lax.fori_loop(0, _ORDER, series, (ω, q))
        powers = h ** jnp.arange(_ORDER + 1)
        return powers @ ω, Rotation(powers @ q).normalise().quaternion

    spin, attitude = jax.lax.fori_loop(0, count, step, (state.spin, state.attitude))
    return RigidState(
        position=state.position + dt * state.velocity + 0.5 * dt**2 * gravity,
        velocity=state.velocity + dt * gravity,
        attitude=attitude,
        spin=spin,
    )


def free_step(body: RigidBody, state: RigidState, stored_momentum: Vec3, dt: Scalar) -> RigidState:
    """The state after one short step without forces, of order 2, which keeps the angular momentum to rounding.

    The body turns by its spin at mid-step; its spin at the end follows from the angular momentum.

    **Arguments:** `body`; `state`; `stored_momentum` [3] N m s of wheels inside, in the body frame; `dt`, s.
    **Returns:** the state.
    """
    momentum = state.rotation @ (body.inertia @ state.spin + stored_momentum)

    def rotate(spin, time):
        return (state.rotation @ Rotation.from_rotation_vector(time * spin)).normalise()

    def spin(attitude):
        return solve3(body.inertia, attitude.inverse @ momentum - stored_momentum)

    attitude = rotate(spin(rotate(state.spin, 0.5 * dt)), dt)
    return RigidState(state.position + dt * state.velocity, state.velocity, attitude, spin(attitude))
