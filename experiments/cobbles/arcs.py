"""One ballistic arc of one cobble: free flight, the pixels of its markers, and the state that fits them.

The unknowns are the 12 numbers of a state at the arc's start: position m, velocity m/s, modified Rodrigues
parameters, spin rad/s. What a fit takes as known, calibration, markers, mass and inertia, is in `Known`.
"""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from difsim import rotation
from difsim.body import RigidBody, RigidState
from difsim.camera import Camera
from difsim.declarations import quantity
from difsim.rotation import Rotation
from difsim.runge_kutta import runge_kutta4
from difsim.status import Status
from difsim.typing import Quat, Scalar, Vec3
from experiments.cobbles.cameras import Rig
from inversion import Stops
from inversion.marquardt import levenberg_marquardt
from inversion.problem import AbstractProblem, Evaluation

State12 = Float[Array, "12"]
NAMES = {"position": "m", "velocity": "m/s", "mrp": "1", "spin": "rad/s"}  # of its parts, three numbers each


class Known(eqx.Module):
    """The world as a fit takes it to be: cameras, the body, its markers."""

    rig: Rig
    body: RigidBody
    markers: Float[Array, "M 3"] = quantity("m", "markers about the centre of mass")


class Tracks(eqx.Module):
    """Markers in images, and which of them there are."""

    times: Float[Array, " T"] = quantity("s", "times of the images")
    pixels: Float[Array, "T C M 2"] = quantity("px", "places of markers in the images")
    seen: Bool[Array, "T C M"]


def to_vector(state: RigidState) -> State12:
    """(r, v, MRP, ω) of a state."""
    return jnp.concatenate([state.position, state.velocity, state.rotation.as_mrp(), state.spin])


def to_state(x: State12) -> RigidState:
    """The state of (r, v, MRP, ω)."""
    return RigidState(x[:3], x[3:6], Rotation.from_mrp(x[6:9]), x[9:])


def spin_freely(
    body: RigidBody, attitude: Quat, spin: Vec3, times: Float[Array, " T"]
) -> tuple[Float[Array, "T 4"], Float[Array, "T 3"]]:
    """Attitudes and spins at `times` of a body without torque: I ω' = (I ω) × ω.

    Classical Runge-Kutta, one step from time to time: good to 1e-6 rad a step for turns of 0.15 rad a step.
    """

    def rate(y):
        q, w = y
        return (Rotation(q).rate(w), rotation.spin_rate(body.inertia, w)), None

    def step(y, h):
        new, _ = runge_kutta4(rate, y, h)
        return new, new

    start = (attitude, spin)
    _, later = jax.lax.scan(step, start, jnp.diff(times))
    q, w = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), start, later)
    return q, w


def coast(
    body: RigidBody,
    state: RigidState,
    times: Float[Array, " T"],
    acceleration: Float[Array, "intervals 3"] | None = None,
) -> RigidState:
    """The states [T, ...] at `times` of a body without torque, from `state` at times[0].

    **Arguments:** `acceleration` [T - 1, 3] m/s² in the frame, constant between times; none by default.
    """
    q, w = spin_freely(body, state.attitude, state.spin, times)
    since = (times - times[0])[:, None]
    position = state.position[None] + since * state.velocity[None]
    velocity = jnp.broadcast_to(state.velocity, position.shape)
    if acceleration is not None:
        h, none = jnp.diff(times)[:, None], jnp.zeros((1, 3))
        gained = jnp.concatenate([none, jnp.cumsum(h * acceleration, axis=0)])
        moved = jnp.cumsum(h * gained[:-1] + 0.5 * h**2 * acceleration, axis=0)
        position, velocity = position + jnp.concatenate([none, moved]), velocity + gained
    return RigidState(position, velocity, q, w)


def places(markers: Float[Array, "M 3"], path: RigidState) -> Float[Array, "T M 3"]:
    """Markers in the frame along a path, m."""
    return jax.vmap(lambda state: jax.vmap(state.point)(markers))(path)


