"""Synthetic tracks of a bouncing cube: launches, their bounces, noisy samples, and the state in each flight."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from difsim import Adaptive, Solution, simulate
from difsim.body import RigidBody, RigidState
from difsim.body.free_motion import free_flight
from difsim.rotation import Rotation
from difsim.typing import Scalar, Vec3
from experiments.hopper.scenes import GRAVITY, INERTIA, MASS, Ground, cube

GRAVITY_HERE = GRAVITY["phobos"]  # m/s²
BOUNCES = 6
SAMPLES = 6  # of each flight
NOISE = {"position": 2e-3, "attitude": np.radians(0.5), "spin": 5e-4}  # m, rad, rad/s
SHORTEST = 1.2  # s: contacts that are closer together than this are one bounce
GRID = np.linspace(0.0, 240.0, 2401)  # s, on which bounces are found and samples lie
TRUTH = Adaptive(1e-9, 1e-9, resolve=0.0)


def release(draw: Float[Array, "9"]) -> RigidState:
    """Dropped from 1 m at up to 0.1 m/s sideways, in any attitude, with a spin of some 0.1 rad/s; `draw` normal."""
    return RigidState(
        position=jnp.array([0.0, 0.0, 1.0]),
        velocity=jnp.stack([0.1 * jnp.tanh(draw[0]), 0.1 * jnp.tanh(draw[1]), jnp.zeros(())]),
        attitude=draw[2:6] / jnp.linalg.norm(draw[2:6]),
        spin=0.1 * draw[6:9],
    )


def follow(values: dict[str, Scalar], start: RigidState, times: Array, solver, derivative=None) -> Solution:
    """The cube over a ground of `restitution`, `friction`, `rolling` m (and `depth` m where it is given)."""
    model = cube(GRAVITY_HERE, Ground(**values))
    return simulate(model, model.start(start), times, solver=solver, derivative=derivative, throw=False)


@eqx.filter_jit
def simulate_whole(values: dict[str, Scalar], draw: Float[Array, "9"]) -> tuple[RigidState, Array]:
    """The true motion on the GRID."""
    solution = follow(values, release(draw), jnp.asarray(GRID), TRUTH)
    return solution.states.body, solution.ok


def flights(body: RigidState) -> list[tuple[int, int]]:
    """First and last grid point of each flight of at least SHORTEST: where v - g t stands still."""
    steady = np.asarray(body.velocity) + GRID[:, None] * np.array([0.0, 0.0, GRAVITY_HERE])
    free = np.abs(np.diff(steady, axis=0)).max(axis=1) < 1e-7
    edges = np.flatnonzero(np.diff(np.concatenate([[0], free.astype(int), [0]])))
    runs = edges.reshape(-1, 2)
    return [(int(a), int(b)) for a, b in runs if GRID[b] - GRID[a] >= SHORTEST]


class Track(eqx.Module):
    """The data of one flight after another: noisy samples [flights, samples], and the true release."""

    release: RigidState
    times: Float[Array, "flights samples"]
    seen: RigidState  # velocity is not seen: NaN


def track(values: dict[str, float], draw: np.ndarray, rng: np.random.Generator) -> Track | None:
    """A track over BOUNCES bounces with noise, or None where the cube does not bounce so often."""
    body, ok = simulate_whole({k: jnp.asarray(v) for k, v in values.items()}, jnp.asarray(draw))
    runs = flights(body) if ok else []
    if len(runs) <= BOUNCES or runs[0][0] > 0:
        return None
    rows = np.stack([np.round(np.linspace(a, b, SAMPLES + 2)[1:-1]).astype(int) for a, b in runs[: BOUNCES + 1]])
    noise = {k: s * rng.standard_normal((*rows.shape, 3)) for k, s in NOISE.items()}
    at = jax.tree.map(lambda x: np.asarray(x)[rows], body)
    turn = jnp.asarray(noise["attitude"])
    seen = RigidState(
        position=at.position + noise["position"],
        velocity=np.full_like(at.velocity, np.nan),
        attitude=jax.vmap(jax.vmap(_turn_by))(jnp.asarray(at.attitude), turn),
        spin=at.spin + noise["spin"],
    )
    return Track(release(jnp.asarray(draw)), jnp.asarray(GRID[rows]), seen)


def change_state(state: RigidState, change: Float[Array, "12"]) -> RigidState:
    """`state` with position m, velocity m/s, attitude rad (about the body's axes) and spin rad/s changed."""
    dx, dv, turn, dw = change.reshape(4, 3)
    attitude = _turn_by(state.attitude, turn)
    return RigidState(state.position + dx, state.velocity + dv, attitude, state.spin + dw)


def _turn_by(attitude: Float[Array, "4"], turn: Vec3) -> Float[Array, "4"]:
    """The attitude after a further turn by a rotation vector, rad, about the body's axes."""
    return (Rotation(attitude) @ Rotation.from_rotation_vector(turn)).quaternion


def rotation_between(seen: Float[Array, "4"], attitude: Float[Array, "4"]) -> Vec3:
    """The rotation vector from an attitude seen to another one, rad, about the body's axes."""
    return (Rotation(seen).inverse @ Rotation(attitude)).as_rotation_vector()


def change(state: RigidState, reference: RigidState) -> Float[Array, "12"]:
    """The inverse of `change_state`: what leads from `reference` to `state`."""
    turn = rotation_between(reference.attitude, state.attitude)
    dx, dv = state.position - reference.position, state.velocity - reference.velocity
    return jnp.concatenate([dx, dv, turn, state.spin - reference.spin])


def fly(state: RigidState, t: Scalar) -> RigidState:
    """The state of the cube `t` s later in free flight."""
    return free_flight(RigidBody(MASS, INERTIA), state, jnp.array([0.0, 0.0, -GRAVITY_HERE]), t)


class Estimates(eqx.Module):
    """The state in the middle of each flight, from its samples alone, and a root of its covariance [n, 12, 12]."""

    times: Float[Array, "n"]
    states: RigidState
    spreads: Float[Array, "n 12 12"]


@eqx.filter_jit
def estimate(track: Track) -> Estimates:
    """Weighted least squares of each flight's samples by Gauss-Newton."""

    def flight(times, seen):
        middle = jnp.mean(times)
        t = times - middle
        half = seen.position.at[:, 2].add(0.5 * GRAVITY_HERE * t**2)
        spin, i = jnp.mean(seen.spin, axis=0), SAMPLES // 2
        attitude = _turn_by(seen.attitude[i], -spin * t[i])
        velocity = (half[-1] - half[0]) / (t[-1] - t[0])
        state = RigidState(jnp.mean(half, axis=0), velocity, attitude, spin)

        def residual(d, state):
            def one(t, seen):
                at = fly(change_state(state, d), t)
                off = (
                    at.position - seen.position,
                    rotation_between(seen.attitude, at.attitude),
                    at.spin - seen.spin,
                )
                return jnp.concatenate([o / s for o, s in zip(off, NOISE.values(), strict=True)])

            return jax.vmap(one)(t, seen).ravel()

        def step(state, _):
            J, r = jax.jacfwd(residual)(jnp.zeros(12), state), residual(jnp.zeros(12), state)
            return change_state(state, -jnp.linalg.solve(J.T @ J, J.T @ r)), J

        state, J = jax.lax.scan(step, state, length=3)
        return middle, state, jnp.linalg.cholesky(jnp.linalg.inv(J[-1].T @ J[-1]))

    return Estimates(*jax.vmap(flight)(track.times, track.seen))