def images(
    known: Known, x: State12, times: Float[Array, " T"], acceleration: Float[Array, "intervals 3"] | None = None
) -> Float[Array, "T C M 2"]:
    """Pixels of all markers in all cameras, whether seen or not."""
    return images_along(known.rig, known.markers, coast(known.body, to_state(x), times, acceleration))


def images_along(rig: Rig, markers: Float[Array, "M 3"], path: RigidState) -> Float[Array, "T C M 2"]:
    """`images` of the states of any path."""
    points = places(markers, path)
    return look(rig, lambda camera: camera.project(points))


def look(rig: Rig, through: Callable[[Camera], Float[Array, "T M *n"]]) -> Float[Array, "T C M *n"]:
    """The values of a function of one camera, of markers at times, for each camera."""
    return jnp.moveaxis(jax.vmap(through)(rig), 0, 1)


class AbstractPixels(AbstractProblem):
    """A least-squares problem of pixels: every number may move, and none has a bound."""

    @property
    @abc.abstractmethod
    def count(self) -> int:
        """How many numbers are unknown."""

    @abc.abstractmethod
    def residual_at(self, s: Float[Array, " n"]) -> Float[Array, " rows"]:
        """The whitened residual at the scaled s."""

    @property
    def free_mask(self) -> Bool[Array, " n"]:
        return jnp.ones(self.count, bool)

    def fold(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        return x

    def evaluate(self, s: Float[Array, " n"]) -> Evaluation:
        residual = self.residual_at(s)
        ok = jnp.all(jnp.isfinite(residual))
        misfit = jnp.where(ok, jnp.sum(residual**2), jnp.inf)
        status = jnp.where(ok, int(Status.OK), int(Status.NOT_FINITE))
        return Evaluation(jnp.where(ok, residual, jnp.nan), misfit, -0.5 * misfit, status, {})


class ArcProblem(AbstractPixels):
    """Least squares of one arc: r = w (pixels(x) - tracks)/σ over what was seen, x = centre + scale s.

    w² = 2/(1 + √(1 + |e|²/c²)) with e the error of one image in σ: pseudo-Huber, the sum of squares for c = ∞.
    """

    known: Known
    tracks: Tracks
    sigma: Scalar = quantity("px", "standard deviation σ of a marker in an image")
    robust: Scalar = quantity("", "error c in σ, infinite for least squares", is_finite=False)
    centre: State12 = quantity("", "first guess of the state, SI units")
    scale: State12 = quantity("", "distance by which it may be off")

    @property
    def count(self) -> int:
        return 12

    @property
    def rows(self) -> int:
        return self.tracks.pixels.size

    def physical(self, s: State12) -> State12:
        return self.centre + self.scale * s

    def residual_at(self, s: State12) -> Float[Array, " rows"]:
        return self.residual(self.physical(s), self.known, None)

    def residual(
        self, x: State12, known: Known, acceleration: Float[Array, "intervals 3"] | None
    ) -> Float[Array, " rows"]:
        """The whitened residual of a state, as it would be with other knowledge too."""
        tracks = self.tracks
        error = self._weigh(images(known, x, tracks.times, acceleration), tracks.pixels)
        return jnp.where(tracks.seen[..., None], error, 0.0).ravel()

    def linearise(self, s: State12) -> Float[Array, "rows 12"]:
        """dr/ds, by the chain rule in two factors: images by the place of a marker, places by the state.

        Exact, and less than half the cost of pushing 12 tangents through both.
        """
        x, tracks, known = self.physical(s), self.tracks, self.known
        since = tracks.times - tracks.times[0]

        def arms(turn):
            """Markers about the centre of mass, in the frame [T, M, 3]."""
            q, _ = spin_freely(known.body, Rotation.from_mrp(turn[:3]).quaternion, turn[3:], tracks.times)
            return jax.vmap(lambda q: jax.vmap(lambda m: Rotation(q) @ m)(known.markers))(q)

        points = arms(x[6:]) + (x[None, :3] + since[:, None] * x[None, 3:6])[:, None]
        by_turn = jax.jacfwd(arms)(x[6:])

        def by_place(camera, pixels, seen):
            one = jax.jacfwd(lambda point, pixel: self._weigh(camera.project(point), pixel))
            return jnp.where(seen[..., None, None], jax.vmap(jax.vmap(one))(points, pixels), 0.0)

        g = jax.vmap(by_place, in_axes=(0, 1, 1), out_axes=1)(known.rig, tracks.pixels, tracks.seen)
        # A sum of three products: a batch of 2 x 3 times 3 x 6 matrices is several times slower.
        turned = sum(g[..., j, None] * by_turn[:, None, :, None, j, :] for j in range(3))
        jacobian = jnp.concatenate([g, g * since[:, None, None, None, None], turned], axis=-1)
        return jacobian.reshape(-1, 12) * self.scale[None]

    def _weigh(self, pixels: Float[Array, "*n 2"], measured: Float[Array, "*n 2"]) -> Float[Array, "*n 2"]:
        error = (pixels - measured) / self.sigma
        square = jnp.sum(error**2, axis=-1, keepdims=True)
        return error * jnp.sqrt(2 / (1 + jnp.sqrt(1 + square / self.robust**2)))


class ArcFit(eqx.Module):
    """The state that fits an arc: `x` [12] and its `covariance` by the noise of pixels alone; `gain` [rows, 12]:
    dx = -gainᵀ dr, for other errors; `rms`: of the pixel residuals in σ, over what was seen; `status`, see
    Status; `starts`: how many were needed."""

    x: State12
    covariance: Float[Array, "12 12"]
    gain: Float[Array, "rows 12"]
    rms: Scalar
    status: Array
    starts: Array


STOPS = Stops(misfit=1e-7)


def fit_arc(problem: ArcProblem, starts: Float[Array, "k 12"], acceptable: Scalar) -> ArcFit:
    """Levenberg-Marquardt from `starts` [k, 12] (s, in units of the problem's scale), one after another until one
    ends with an rms of at most `acceptable` σ; the best of those tried."""
    count = jnp.maximum(jnp.sum(problem.tracks.seen) * 2, 1)

    def rms(search):
        return jnp.sqrt(search.misfit / count)

    def is_unfinished(carry):
        i, best = carry
        return (i < starts.shape[0]) & ~(rms(best) <= acceptable)

    def attempt(carry):
        i, best = carry
        found = levenberg_marquardt(problem, starts[i], STOPS)
        better = found.misfit < best.misfit
        return i + 1, jax.tree.map(lambda new, old: jnp.where(better, new, old), found, best)

    shape = jax.eval_shape(lambda: levenberg_marquardt(problem, starts[0], STOPS))
    nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shape)
    nothing = eqx.tree_at(lambda s: s.misfit, nothing, jnp.array(jnp.inf))
    used, best = jax.lax.while_loop(is_unfinished, attempt, (jnp.array(0), nothing))
    jacobian = best.jacobian / problem.scale[None]
    information = best.jacobian.T @ best.jacobian  # of s: in x its elements differ by many powers of ten
    inverse = jnp.linalg.inv(information)
    covariance = inverse * problem.scale[:, None] * problem.scale[None, :]
    return ArcFit(problem.physical(best.x), covariance, jacobian @ covariance, rms(best), best.status, used)


def energy_ratio(states, bodies: tuple[RigidBody, RigidBody]) -> Scalar:
    """CoR_E of states [arc][body, 12]: kinetic energy of both after over before, in the laboratory frame."""
    before, after = (sum(b.kinetic_energy(to_state(x)) for b, x in zip(bodies, xs, strict=True)) for xs in states)
    return after / before
